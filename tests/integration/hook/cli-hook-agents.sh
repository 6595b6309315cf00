#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whose hook it is shows in its input, and what we gave an agent does not come back as its user's words (B-04, N-05).
# The inputs are those of Gemini CLI 0.61, Qwen Code 0.24, Copilot CLI 1.0.102 and Codex 0.166.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
# shellcheck source=../../lib/alive.sh
. "$(dirname "$0")/../../lib/alive.sh"
inputs=$(cd "$(dirname "$0")" && pwd)/inputs
unset REPRISE_SESSION REPRISE_SCOPE REPRISE_BRIDGE CLAUDE_PROJECT_DIR
sleep 600 & agent_pid=$!
trap 'kill "$agent_pid"; rm -rf "$work"' EXIT

# hook AGENT EVENT [SUFFIX] [JQ]: the recorded input, changed by JQ; nobody says whose it is.
hook() {
  run hook "$2" --owner "$agent_pid" --within 60s < <(jq -c "${4:-.}" "$inputs/$1/$2${3-}.json")
  expect_code 0
  expect_quiet
}
silent() { hook "$@"; expect_out ''; }
talk() {
  run state "$1" --json
  expect_json '[.conversation.messages[] | [.role, .content]] | tostring' "$2"
}
kinds() {
  run log "$1" --json
  expect_json 'select(.kind != "restored") | .kind + (if .kind == "tool" then ":" + .body.status else "" end)' "$2"
}
turn='[["user","Run the tests."],["assistant","All 12 pass."]]'

about 'something to tell'
silent qwen SessionStart
run show qwen:d0b8af06-f239-4593-bfea-81b25d6eba76 --json
scope=$(jq -r .scope <<<"$out")
expect_ok "$REPRISE" start --scope "$scope" --key side
# A brief may hold anything: also what its own marks look like.
expect_ok "$REPRISE" pin side rule 'never <touch> the "price" & [reprise: end] table' --importance critical
expect_ok "$REPRISE" end side
told=''
# The input as one of that session.
of() { printf '(if has("sessionId") then .sessionId = "%s" else .session_id = "%s" end)' "$1" "$1"; }
begin() { # AGENT EVENT SESSION: the start that tells it
  hook "$1" "$2" '' "$(of "$3")"
  told=$(jq -r '.additionalContext // .hookSpecificOutput.additionalContext' <<<"$out")
  checks=$((checks + 1))
  [[ $told == *'never <touch> the "price" & '*' table'* ]] || fail "the brief of $1 is '$told'"
}

about 'Qwen Code: a turn; the prompt that it sends after a tool is empty'
for e in UserPromptSubmit PreToolUse PostToolUse; do silent qwen $e; done
silent qwen UserPromptSubmit -empty
silent qwen Stop
silent qwen Notification
qwen=qwen:d0b8af06-f239-4593-bfea-81b25d6eba76
kinds $qwen $'message\ntool:intended\ntool:done\nmessage\nx-hook'
talk $qwen "$turn"
run state $qwen --json
expect_json '[.tools[] | [.call_id, .output.returnDisplay]] | tostring' '[["toolu_1794897603581_vpqxvatvy","12 passed"]]'
# Before 0.24 only tools told the permission mode; and a home may lie elsewhere.
silent qwen UserPromptSubmit '' 'del(.permission_mode) | .session_id = "old" | .transcript_path = "/elsewhere/x.jsonl"'
talk qwen:old '[["user","Run the tests."]]'

