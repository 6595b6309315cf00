/* SPDX-License-Identifier: Apache-2.0 */
/* The table of patterns of credentials. */
#include "redact/pattern.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What may stand before a vendor's token. The mask is in it so that what is left beside one is not found again. */
#define FREE "(?<![A-Za-z0-9])(?<!\\[REDACTED\\])"
#define FREE_RUN "(?<![A-Za-z0-9_.-])(?<!\\[REDACTED\\])"
#define QUOTE "[\"'`]"
#define ESCAPED "\\\\{0,3}"

/* From the end of a name to the first byte of its value: "NAME": "…, NAME=…, ['NAME'] => '…, \"NAME\":\"…, NAME: type =
 * '…, NAME = String::from("… */
#define CLOSED "(?:" ESCAPED QUOTE "\\]?|\\])?[ \\t]{0,8}\\??"
#define QUOTED "(?=" ESCAPED QUOTE ")"
#define MADE                                                                                                           \
  "(?:(?:(?:std::)?[Ss]tring(?:::from)?|Some|Ok|(?:new "                                                               \
  ")?[A-Za-z]{0,12}Secret[A-Za-z]{0,12}(?:::new|::from)?)\\(){1,2}" QUOTED
#define OPENED                                                                                                         \
  "[ \\t]{0,8}(?:[bBuUrRfFL@]{0,2}" QUOTED "|" MADE ")?(?:" ESCAPED "(?:\"\"\"|'''|" QUOTE "))?"                       \
  "(?<secret>[^\\s\"'`\\\\])"
#define TYPE                                                                                                           \
  "(?:&(?:'[a-z]{1,12} )?(?:mut )?)?[A-Za-z_][A-Za-z_.]{0,40}(?:\\[[a-z, ]{1,20}\\]|<[A-Za-z]{1,20}>)?"                \
  "(?: \\| [A-Za-z]{1,20})?"
#define ASSIGNED CLOSED "(?:=>|:?={1,3}|:(?!:))" OPENED
#define TYPED CLOSED ":[ \\t]{0,2}" TYPE "[ \\t]{0,2}=(?!=)" OPENED
/* "NAME", "…   "NAME","Value":"…   name="NAME" value="… */
#define PAIRED                                                                                                         \
  ESCAPED QUOTE "(?:[ \\t]{0,4},[ \\t\\r\\n]{0,40}(?:" ESCAPED QUOTE "(?i:value)" ESCAPED QUOTE                        \
                "[ \\t]{0,4}:[ \\t]{0,4})?|[ \\t]{1,4}(?i:value)=)" ESCAPED QUOTE "(?<secret>[^\\s\"'`\\\\])"

#define PEM                                                                                                            \
  "-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:\\s|\\\\+[nrt]|[\"'+,>|*#]){0,40}+"                \
  "(?<secret>(?:[A-Z][A-Za-z-]{2,30}:[^\\r\\n\\\\]{0,200}(?:\\s|\\\\+[nr]){1,8}){0,4}[A-Za-z0-9+/=]{16}"               \
  "|[A-Za-z0-9+/=.][A-Za-z0-9+/=.\\r\\n\\\\]{0,2000}(?=-----END|(?:-{1,5}E?N?)?\\z))"

