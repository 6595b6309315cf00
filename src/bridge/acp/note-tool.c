/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls, as the ledger wants them (B-04): each event says the call's name and status, whatever the update says. */
#include "base/text.h"
#include "bridge/acp/note-impl.h"

static const struct {
  const char *acp, *ledger;
} statuses[] = {
    {"pending", "intended"}, {"in_progress", "running"}, {"completed", "done"},
    {"failed", "failed"},    {"paused", "running"}, /* of version 2 */
    {"cancelled", "failed"},                        /* likewise */
};

static const char *ledger_status(struct rp__json v)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(statuses); i++)
    if (rp__json_eq(v, statuses[i].acp)) return statuses[i].ledger;
  return NULL;
}

static bool has_text(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n > 2;
}

/* A call that goes on in a later turn stays the call it was. One that begins is the turn's own. */
static struct rp__book_call *call_of(struct rp__book *b, struct rp__json id, bool first)
{
  uint64_t hash = rp__note_hash(id);
  struct rp__book_call *c = rp__book_call(b, hash);
  if (c && !(first && c->turn != b->turn)) return c;
  if (!c) c = rp__book_call_add(b, hash);
  *c = (struct rp__book_call){.id = hash, .turn = b->turn, .status = first ? "intended" : "running"};
  return c;
}

static int remember_name(struct rp__book_call *c, struct rp__json name)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(name.n + 1);
  int rc = rp__json_text(name, &text);
  if (!rc) rp__text_copy(c->name, sizeof c->name, text.p ? text.p : "");
  return rc;
}

/* The update itself, without what stands beside it under the ledger's names. */
static void write_call(const struct rp__book_call *c, struct rp__json update, struct rp__json name, struct rp__jw *w)
{
  static const char *const beside[] = {"rawInput", "rawOutput", NULL};
  struct rp__json id = rp__json_get(update, "toolCallId");
  struct rp__json input = rp__json_get(update, "rawInput"), output = rp__json_get(update, "rawOutput");
  rp__note_id(w, "call_id", 't', c->turn, id);
  rp__jw_key(w, "name");
  if (has_text(name))
    rp__jw_value(w, name);
  else if (c->name[0])
    rp__jw_str(w, c->name);
  else
    rp__jw_value(w, id);
  rp__jw_kstr(w, "status", c->status);
  rp__jw_ki64(w, "turn", c->turn);
  if (input.type) {
    rp__jw_key(w, "input");
    rp__jw_value(w, input);
  }
  if (output.type) {
    rp__jw_key(w, "output");
    rp__jw_value(w, output);
  }
  rp__note_rest(w, update, beside);
}

/* `status`: the ledger's word; NULL: as it was. */
static bool put_tool(struct rp__book *b, struct rp__json update, bool first, const char *status, struct rp__notes *out)
{
  struct rp__json id = rp__json_get(update, "toolCallId"), name = rp__json_get(update, "name");
  if (!has_text(id)) return false;
  if (!has_text(name)) name = rp__json_get(update, "title");
  rp__note_end_stream(b, out);
  struct rp__book_call *c = call_of(b, id, first);
  if (status) c->status = status;
  if (has_text(name) && remember_name(c, name)) out->bytes.err = RP_E_NOMEM;
  struct rp__jw w = rp__note_begin(out, "tool");
  write_call(c, update, name, &w);
  rp__note_end(out, &w);
  out->durability = RP_DISK;
  return true;
}

bool rp__note_tool(struct rp__book *b, struct rp__json update, bool first, struct rp__notes *out)
{
  return put_tool(b, update, first, ledger_status(rp__json_get(update, "status")), out);
}

int rp__note_cut_off(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err)
{
  struct rp__book_stream before = b->stream;
  rp__notes_begin(out, RP_DISK);
  if (!put_tool(b, update, false, "unknown", out))
    return rp__fail_field(err, RP_E_INVALID, "toolCallId", "toolCallId must be a string");
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}
