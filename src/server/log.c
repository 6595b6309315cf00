/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's log. A line is made on the stack, so that there is a line even without memory. It is written with one
 * call, so that lines of processes that share the pipe do not mix. A quoted value is a JSON string in both formats.
 *
 * There is a line for each request, so nothing is formatted by printf, and threads do not wait for each other's writes:
 * a thread that finds a write under way leaves its line in a buffer, and the writing thread writes all lines of the
 * buffer at once. A thread waits only when the buffer is full. No line stays behind.
 */
#include "server/log.h"

#include <errno.h>

#include "base/clock.h"
#include "base/enum-words.h"
#include "base/text.h"
#include "json/json.h"

#define LINE_MAX_BYTES 8192
#define SECRET_MIN 8 /* bytes of a value that are worth a look */
#define TURNS_MAX 8  /* of one who writes for others */

/* Bytes of one value at most; a line that gets too long is made again with the next. */
static const size_t cuts[] = {1024, 128, 16, 0};
#define CUT_MAX 1024

void rp__slog_init(struct rp__slog *l)
{
  *l = (struct rp__slog){.fd = 2, .level = RP_LOG_INFO};
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->room, NULL);
}

void rp__slog_done(struct rp__slog *l)
{
  pthread_cond_destroy(&l->room);
  pthread_mutex_destroy(&l->lock);
}

/* Without the memory to look, nothing is told. */
static void add_text(const struct rp__slog *l, struct rp__jw *w, const char *text, size_t most)
{
  char value[CUT_MAX + 4], *masked = NULL;
  rp_engine *e = atomic_load(&l->masks);
  if (e && strnlen(text, SECRET_MIN) == SECRET_MIN && rp_redact_check(e, text, strlen(text), NULL, NULL, &masked, NULL))
    text = "?";
  if (masked) text = masked;
  size_t n = strnlen(text, most + 1);
  bool cut = n > most;
  if (cut) n = rp__text_clip(text, most);
  memcpy(value, text, n);
  rp_free(masked);
  /* DEL and the C1 controls, which JSON leaves alone, could still steer a terminal. */
  for (size_t i = 0; i < n; i++) {
    if (value[i] == 0x7f) value[i] = '?';
    if ((unsigned char)value[i] == 0xc2 && i + 1 < n && (unsigned char)value[i + 1] < 0xa0)
      value[i] = value[i + 1] = '?';
  }
  if (cut) {
    memcpy(value + n, "…", sizeof "…" - 1);
    n += sizeof "…" - 1;
  }
  bool bare = l->format == RP_SLOG_LOGFMT && n > 0;
  for (size_t i = 0; bare && i < n; i++)
    bare = value[i] > ' ' && value[i] != '=' && value[i] != '"' && value[i] != '\\' && (unsigned char)value[i] < 0x7f;
  if (bare)
    rp__buf_add(w->out, value, n);
  else
    rp__jw_strn(w, value, n);
}

static void add_field(const struct rp__slog *l, struct rp__jw *w, const struct rp__field *f, size_t most)
{
  if (!f->is_number && !f->text) return;
  if (l->format == RP_SLOG_JSON) {
    rp__jw_key(w, f->name);
  } else {
    if (w->out->n) rp__buf_char(w->out, ' ');
    rp__buf_str(w->out, f->name);
    rp__buf_char(w->out, '=');
  }
  if (!f->is_number)
    add_text(l, w, f->text, most);
  else
    rp__jw_i64(w, f->number);
  if (l->format == RP_SLOG_LOGFMT) w->comma = 0;
}

/* ---- going out ---- */

static void write_all(int fd, const char *text, size_t n)
{
  while (n) {
    ssize_t done = write(fd, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return; /* nobody can be told */
    text += done;
    n -= (size_t)done;
  }
}

/*
 * Writes what others left meanwhile, until there is nothing. With the lock held. The last time it stays so: a thread
 * that has requests of its own to serve is nobody's scribe for ever.
 */
static void write_waiting(struct rp__slog *l)
{
  for (int i = 1; l->n_waiting; i++) {
    const char *text = l->waiting[l->filling];
    size_t n = l->n_waiting;
    l->filling = !l->filling;
    l->n_waiting = 0;
    pthread_cond_broadcast(&l->room);
    if (i < TURNS_MAX) pthread_mutex_unlock(&l->lock);
    write_all(l->fd, text, n);
    if (i < TURNS_MAX) pthread_mutex_lock(&l->lock);
  }
}

void rp__slog_write(struct rp__slog *l, rp_log_level level, const char *event, const struct rp__field *fields)
{
  char line[LINE_MAX_BYTES], now[RP_TIME_TEXT];
  struct rp__buf out;
  if (level > l->level) return;
  const struct rp__field head[] = {
      RP_F("time", rp__time_format(rp__wall(&rp__system_clock), now)),
      RP_F("level", rp__log_level_words[level]),
      RP_F("event", event),
      {0},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cuts); i++) {
    out = (struct rp__buf){.p = line, .cap = sizeof line, .max = sizeof line - 1}; /* never grows past the stack */
    struct rp__jw w = RP_JW(&out);
    if (l->format == RP_SLOG_JSON) rp__jw_object(&w);
    for (const struct rp__field *f = head; f->name; f++) add_field(l, &w, f, CUT_MAX);
    for (const struct rp__field *f = fields; cuts[i] && f && f->name; f++) add_field(l, &w, f, cuts[i]);
    if (l->format == RP_SLOG_JSON) rp__jw_end_object(&w);
    rp__buf_char(&out, '\n');
    if (!out.err) break;
  }
  if (!out.err) {
    pthread_mutex_lock(&l->lock);
    while (l->writing && l->n_waiting + out.n > RP_SLOG_WAITING) pthread_cond_wait(&l->room, &l->lock);
    if (l->writing) {
      memcpy(l->waiting[l->filling] + l->n_waiting, out.p, out.n);
      l->n_waiting += out.n;
    } else {
      l->writing = true;
      pthread_mutex_unlock(&l->lock);
      write_all(l->fd, out.p, out.n);
      pthread_mutex_lock(&l->lock);
      write_waiting(l);
      l->writing = false;
      pthread_cond_broadcast(&l->room); /* to one whose line has no room among others */
    }
    pthread_mutex_unlock(&l->lock);
  }
}

void rp__slog_engine(void *ctx, rp_log_level level, const char *text)
{
  struct rp__slog *l = ctx;
  rp__slog(l, level, "engine", RP_F("message", text));
}
