/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise append`: append an event, or a stream of events, and print an acknowledgement once they are durable. */
#include <errno.h>

#include "base/given-values.h"
#include "cli/batch/batch.h"
#include "cli/out.h"

#define BODY_READ_MAX (16 * 1024 * 1024) /* more than any store takes; the engine names the real limit */

enum { BATCH, AT, DURABILITY, EPOCH, EXPECT, IDEMPOTENCY_KEY };

static const struct rp__opt opts[] = {
    [BATCH] = {"batch", 0, RP_OPT_FLAG, NULL, "events as JSON lines on stdin, answers as JSON lines on stdout"},
    [AT] = {"at", 0, RP_OPT_TIME, "T", "when it happened (default now)"},
    [DURABILITY] = {"durability", 0, RP_OPT_CHOICE, "D", "what it must survive before the answer",
                    rp__durability_words + RP_MEMORY},
    [EPOCH] = {"epoch", 0, RP_OPT_NUMBER, "N", "write only while this epoch is current", NULL, 1, INT64_MAX},
    [EXPECT] = {"expect", 0, RP_OPT_NUMBER, "SEQ", "write only if this is the last event", NULL, 0, INT64_MAX},
    [IDEMPOTENCY_KEY] = {"idempotency-key", 0, RP_OPT_TEXT, "K", "a repeat within 24 h gets the first answer again"},
};

static int read_stdin(struct rp__buf *ret, rp_error *err)
{
  int code = rp__read_all(STDIN_FILENO, ret);
  if (code == RP_E_NOMEM) return rp__fail_nomem(err);
  if (code == RP_E_TOO_LARGE) return rp__fail(err, code, "the body is too large");
  if (code) return rp__fail_errno(err, errno, "can't read the body");
  /* The newline that ends a text file is no part of the body. */
  while (ret->n > 0 && strchr(" \t\r\n", ret->p[ret->n - 1])) ret->n--;
  ret->p[ret->n] = '\0';
  return 0;
}

/* A body of each kind that anybody may append, as somebody would type it; shown when one is refused. */
/* clang-format off */
static const struct {
  const char *kind, *body;
} examples[] = {
    {"message", "{\"role\":\"user\",\"content\":\"hello\"}"},
    {"note", "{\"id\":\"n1\",\"text\":\"the relay is warm\"}"},
    {"frame", "{\"frame_id\":\"f1\",\"timestamp\":12.5}"},
    {"transcript", "{\"text\":\"good morning\"}"},
    {"intent", "{\"topics\":[\"tea\"],\"intent\":\"order\"}"},
    {"pin", "{\"label\":\"radio\",\"content\":\"38400 baud\",\"importance\":\"high\"}"},
    {"unpin", "{\"label\":\"radio\"}"},
    {"task", "{\"task_id\":\"t1\",\"title\":\"mend the relay\",\"stage\":\"build\"}"},
    {"project", "{\"name\":\"ham radio\"}"},
    {"activity", "{\"text\":\"soldering\",\"tool\":\"bash\"}"},
    {"learning", "{\"memory_id\":\"m1\",\"content\":\"it is 38400 baud\"}"},
    {"confidence", "{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":0.4,\"reason\":\"it was 4800\"}"},
    {"sop", "{\"sop_path\":\"a.md\",\"injected_at\":\"2026-01-31T12:00:00Z\",\"acknowledged\":true,\"tool_call\":\"bash\"}"},
    {"tool", "{\"call_id\":\"c1\",\"name\":\"bash\",\"status\":\"running\"}"},
    {"emotion", "{\"event\":\"pat_level2\",\"intensity\":0.5}"},
    {"person", "{\"name\":\"Ada\"}"},
    {"sleep", "{\"state\":\"awake\"}"},
    {"approval", "{\"id\":\"a1\",\"status\":\"pending\"}"},
    {"question", "{\"id\":\"q1\",\"status\":\"pending\"}"},
    {"usage", "{\"tokens_in\":1200,\"tokens_out\":300,\"cost_usd\":0.02}"},
    {"session", "{\"name\":\"kitchen\"}"},
    {"provider", "{\"type\":\"acp\"}"},
    {"todo", "{\"items\":[{\"content\":\"mend the relay\",\"status\":\"pending\"}]}"},
    {"turn", "{\"status\":\"cancelled\"}"},
};
/* clang-format on */

/* A word in place of a body is what people try first: the answer shows them one. */
static int explain(const rp_event *ev, int code, rp_error *err)
{
  const char *example = strncmp(ev->kind, "x-", 2) == 0 ? "{\"any\":\"thing\"}" : NULL;
  for (size_t i = 0; i < RP_ARRAY_SIZE(examples); i++)
    if (strcmp(examples[i].kind, ev->kind) == 0) example = examples[i].body;
  if ((code != RP_E_JSON && code != RP_E_INVALID) || !example || strcmp(err->field, "kind") == 0) return code;
  if (code == RP_E_JSON) rp__wrap(err, "the body must be a JSON object");
  if (!err->hint[0]) rp__hint(err, "a body of that kind is like '%s'", example);
  return code;
}

static int append_one(struct rp__cli *c, const rp_append_options *o, rp_error *err)
{
  RP_AUTOBUF struct rp__buf in = RP_BUF(BODY_READ_MAX);
  bool from_stdin = c->n_args < 3 || strcmp(c->args[2], "-") == 0;
  int code = from_stdin ? read_stdin(&in, err) : 0;
  if (!code) code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (code) return code;
  const rp_event ev = {
      .kind = c->args[1],
      .body = from_stdin ? in.p : c->args[2],
      .body_len = in.n,
      .at_ms = rp__opt_num(c, AT, 0),
      .idempotency_key = rp__opt_text(c, IDEMPOTENCY_KEY),
  };
  rp_ack ack;
  code = rp_append(c->session, &ev, o, &ack, err);
  return code ? explain(&ev, code, err) : rp__out_ack(c, &ack, err);
}

static int append_batch(struct rp__cli *c, const rp_append_options *o, rp_error *err)
{
  RP_AUTOCLOSE int signals = -1;
  int code = rp__signals_open(&signals, err);
  if (!code) code = rp__cli_attach(c, c->args[0], RP_USE_STAY, err);
  return code ? code : rp__batch_run(c, STDIN_FILENO, o, signals, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  rp_append_options o = {0};
  bool batch = rp__opt_given(c, BATCH);
  if (!batch && c->n_args < 2) return RP_USAGE(c, err, "the kind of the event is missing");
  if (batch && c->n_args > 1)
    return RP_USAGE(c, err, "--batch takes kinds and bodies from stdin, not '%s'", c->args[1]);
  if (batch && (rp__opt_given(c, AT) || rp__opt_given(c, EXPECT) || rp__opt_given(c, IDEMPOTENCY_KEY)))
    return RP_USAGE(c, err, "--at, --expect and --idempotency-key speak of one event, not of a batch");
  o.epoch = rp__opt_num(c, EPOCH, 0);
  o.expect_seq = rp__given_seq(rp__opt_num(c, EXPECT, -1));
  if (rp__opt_given(c, DURABILITY)) o.durability = (rp_durability)(RP_MEMORY + rp__opt_num(c, DURABILITY, 0));
  /* What only this process's memory holds would be gone when the answer is read. */
  if (o.durability == RP_MEMORY) o.durability = RP_OS;
  return batch ? append_batch(c, &o, err) : append_one(c, &o, err);
}

const struct rp__cmd rp__cmd_append = {
    .name = "append",
    .theme = RP_THEME_WRITE,
    .usage = "ID KIND [BODY|-] | ID --batch",
    .summary = "Add an event, or a stream of them, and say when it is safe",
    .detail =
        "BODY is a JSON object; without one, or with -, it is read from stdin. With --batch each line of\n"
        "stdin is {\"kind\",\"body\",\"at\"?,\"idempotency_key\"?}; the answers come in the same order, each once its\n"
        "event is durable. A bad line is answered with an error and the rest goes on.",
    .example = "  $ reprise append kitchen-chat message '{\"role\":\"user\",\"content\":\"hello\"}'\n"
               "  {\"seq\":2,\"durability\":\"disk\"}\n",
    RP_ARGS(RP_ARG_SESSION, 1, 3),
    RP_OPTS(opts),
    .run = run,
};
