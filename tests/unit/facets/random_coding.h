/* SPDX-License-Identifier: Apache-2.0 */
/* Random events of a coding session, as the doors of all agents write them: all that the digest reads. */
#ifndef RANDOM_CODING_H
#define RANDOM_CODING_H

#include "random_work.h"

/* Few, in two spellings, so that calls meet their outcomes. */
static inline const char *coding_id(struct dice *d)
{
  return WORK(d, "c1", "c2", "c3", "c\\u0031", "c4", "c5", "c6\\n");
}

static inline const char *coding_path(struct dice *d)
{
  return WORK(d, "/srv/ada/nova/src/main.c", "/srv/ada/nova/src/\\u00fcber.c", "README.md", "C:\\\\nova\\\\a.ts",
              "/srv/ada/nova/a/b/c/d/e/f/g/h.rs", "");
}

static inline const char *coding_command(struct dice *d)
{
  return WORK(d, "make test", "cd /srv/ada/nova && make test 2>&1 | tail -5", "make test -k", "npm run build", "ls -la",
              "git commit -m 'parser: reads tabs'", "git commit -qam 'release 0.4'",
              "git add -A && git commit -m 'docs: tabs'", "cd app && git commit --message 'app: tabs'",
              "git commit -m \\\"$(cat <<'EOF'\\nlexer: counts lines\\nEOF\\n)\\\"", "cargo build --release",
              "python3 \\u00e4.py\\n\\u0000", "");
}

static inline void random_prompt(struct dice *d, struct rp__buf *b)
{
  static const char *const said[] = {
      "Add a retry to the upload and write a test for it.",
      "ok",
      "Always run the linter before you commit. ",
      "Bitte nie die Datei config.yaml anfassen.",
      "weiter",
      "N'utilise pas de framework, il faut rester simple.",
      "Nunca borres la base de datos.",
      "sempre em UTF-8",
      "Non toccare i test, sistema solo il parser!",
      "\\u041d\\u0438\\u043a\\u043e\\u0433\\u0434\\u0430 \\u043d\\u0435 \\u0442\\u0440\\u043e\\u0433\\u0430\\u0439",
      "\\u4e0d\\u8981\\u6539 README \\u3002\\u7ee7\\u7eed",
      "\\u5fc5\\u305a\\u30c6\\u30b9\\u30c8\\u3092\\u66f8\\u3044\\u3066\\u304f\\u3060\\u3055\\u3044",
      "\\ud56d\\uc0c1 \\ud14c\\uc2a4\\ud2b8\\ub97c \\uc4f0\\uc138\\uc694",
      "[12:00:01] GET /api 500\\nError: connection refused\\n    at connect (net.js:12:3)\\n",
      "```c\\nint main(void)\\n```\\n# Plan\\n- first\\n- second\\n",
      "no, I will run it myself",
      "semper scribe",
      "\\ud800 \\u0000 \\u007f",
  };
  bool blocks = dice_below(d, 4) == 0;
  rp__buf_printf(b, "{\"role\":\"user\",%s\"content\":%s\"", WORK(d, "", "\"message_id\":\"p1\",", "\"continues\":1,"),
                 blocks ? "[{\"type\":\"image\"},{\"type\":\"text\",\"text\":" : "");
  for (int64_t i = dice_below(d, 4); i >= 0; i--)
    rp__buf_printf(b, "%s%s", said[dice_below(d, RP_ARRAY_SIZE(said))], WORK(d, " ", "\\n", ""));
  if (dice_below(d, 30) == 0)
    for (int64_t i = dice_below(d, 3000); i > 0; i--) rp__buf_printf(b, "word%d ", (int)i);
  rp__buf_str(b, blocks ? "\"}]}" : "\"}");
}

