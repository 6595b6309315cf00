/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a journal as a conversation, page by page. And the first pass over a journal: last values of state updates,
 * undone events, the places of terminals' output.
 */
#include "bridge/acp/replay/conversation.h"

#include "bridge/acp/session/event.h"

#define PAGE_MAX ((size_t)256 * 1024 * 1024) /* bytes of a page: the last event may be of any size the store has */
#define FULL 1                               /* the callback's own word: the page is full */

static const struct {
  const char *name;
  enum rp__conversation_kind kind;
} kinds[] = {
    {"message", RP_CONVERSATION_MESSAGE},       {"tool", RP_CONVERSATION_TOOL},
    {"x-acp-update", RP_CONVERSATION_UPDATE},   {"x-acp-turn", RP_CONVERSATION_TURN_END},
    {"x-acp-request", RP_CONVERSATION_REQUEST}, {"x-acp-answer", RP_CONVERSATION_ANSWER},
    {"x-acp-agent", RP_CONVERSATION_DIED},      {"restored", RP_CONVERSATION_RUN},
};

int rp__conversation_open(struct rp__conversation *p, rp_session *s, int64_t end, rp_error *err)
{
  *p = (struct rp__conversation){.s = s, .end = end, .bytes = RP_BUF(PAGE_MAX), .blob = RP_BUF(RP_CONVERSATION_BLOB)};
  return end < 0 ? rp_wait(s, -1, 0, &p->end, err) : 0;
}

void rp__conversation_done(struct rp__conversation *p)
{
  rp__buf_done(&p->bytes);
  rp__buf_done(&p->blob);
}

/* ---- pages ------------------------------------------------------------------------------------ */

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct rp__conversation *p = ctx;
  p->at = ev->seq;
  for (size_t k = 0; k < RP_ARRAY_SIZE(kinds); k++) {
    if (strcmp(ev->kind, kinds[k].name) != 0) continue;
    p->page[p->n].seq = ev->seq;
    p->page[p->n].kind = kinds[k].kind;
    p->page[p->n].at = p->bytes.n;
    p->page[p->n].n = ev->body_len;
    rp__buf_add(&p->bytes, ev->body, ev->body_len);
    p->n++;
    break;
  }
  if (p->bytes.err) return p->bytes.err;
  return p->n == RP_CONVERSATION_PAGE || p->bytes.n >= RP_CONVERSATION_BYTES ? FULL : 0;
}

/* ---- what an event means ---------------------------------------------------------------------- */

/* What others wrote while a turn was running is passed over. */
static enum rp__conversation_kind meaning(struct rp__conversation *p, struct rp__conversation_event *ev)
{
  struct rp__json body = ev->body;
  bool ours = rp__json_eq(rp__json_get(body, "source"), "acp"), back;
  switch (ev->kind) {
  case RP_CONVERSATION_MESSAGE:
    if (p->turn && !ours) return RP_CONVERSATION_OTHER;
    if (!ours || !rp__json_get(body, "turn").type) return RP_CONVERSATION_MESSAGE;
    p->turn = true;
    return RP_CONVERSATION_PROMPT;
  case RP_CONVERSATION_TOOL:
    ours = rp__json_get(body, "acp_blob").type == RP_JSON_STRING || rp__json_get(body, "acp").type == RP_JSON_OBJECT;
    return p->turn && !ours ? RP_CONVERSATION_OTHER : RP_CONVERSATION_TOOL;
  case RP_CONVERSATION_TURN_END: p->turn = false; return RP_CONVERSATION_TURN_END;
  case RP_CONVERSATION_DIED:
    return rp__json_eq(rp__json_get(body, "event"), "died") ? RP_CONVERSATION_DIED : RP_CONVERSATION_OTHER;
  case RP_CONVERSATION_RUN:
    back = rp__json_i64(rp__json_get(body, "to_seq"), &ev->to);
    if (!back && rp__json_get(body, "epoch").type != RP_JSON_NUMBER) return RP_CONVERSATION_OTHER;
    p->turn = false;
    return back ? RP_CONVERSATION_BACK : RP_CONVERSATION_RUN;
  default: return ev->kind;
  }
}

int rp__conversation_next(struct rp__conversation *p, struct rp__conversation_event *ret, rp_error *err)
{
  while (p->i == p->n && p->at < p->end) {
    int64_t before = p->at, limit = RP_MIN(p->end - p->at, (int64_t)RP_CONVERSATION_PAGE);
    rp__buf_reset(&p->bytes);
    p->i = p->n = 0;
    int rc = rp_events(p->s, p->at, limit, on_event, p, err);
    if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
    if (rc && rc != FULL) return rc;
    if (p->at == before) p->end = before; /* the journal is shorter than was thought */
  }
  if (p->i == p->n) return 0;
  size_t i = p->i++;
  *ret = (struct rp__conversation_event){.seq = p->page[i].seq, .kind = p->page[i].kind};
  ret->body = rp__json_trusted(p->bytes.p + p->page[i].at, p->page[i].n);
  ret->kind = meaning(p, ret);
  return 1;
}

/* ---- blobs -------------------------------------------------------------------------------------- */