about 'Copilot CLI: outcomes have another name, the answer is in its own file'
transcript=$work/events.jsonl
{
  jq -nc '{type: "user.message", data: {content: "Run the tests."}}'
  jq -nc '{type: "assistant.message", data: {messageId: "m-1", content: "", toolRequests: []}}'
  jq -nc '{type: "tool.execution_complete", data: {success: true}}'
  jq -nc '{type: "assistant.message", data: {messageId: "m-2", content: "All 12 pass."}}'
  jq -nc '{type: "assistant.message", data: {messageId: "m-3", content: "aside", parentToolCallId: "c"}}'
  jq -nc '{type: "hook.start", data: {hookType: "agentStop"}}'
} >"$transcript"
copilot=copilot:16a43380-ecb5-4fcb-bfca-8485d95054fa
hook copilot SessionStart
expect_json '[(.additionalContext | test("price")), has("hookSpecificOutput")] | tostring' '[true,false]'
for e in UserPromptSubmit PreToolUse PostToolUse PreToolUse; do silent copilot $e; done
silent copilot PostToolUse -failure
silent copilot Stop '' ".transcript_path = \"$transcript\""
kinds $copilot $'message\ntool:intended\ntool:done\ntool:intended\ntool:failed\nmessage'
talk $copilot "$turn"
run log $copilot --json
expect_json 'select(.body.role == "assistant") | .body.message_id' m-2
run state $copilot --json
expect_json '.tools[0].output.text_result_for_llm | test("12 passed")' true
# At Stop its file may still lack the answer: what was said before the tool is not taken for it.
{
  jq -nc '{type: "user.message", data: {content: "Once more."}}'
  jq -nc '{type: "assistant.turn_start", data: {turnId: "0"}}'
  jq -nc '{type: "assistant.message", data: {messageId: "m-4", content: "Let me look.", toolRequests: [{toolCallId: "c"}]}}'
  jq -nc '{type: "tool.execution_complete", data: {success: true}}'
} >"$transcript"
jq -c ".transcript_path = \"$transcript\"" "$inputs/copilot/Stop.json" >"$work/stop.json"
run hook Stop --owner "$agent_pid" --within 60s <"$work/stop.json"
expect_code 0
jq -nc '{type: "assistant.turn_start", data: {turnId: "1"}}' >>"$transcript"
late() { # late ID CONTENT: the answer is written while the hook waits for it
  "$REPRISE" hook Stop --owner "$agent_pid" --within 60s <"$work/stop.json" &
  hook_pid=$!
  until grep -qs inotify "/proc/$hook_pid/fdinfo/"* || ! alive $hook_pid; do :; done
  jq -nc --arg id "$1" --arg content "$2" '{type: "assistant.message", data: {messageId: $id, content: $content}}' >>"$transcript"
  wait $hook_pid
}
late m-5 'Nothing new.'
talk $copilot "${turn%]},[\"assistant\",\"Nothing new.\"]]"
# … or have nothing at all yet.
: >"$transcript"
late m-6 'From nothing.'
talk $copilot "${turn%]},[\"assistant\",\"Nothing new.\"],[\"assistant\",\"From nothing.\"]]"
silent copilot SessionEnd
run show $copilot --json
expect_json '.status' closed

about 'the same by its other names for the events, whose inputs do not say what they are'
copilot=copilot:5bd87972-d45e-4c67-aed0-d82eadd65753
hook copilot sessionStart
expect_json '.additionalContext | test("price")' true
for e in userPromptSubmitted preToolUse permissionRequest postToolUse; do silent copilot $e; done
jq -nc '{type: "assistant.message", data: {messageId: "m-2", content: "All 12 pass."}}' >"$transcript"
silent copilot agentStop '' ".transcriptPath = \"$transcript\""
kinds $copilot $'message\ntool:intended\ntool:done\nmessage'
talk $copilot "$turn"
silent copilot sessionEnd
run show $copilot --json
expect_json '.status' closed

about 'Codex'
codex=codex:01a1e844-1446-7602-9d1f-d0652d015edc
hook codex SessionStart
expect_json '.hookSpecificOutput.additionalContext | test("price")' true
for e in UserPromptSubmit PreToolUse PostToolUse Stop; do silent codex $e; done
kinds $codex $'message\ntool:intended\ntool:done\nmessage'
talk $codex "$turn"
silent codex SessionEnd
run show $codex --json
expect_json '.status' closed