static inline void random_answer(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"role\":\"assistant\",%s%s\"content\":\"",
                 WORK(d, "\"message_id\":\"a1\",", "\"message_id\":\"a2\",", "\"message_id\":\"a\\u0031\",", ""),
                 WORK(d, "", "\"partial\":true,", "\"partial\":true,", "\"continues\":3,", "\"thought\":true,"));
  for (int64_t i = dice_below(d, 4); i > 0; i--)
    rp__buf_str(b, WORK(d, "Done. The upload is retried three times. ", "Let me look at the parser", "Fertig! ",
                        "\\u5b8c\\u6210\\u4e86\\u3002\\u8981\\u63d0\\u4ea4\\u5417\\uff1f", "Shall I commit it? ",
                        "- a point\\n", "| a | b |\\n", "I found these:\\n", "\\ud83d\\ude80 \\u0001",
                        "**bold** [link](http://x) `code` "));
  if (dice_below(d, 20) == 0)
    for (int64_t i = dice_below(d, 1500); i > 0; i--) rp__buf_str(b, WORK(d, "long ", "\\u00e9", "\\n", "\\u4e2d"));
  rp__buf_str(b, "\"}");
}

/* The tools of several agents: name and input. */
static inline void random_call(struct dice *d, struct rp__buf *b)
{
  switch (dice_below(d, 13)) {
  case 0:
    rp__buf_printf(b, "\"name\":\"%s\",\"input\":{\"command\":\"%s\",\"description\":\"Runs it\"}",
                   WORK(d, "Bash", "run_shell_command", "mcp__box__execute_command"), coding_command(d));
    return;
  case 1:
    rp__buf_printf(b, "\"name\":\"%s\",\"input\":{\"file_path\":\"%s\",\"old_string\":\"a\",\"new_string\":\"b\"}",
                   WORK(d, "Edit", "Write", "replace", "write_file", "MultiEdit"), coding_path(d));
    return;
  case 2:
    rp__buf_printf(
        b,
        "\"name\":\"%s\",\"input\":{\"input\":\"*** Begin Patch\\n*** Update File: %s\\n@@\\n-a\\n+b\\n*** Add "
        "File: %s\\n+c\\n*** End Patch\"}",
        WORK(d, "apply_patch", "apply_patch"), coding_path(d), coding_path(d));
    return;
  case 3:
    rp__buf_printf(
        b, "\"name\":\"shell\",\"input\":{\"command\":[\"bash\",\"-lc\",\"%s\"],\"workdir\":\"/srv/ada\"}",
        WORK(d, "make test", "apply_patch <<'EOF'\\n*** Begin Patch\\n*** Delete File: old.c\\n*** End Patch\\nEOF"));
    return;
  case 4:
    rp__buf_printf(b,
                   "\"name\":\"update_plan\",\"input\":{\"explanation\":\"e\",\"plan\":[{\"step\":\"Read\",\"status\":"
                   "\"completed\"},{\"step\":\"Write %d\",\"status\":\"%s\"}]}",
                   (int)dice_below(d, 5), WORK(d, "pending", "in_progress", "completed"));
    return;
  case 5:
    rp__buf_printf(b,
                   "\"name\":\"%s\",\"input\":{\"todos\":[{\"content\":\"Port %d\",\"status\":\"%s\",\"activeForm\":"
                   "\"Porting\"},7,{\"description\":\"Test\",\"status\":\"pending\"}]}",
                   WORK(d, "TodoWrite", "write_todos"), (int)dice_below(d, 9), WORK(d, "pending", "completed"));
    return;
  case 6:
    rp__buf_printf(b, "\"name\":\"TaskCreate\",\"input\":{\"subject\":\"Step %d\"}", (int)dice_below(d, 50));
    return;
  case 7:
    rp__buf_printf(b, "\"name\":\"TaskUpdate\",\"input\":{\"taskId\":\"%d\",\"status\":\"%s\"}", (int)dice_below(d, 6),
                   WORK(d, "in_progress", "completed", "deleted"));
    return;
  case 8:
    rp__buf_printf(
        b, "\"name\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"Which %s?\",\"options\":[]}]}",
        WORK(d, "port", "name", "colour"));
    return;
  case 9: rp__buf_str(b, "\"name\":\"ExitPlanMode\",\"input\":{\"plan\":\"# Plan\"}"); return;
  case 10:
    rp__buf_printf(b, "\"name\":\"%s\",\"input\":%s,\"acp\":{\"kind\":\"%s\",\"locations\":[{\"path\":\"%s\"}]}",
                   WORK(d, "`make test`", "Edit main.c", "Fetch it"), WORK(d, "{}", "{\"path\":\"x\"}", "null", "[]"),
                   WORK(d, "edit", "execute", "delete", "move", "read", "other"), coding_path(d));
    return;
  case 11:
    rp__buf_printf(b, "\"name\":\"%s\",\"input\":{\"pattern\":\"main\",\"path\":\"%s\"}",
                   WORK(d, "Grep", "mcp__files__search", "Read"), coding_path(d));
    return;
  default: rp__buf_printf(b, "\"name\":\"%s\"", WORK(d, "Bash", "Edit", "shell")); return;
  }
}