static int on_blob(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, bytes, n);
  return out->err;
}

/* 1: `out` has the blob's bytes. */
static int read_blob(struct rp__conversation *p, struct rp__json body, struct rp__buf *out, rp_error *err)
{
  struct rp__json id = rp__json_get(body, "acp_blob");
  if (id.type != RP_JSON_STRING) return 0;
  char *name RP_AUTOFREE = rp__json_dup(id);
  if (!name) return rp__fail_nomem(err);
  rp__buf_reset(out);
  int rc = rp_blob_get(p->s, name, on_blob, out, err);
  if (rc == RP_E_BLOB_NOT_FOUND) return 0;
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  return rc ? rc : 1;
}

int rp__conversation_whole(struct rp__conversation *p, struct rp__conversation_event *ev, rp_error *err)
{
  int rc = read_blob(p, ev->body, &p->blob, err);
  if (rc == 1) ev->body = rp__json_trusted(p->blob.p, p->blob.n);
  return RP_MIN(rc, 0);
}

static int on_one(void *ctx, const rp_event_info *ev)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, ev->body, ev->body_len);
  return out->err;
}

int rp__conversation_read(struct rp__conversation *p, int64_t seq, struct rp__buf *out, rp_error *err)
{
  struct rp__buf whole RP_AUTOBUF = RP_BUF(RP_CONVERSATION_BLOB);
  rp__buf_reset(out);
  int rc = rp_events(p->s, seq - 1, 1, on_one, out, err);
  if (rc) return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
  rc = read_blob(p, rp__json_trusted(out->p ? out->p : "", out->n), &whole, err);
  if (rc != 1) return rc;
  rp__buf_reset(out);
  rp__buf_add(out, whole.p, whole.n);
  return out->err ? rp__fail_nomem(err) : 0;
}

/* ---- the survey ---- */

static const char *const state_names[RP_STATES] = {
    [RP_STATE_COMMANDS] = "available_commands_update", [RP_STATE_USAGE] = "usage_update",
    [RP_STATE_MODE] = "current_mode_update",           [RP_STATE_CONFIG] = "config_option_update",
    [RP_STATE_INFO] = "session_info_update",
};

int rp__state_update(struct rp__json name)
{
  for (int i = 0; i < RP_STATES; i++)
    if (state_names[i] && rp__json_eq(name, state_names[i])) return i;
  return -1;
}

bool rp__is_compaction(struct rp__json name)
{
  return rp__json_eq(name, "compaction_update") || rp__json_eq(name, "compaction_summary_chunk");
}

/* ---- what was undone --------------------------------------------------------------------------- */

static int add_back(struct rp__survey *s, int64_t to, int64_t at, rp_error *err)
{
  if (to < 0 || to >= at) return 0;
  if (s->n_undone == RP_BACKS_MAX) return rp__fail(err, RP_E_LIMIT, "the session was set back too often to be told");
  if (s->n_undone == s->cap_undone) {
    size_t cap = s->cap_undone ? 2 * s->cap_undone : 16;
    struct rp__stretch *more = realloc(s->undone, cap * sizeof *more);
    if (!more) return rp__fail_nomem(err);
    s->undone = more;
    s->cap_undone = cap;
  }
  s->undone[s->n_undone++] = (struct rp__stretch){to, at};
  return 0;
}

bool rp__survey_undone(const struct rp__survey *s, int64_t seq)
{
  size_t low = 0, high = s->n_undone;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (s->undone[mid].upto < seq)
      low = mid + 1;
    else
      high = mid;
  }
  return low < s->n_undone && seq > s->undone[low].after;
}

/* ---- terminals ---------------------------------------------------------------------------------- */

static struct rp__terminal *terminal_at(const struct rp__survey *s, size_t i)
{
  return &s->terminals[i % RP_TERMINALS_MAX];
}

/* The terminal that had this id when event `seq` was written, or NULL. */
static struct rp__terminal *find_terminal(const struct rp__survey *s, uint64_t id, int64_t seq)
{
  size_t known = RP_MIN(s->n_terminals, (size_t)RP_TERMINALS_MAX);
  for (size_t i = s->n_terminals; i-- > s->n_terminals - known;)
    if (terminal_at(s, i)->id == id && terminal_at(s, i)->created < seq) return terminal_at(s, i);
  return NULL;
}

int rp__survey_output(const struct rp__survey *s, struct rp__conversation *c, struct rp__json id, int64_t seq,
                      struct rp__buf *room, struct rp__json *ret, rp_error *err)
{
  const struct rp__terminal *t = find_terminal(s, rp__acp_event_hash(id), seq);
  *ret = (struct rp__json){0};
  if (!t || !t->output) return 0;
  int rc = rp__conversation_read(c, t->output, room, err);
  if (rc) return rc;
  *ret = rp__json_get(rp__json_get(rp__json_trusted(room->p ? room->p : "", room->n), "result"), "output");
  return 0;
}

