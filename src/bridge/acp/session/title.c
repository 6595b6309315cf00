/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises titles that an agent made from text of Reprise. An agent takes the first prompt of a session for the
 * user's words, also when the proxy put the history in front of it. Such a title goes neither to the editor nor into
 * the journal; the earlier title stays.
 */
#include "bridge/acp/session/session.h"

#include "bridge/acp/restore/hand-over-text.h"
#include "bridge/injected-text.h"

#define PLAIN_BYTES 256 /* of a title that are compared */
#define LIKELY_BYTES 12 /* so many letters and digits are no accident where we have just said them */
#define SURE_BYTES 20   /* … and where another process may have */
#define MARK_BYTES 30   /* of ours that show wherever they stand */

static const char *const heads[] = {RP_HISTORY_HEAD, "[SESSION CONTINUITY — inherited from",
                                    "[SESSION CONTINUITY — this session so far]",
                                    "[SESSION CONTINUITY — this session, resumed after"};

/* Letters and digits alone: agents cut titles, quote them, and join their lines. */
static size_t plain(const char *text, char ret[PLAIN_BYTES])
{
  size_t n = 0;
  for (; *text && n < PLAIN_BYTES - 1; text++) {
    char c = *text;
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) ret[n++] = c;
  }
  ret[n] = '\0';
  return n;
}

static bool made_of(const char *title, size_t n, const char *head, size_t sure)
{
  char words[PLAIN_BYTES];
  size_t all = plain(head, words);
  if (n < sure || all < sure) return false;
  if (strncmp(title, words, RP_MIN(n, all)) == 0) return true;
  words[RP_MIN(all, (size_t)MARK_BYTES)] = '\0';
  return strstr(title, words) != NULL;
}

bool rp__title_is_ours(const struct rp__acp_session *s, struct rp__json title)
{
  char *text RP_AUTOFREE = title.type == RP_JSON_STRING ? rp__json_dup(title) : NULL;
  char words[PLAIN_BYTES], mark[PLAIN_BYTES];
  if (!text) return false;
  size_t n = plain(text, words), all = plain(RP_MARK_BEGIN, mark);
  /* Within a title only the mark as it is written counts: people speak of it, too. */
  bool ours = strstr(text, RP_MARK_BEGIN) || (n >= LIKELY_BYTES && strncmp(words, mark, RP_MIN(n, all)) == 0) ||
              (s && made_of(words, n, s->preamble, LIKELY_BYTES));
  for (size_t i = 0; i < RP_ARRAY_SIZE(heads); i++) ours = ours || made_of(words, n, heads[i], SURE_BYTES);
  return ours;
}

size_t rp__title_leave_out(struct rp__json object, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  size_t n = 0;
  rp__jw_object(&w);
  while (rp__json_next(object, &it, &key, &value)) {
    if (rp__json_eq(key, "title")) continue;
    rp__acp_copy_member(&w, key, value);
    n++;
  }
  rp__jw_end_object(&w);
  return n;
}

bool rp__title_takes(struct rp__acp_session *s, struct rp__json update)
{
  struct rp__buf rest RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  if (!rp__json_eq(rp__json_get(update, "sessionUpdate"), "session_info_update")) return false;
  if (!rp__title_is_ours(s, rp__json_get(update, "title"))) return false;
  if (rp__title_leave_out(update, &rest) > 1) rp__acp_put_update(s, &rest); /* it says more than that */
  return true;
}
