/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's name for people: of "@scope/name" and "name@version", as packages are called, the name. */
#include "bridge/acp/impl.h"

void rp__agent_name(const char *name, char ret[RP_ACP_NAME])
{
  const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
  if (slash && slash[1]) name = slash + 1;
  size_t n = name[0] ? 1 + strcspn(name + 1, "@") : 0;
  snprintf(ret, RP_ACP_NAME, "%.*s", (int)n, name);
}

void rp__agent_title(const struct rp__acp *a, char ret[RP_ACP_NAME + 16])
{
  char name[RP_ACP_NAME];
  rp__agent_name(a->caps.name, name);
  snprintf(ret, RP_ACP_NAME + 16, "%s%s", name[0] ? "agent " : "agent", name);
}
