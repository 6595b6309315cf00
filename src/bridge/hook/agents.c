/* SPDX-License-Identifier: Apache-2.0 */
/* The agents whose hooks we know, and their words. A new one is a table and a row. */
#include "bridge/hook/hook.h"

/* Claude Code. Settings count timeouts in seconds. */
static const struct rp__hook_word claude_words[] = {
    {"SessionStart", RP_HOOK_START, RP_HOOK_PLAIN},
    {"UserPromptSubmit", RP_HOOK_PROMPT, RP_HOOK_PLAIN},
    {"PreToolUse", RP_HOOK_TOOL_BEFORE, RP_HOOK_MATCHED},
    {"PostToolUse", RP_HOOK_TOOL_AFTER, RP_HOOK_MATCHED},
    {"PostToolUseFailure", RP_HOOK_TOOL_AFTER, RP_HOOK_MATCHED},
    {"PreCompact", RP_HOOK_COMPACT, RP_HOOK_PLAIN},
    {"Stop", RP_HOOK_STOP, RP_HOOK_PLAIN},
    {"SessionEnd", RP_HOOK_END, RP_HOOK_PLAIN},
    {"Notification", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"StopFailure", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"SubagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {NULL, RP_HOOK_NONE, RP_HOOK_UNASKED},
};

/* Gemini CLI. Settings count timeouts in milliseconds. */
static const struct rp__hook_word gemini_words[] = {
    {"SessionStart", RP_HOOK_START, RP_HOOK_PLAIN},
    {"BeforeAgent", RP_HOOK_PROMPT, RP_HOOK_PLAIN},
    {"BeforeTool", RP_HOOK_TOOL_BEFORE, RP_HOOK_MATCHED},
    {"AfterTool", RP_HOOK_TOOL_AFTER, RP_HOOK_MATCHED},
    {"AfterAgent", RP_HOOK_STOP, RP_HOOK_PLAIN},
    {"SessionEnd", RP_HOOK_END, RP_HOOK_PLAIN},
    /* Comes before every request to the model, whether anything is compressed or not. */
    {"PreCompress", RP_HOOK_COMPACT, RP_HOOK_UNASKED},
    {"Notification", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"BeforeModel", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"AfterModel", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"BeforeToolSelection", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {NULL, RP_HOOK_NONE, RP_HOOK_UNASKED},
};

static const struct rp__hook_agent claude = {
    .name = "claude",
    .title = "Claude Code",
    .words = claude_words,
    .folder = ".claude",
    .folder_env = "CLAUDE_CONFIG_DIR",
    .timeout = 5,
};

static const struct rp__hook_agent gemini = {
    .name = "gemini",
    .title = "Gemini CLI",
    .words = gemini_words,
    .folder = ".gemini",
    .timeout = 5000,
    .named = true,
};

/* Its plugin (plugins/openclaw) speaks to the stream in Claude's words. */
static const struct rp__hook_agent openclaw = {.name = "openclaw", .title = "OpenClaw", .words = claude_words};

const struct rp__hook_agent *const rp__hook_agents[] = {&claude, &gemini, &openclaw, NULL};

const struct rp__hook_agent *rp__hook_agent_find(const char *name)
{
  for (size_t i = 0; rp__hook_agents[i]; i++)
    if (strcmp(rp__hook_agents[i]->name, name) == 0) return rp__hook_agents[i];
  return NULL;
}

const struct rp__hook_word *rp__hook_word_find(const struct rp__hook_agent *a, const char *name)
{
  for (const struct rp__hook_word *w = a->words; w->name; w++)
    if (strcmp(w->name, name) == 0) return w;
  return NULL;
}

const struct rp__hook_agent *rp__hook_agent_guess(const char *event, struct rp__json input)
{
  if (event && !rp__hook_word_find(&claude, event) && rp__hook_word_find(&gemini, event)) return &gemini;
  /* Where both have the word: only Gemini's inputs carry a time. */
  return rp__json_get(input, "timestamp").type == RP_JSON_STRING ? &gemini : &claude;
}
