/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a channel is sent: the journal's events to all members, the author too, so
 * that the numbers prove the order; notes once more in the seed's shape on audio
 * topics; changes of the status; on sessions:<scope> the sessions' documents (C-10).
 */
#include "server/channel/channel.h"
#include "base/enum-words.h"

#define SMALL_MAX (2 * RP_BODY_MAX) /* bytes of a note told again */

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
