/* SPDX-License-Identifier: Apache-2.0 */
/* A tool session over the engine's rig, and tools called by name with JSON. */
#ifndef TEST_BRIDGE_H
#define TEST_BRIDGE_H

#include "unit/engine/rig.h"

#include "bridge/tool/tool-session.h"

#define BRIDGE_DOC 65536

/* Tests decide what is around a bridge, not the shell that runs them. */
static inline int bridge_setup(void **state)
{
  unsetenv("REPRISE_SESSION");
  unsetenv("REPRISE_SCOPE");
  unsetenv("REPRISE_BRIDGE");
  return rig_setup(state);
}

static inline struct rp__tool_session bridge_mind(struct rig *r, const char *scope)
{
  struct rp__tool_session m = {.e = r->e, .owner = RP_OWNER_SELF, .channel = "mcp"};
  snprintf(m.scope, sizeof m.scope, "%s", scope);
  return m;
}

static inline struct rp__json bridge_json(const char *text)
{
  rp_error err = {0};
  struct rp__json v;
  OK(rp__json_parse(text, strlen(text), NULL, &v, &err), err);
  return v;
}

static inline const struct rp__tool *bridge_tool(const char *name)
{
  for (const struct rp__tool *const *t = rp__tools; *t; t++)
    if (strcmp((*t)->name, name) == 0) return *t;
  fail_msg("there is no tool '%s'", name);
  return NULL;
}

/* Calls a tool: its code, and the document in a static buffer. */
static inline int bridge_try(struct rp__tool_session *m, const char *tool, const char *args, const char **ret_doc,
                             rp_error *err)
{
  static char doc[BRIDGE_DOC];
  RP_AUTOBUF struct rp__buf out = RP_BUF(BRIDGE_DOC);
  *err = (rp_error){0};
  int rc = rp__tool_call(m, bridge_tool(tool), args ? bridge_json(args) : (struct rp__json){0}, &out, err);
  if (rc) assert_int_equal(out.n, 0);
  assert_int_equal(rc, err->code);
  snprintf(doc, sizeof doc, "%s", out.p ? out.p : "");
  if (!rc) bridge_json(doc);
  *ret_doc = doc;
  return rc;
}

/* The document of a call that goes well. */
static inline const char *bridge_call(struct rp__tool_session *m, const char *tool, const char *args)
{
  rp_error err;
  const char *doc;
  int rc = bridge_try(m, tool, args, &doc, &err);
  if (rc) fail_msg("%s %s: %d %s", tool, args ? args : "", rc, err.message);
  return doc;
}

/* The error of a call that does not, which must have that code and name that field. */
static inline rp_error bridge_fail(struct rp__tool_session *m, const char *tool, const char *args, int code,
                                   const char *field)
{
  rp_error err;
  const char *doc;
  int rc = bridge_try(m, tool, args, &doc, &err);
  if (rc != code) fail_msg("%s %s: %d %s instead of %d", tool, args ? args : "", rc, err.message, code);
  assert_string_equal(err.field, field);
  return err;
}

/* The text that a model gets of a document. */
static inline const char *bridge_text(const char *tool, const char *doc)
{
  static char text[BRIDGE_DOC];
  RP_AUTOBUF struct rp__buf out = RP_BUF(BRIDGE_DOC);
  rp__tool_text(bridge_tool(tool), bridge_json(doc), &out);
  assert_int_equal(out.err, 0);
  snprintf(text, sizeof text, "%s", out.p ? out.p : "");
  return text;
}

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    const char *has_text_ = (text);                                                                                    \
    if (!strstr(has_text_, part)) fail_msg("'%s' is not in: %s", part, has_text_);                                     \
  } while (0)

#endif
