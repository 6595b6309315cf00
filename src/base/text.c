/* SPDX-License-Identifier: Apache-2.0 */
/* Text in buffers of fixed size: clipping, showing, formatting, copying. */
#include "base/text.h"

size_t rp__text_clip(const char *s, size_t n)
{
  /* A character has at most three bytes after its first; more of them is not UTF-8 and may be cut anywhere. */
  size_t tail = 0;
  while (tail < n && tail < 3 && ((unsigned char)s[n - 1 - tail] & 0xc0) == 0x80) tail++;
  if (tail == n) return n;
  unsigned char lead = (unsigned char)s[n - 1 - tail];
  size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return want > tail + 1 ? n - 1 - tail : n;
}

size_t rp__text_clip_word(const char *s, size_t n, size_t max)
{
  if (n <= max) return n;
  for (n = max; n > 0; n--)
    if ((unsigned char)s[n] <= ' ') return n;
  return 0;
}

const char *rp__text_shown(const char *s)
{
  bool name = true, telling = false;
  if (strnlen(s, RP_TEXT_SHOWN + 1) > RP_TEXT_SHOWN) return "(what was given, too long to be told)";
  for (const char *p = s; *p; p++) {
    name = name && (rp__is_alnum(*p) || strchr("._:-", *p));
    telling = telling || rp__is_digit(*p) || strchr("=@\"'", *p) || (*p == ':' && (p[1] == ' ' || p[1] == '/'));
  }
  return name || !telling ? s : "(what was given, not told back: it may be a credential)";
}

void rp__text_vformat(char *out, size_t size, const char *fmt, va_list args)
{
  if (size == 0) return;
  int n = vsnprintf(out, size, fmt, args);
  if (n < 0)
    out[0] = '\0';
  else if ((size_t)n >= size)
    out[rp__text_clip(out, size - 1)] = '\0';
  for (char *p = out; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
}

void rp__text_copy(char *out, size_t size, const char *s)
{
  if (size == 0) return;
  size_t n = strlen(s);
  if (n >= size) n = rp__text_clip(s, size - 1);
  memcpy(out, s, n);
  out[n] = '\0';
}
