/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One topic on one socket: joining it, sending on it, and its end. A channel sends its client the journal's events,
 * also to their author, so that the numbers prove the order; on audio topics each note once more in the form of Lossy;
 * changes of the status; on sessions:<scope> the documents of the sessions (C-10).
 */
#include "server/channel/channel.h"

#include "base/enum-words.h"
#include "base/text.h"

#define SMALL_MAX (2 * RP_BODY_MAX) /* bytes of a note told again */

/* ---- replies ---- */

void rp__channel_reply(struct rp__channel *ch, const char *ref, bool ok, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  if (!ch->socket || !ref) return;
  rp__phx_reply(&out, ch->join_ref, ref, ch->topic, ok, json);
  rp__socket_must_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

void rp__channel_refuse(struct rp__channel *ch, const char *ref, const rp_error *err, const char *reason)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PUSH_ANSWER_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__push_refusal(err, reason, &w);
  rp__channel_reply(ch, ref, false,
                    out.err ? RP_STR("{\"reason\":\"out_of_memory\"}") : (struct rp__str){out.p, out.n});
}

int rp__channel_tell(struct rp__channel *ch, const char *event, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  if (!ch->socket) return 0;
  rp__phx_push(&out, NULL, NULL, ch->topic, event, json);
  return rp__socket_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

void rp__channel_say(struct rp__channel *ch, const char *join_ref, const char *event, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  rp__phx_push(&out, join_ref, join_ref, ch->topic, event, json);
  rp__socket_must_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

/* ---- the end ---- */

static void leave_socket(struct rp__channel *ch)
{
  struct rp__socket *s = ch->socket;
  if (!s) return;
  struct rp__channel **at = &s->channels;
  while (*at != ch) at = &(*at)->sibling;
  *at = ch->sibling;
  s->n_channels--;
  s->waiting_bytes -= ch->bytes;
  ch->socket = NULL;
  ch->lingering = true;
  atomic_fetch_add(&ch->of->n_lingering, 1);
  if (ch->joined) atomic_fetch_sub(&ch->of->n_joined, 1);
}

void rp__channel_close(struct rp__channel *ch)
{
  if (!ch->socket) return;
  rp__channel_say(ch, ch->join_ref, "phx_close", RP_STR("{}"));
  rp__channel_unsubscribe(ch);
  leave_socket(ch);
}

/* Everything but what hangs on the server's other parts. */
void rp__channel_free(struct rp__channel *ch)
{
  for (struct rp__push *p = ch->head; p; p = ch->head) {
    ch->head = p->next;
    rp__push_free(p);
  }
  if (ch->member) rp__member_exit(ch->member, ch->may_write, false);
  rp__registry_put(ch->of->srv->registry, ch->entry);
  free(ch->old_ref);
  free(ch);
}

void rp__channel_retire(struct rp__channel *ch)
{
  struct rp__channels *c = ch->of;
  rp__channel_unsubscribe(ch);
  LIST_REMOVE(ch, in_all);
  if (ch->lingering) atomic_fetch_sub(&c->n_lingering, 1);
  if (ch->member) {
    struct rp__channel **at = &ch->member->channels;
    while (*at && *at != ch) at = &(*at)->fellow;
    if (*at) *at = ch->fellow;
    rp__member_exit(ch->member, ch->may_write, ch->goodbye);
    ch->member = NULL;
  }
  rp__channel_free(ch);
}

/* ---- life ---- */

struct rp__channel *rp__channel_find(const struct rp__socket *s, const char *topic)
{
  struct rp__channel *ch = s->channels;
  while (ch && strcmp(ch->topic, topic) != 0) ch = ch->sibling;
  return ch;
}

void rp__channel_detach(struct rp__channel *ch, bool goodbye)
{
  ch->goodbye = goodbye;
  rp__channel_end_audio(ch);
  rp__channel_unsubscribe(ch);
  leave_socket(ch);
  rp__channel_pump(ch);
}

struct rp__channel *rp__channel_new(struct rp__socket *s, const struct rp__phx *m, enum rp__channel_topic kind)
{
  struct rp__channel *old = rp__channel_find(s, m->topic.p), *ch = calloc(1, sizeof *ch);
  if (!ch) return NULL;
  ch->of = s->of;
  ch->kind = kind;
  rp__text_copy(ch->topic, sizeof ch->topic, m->topic.p);
  /* A join without a join_ref is known by its ref, as Phoenix has it. */
  rp__text_copy(ch->join_ref, sizeof ch->join_ref, m->join_ref.p ? m->join_ref.p : m->ref.p ? m->ref.p : "");
  if (old && !(ch->old_ref = strdup(old->join_ref))) {
    free(ch);
    return NULL;
  }
  if (old) rp__channel_detach(old, false);
  ch->socket = s;
  ch->sibling = s->channels;
  s->channels = ch;
  s->n_channels++;
  LIST_INSERT_HEAD(&s->of->all, ch, in_all);
  return ch;
}

/* ---- events ---- */

static struct rp__net_msg *frame(const struct rp__channel *ch, const struct rp__live_event *ev)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  rp__phx_push(&out, NULL, NULL, ch->topic, "event", ev->json);
  return out.err ? NULL : rp__ws_text(out.p, out.n);
}

static int send_note(struct rp__channel *ch, const struct rp__live_event *ev)
{
  static const char *const members[][2] = {{"id", "id"},
                                           {"text", "text"},
                                           {"category", "category"},
                                           {"confidence", "confidence"},
                                           {"timestamp_seconds", "timestamp"},
                                           {"raw_transcript", "raw_transcript"}};
  struct rp__buf out RP_AUTOBUF = RP_BUF(SMALL_MAX);
  struct rp__jw w = RP_JW(&out);
  if (ch->kind != RP_TOPIC_AUDIO || strcmp(ev->kind, "note") != 0) return 0;
  rp__jw_object(&w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++)
    rp__jw_kvalue(&w, members[i][0], rp__json_get(ev->body, members[i][1]));
  rp__jw_ki64(&w, "timestamp", ev->at_ms / 1000);
  rp__jw_end_object(&w);
  return out.err ? RP_E_NOMEM : rp__channel_tell(ch, "note_created", (struct rp__str){out.p, out.n});
}

static int send_status(struct rp__channel *ch, const char *status, int64_t seq)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  if (strcmp(ch->status, status) == 0) return 0;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", ch->entry->id);
  rp__jw_kstr(&w, "status", status);
  rp__jw_kstr(&w, "previous", ch->status);
  rp__jw_ki64(&w, "seq", seq);
  rp__jw_end_object(&w);
  int rc = out.err ? RP_E_NOMEM : rp__channel_tell(ch, "status", (struct rp__str){out.p, out.n});
  if (!rc) snprintf(ch->status, sizeof ch->status, "%s", status);
  return rc;
}

