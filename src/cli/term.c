/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals: their capabilities, and text made safe to show on them. */
#include "cli/term.h"

#include <sys/ioctl.h>
#include <time.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 1000
#define DRAW_EVERY_MS 100
#define BAR_WIDTH 30

static bool is_set(const char *name)
{
  const char *s = getenv(name);
  return s && *s;
}

static int columns_of(int fd)
{
  struct winsize ws;
  int64_t n;
  const char *s = getenv("COLUMNS");
  if (s && rp__number_parse(s, 20, COLUMNS_MAX, &n)) return (int)n;
  if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20) return RP_MIN(ws.ws_col, COLUMNS_MAX);
  return COLUMNS_DEFAULT;
}

void rp__term_init(struct rp__cli_terminal *t)
{
  const char *term = getenv("TERM");
  bool colour = !is_set("NO_COLOR") && !(term && strcmp(term, "dumb") == 0);
  t->in_tty = isatty(STDIN_FILENO);
  t->out_tty = isatty(STDOUT_FILENO);
  t->err_tty = isatty(STDERR_FILENO);
  t->out_colour = t->out_tty && colour;
  t->err_colour = t->err_tty && colour;
  t->columns = columns_of(t->out_tty ? STDOUT_FILENO : STDERR_FILENO);
}

const char *rp__sgr(bool colour, const char *code, char out[12])
{
  if (colour)
    snprintf(out, 12, "\033[%sm", code);
  else
    out[0] = '\0';
  return out;
}

/* ---- text ---------------------------------------------------------------- */

/* Decodes one character; bytes that are no UTF-8 count one by one as U+FFFD. Returns its length. */
static size_t char_next(const unsigned char *s, size_t n, uint32_t *ret)
{
  size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
  *ret = 0xfffd;
  if (len == 0 || len > n || s[0] > 0xf4) return 1;
  uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 1;
    c = c << 6 | (s[i] & 0x3f);
  }
  *ret = c;
  return len;
}

/* Columns of a character. Close enough for tables; the terminal has the last word. */
static int char_columns(uint32_t c)
{
  static const struct {
    uint32_t from, to;
    int columns;
  } ranges[] = {
      {0x300, 0x36f, 0},     {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},   {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},
      {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
      {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(ranges); i++)
    if (c >= ranges[i].from && c <= ranges[i].to) return ranges[i].columns;
  return 1;
}

/* Control characters, line separators and marks that turn the direction of what follows. */
static bool char_unsafe(uint32_t c)
{
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

int rp__term_columns(const char *s, size_t n)
{
  int columns = 0;
  for (size_t i = 0; i < n;) {
    uint32_t c;
    i += char_next((const unsigned char *)s + i, n - i, &c);
    columns += char_unsafe(c) ? 1 : char_columns(c);
  }
  return columns;
}

void rp__term_cut(struct rp__buf *out, const char *s, size_t n, int columns)
{
  bool cut = columns > 0 && rp__term_columns(s, n) > columns;
  int left = cut ? columns - 1 : columns;
  for (size_t i = 0; i < n;) {
    uint32_t c;
    size_t len = char_next((const unsigned char *)s + i, n - i, &c);
    int width = char_unsafe(c) ? 1 : char_columns(c);
    if (cut && width > left) break;
    left -= width;
    if (char_unsafe(c))
      rp__buf_char(out, ' ');
    else if (c == 0xfffd)
      rp__buf_str(out, "\xef\xbf\xbd");
    else
      rp__buf_add(out, s + i, len);
    i += len;
  }
  if (cut) rp__buf_str(out, "…");
}

void rp__term_cell(struct rp__buf *out, const char *s, int columns)
{
  size_t n = strlen(s);
  int width = rp__term_columns(s, n);
  rp__term_cut(out, s, n, columns);
  for (int i = width; i < columns; i++) rp__buf_char(out, ' ');
}

/* ---- numbers for people ------------------------------------------------------ */

void rp__age_format(int64_t ms, int64_t now_ms, char *out, size_t n)
{
  int64_t s = (now_ms - ms) / 1000;
  const char *before = s < 0 ? "in " : "", *after = s < 0 ? "" : " ago";
  int64_t t = s < 0 ? -s : s;
  if (t < 2)
    snprintf(out, n, "just now");
  else if (t < 100)
    snprintf(out, n, "%s%lld s%s", before, (long long)t, after);
  else if (t < 100 * 60)
    snprintf(out, n, "%s%lld m%s", before, (long long)(t / 60), after);
  else if (t < 48 * 3600)
    snprintf(out, n, "%s%lld h%s", before, (long long)(t / 3600), after);
  else
    snprintf(out, n, "%s%lld d%s", before, (long long)(t / 86400), after);
}

const char *rp__moment_format(const struct rp__cli *c, int64_t ms, char out[RP_MOMENT_TEXT])
{
  time_t t = (time_t)(ms / 1000 - (ms % 1000 < 0));
  struct tm tm;
  bool utc = c->globals[RP_G_UTC].count > 0;
  size_t n = 0;
  if (utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) n = strftime(out, RP_MOMENT_TEXT, "%Y-%m-%d %H:%M:%S ", &tm);
  /* gmtime_r calls its zone GMT. */
  snprintf(out + n, RP_MOMENT_TEXT - n, "%s", n == 0 ? "?" : utc ? "UTC" : tm.tm_zone);
  return out;
}

/* ---- progress ---------------------------------------------------------------- */

static void progress_draw(const struct rp__progress *p, int64_t done, int64_t total)
{
  if (total <= 0) {
    fprintf(stderr, "\r\033[K%s %lld", p->what, (long long)done);
    return;
  }
  int64_t part = RP_MIN(RP_MAX(done, 0), total);
  int full = (int)((double)part / (double)total * BAR_WIDTH);
  fprintf(stderr, "\r\033[K%s [", p->what);
  for (int i = 0; i < BAR_WIDTH; i++) fputc(i < full ? '#' : '.', stderr);
  fprintf(stderr, "] %3d %%", (int)((double)part / (double)total * 100));
}

int rp__progress_step(void *ctx, int64_t done, int64_t total)
{
  struct rp__progress *p = ctx;
  if (!p->cli->term.err_tty || p->cli->globals[RP_G_QUIET].count) return 0;
  int64_t now = rp__wall(&rp__system_clock);
  if (p->shown && now - p->drawn_ms < DRAW_EVERY_MS && now >= p->drawn_ms) return 0;
  p->shown = true;
  p->drawn_ms = now;
  progress_draw(p, done, total);
  return 0;
}

void rp__progress_clear(struct rp__progress *p)
{
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}