static inline void random_coding_tool(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"call_id\":\"%s\",", coding_id(d));
  random_call(d, b);
  rp__buf_printf(b, ",\"status\":\"%s\"",
                 WORK(d, "intended", "running", "running", "done", "done", "failed", "failed", "unknown", "else"));
  if (dice_below(d, 2))
    rp__buf_printf(b, ",\"output\":%s",
                   WORK(d, "\"Error: 2 tests failed\"", "{\"stderr\":\"fatal: no such file\\n\",\"exit_code\":1}",
                        "\"[main 1a2b3c4] parser: reads tabs\"", "\"blue\"",
                        "{\"exitCode\":0,\"stdout\":\"\\u0000ok\"}",
                        "\"The user doesn't want to proceed. the user said: use the other port\"", "[1]", "null"));
  if (dice_below(d, 6) == 0)
    rp__buf_printf(b, ",\"declined\":true%s", WORK(d, "", ",\"said\":\"not on main, please\"", ",\"said\":5"));
  rp__buf_char(b, '}');
}

static inline void random_coding_approval(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b,
                 "{\"id\":%s,\"status\":\"%s\",\"acp\":{\"toolCall\":{\"title\":%s,\"kind\":\"%s\",\"rawInput\":%s}}}",
                 WORK(d, "\"p1\"", "\"p2\"", "\"c1\"", "7"), WORK(d, "pending", "pending", "allowed", "denied"),
                 WORK(d, "\"make test\"", "\"Edit README.md\"", "null"), WORK(d, "execute", "edit", "other"),
                 WORK(d, "{\"command\":\"make test\"}", "{\"path\":\"README.md\"}", "null"));
}

static inline enum rp__kind random_coding(struct dice *d, struct rp__buf *b)
{
  switch (dice_below(d, 16)) {
  case 0 ... 2: random_prompt(d, b); return RP_KIND_MESSAGE;
  case 3 ... 5: random_answer(d, b); return RP_KIND_MESSAGE;
  case 6 ... 11: random_coding_tool(d, b); return RP_KIND_TOOL;
  case 12: random_coding_approval(d, b); return RP_KIND_APPROVAL;
  case 13:
    rp__buf_printf(b, "{\"items\":%s}",
                   WORK(d, "[]", "null", "[{\"content\":\"Port\",\"status\":\"pending\"},{\"content\":\"Test\"}]",
                        "[{\"content\":\"Port\",\"status\":\"completed\"},{\"content\":\"\\n\",\"status\":\"x\"}]"));
    return RP_KIND_TODO;
  case 14:
    rp__buf_printf(b, "{\"status\":\"%s\"}", WORK(d, "cancelled", "failed", "refused", "limit", "answered", "else"));
    return RP_KIND_TURN;
  default:
    if (dice_below(d, 2)) {
      rp__buf_printf(b, "{\"cause\":%s}", WORK(d, "\"crash\"", "\"clean\"", "\"upgrade\"", "\"reboot\"", "null"));
      return RP_KIND_RESTORED;
    }
    rp__buf_printf(b, "{\"settings\":%s}",
                   WORK(d, "{\"cues\":{\"rules\":[\"semper\",7,\"\"],\"go on\":[\"perge\"]}}", "{\"cues\":null}",
                        "{\"cues\":[]}", "null", "{\"cues\":{\"log lines\":[\"word#\",\"~?#\"],\"rules\":\"x\"}}",
                        "{\"cues\":{\"edit tools\":[\"grep\"],\"rules\":[\"S\\u0065mper\",\"w*\"]}}"));
    return RP_KIND_SESSION;
  }
}

#endif
