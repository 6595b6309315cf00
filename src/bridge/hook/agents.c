/* SPDX-License-Identifier: Apache-2.0 */
/* The agents whose hooks Reprise knows, and the words that each of them uses. A new agent is a table and a row. */
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
    {"StopFailure", RP_HOOK_FAILURE, RP_HOOK_UNASKED},
    {"SubagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {0},
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
    {0},
};

/* Qwen Code: Claude's words in Gemini's frame. Headless it may say neither of start and end; without an end its run is
 * over when its process is. */
static const struct rp__hook_word qwen_words[] = {
    {"SessionStart", RP_HOOK_START, RP_HOOK_PLAIN},
    {"UserPromptSubmit", RP_HOOK_PROMPT, RP_HOOK_PLAIN},
    {"PreToolUse", RP_HOOK_TOOL_BEFORE, RP_HOOK_MATCHED},
    {"PostToolUse", RP_HOOK_TOOL_AFTER, RP_HOOK_MATCHED},
    {"PostToolUseFailure", RP_HOOK_TOOL_AFTER, RP_HOOK_MATCHED},
    {"PreCompact", RP_HOOK_COMPACT, RP_HOOK_PLAIN},
    {"Stop", RP_HOOK_STOP, RP_HOOK_PLAIN},
    {"SessionEnd", RP_HOOK_END, RP_HOOK_PLAIN},
    {"Notification", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"StopFailure", RP_HOOK_FAILURE, RP_HOOK_UNASKED},
    {"PermissionRequest", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"PostCompact", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {0},
};

/* GitHub Copilot CLI has two names for each event; what it sends goes by the one that it was asked for. */
static const struct rp__hook_word copilot_words[] = {
    {"SessionStart", RP_HOOK_START, RP_HOOK_PLAIN},
    {"UserPromptSubmit", RP_HOOK_PROMPT, RP_HOOK_PLAIN},
    {"PreToolUse", RP_HOOK_TOOL_BEFORE, RP_HOOK_PLAIN},
    {"PostToolUse", RP_HOOK_TOOL_AFTER, RP_HOOK_PLAIN},
    {"PostToolUseFailure", RP_HOOK_TOOL_AFTER, RP_HOOK_PLAIN},
    {"PreCompact", RP_HOOK_COMPACT, RP_HOOK_PLAIN},
    {"Stop", RP_HOOK_STOP, RP_HOOK_PLAIN},
    {"SessionEnd", RP_HOOK_END, RP_HOOK_PLAIN},
    {"Notification", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"ErrorOccurred", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"PermissionRequest", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"sessionStart", RP_HOOK_START, RP_HOOK_UNASKED},
    {"userPromptSubmitted", RP_HOOK_PROMPT, RP_HOOK_UNASKED},
    {"preToolUse", RP_HOOK_TOOL_BEFORE, RP_HOOK_UNASKED},
    {"postToolUse", RP_HOOK_TOOL_AFTER, RP_HOOK_UNASKED},
    {"postToolUseFailure", RP_HOOK_TOOL_AFTER, RP_HOOK_UNASKED},
    {"preCompact", RP_HOOK_COMPACT, RP_HOOK_UNASKED},
    {"agentStop", RP_HOOK_STOP, RP_HOOK_UNASKED},
    {"sessionEnd", RP_HOOK_END, RP_HOOK_UNASKED},
    {"notification", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"errorOccurred", RP_HOOK_NOTICE, RP_HOOK_UNASKED},
    {"permissionRequest", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"subagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"subagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {0},
};

/* Codex. Has no word for a tool that failed. */
static const struct rp__hook_word codex_words[] = {
    {"SessionStart", RP_HOOK_START, RP_HOOK_PLAIN},     {"UserPromptSubmit", RP_HOOK_PROMPT, RP_HOOK_PLAIN},
    {"PreToolUse", RP_HOOK_TOOL_BEFORE, RP_HOOK_PLAIN}, {"PostToolUse", RP_HOOK_TOOL_AFTER, RP_HOOK_PLAIN},
    {"PreCompact", RP_HOOK_COMPACT, RP_HOOK_PLAIN},     {"Stop", RP_HOOK_STOP, RP_HOOK_PLAIN},
    {"SessionEnd", RP_HOOK_END, RP_HOOK_PLAIN},         {"PermissionRequest", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"PostCompact", RP_HOOK_NONE, RP_HOOK_UNASKED},     {"SubagentStart", RP_HOOK_NONE, RP_HOOK_UNASKED},
    {"SubagentStop", RP_HOOK_NONE, RP_HOOK_UNASKED},    {0},
};

static const struct rp__hook_agent claude = {
    .name = "claude",
    .title = "Claude Code",
    .words = claude_words,
    .folder = ".claude",
    .file = "settings.json",
    .folder_env = "CLAUDE_CONFIG_DIR",
    .timeout = 5,
};

static const struct rp__hook_agent gemini = {
    .name = "gemini",
    .title = "Gemini CLI",
    .words = gemini_words,
    .folder = ".gemini",
    .file = "settings.json",
    .timeout = 5000,
    .named = true,
};

/* Its timeouts were milliseconds, and are seconds since 0.24, but from 1000 on still milliseconds. */
static const struct rp__hook_agent qwen = {
    .name = "qwen",
    .title = "Qwen Code",
    .words = qwen_words,
    .folder = ".qwen",
    .file = "settings.json",
    .timeout = 5000,
    .named = true,
};

/* Reads every file of its folder; this one is ours alone. */
static const struct rp__hook_agent copilot = {
    .name = "copilot",
    .title = "GitHub Copilot CLI",
    .words = copilot_words,
    .folder = ".copilot",
    .folder_env = "COPILOT_HOME",
    .project_folder = ".github",
    .file = "hooks/reprise.json",
    .timeout = 5,
    .plain = true,
};

static const struct rp__hook_agent codex = {
    .name = "codex",
    .title = "Codex",
    .words = codex_words,
    .folder = ".codex",
    .folder_env = "CODEX_HOME",
    .file = "hooks.json",
    .timeout = 5,
};

/* Its plugin (plugins/openclaw) speaks to the stream in Claude's words. */
static const struct rp__hook_agent openclaw = {.name = "openclaw", .title = "OpenClaw", .words = claude_words};

const struct rp__hook_agent *const rp__hook_agents[] = {&claude, &gemini, &qwen, &copilot, &codex, &openclaw, NULL};

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

/* ---- by shape ---- */

enum sign { TEXT = 1, ABSENT, HOLDS };

/*
 * What the inputs of each look like, the surest first; what fits no row is nobody's we know. Claude's have no time.
 * Copilot's do not say where the transcript is, but for a few, and then it has a name of its own.
 */
static const struct {
  const struct rp__hook_agent *agent;
  struct {
    const char *member;
    enum sign sign;
    const char *part; /* with HOLDS */
  } signs[2];
} shapes[] = {
    {&copilot, {{"sessionId", TEXT}}},
    {&copilot, {{"timestamp", TEXT}, {"transcript_path", ABSENT}}},
    {&copilot, {{"timestamp", TEXT}, {"transcript_path", HOLDS, "/events.jsonl"}}},
    {&qwen, {{"timestamp", TEXT}, {"transcript_path", HOLDS, "/.qwen/"}}},
    {&qwen, {{"timestamp", TEXT}, {"permission_mode", TEXT}}},
    {&gemini, {{"timestamp", TEXT}, {"transcript_path", TEXT}}},
    {&qwen, {{"timestamp", TEXT}, {"transcript_path", TEXT}}},
    {&codex, {{"timestamp", ABSENT}, {"turn_id", TEXT}}},
    {&codex, {{"timestamp", ABSENT}, {"transcript_path", HOLDS, "/rollout-"}}},
    {&claude, {{"timestamp", ABSENT}}},
};

static bool fits(struct rp__json input, const char *member, enum sign sign, const char *part)
{
  struct rp__json v = rp__json_get(input, member);
  if (sign == ABSENT) return v.type == RP_JSON_NONE;
  return v.type == RP_JSON_STRING && (sign == TEXT || memmem(v.p, v.n, part, strlen(part)));
}

const struct rp__hook_agent *rp__hook_agent_guess(const char *event, struct rp__json input)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(shapes); i++) {
    bool all = rp__hook_word_find(shapes[i].agent, event) != NULL;
    for (size_t k = 0; all && k < RP_ARRAY_SIZE(shapes[i].signs) && shapes[i].signs[k].member; k++)
      all = fits(input, shapes[i].signs[k].member, shapes[i].signs[k].sign, shapes[i].signs[k].part);
    if (all) return shapes[i].agent;
  }
  /* Gemini's own words say enough. */
  return rp__hook_word_find(&claude, event) ? NULL : rp__hook_word_find(&gemini, event) ? &gemini : NULL;
}

static const struct {
  const char *name, *also[2];
} names[] = {
    {"session_id", {"sessionId"}}, {"hook_event_name", {"hookName"}}, {"transcript_path", {"transcriptPath"}},
    {"tool_name", {"toolName"}},   {"tool_input", {"toolArgs"}},      {"tool_response", {"tool_result", "toolResult"}},
};

struct rp__json rp__hook_field(struct rp__json input, const char *name)
{
  struct rp__json v = rp__json_get(input, name);
  for (size_t i = 0; !v.type && i < RP_ARRAY_SIZE(names); i++) {
    if (strcmp(names[i].name, name) != 0) continue;
    for (size_t k = 0; !v.type && k < RP_ARRAY_SIZE(names[i].also) && names[i].also[k]; k++)
      v = rp__json_get(input, names[i].also[k]);
  }
  return v;
}
