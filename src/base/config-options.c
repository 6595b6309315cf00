/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of reprise.ini: the rows, and the words that some of them take. */
#include "base/config-options.h"

static const char *const template_words[] = {[RP_TEMPLATE_CODER] = "coder", [RP_TEMPLATE_ROBOT] = "robot", NULL};
static const char *const abandon_words[] = {
    [RP_ABANDON_CHANNEL] = "channel", [RP_ABANDON_ALWAYS] = "always", [RP_ABANDON_NEVER] = "never", NULL};
static const char *const local_words[] = {[RP_LOCAL_ANY] = "any", [RP_LOCAL_UID] = "uid", NULL};

#define MONTH_S (86400.0 * 30)
#define GIB (1024.0 * 1024 * 1024)

#define ALL .min = 0
#define FROM(min_, max_) .min = (min_), .max = (max_)
#define WORDS(table, first) .words = (table) + (first), .min = (first)
#define SCOPE 0
#define GLOBAL RP_OPTION_GLOBAL
#define SCOPE_SERVER RP_OPTION_SERVER
#define GLOBAL_SERVER (RP_OPTION_GLOBAL | RP_OPTION_SERVER)

const struct rp__option rp__config_options[RP_CONFIG_N] = {
#define X(type_, member, name_, bounds, value_, place, help_)                                                          \
  {.name = #name_,                                                                                                     \
   .value = value_,                                                                                                    \
   .help = help_,                                                                                                      \
   .type = RP_OPTION_##type_,                                                                                          \
   .flags = place,                                                                                                     \
   .offset = offsetof(struct rp__scope_config, member),                                                                \
   bounds},
    RP_CONFIG_OPTIONS(X)
#undef X
};

const struct rp__option *rp__config_option(const char *name)
{
  for (size_t i = 0; i < RP_CONFIG_N; i++)
    if (strcmp(rp__config_options[i].name, name) == 0) return &rp__config_options[i];
  return NULL;
}