/* An end has its place among the events: who has not got them all hears of it there. One before the join is past. */
void rp__channel_status(struct rp__channel *ch, const char *status, int64_t seq)
{
  bool news = ch->joined && ch->entry && strcmp(ch->status, status) != 0;
  if (!news || seq < RP_MAX(ch->seen, ch->joined_at) || (rp__status_word_ended(status) && seq > ch->seen)) return;
  if (!send_status(ch, status, seq) && rp__status_word_ended(status)) rp__channel_end(ch);
}

/* L-05: an event makes a session active; ends are events of their own; rest and checkpoints are told by the beat. */
static bool event_status(const struct rp__live_event *ev, char ret[16])
{
  struct rp__json v = strcmp(ev->kind, "status") == 0 ? rp__json_get(ev->body, "status") : (struct rp__json){0};
  bool named = v.type == RP_JSON_STRING && v.n - 2 < 16;
  snprintf(ret, 16, "%.*s", named ? (int)v.n - 2 : 6, named ? v.p + 1 : "active");
  return strcmp(ev->kind, "snapshot") != 0 && strcmp(ev->kind, "runtime") != 0;
}

static bool on_event(void *ctx, struct rp__live_event *ev)
{
  struct rp__channel *ch = ctx;
  char status[16];
  /* Of what was before the join, the reply has told what became of it. */
  bool news = ev->seq > ch->joined_at && event_status(ev, status);
  if (!ch->socket) return true;
  /* Offered again: its first message may be out already. */
  int rc = 0;
  if (ch->begun < ev->seq) {
    /* A topic that is the session's own name shares one framed message with all others of that name. */
    const char *id = strchr(ch->topic, ':');
    struct rp__net_msg **form = &ev->form[ch->kind == RP_TOPIC_AUDIO ? RP_FORM_AUDIO : RP_FORM_SESSION];
    bool shares = id && strcmp(id + 1, ev->session_id) == 0;
    if (shares && !*form) *form = frame(ch, ev);
    rc = rp__socket_send(ch->socket, !shares ? frame(ch, ev) : *form ? rp__msg_ref(*form) : NULL);
  }
  if (rc == RP_E_LIMIT) return false;
  if (rc == RP_E_NOMEM) rp__socket_close(ch->socket, 1011, "out of memory"); /* no holes: it comes back for the rest */
  if (ch->begun < ev->seq) send_note(ch, ev); /* the event says it all: this may go missing */
  ch->begun = ev->seq;
  if (news && send_status(ch, status, ev->seq) == RP_E_LIMIT) return false;
  ch->seen = ev->seq;
  if (news && rp__status_word_ended(status)) rp__channel_end(ch);
  return true;
}