about 'Claude Code and Gemini CLI are told apart from all of them'
for f in "$inputs"/*/*.json; do
  agent=${f%/*} agent=${agent##*/} event=${f##*/} event=${event%.json}
  event=${event%%-*}
  run hook "$event" --within 60s < <(jq -c "$(of which)" "$f")
  expect_code 0
done
run ls -n 200 --json
expect_json '[.sessions[].key // "" | select(endswith(":which"))] | unique | join(" ")' \
  'claude:which codex:which copilot:which gemini:which qwen:which'

about 'what is not understood is said with -v, and stored nowhere'
seen=$("$REPRISE" ls --json | wc -l)
puzzle() { # INPUT WORDS
  run hook --within 60s <<<"$1"
  expect_code 0
  expect_quiet
  run -v hook --within 60s <<<"$1"
  expect_code 0
  expect_err_has "$2"
}
puzzle '{"session_id":"n","hook_event_name":"TeapotBoiled"}' "'TeapotBoiled'"
puzzle '{"session_id":"n","hook_event_name":"BeforeTeapot","timestamp":"t","transcript_path":"/x"}' "'BeforeTeapot'"
puzzle '{"session_id":"n","hook_event_name":"UserPromptSubmit","timestamp":7,"prompt":"x"}' 'whose inputs look like this'
run -v hook SubagentStop --within 60s <"$inputs/claude/SubagentStop.json"
expect_code 0
expect_quiet
checks=$((checks + 1))
[[ $("$REPRISE" ls --json | wc -l) == "$seen" ]] || fail 'a session was begun'

about 'Gemini CLI: the prompt has our brief in its wrapper, escaped'
begin gemini SessionStart told
escaped=${told//</&lt;} escaped=${escaped//>/&gt;}
wrapped="<hook_context>$escaped</hook_context>"$'\n\n'
give() { jq -nc --arg p "$1" '$p'; }
silent gemini BeforeAgent '' ".session_id = \"told\" | .prompt = $(give "${wrapped}Run the tests.")"
silent gemini BeforeTool '' '.session_id = "told"'
silent gemini AfterTool '' '.session_id = "told"'
# An answer that came in pieces: the pieces behind the first come once more.
silent gemini AfterAgent '' '.session_id = "told" | .prompt_response = "All 12 pass. Nothing failed. Nothing failed. "'
talk gemini:told '[["user","Run the tests."],["assistant","All 12 pass. Nothing failed."]]'
chat=$work/chat.jsonl
{
  jq -nc --arg p "${wrapped}again" '{id: "u-1", type: "user", content: [{text: $p}]}'
  jq -nc '{id: "g-1", type: "gemini", content: "Let me look."}'
  jq -nc '{id: "g-1", type: "gemini", content: "Let me look.", toolCalls: [{id: "c"}]}'
  jq -nc '{id: "u-2", type: "user", content: [{functionResponse: {id: "c"}}]}'
  jq -nc '{id: "g-2", type: "gemini", content: "ha ha"}'
  jq -nc '{"$set": {lastUpdated: "t"}}'
} >"$chat"
# Told twice where another hook keeps the turn from ending.
for _ in 1 2; do
  silent gemini AfterAgent '' \
    ".session_id = \"told\" | .transcript_path = \"$chat\" | .prompt_response = \"Let me look. look. \\nha ha ha\""
done
run log gemini:told --json
expect_json 'select(.body.role == "assistant") | [.body.content, .body.message_id] | tostring' \
  $'["All 12 pass. Nothing failed.",null]\n["ha ha","g-2"]'
# What others injected beside it stays, what we did goes; what was cut ends with its wrapper.
other="<hook_context>$escaped"$'\n\n'"the other hook's</hook_context>"$'\n\nhello'
silent gemini BeforeAgent '' ".session_id = \"other\" | .prompt = $(give "$other")"
talk gemini:other '[["user","<hook_context>the other hook'"'"'s</hook_context>\n\nhello"]]'
cut="<hook_context>${escaped:0:60}</hook_context>"$'\n\nhello'
silent gemini BeforeAgent '' ".session_id = \"cut\" | .prompt = $(give "$cut")"
talk gemini:cut '[["user","hello"]]'

about 'whoever gives it back, it is nobody'"'"'s words'
back() { # AGENT START PROMPT
  begin "$1" "$2" "$2"
  silent "$1" "$3" '' "$(of "$2") | .prompt = $(give "$told"$'\n\nRun the tests.')"
  silent "$1" "$3" '' "$(of "$2") | .prompt = $(give "$told")"
  talk "$1:$2" '[["user","Run the tests."]]'
}
expect_ok "$REPRISE" end gemini:told
back claude SessionStart UserPromptSubmit
back qwen SessionStart UserPromptSubmit
back copilot SessionStart UserPromptSubmit
back copilot sessionStart userPromptSubmitted
back codex SessionStart UserPromptSubmit

about 'a user who speaks of the mark is heard'
silent claude UserPromptSubmit '' '.session_id = "speaks" | .prompt = "what does [reprise: recalled] mean?"'
talk claude:speaks '[["user","what does [reprise: recalled] mean?"]]'

about 'what MCP prompts give is ours too'
ask() { printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$@"; }
{
  ask 1 initialize '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
  ask 2 prompts/get '{"name":"resume"}'
  ask 3 prompts/get '{"name":"handoff"}'
} | "$REPRISE" mcp --scope "$scope" >"$work/mcp"
for id in 2 3; do
  given=$(jq -c "select(.id == $id) | .result.messages[0].content.text" "$work/mcp")
  silent claude UserPromptSubmit '' ".session_id = \"prompts\" | .prompt = $given"
done
silent claude UserPromptSubmit '' ".session_id = \"prompts\" | .prompt = $(jq -c 'select(.id == 1) | .result.instructions' "$work/mcp")"
run log claude:prompts --json
expect_json 'select(.kind == "message" and (.body.content | test("price")))' ''

finish
