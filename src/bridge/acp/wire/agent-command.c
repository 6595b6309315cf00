/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's command line as it is stored: a value is masked when the name before it is that of a secret. */
#include "bridge/acp/session/session.h"

#define NAME_MAX_CHARS 128
#define MASK "[REDACTED]"
/* Looks like a credential: whether one is masked behind a name tells what the redactor thinks of the name. */
#define PROBE "q7Zk3vQ9xLp4Tb2Wm8Rd6"

static bool is_name(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* Where it can't be told, it is one. */
static bool is_sensitive(rp_engine *e, const char *name, size_t n)
{
  char text[NAME_MAX_CHARS + sizeof PROBE + 1], *masked = NULL;
  while (n && *name == '-') name++, n--;
  if (!n || n > NAME_MAX_CHARS) return false;
  int len = snprintf(text, sizeof text, "%.*s=" PROBE, (int)n, name);
  if (rp_redact_check(e, text, (size_t)len, NULL, NULL, &masked, NULL) || !masked) return true;
  bool found = !strstr(masked, PROBE);
  rp_free(masked);
  return found;
}

/* NAME=…, --name=…, "Name: …": where the value begins, or 0. */
static size_t value_at(rp_engine *e, const char *arg)
{
  for (size_t i = 0, from = 0; arg[i]; i++) {
    if (is_name(arg[i])) continue;
    if ((arg[i] == '=' || arg[i] == ':') && is_sensitive(e, arg + from, i - from))
      return i + 1 + strspn(arg + i + 1, " ");
    from = i + 1;
  }
  return 0;
}

static char *masked(rp_engine *e, const char *before, const char *arg)
{
  bool named = before && before[0] == '-' && arg[0] != '-'; /* the one before may say what this one is */
  for (const char *c = before; named && *c; c++) named = is_name(*c);
  if (named && is_sensitive(e, before, strlen(before))) return strdup(MASK);
  size_t at = value_at(e, arg);
  if (!at || !arg[at]) return strdup(arg);
  char *text = NULL;
  return asprintf(&text, "%.*s" MASK, (int)at, arg) < 0 ? NULL : text;
}

char **rp__command_copy(rp_engine *e, const char *const *command)
{
  size_t n = 0;
  while (command && command[n]) n++;
  char **copy = calloc(n + 1, sizeof *copy);
  for (size_t i = 0; copy && i < n; i++) {
    copy[i] = masked(e, i ? command[i - 1] : NULL, command[i]);
    if (copy[i]) continue;
    rp__command_free(copy);
    return NULL;
  }
  return copy;
}

void rp__command_free(char **command)
{
  for (char **c = command; c && *c; c++) free(*c);
  free(command);
}