static int add_terminal(struct rp__survey *s, uint64_t id, int64_t created, rp_error *err)
{
  if (s->n_terminals == s->cap_terminals && s->cap_terminals < RP_TERMINALS_MAX) {
    size_t cap = s->cap_terminals ? 4 * s->cap_terminals : 64;
    struct rp__terminal *more = realloc(s->terminals, cap * sizeof *more);
    if (!more) return rp__fail_nomem(err);
    s->terminals = more;
    s->cap_terminals = cap;
  }
  *terminal_at(s, s->n_terminals++) = (struct rp__terminal){.id = id, .created = created};
  return 0;
}

static int see_answer(struct rp__survey *s, const struct rp__conversation_event *ev, rp_error *err)
{
  struct rp__json method = rp__json_get(ev->body, "method"), result = rp__json_get(ev->body, "result");
  struct rp__json created = rp__json_get(result, "terminalId");
  bool spilled = rp__json_get(ev->body, "acp_blob").type == RP_JSON_STRING;
  if (rp__json_eq(method, "terminal/create") && created.type == RP_JSON_STRING)
    return add_terminal(s, rp__acp_event_hash(created), ev->seq, err);
  if (!rp__json_eq(method, "terminal/output") || !(spilled || rp__json_get(result, "output").type == RP_JSON_STRING))
    return 0;
  uint64_t request = rp__acp_event_hash(rp__json_get(ev->body, "id"));
  size_t i = 0;
  while (i < RP_TERMINALS_ASKED && s->asked[i].request != request) i++;
  if (i == RP_TERMINALS_ASKED) return 0;
  uint64_t id = s->asked[i].terminal;
  s->asked[i].request = 0;
  int rc = find_terminal(s, id, ev->seq) ? 0 : add_terminal(s, id, 0, err); /* made before anybody wrote it down */
  if (rc) return rc;
  struct rp__terminal *t = find_terminal(s, id, INT64_MAX);
  if (t) t->output = ev->seq;
  return 0;
}

/* ---- updates ------------------------------------------------------------------------------------- */

static void see_update(struct rp__survey *s, const struct rp__conversation_event *ev)
{
  struct rp__json update = rp__json_get(ev->body, "update"), name = rp__json_get(update, "sessionUpdate");
  struct rp__json id = rp__json_get(update, "compactionId");
  int state = rp__state_update(name);
  if (state >= 0) s->last[state] = ev->seq;
  if (state == RP_STATE_INFO && rp__json_get(update, "title").type) s->last[RP_STATE_TITLE] = ev->seq;
  if (!rp__is_compaction(name) || id.type != RP_JSON_STRING) return;
  uint64_t hash = rp__acp_event_hash(id);
  size_t i = 0;
  while (i < s->n_compactions && s->compactions[i].id != hash) i++;
  if (i < s->n_compactions)
    s->compactions[i].last = ev->seq;
  else if (i < RP_COMPACTIONS_MAX)
    s->compactions[s->n_compactions++] = (struct rp__compaction){hash, ev->seq, ev->seq};
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static int look(struct rp__conversation *c, struct rp__survey *s, bool backs, rp_error *err)
{
  struct rp__conversation_event ev;
  int rc;
  while ((rc = rp__conversation_next(c, &ev, err)) > 0) {
    if (!backs && rp__survey_undone(s, ev.seq)) continue;
    rc = 0;
    if (ev.kind == RP_CONVERSATION_BACK && backs) rc = add_back(s, ev.to, ev.seq, err);
    if (ev.kind == RP_CONVERSATION_ANSWER) rc = see_answer(s, &ev, err);
    if (ev.kind == RP_CONVERSATION_UPDATE) see_update(s, &ev);
    if (ev.kind == RP_CONVERSATION_RUN) s->last_run = ev.seq;
    if (ev.kind == RP_CONVERSATION_REQUEST && rp__json_eq(rp__json_get(ev.body, "method"), "terminal/output")) {
      size_t i = s->next_asked++ % RP_TERMINALS_ASKED;
      s->asked[i].request = rp__acp_event_hash(rp__json_get(ev.body, "id"));
      s->asked[i].terminal = rp__acp_event_hash(rp__json_get(rp__json_get(ev.body, "params"), "terminalId"));
    }
    if (rc) break;
  }
  c->at = 0; /* to the beginning */
  c->i = c->n = 0;
  c->turn = false;
  return rc;
}

int rp__survey(struct rp__conversation *c, struct rp__survey *s, rp_error *err)
{
  int rc = look(c, s, true, err);
  if (rc || !s->n_undone) return rc;
  /* From the last turn backwards: what one undid, a turn within it included, stays undone. */
  size_t n = s->n_undone, at = n;
  int64_t end = INT64_MAX;
  for (size_t i = n; i-- > 0;) {
    if (s->undone[i].upto > end) continue;
    end = s->undone[i].after;
    s->undone[--at] = s->undone[i];
  }
  memmove(s->undone, s->undone + at, (n - at) * sizeof *s->undone);
  free(s->terminals);
  *s = (struct rp__survey){.undone = s->undone, .n_undone = n - at, .cap_undone = s->cap_undone};
  return look(c, s, false, err);
}

void rp__survey_done(struct rp__survey *s)
{
  free(s->undone);
  free(s->terminals);
}
