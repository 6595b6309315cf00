/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in rp_error, and the lookup in the one table of errors. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>

#include "base/text.h"

static const rp_error_info table[] = {
#define X(symbol, code, name, http, rpc, exit, retry, text) {code, name, http, rpc, exit, retry, text},
    RP_ERROR_TABLE(X)
#undef X
};

const rp_error_info *rp_error_lookup(int code)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++)
    if (table[i].code == code) return &table[i];
  return &table[0];
}

/* Formats aside first: an argument may be the old message. */
static void error_set(rp_error *err, int code, const char *field, const char *fmt, va_list args) RP_PRINTF(4, 0);
static void error_set(rp_error *err, int code, const char *field, const char *fmt, va_list args)
{
  rp_error fresh = {.code = code};
  rp__text_vformat(fresh.message, sizeof fresh.message, fmt, args);
  if (field) rp__text_copy(fresh.field, sizeof fresh.field, field);
  *err = fresh;
}

int rp__fail(rp_error *err, int code, const char *fmt, ...)
{
  if (!err) return code;
  va_list args;
  va_start(args, fmt);
  error_set(err, code, NULL, fmt, args);
  va_end(args);
  return code;
}

int rp__fail_field(rp_error *err, int code, const char *field, const char *fmt, ...)
{
  if (!err) return code;
  va_list args;
  va_start(args, fmt);
  error_set(err, code, field, fmt, args);
  va_end(args);
  return code;
}

int rp__fail_nomem(rp_error *err)
{
  if (err) {
    *err = (rp_error){.code = RP_E_NOMEM};
    rp__text_copy(err->message, sizeof err->message, rp_error_lookup(RP_E_NOMEM)->text);
  }
  return RP_E_NOMEM;
}

/* Appends to a message that may be full already. */
static void message_append(rp_error *err, const char *s)
{
  size_t n = strlen(err->message);
  rp__text_copy(err->message + n, sizeof err->message - n, s);
}

int rp__fail_errno(rp_error *err, int errnum, const char *fmt, ...)
{
  int code;
  switch (errnum) {
  case ENOSPC:
  case EDQUOT: code = RP_E_FULL; break;
  case EROFS:
  case EACCES: code = RP_E_READONLY; break;
  case ENOENT: code = RP_E_FILE_NOT_FOUND; break;
  case ENOMEM: code = RP_E_NOMEM; break;
  default: code = RP_E_IO; break;
  }
  if (!err) return code;
  va_list args;
  va_start(args, fmt);
  error_set(err, code, NULL, fmt, args);
  va_end(args);
  /* Neither translated nor allocating, unlike strerror. */
  const char *text = strerrordesc_np(errnum);
  message_append(err, ": ");
  message_append(err, text ? text : "unknown error");
  return code;
}

void rp__hint(rp_error *err, const char *fmt, ...)
{
  if (!err) return;
  char hint[sizeof err->hint];
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(hint, sizeof hint, fmt, args);
  va_end(args);
  memcpy(err->hint, hint, sizeof hint);
}

int rp__wrap(rp_error *err, const char *fmt, ...)
{
  if (!err) return RP_E_FAILED;
  rp_error old = *err;
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(err->message, sizeof err->message, fmt, args);
  va_end(args);
  message_append(err, ": ");
  message_append(err, old.message);
  return err->code;
}
