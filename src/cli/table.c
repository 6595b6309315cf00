/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, in the order in which the help lists them. */
#include "cli/cli.h"

/* clang-format off */
const struct rp__cmd *const rp__cmds[] = {
    &rp__cmd_start, &rp__cmd_append, &rp__cmd_heartbeat, &rp__cmd_checkpoint, &rp__cmd_end,
    &rp__cmd_ls, &rp__cmd_recap, &rp__cmd_show, &rp__cmd_state, &rp__cmd_log, &rp__cmd_search, &rp__cmd_evidence, &rp__cmd_chain,
    &rp__cmd_brief, &rp__cmd_continue, &rp__cmd_pin, &rp__cmd_unpin, &rp__cmd_pins, &rp__cmd_tasks,
    &rp__cmd_remember, &rp__cmd_memories, &rp__cmd_feel, &rp__cmd_mood,
    &rp__cmd_snapshots, &rp__cmd_restore, &rp__cmd_fork,
    &rp__cmd_export, &rp__cmd_import,
    &rp__cmd_acp, &rp__cmd_hook, &rp__cmd_mcp, &rp__cmd_serve, &rp__cmd_token,
    &rp__cmd_verify, &rp__cmd_doctor, &rp__cmd_stats, &rp__cmd_redact, &rp__cmd_audit,
    &rp__cmd_rm, &rp__cmd_trash, &rp__cmd_untrash, &rp__cmd_hold, &rp__cmd_gc, &rp__cmd_config, &rp__cmd_bench,
    &rp__cmd_demo, &rp__cmd_help, &rp__cmd_version, &rp__cmd_completion, &rp__cmd_demo_agent,
    NULL,
};
/* clang-format on */

const struct rp__opt rp__global_opts[RP_G_MAX] = {
    [RP_G_DB] = {"db", 0, RP_OPT_TEXT, "URL", "the store: sqlite:PATH (default $REPRISE_DB, or reprise.db at home)"},
    [RP_G_CONFIG] = {"config", 0, RP_OPT_TEXT, "FILE", "the configuration (default $REPRISE_CONFIG)"},
    [RP_G_JSON] = {"json", 0, RP_OPT_FLAG, NULL, "print JSON, one document or one per line, errors too"},
    [RP_G_UTC] = {"utc", 0, RP_OPT_FLAG, NULL, "tell times in UTC instead of the local zone ($TZ)"},
    [RP_G_NO_PAGER] = {"no-pager", 0, RP_OPT_FLAG, NULL, "do not page on a terminal ($REPRISE_PAGER, $PAGER, less)"},
    [RP_G_VERBOSE] = {"verbose", 'v', RP_OPT_FLAG, NULL, "say more; twice: everything"},
    [RP_G_QUIET] = {"quiet", 'q', RP_OPT_FLAG, NULL, "say nothing but errors"},
    [RP_G_HELP] = {"help", 'h', RP_OPT_FLAG, NULL, "explain the command, with an example"},
    [RP_G_VERSION] = {"version", 0, RP_OPT_FLAG, NULL, "print the version"},
};

const struct rp__cmd *rp__cmd_find(const char *name)
{
  for (size_t i = 0; rp__cmds[i]; i++)
    if (strcmp(rp__cmds[i]->name, name) == 0) return rp__cmds[i];
  return NULL;
}