/* Nobody writes to a journal that is shorter than the client believes: it begins anew. */
static void on_reset(void *ctx, int64_t seq)
{
  struct rp__channel *ch = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(256);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_ki64(&w, "seq", seq);
  rp__jw_end_object(&w);
  ch->begun = ch->seen = seq;
  if (!out.err) rp__channel_tell(ch, "reset", (struct rp__str){out.p, out.n});
}

/*
 * What was deleted must not come back by a client that joins again by itself. All else is told as of a channel that
 * failed: the next join says why.
 */
static void on_gone(void *ctx, const rp_error *err)
{
  struct rp__channel *ch = ctx;
  if (err->code == RP_E_SESSION_NOT_FOUND) {
    rp__channel_end(ch);
    return;
  }
  struct rp__buf why RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&why);
  rp__push_refusal(err, NULL, &w);
  if (!ch->socket || why.err) return;
  rp__channel_say(ch, ch->join_ref, "phx_error", (struct rp__str){why.p, why.n});
  rp__channel_detach(ch, false);
}

int rp__channel_subscribe(struct rp__channel *ch, int64_t after, rp_error *err)
{
  static const struct rp__sub_handler handler = {.event = on_event, .reset = on_reset, .gone = on_gone};
  ch->begun = ch->seen = after;
  return rp__sub_new(ch->of->srv->live, ch->entry, after, &handler, ch, &ch->sub, err);
}

/* ---- lists of sessions ---- */

static bool on_session(void *ctx, const char *what, const char *session_id, struct rp__str json)
{
  struct rp__channel *ch = ctx;
  (void)session_id;
  return rp__channel_tell(ch, what, json) != RP_E_LIMIT;
}

int rp__channel_subscribe_list(struct rp__channel *ch, const char *scope, rp_error *err)
{
  static const struct rp__list_handler handler = {.session = on_session};
  return rp__list_sub_new(ch->of->srv->live, scope, &handler, ch, &ch->list, err);
}

void rp__channel_unsubscribe(struct rp__channel *ch)
{
  rp__sub_free(ch->sub);
  rp__list_sub_free(ch->list);
  ch->sub = NULL;
  ch->list = NULL;
}
