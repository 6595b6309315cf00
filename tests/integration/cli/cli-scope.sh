#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hooks, MCP servers, editors and commands of one project have one scope, whichever folder of it they stand in (B-04, B-06).
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
export HOME=$work/user
mkdir -p "$work/repo/.git" "$work/repo/sub/deep" "$HOME/.claude" "$HOME/.git" "$HOME/plain/x"

# An agent that has sessions and nothing else.
cat >"$work/agent" <<'END'
#!/bin/bash
while IFS= read -r line; do
  id=$(jq -c '.id // empty' <<<"$line")
  case $(jq -r .method <<<"$line") in
    initialize) result='{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    session/new) result='{"sessionId":"by-acp"}' ;;
    *) result='{}' ;;
  esac
  [[ -z $id ]] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
END
chmod +x "$work/agent"
editor() { # what it asks second
  coproc PROXY { "$REPRISE" acp -- "$work/agent" 2>"$work/acp.err"; }
  local pid=$PROXY_PID answers=${PROXY[0]} questions=${PROXY[1]} line
  printf '%s\n%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}' "$1" >&"$questions"
  answer=''
  while IFS= read -r -t 20 line <&"$answers"; do
    [[ $(jq -r .id <<<"$line") != 2 ]] || { answer=$line; break; }
  done
  exec {questions}>&-
  wait "$pid"
}
hook() { # event, session
  jq -cn --arg e "$1" --arg s "$2" --arg d "$PWD" '{hook_event_name:$e,session_id:$s,cwd:$d,prompt:"feed the otters"}' |
    "$REPRISE" -v hook "$1" --agent claude --within 60s >/dev/null
}
serve() {
  printf '%s\n%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_status","arguments":{}}}' |
    "$REPRISE" mcp 2>/dev/null
}
expect_scopes() {
  run ls --all --json
  expect_json '[.sessions[].scope]|unique|join(" ")' "$1"
}

about 'all doors agree in a folder of a project'
cd "$work/repo" || exit 1
run start --key top
scope=$(jq -r .scope <<<"$out")
cd "$work/repo/sub/deep" || exit 1
hook UserPromptSubmit one
CLAUDE_PROJECT_DIR=$work/repo/sub hook UserPromptSubmit two
served=$(serve | jq -r 'select(.id==2).result.structuredContent.session_id')
editor "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"$PWD\",\"mcpServers\":[]}}"
expect_scopes "$scope"
run ls --json
expect_json '[.sessions[].key|select(.)]|sort|join(" ")' 'claude:one claude:two top'
expect_json '[.sessions[].session_id]|index("by-acp")!=null' true
expect_json "[.sessions[].session_id]|index(\"$served\")!=null" true

about 'what older programs began in the scope of a folder is found'
mv "$work/repo/.git" "$work/repo.git" # as if nobody looked for it
hook UserPromptSubmit former
run show claude:former --json
old=$(jq -r .scope <<<"$out")
editor "$(jq -cn --arg d "$PWD" '{jsonrpc:"2.0",id:2,method:"session/new",params:{cwd:$d,mcpServers:[]}}')"
former=$(jq -r .result.sessionId <<<"$answer")
mv "$work/repo.git" "$work/repo/.git"
checks=$((checks + 1))
[[ $old == deep-?????? ]] || fail "the folder's own scope is $old"
hook SessionStart former
hook UserPromptSubmit former
run ls --all --json
expect_json '[.sessions[]|select(.key=="claude:former")|.scope]|join(" ")' "$old"
editor "$(jq -cn --arg d "$PWD" --arg s "$former" '{jsonrpc:"2.0",id:2,method:"session/load",params:{sessionId:$s,cwd:$d,mcpServers:[]}}')"
expect_json '.error' null "$answer"
run show "$former" --json
expect_json .scope "$old"

about 'a home is no project to what lies in it, whatever it holds'
cd "$HOME/plain/x" || exit 1
hook UserPromptSubmit at-home
run show claude:at-home --json
expect_json '.scope[0:2]' x-
run start --json
expect_error usage
cd "$HOME" || exit 1
run start --key dotfiles # who stands in the repository means it
expect_json '.scope[0:5]' user-
hook UserPromptSubmit dots
run ls --json
expect_json '[.sessions[].key]|sort|join(" ")' 'claude:dots dotfiles'

about 'every door says what its start is about: folder and branch (X-05)'
mkdir -p "$work/shop/.git" && cd "$work/shop" || exit 1
echo 'ref: refs/heads/ada/login-cookie' >.git/HEAD
long_ago=$(date -u -d '-100 hours' +%Y-%m-%dT%H:%M:%SZ) # too long for its age alone
REPRISE_NOW=$long_ago run start --key old
old=$(jq -r .session_id <<<"$out")
REPRISE_NOW=$long_ago run append "$old" message '{"role":"user","content":"shop: login-cookie"}'
REPRISE_NOW=$long_ago run end "$old"
run brief --explain --json
expect_json '.candidates[0]|[.verdict,.overlap > 0.2]|tostring' '["restored",true]'
expect_ok "$REPRISE" start --key by-command
hook SessionStart by-hook
editor "$(jq -cn --arg d "$PWD" '{jsonrpc:"2.0",id:2,method:"session/new",params:{cwd:$d,mcpServers:[]}}')"
pinned='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"working_memory","arguments":{"action":"pin","label":"a","content":"b"}}}'
printf '%s\n%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
  "$pinned" | "$REPRISE" mcp --session by-server >/dev/null 2>&1
run audit --json
checks=$((checks + 1))
restored=$(jq -r --arg old "$old" 'select(.event=="session_restored" and (.fields.from_session_ids|index($old))).fields.new_session_id' <<<"$out" | wc -l)
[[ $restored == 4 ]] || fail "$restored of the four doors restored the session of the branch"

about 'the folder of the scope is a project (X-04)'
hook UserPromptSubmit asked
run state claude:asked --json
expect_json '.projects|join(" ")' shop

finish
