#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where agents are told to run us: what install writes, what status and doctor say of it (B-04, O-06).
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
unset REPRISE_SESSION REPRISE_SCOPE REPRISE_BRIDGE CLAUDE_PROJECT_DIR CLAUDE_CONFIG_DIR COPILOT_HOME CODEX_HOME
work=$(cd "$work" && pwd -P)
export HOME=$work/h
mkdir -p "$HOME" "$work/p" "$work/bin dir"
cd "$work/p" || exit 1
self=$(readlink -f "$REPRISE")
use() { # FILTER EXPECTED: of the one use that the filter leaves
  run hook status --json
  expect_code 0
  expect_json ".uses[] | select($1) | [.agent, .as, .for, .exists, .this_program] | tostring" "$2"
}
command_of() { jq -r '[.hooks[][].hooks[].command][0]' "$1"; }

about 'nobody yet'
run hook status
expect_code 0
expect_out 'no agent is told to run this program'
run hook status --json
expect_json '.uses | length' 0
run doctor --json
expect_code 0
expect_json '.checks[] | select(.check == "hooks") | .status' ok

about 'a path is whole unless every shell finds the program'
# A folder of the user's own in PATH is in nobody else's.
cp "$self" "$work/bin dir/reprise"
(PATH="$work/bin dir:$PATH" && export PATH && reprise hook install --agent claude --yes >/dev/null 2>&1) || fail 'install'
checks=$((checks + 1))
[[ $(command_of "$HOME/.claude/settings.json") == "'$work/bin dir/reprise' hook SessionStart --agent claude" ]] ||
  fail "the command is $(command_of "$HOME/.claude/settings.json")"
# Through a link in PATH the link is named: what it points to may move.
mkdir "$work/links" && ln -s "$work/bin dir/reprise" "$work/links/reprise"
(PATH="$work/links:$PATH" && export PATH && reprise hook install --agent claude --yes >/dev/null 2>&1) || fail 'install'
checks=$((checks + 1))
[[ $(command_of "$HOME/.claude/settings.json") == "$work/links/reprise hook"* ]] || fail 'the link is not named'
if unshare -rm true 2>/dev/null; then
  mkdir "$work/sys" && cp "$self" "$work/sys/reprise"
  # shellcheck disable=SC2016
  unshare -rm sh -c 'mount --bind "$0" /usr/local/bin && PATH=/usr/local/bin:$PATH exec reprise hook install --agent claude --project "$1" --yes' \
    "$work/sys" "$work/p" >"$work/out" 2>"$work/err"
  code=$? out='' err=$(<"$work/err")
  expect_code 0
  checks=$((checks + 1))
  [[ $(command_of "$work/p/.claude/settings.json") == 'reprise hook SessionStart --agent claude' ]] || fail 'not by its name'
  rm -r "$work/p/.claude"
fi

about 'a program that is there, is another, is gone'
use '.as == "hooks"' '["claude","hooks","user",true,false]'
run hook status
expect_out_has 'which is another program'
run doctor
expect_code 0
expect_out_has '! hooks: Claude Code'
rm "$work/bin dir/reprise"
use '.as == "hooks"' '["claude","hooks","user",false,false]'
run hook status
expect_out_has '8 of 8 events'
expect_out_has 'which is not there'
run doctor
expect_code 1
expect_out_has "✗ hooks: Claude Code"
expect_out_has "'reprise hook install --agent claude' mends it"
run hook install --agent claude --yes </dev/null
expect_code 0
use '.as == "hooks"' '["claude","hooks","user",true,true]'
run doctor
expect_code 0
expect_out_has '✓ hooks: Claude Code'
run hook status --agent gemini --json
expect_json '.uses | length' 0

about 'some events are missing'
jq 'del(.hooks.Stop)' "$HOME/.claude/settings.json" >"$work/s" && cp "$work/s" "$HOME/.claude/settings.json"
run hook status --json
expect_json '.uses[0] | [.events, .events_wanted] | tostring' '[7,8]'
run doctor --json
expect_json '.checks[] | select(.check == "hooks") | [.status, (.detail | test("7 of 8 events"))] | tostring' '["warning",true]'
run hook uninstall --agent claude --yes </dev/null

about 'every agent has its own file'
install() { run hook install --agent "$@" --yes </dev/null; expect_code 0; }
install qwen
expect_json '.hooks | keys_unsorted | join(" ")' \
  'SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PreCompact Stop SessionEnd' "$(<"$HOME/.qwen/settings.json")"
install copilot
expect_json '[.hooks.SessionStart[0].hooks[0] | .type, .timeout] | tostring' '["command",5]' "$(<"$HOME/.copilot/hooks/reprise.json")"
install codex
expect_json '.hooks | has("PostToolUseFailure")' false "$(<"$HOME/.codex/hooks.json")"
install copilot --project "$work/p"
install codex --project "$work/p"
CODEX_HOME=$work/cx run hook install --agent codex --yes </dev/null
checks=$((checks + 1))
[[ -f $work/p/.github/hooks/reprise.json && -f $work/p/.codex/hooks.json && -f $work/cx/hooks.json ]] || fail 'a file is missing'
run hook status --json
expect_json '[.uses[] | [.agent, .for, .this_program] | join(" ")] | join(", ")' \
  'qwen user true, copilot user true, copilot project true, codex user true, codex project true'
run hook status --project "$HOME" --json
expect_json '[.uses[] | .agent] | join(" ")' 'qwen copilot codex'
for a in qwen copilot codex; do
  run hook uninstall --agent $a --yes </dev/null
  expect_code 0
  run hook uninstall --agent $a --project "$work/p" --yes </dev/null
done
checks=$((checks + 1))
[[ ! -e $HOME/.copilot/hooks/reprise.json && ! -e $HOME/.codex/hooks.json ]] || fail 'something was left behind'

about 'servers of MCP'
printf '{"mcpServers":{"mem":{"command":"%s","args":["mcp"]},"else":{"command":"/none"}},"projects":{"%s":{"mcpServers":{"reprise":{"command":"/gone/reprise"}}}}}' \
  "$self" "$work/p" >"$HOME/.claude.json"
mkdir -p "$HOME/.gemini" "$HOME/.codex"
printf '{"mcpServers":{"reprise":{"command":"no-such-reprise","args":["mcp"]},"web":{"url":"http://127.0.0.1:1/mcp"}}}' >"$HOME/.gemini/settings.json"
printf 'model = "m"\ncommand = "/none/reprise"\n[mcp_servers."reprise"]\nargs = ["mcp"]\ncommand = "%s" # ours\n[mcp_servers.other]\ncommand = "/none"\n' \
  "$self" >"$HOME/.codex/config.toml"
run hook status --json
expect_json '[.uses[] | [.agent, .as, .for, .name, .exists, .this_program] | map(tostring) | join(" ")] | join(", ")' \
  'claude mcp user mem true true, claude mcp project reprise false false, gemini mcp user reprise false false, codex mcp user reprise true true'
run doctor
expect_code 1
expect_out_has '✗ mcp: Gemini CLI'
expect_out_has 'no-such-reprise is not there; mend the entry reprise'
expect_err_has '2 problems'

about 'what is no settings file'
printf '{"mcpServers": // mine\n' >"$HOME/.gemini/settings.json"
run hook status --agent gemini --json
expect_code 0
expect_json '[.uses[] | [.as, (.error | length > 0)] | tostring] | join(" ")' '["hooks",true] ["mcp",true]'
run doctor --json
expect_json '[.checks[] | select(.detail | test("Gemini")) | .status] | unique | tostring' '["warning"]'
run hook status --project "$work/none"
expect_code 3

finish