/* clang-format off */
const struct rp__pattern rp__patterns[] = {
  {"assignment", WORDS("pass", "pwd", "secret", "token", "credential", "mnemonic", "_key", "-key", "api key", "apikey",
    "accesskey", "privatekey", "signingkey", "encryptionkey", "authkey", "accountkey", "masterkey", "stripekey", "openaikey"),
    ASSIGNED, 160, RP_RUN_VALUE, RP_JUDGE_NAMED, true},
  {"typed assignment", NULL, TYPED, 160, RP_RUN_VALUE, RP_JUDGE_NAMED, true},
  {"element", NULL, "(?: [^<>\\r\\n]{0,80})?>(?<secret>[^<>\\s]{1,600})(?:<(?:/|\\z)|\\z)", 700, RP_RUN_NONE, RP_JUDGE_ELEMENT, true},
  {"flag", NULL, "[ \\t]{1,4}" QUOTE "?(?<secret>[^\\s\"'`<\\[{$|-])", 16, RP_RUN_VALUE, RP_JUDGE_FLAG, true},
  {"pair", NULL, PAIRED, 160, RP_RUN_VALUE, RP_JUDGE_PAIR, true},
  {"told", NULL, "(?:" QUOTE "?[ \\t]{1,2}(?:is|was)(?: now)?:?[ \\t]{1,2}" QUOTE "?|[ \\t]{1,2}" QUOTE ")"
    "(?<secret>[^\\s\"'`<\\[{$(])", 24, RP_RUN_VALUE, RP_JUDGE_TOLD, true},

  {"authorization", WORDS("authorization"),
    "(?i)(?<![a-z0-9])authorization" ESCAPED QUOTE "?\\]?[ \\t]{0,4}(?:=>|[:=,])[ \\t]{0,4}(?:[bfur]?" ESCAPED QUOTE ")?[ \\t]{0,2}"
    "(?:(?:bearer|basic|token|apikey|bot|key|negotiate)[ \\t:]{1,4}+)?+(?<secret>[^\\s\"'`<>{}$()\\[\\],;\\\\])",
    96, RP_RUN_VALUE, RP_JUDGE_HEADER, false},
  {"bearer", WORDS("bearer"), "(?i)(?<![A-Za-z0-9_-])bearer[ \\t:=]{1,4}" QUOTE "?(?<secret>[A-Za-z0-9_])",
    24, RP_RUN_VALUE, RP_JUDGE_RANDOM, false},
  {"auth", WORDS("auth=", "auth:", "auth =", "auth\"", "auth'", "auth\\"),
    "(?i)(?<![a-z0-9])auth" ESCAPED QUOTE "?[ \\t]{0,4}[:=][ \\t]{0,4}" ESCAPED QUOTE "?(?<secret>[A-Za-z0-9_+/-])",
    32, RP_RUN_VALUE, RP_JUDGE_RANDOM, false},
  {"url", WORDS("://"), "://[^\\s/?#:@\"'`<>|)\\\\\\[]{0,300}:(?!x-oauth-basic@)(?<secret>(?!\\d{1,5}[^A-Za-z0-9@]{0,3}\\z)[^\\s/?#@\"'`<>\\\\]{1,300})(?:@(?:[\\w\\[{$%]|\\z)|\\z)",
    620, RP_RUN_NONE, RP_JUDGE_USERPASS, false},
  {"url user", NULL, "(?|://(?<secret>[^\\s/?#:@\"'`<>\\\\\\[]{1,300})(?::(?:x-oauth-basic)?)?@(?:[\\w\\[{$%]|\\z)|://(?<secret>[\\w-]{20,300})(?::[a-z-]{0,13})?\\z)",
    420, RP_RUN_NONE, RP_JUDGE_USER, false},
  {"curl", WORDS("curl"), "curl[\\s\"',][^\\r\\n|;]{0,300}?(?<![^\\s\"',])(?:-u|--user|-U|--proxy-user)[\\s\"',=]{0,4}[^\\s\"',:]{1,80}:(?<secret>[^\\s\"'`])",
    420, RP_RUN_VALUE, RP_JUDGE_USERPASS, false},
  {"login", WORDS("-u\"", "-u'", "-u\\", "--user\"", "--user'", "--user\\"), "-(?:u|-user)" ESCAPED QUOTE "[ \\t]{0,4},[ \\t\\r\\n]{0,40}" ESCAPED QUOTE "[^\\s\"'`,:\\\\]{1,80}:(?<secret>[^\\s\"'`\\\\/])",
    160, RP_RUN_VALUE, RP_JUDGE_LOGIN, false},
  {"netrc", WORDS("machine ", "default login", "default\nlogin"), "(?:machine[ \\t]{1,8}[^\\s]{1,100}|default)\\s{1,8}(?:(?:login|account)[ \\t]{1,8}[^\\s]{1,100}\\s{1,8}){1,2}password[ \\t]{1,8}(?<secret>[^\\s])",
    420, RP_RUN_WORD, RP_JUDGE_USERPASS, false},
  {"private key", WORDS("-----begin"), PEM, 3000, RP_RUN_KEY, RP_JUDGE_NONE, false},

  {"sk key", WORDS("sk-"),
    FREE "sk-(?!ssh-|ecdsa-)(?:(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{12}|[A-Za-z0-9]{32}"
    "|(?=[A-Za-z0-9_-]{0,60}?(?:[A-Za-z][0-9]|[0-9][A-Za-z]|[0-9]{12}))[A-Za-z0-9_-]{16})",
    96, RP_RUN_TOKEN, RP_JUDGE_FILLED, false},
  {"github token", WORDS("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), FREE "gh[pousr]_[A-Za-z0-9]{20}",
    32, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"github pat", WORDS("github_pat_"), FREE "github_pat_[A-Za-z0-9_]{20}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"gitlab token", WORDS("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glagent-"),
    FREE "gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent)-[A-Za-z0-9_-]{16}", 32, RP_RUN_TOKEN, RP_JUDGE_FILLED, false},
  {"slack token", WORDS("xox"), FREE "xox[abceoprs]-[A-Za-z0-9-]{10}", 24, RP_RUN_TOKEN, RP_JUDGE_FILLED, false},
  {"slack app token", WORDS("xapp-"), FREE "xapp-[0-9]-[A-Z0-9]{6,20}-[A-Za-z0-9-]{10}", 48, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"slack webhook", WORDS("hooks.slack.com/"), "(?i)hooks\\.slack\\.com/(?:services|workflows|triggers)/(?<secret>[A-Za-z0-9_/+-]{20,200})",
    260, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"discord webhook", WORDS("/api/webhooks/"), "/api/webhooks/[0-9]{10,24}/(?<secret>[A-Za-z0-9_-]{30})", 80, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"aws key id", WORDS("akia", "asia"), FREE "(?:AKIA|ASIA(?=[A-Z]{0,15}[0-9]))[A-Z0-9]{16}(?![A-Za-z0-9_])", 24, RP_RUN_NONE, RP_JUDGE_NONE, false},
  {"jwt", WORDS("eyj"),
    FREE_RUN "eyJ[A-Za-z0-9_-]{6,}+\\.(?:eyJ[A-Za-z0-9_-]{3,}+(?:\\.[A-Za-z0-9_-]*+)?|[A-Za-z0-9_-]*+(?:\\.[A-Za-z0-9_-]++){3})",
    16384, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"google key", WORDS("aiza"), FREE "AIza[A-Za-z0-9_-]{30}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"google token", WORDS("ya29.", "gocspx-"), FREE "(?:ya29\\.|GOCSPX-)[A-Za-z0-9_-]{20}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"npm token", WORDS("npm_"), FREE "npm_[A-Za-z0-9]{30}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"pypi token", WORDS("pypi-"), FREE "pypi-AgE[A-Za-z0-9_-]{30}", 48, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"hugging face token", WORDS("hf_"), FREE "(?<!_)hf_[A-Za-z0-9]{30}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"stripe key", WORDS("sk_live_", "sk_test_", "rk_live_", "rk_test_"), FREE "[sr]k_(?:live|test)_[A-Za-z0-9]{10}", 24, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"webhook secret", WORDS("whsec_"), FREE "whsec_[A-Za-z0-9+/=_-]{20,200}+", 220, RP_RUN_TOKEN, RP_JUDGE_FILLED, false},
  {"sendgrid key", WORDS("sg."), FREE "SG\\.[A-Za-z0-9_-]{16,64}+\\.[A-Za-z0-9_-]{16}", 100, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"telegram bot", WORDS(":aa"), "(?<=[0-9]{8}):(?<secret>AA[A-Za-z0-9_-]{30})", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"shopify token", WORDS("shpat_", "shpss_", "shpca_", "shppa_"), FREE "shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{32}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"digitalocean token", WORDS("dop_v1_", "doo_v1_", "dor_v1_"), FREE "do[opr]_v1_[a-f0-9]{40}", 50, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"docker token", WORDS("dckr_pat_", "dckr_oat_"), FREE "dckr_[op]at_[A-Za-z0-9_-]{20}", 32, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"vault token", WORDS("hvs.", "hvb."), FREE "hv[sb]\\.[A-Za-z0-9_-]{24}", 32, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"atlassian token", WORDS("atatt3x"), FREE "ATATT3x[A-Za-z0-9_=-]{24}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"model key", WORDS("gsk_", "xai-", "r8_", "pplx-", "tgp_v1_"), FREE "(?<!_)(?:gsk_|xai-|r8_|pplx-|tgp_v1_)[A-Za-z0-9]{30}", 48, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"service key", WORDS("lin_api_", "figd_", "glsa_", "nfp_", "ntn_", "sntrys_", "tskey-"),
    FREE "(?<!_)(?:lin_api_|figd_|glsa_|nfp_|ntn_|sntrys_|tskey-(?:auth|api|client)-)[A-Za-z0-9_-]{24}", 60, RP_RUN_TOKEN, RP_JUDGE_RANDOM, false},
  {"reprise token", WORDS("rpt_", "rps_"), FREE "(?<!_)(?:rpt_[A-Za-z0-9]{8}_|rps_)[A-Za-z0-9_-]{43}", 64, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"new relic key", WORDS("nrak-", "nraa-", "nrii-"), FREE "NR(?:AK|AA|II)-[A-Za-z0-9_-]{20}", 32, RP_RUN_TOKEN, RP_JUDGE_FILLED, false},
  {"databricks token", WORDS("dapi"), FREE "dapi[a-f0-9]{32}", 40, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
  {"age key", WORDS("age-secret-key-1"), "(?i)age-secret-key-1[0-9a-z]{40}", 64, RP_RUN_TOKEN, RP_JUDGE_NONE, false},
};
/* clang-format on */
const size_t rp__patterns_n = RP_ARRAY_SIZE(rp__patterns);
_Static_assert(RP_ARRAY_SIZE(rp__patterns) <= RP_PATTERNS_MAX, "more rows than a redactor has room for");
