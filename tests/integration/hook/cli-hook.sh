#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hooks of coding agents (B-04, X-09, N-05): the inputs that Claude Code 2.1 and Gemini CLI 0.61 give, and their settings.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
inputs=$tests/integration/hook/inputs
unset REPRISE_SESSION REPRISE_SCOPE REPRISE_BRIDGE CLAUDE_PROJECT_DIR CLAUDE_CONFIG_DIR
export HOME=$work/home
mkdir -p "$HOME"

# A process that stands for the agent; its death is the run's.
agent_pid=''
new_agent() { sleep 600 & agent_pid=$!; }
end_agent() { kill -KILL "$agent_pid"; wait "$agent_pid" 2>/dev/null; agent_pid=''; }
trap '[[ -z $agent_pid ]] || kill "$agent_pid"; rm -rf "$work"' EXIT

# hook AGENT EVENT [FILE'S SUFFIX]: feeds the recorded input.
hook() {
  run hook "$2" --agent "$1" --owner "$agent_pid" --within 60s <"$inputs/$1/$2${3-}.json"
  expect_code 0
  expect_quiet
}
silent() { hook "$@"; expect_out ''; }
log_of() { run log "$1" --json; }
claude=claude:9beb957a-0aee-49d2-b16c-6f31e6775f1f
gemini=gemini:6c81347d-0e26-4e76-8c4f-04e10a626aea

about 'a cold start tells nothing (X-09)'
new_agent
silent claude SessionStart
run show $claude --json
expect_json '[.channel, .provider, .status, (.scope | test("^shop-[0-9a-f]{6}$"))] | tostring' '["hook","claude","created",true]'
expect_json '.meta.cwd' /srv/ada/shop
first=$(jq -r .session_id <<<"$out") scope=$(jq -r .scope <<<"$out")

about 'a turn'
silent claude UserPromptSubmit
silent claude PreToolUse
log_of $claude
expect_json 'select(.kind == "tool") | [.body.call_id, .body.name, .body.status, .body.input.command] | tostring' \
  '["toolu_01A","Bash","intended","make test"]'
silent claude PostToolUse
silent claude PreToolUse -second
silent claude PostToolUseFailure
silent claude Stop
silent claude SubagentStop
silent claude Notification
silent claude StopFailure
log_of $claude
expect_json '.kind' $'message\ntool\ntool\ntool\ntool\nmessage\nx-hook\nx-hook\nturn'
expect_json 'select(.kind == "turn") | .body | tostring' '{"status":"failed","reason":"429 Too Many Requests"}'
expect_json 'select(.kind == "message") | [.body.role, .body.content, .body.source] | tostring' \
  '["user","Why does the basket lose its items? 🛒","hook"]
["assistant","The cookie expires too early.","hook"]'
run state $claude --json
expect_json '[.tools[] | [.call_id, .status, .output]] | tostring' \
  '[["toolu_01A","done",{"stdout":"12 passed","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}],["toolu_02B","failed","Exit code 1"]]'

about 'the same start twice is one run, and a compaction makes a checkpoint'
silent claude PreCompact
run snapshots $claude --json
expect_json '[.snapshots[].reason] | tostring' '["manual"]'
silent claude SessionStart -compact
silent claude SessionStart
run show $claude --json
expect_json '[.epoch, .seq, .crash_recovered] | tostring' '[1,9,false]'

about 'the end, and what the next one is told, once'
silent claude SessionEnd
run show $claude --json
expect_json '.status' closed
log_of $claude
expect_out_has '"reason":"prompt_input_exit"'
expect_ok "$REPRISE" start --scope "$scope" --key side
expect_ok "$REPRISE" pin side rule 'never touch the price table' --importance critical
expect_ok "$REPRISE" end side
hook claude SessionStart -clear
expect_json '.hookSpecificOutput.hookEventName' SessionStart
expect_json '.hookSpecificOutput.additionalContext | test("never touch the price table")' true
silent claude SessionStart -clear
# What comes late to a session that has ended opens none.
silent claude Stop
silent claude PostToolUse
run show $claude --json
expect_json '[.session_id, .status] | tostring' "[\"$first\",\"closed\"]"

about 'a crash in the middle of a tool: its outcome is unknown (B-04)'
run hook PreToolUse --agent claude --owner "$agent_pid" --within 60s \
  < <(jq -c '.session_id = "77d3d52e-2f5e-4a4b-9d07-6f1f8e2a9f10" | .tool_use_id = "toolu_09Z"' "$inputs/claude/PreToolUse.json")
expect_code 0
end_agent
new_agent
hook claude SessionStart -clear
expect_json '.hookSpecificOutput.additionalContext | test("make test: may or may not have happened")' true
expect_json '.hookSpecificOutput.additionalContext | test("toolu_09Z")' false
end_agent

about 'Gemini CLI: calls have no ids of their own'
new_agent
hook gemini SessionStart
silent gemini BeforeAgent
silent gemini BeforeModel
silent gemini PreCompress
silent gemini BeforeTool
silent gemini AfterTool
silent gemini BeforeTool
silent gemini Notification
silent gemini AfterTool -error
silent gemini AfterAgent
run state $gemini --json
expect_json '[.tools[].status] | tostring' '["done","failed"]'
expect_json '[.tools[] | .input.command] | tostring' '["make test","make test"]'
expect_json '[.conversation.messages[] | [.role, .content]] | tostring' '[["user","Run the tests."],["assistant","All 12 pass."]]'
silent gemini SessionEnd
run show $gemini --json
expect_json '.status' closed
# Which agent it is shows in the input where nobody says it.
run hook --owner "$agent_pid" --within 60s <"$inputs/gemini/SessionStart.json"
expect_json '.hookSpecificOutput.hookEventName' SessionStart
run show $gemini --json
expect_json '.status' created

about 'an older Claude Code does not say what it said: its own file does'
transcript=$work/transcript.jsonl
{
  jq -nc '{type: "user", message: {role: "user", content: "hi"}}'
  jq -nc '{type: "assistant", uuid: "u-1", message: {role: "assistant", content: [{type: "text", text: "hello"}]}}'
  jq -nc '{type: "user", message: {role: "user", content: "and now?"}}'
  jq -nc '{type: "assistant", uuid: "u-2", message: {role: "assistant", content: [{type: "text", text: "now this"}]}}'
  jq -nc '{type: "assistant", uuid: "u-3", message: {role: "assistant", content: [{type: "tool_use", id: "t", name: "Read", input: {}}]}}'
  jq -nc '{type: "user", message: {role: "user", content: [{type: "tool_result", tool_use_id: "t", content: "x"}]}}'
  jq -nc '{type: "assistant", uuid: "u-4", isSidechain: true, message: {role: "assistant", content: [{type: "text", text: "aside"}]}}'
  printf '{"type":"assistant","uuid":"half a line'
} >"$transcript"
old() { jq -c --arg t "$1" '.session_id = "old" | .transcript_path = $t' "$inputs/claude/Stop-before-2.1.json"; }
run hook Stop --agent claude --owner "$agent_pid" --within 60s < <(old "$transcript")
expect_code 0
log_of claude:old
expect_json 'select(.kind == "message") | [.body.role, .body.content, .body.message_id] | tostring' '["assistant","now this","u-2"]'
mkfifo "$work/fifo"
for odd in "$work/nothing" "$work/fifo" "$work" /dev/zero; do
  run hook Stop --agent claude --owner "$agent_pid" --within 60s < <(old "$odd")
  expect_code 0
  expect_quiet
done
log_of claude:old
expect_json 'select(.kind == "message") | .body.content' 'now this'

about 'whatever goes wrong, the agent never notices'
bad() {
  run "$@"
  expect_code 0
  expect_out ''
  expect_quiet
}
ok=$inputs/claude/UserPromptSubmit.json
bad hook UserPromptSubmit </dev/null
bad hook UserPromptSubmit <<<'{"session_id":'
bad hook UserPromptSubmit <<<'[]'
bad hook UserPromptSubmit <<<'{"session_id":"q","prompt":7}'
bad hook UserPromptSubmit <<<'{"prompt":"to nobody"}'
bad hook PreToolUse <<<'{"session_id":"q"}'
bad hook NoSuchEvent --agent claude <"$ok"
bad hook UserPromptSubmit --no-such-option <"$ok"
bad hook UserPromptSubmit --agent nobody <"$ok"
bad hook a b c <"$ok"
bad --db sqlite:/proc/nowhere/x.db hook UserPromptSubmit <"$ok"
bad --db nonsense: hook UserPromptSubmit <"$ok"
bad --config "$work/no-such.ini" hook UserPromptSubmit <"$ok"
printf 'not a database' >"$work/junk.db"
bad --db "sqlite:$work/junk.db" hook UserPromptSubmit <"$ok"
head -c 20000000 /dev/zero | tr '\0' ' ' >"$work/large"
bad hook UserPromptSubmit --within 60s <"$work/large"
"$REPRISE" hook SessionStart --within 60s <"$inputs/claude/SessionStart.json" >/dev/full 2>"$work/err"
code=$? out='' err=$(<"$work/err")
expect_code 0
expect_quiet
run -v hook UserPromptSubmit <<<'{"session_id":"q","prompt":7}'
expect_code 0
expect_err_has 'prompt'

about 'nor does it wait for long'
exec 9<>"$work/fifo"
bad -v hook UserPromptSubmit --within 200ms <"$work/fifo"
exec 9>&-
if command -v python3 >/dev/null; then
  run hook UserPromptSubmit --agent claude --within 60s <"$ok"
  coproc holder { python3 -c '
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()' "$work/test.db"; }
  read -r _ <&"${holder[0]}"
  bad hook UserPromptSubmit --agent claude --within 500ms <"$ok"
  eval "exec ${holder[1]}>&-"
  wait "$holder_PID"
fi

about 'inside another bridge: a guest, nothing told, nothing begun'
expect_ok "$REPRISE" start --scope "$scope" --key host --owner "$agent_pid"
expect_ok "$REPRISE" append host message '{"role":"user","content":"from the editor"}'
run show host --json
host=$(jq -r .session_id <<<"$out")
before=$("$REPRISE" ls --json | wc -l)
export REPRISE_SESSION=$host
nested() { jq -c '.session_id = "nested"' "$inputs/claude/$1.json"; }
for e in SessionStart UserPromptSubmit PreToolUse SessionEnd; do
  run hook $e --agent claude --within 60s < <(nested $e)
  expect_code 0
  expect_out ''
done
log_of "$host"
expect_json 'select(.kind != "restored") | .kind' $'message\nmessage\ntool'
told=$(jq -s 'last.seq' <<<"$out")
# A bridge that journals itself has all that already.
REPRISE_BRIDGE=acp run hook UserPromptSubmit --agent claude --within 60s < <(nested UserPromptSubmit)
expect_code 0
REPRISE_BRIDGE=acp run hook PreCompact --agent claude --within 60s < <(nested PreCompact)
expect_code 0
log_of "$host"
expect_json '.seq' "$(seq "$told")"
run snapshots "$host" --json
expect_json '.snapshots[-1].seq' "$told"
unset REPRISE_SESSION
checks=$((checks + 1))
[[ $("$REPRISE" ls --json | wc -l) == "$before" ]] || fail 'a session was begun'
run show "$host" --json
expect_json '.ended_at' null

about 'a stream: its sessions live and die with it (X-18)'
speak() { printf '%s\n' "$1" >&"${stream[1]}"; IFS= read -r -t 60 out <&"${stream[0]}"; }
open_stream() { coproc stream { exec "$REPRISE" hook --stream --scope claw 2>"$work/err"; }; stream_pid=$!; }
open_stream
speak '{"id":1,"hook_event_name":"SessionStart","session_id":"agent:main:main"}'
expect_json '[.id, .ok, has("context")] | tostring' '[1,true,false]'
speak '{"id":2,"tool":"working_memory","session_id":"agent:main:main","arguments":{"action":"pin","label":"gap","content":"mind the gap"}}'
expect_json '[.id, .ok, (.result | type)] | tostring' '[2,true,"object"]'
speak '{"id":21,"tool":"recall","session_id":"agent:main:main","arguments":{"query":"\x"}}'
expect_json '[.id, .ok, .error.code] | tostring' '[21,false,"json.malformed"]'
speak 'what?'
expect_json '[.id, .ok, .error.code] | tostring' '[null,false,"json.malformed"]'
kill -KILL "$stream_pid"
wait "$stream_pid" 2>/dev/null
open_stream
speak '{"id":3,"hook_event_name":"SessionStart","session_id":"agent:main:main"}'
expect_json '.context | test("crashed") and test("mind the gap")' true
kill -TERM "$stream_pid"
wait "$stream_pid"
code=$?
expect_code 0
run show openclaw:agent:main:main --json
expect_json '[.status, .crash_recovered] | tostring' '["closed",true]'
run --db sqlite:/proc/nowhere/x.db hook --stream </dev/null
checks=$((checks + 1))
[[ $code != 0 && -n $err ]] || fail 'a stream without a store says nothing'

about 'the owner is the agent, whatever shell stands between'
if command -v python3 >/dev/null; then
  # shellcheck disable=SC2016
  python3 -c '
import os, subprocess, sys
for shell in (["sh", "-c"], ["bash", "-c"], ["sh", "-c", "sh -c \"$0; true\""]):
    subprocess.run(shell + [os.environ["REPRISE"] + " hook SessionStart --agent claude --within 60s"], check=True,
                   input=open(sys.argv[1], "rb").read().replace(b"9beb957a", b"owned%03d" % len(shell)))
subprocess.run([os.environ["REPRISE"], "ls", "--all", "--status", "created", "--json"], check=True)
sys.stdin.read()' "$inputs/claude/SessionStart.json" </dev/null >"$work/out" 2>"$work/err"
  code=$? out=$(<"$work/out") err=$(<"$work/err")
  expect_code 0
  expect_out_has claude:owned002-0aee
  expect_out_has claude:owned003-0aee
  # That process has ended: so have its runs.
  hook claude SessionStart -resume
  run show claude:owned002-0aee-49d2-b16c-6f31e6775f1f --json
  expect_json '.crash_recovered' true
fi

about 'settings: shown first, written whole, taken away exactly'
mkdir -p "$work/p/.claude"
settings=$work/p/.claude/settings.json
printf '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"PreToolUse": [\n\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine"}]}\n\t\t],\n\t\t"Stop": [  ]\n\t},\n\t"env": {"A": "b" }\n}' >"$settings"
chmod 640 "$settings"
cp "$settings" "$work/original"
same() { checks=$((checks + 1)); cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
install() { run hook install --agent claude --project "$work/p" "$@" </dev/null; }
install
expect_code 2
expect_err_has '--yes'
same "$settings" "$work/original"
install --dry-run
expect_code 0
expect_out_has '+			{'
expect_out_has ' hook SessionStart --agent claude'
expect_out_lacks './mine"}]}
-'
same "$settings" "$work/original"
shown=$out
install --dry-run --json
expect_code 0
expect_json '[.changed, .written] | tostring' '[true,false]'
expect_json '.diff' "$shown"
same "$settings" "$work/original"
install --yes
expect_code 0
expect_out_has '+++ '
expect_json '[.model, .env.A, .hooks.PreToolUse[0].hooks[0].command] | tostring' '["opus","b","./mine"]' "$(<"$settings")"
expect_json '.hooks | keys_unsorted | tostring' \
  '["PreToolUse","Stop","SessionStart","UserPromptSubmit","PostToolUse","PostToolUseFailure","PreCompact","SessionEnd"]' "$(<"$settings")"
expect_json '.hooks.PreToolUse[1] | [.matcher, .hooks[0].type, .hooks[0].timeout] | tostring' '["*","command",5]' "$(<"$settings")"
expect_json '.hooks.Stop[0] | has("matcher")' false "$(<"$settings")"
same "$settings.reprise-backup" "$work/original"
checks=$((checks + 1))
[[ $(stat -c %a "$settings") == 640 ]] || fail 'the mode changed'
cp "$settings" "$work/installed"
install --yes
expect_code 0
expect_out ''
expect_err_has 'nothing to change'
same "$settings" "$work/installed"
run hook install --agent claude --project "$work/p" --yes --json </dev/null
expect_json '[.agent, .changed, .written, .diff] | tostring' '["claude",false,false,""]'

about 'what was written runs'
command=$(jq -r '.hooks.UserPromptSubmit[0].hooks[0].command' "$settings")
sh -c "$command" <"$inputs/claude/UserPromptSubmit.json" >"$work/out" 2>"$work/err"
code=$? out=$(<"$work/out") err=$(<"$work/err")
expect_code 0
expect_quiet

about 'taking away'
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_code 0
same "$settings" "$work/original"
checks=$((checks + 1))
[[ ! -e $settings.reprise-backup ]] || fail 'the backup stayed'
install --yes
sed -i 's/opus/sonnet/' "$settings"
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_code 0
expect_json '.hooks | keys_unsorted | tostring' '["PreToolUse"]' "$(<"$settings")"
jq -S . "$settings" >"$work/a"
jq -S 'del(.hooks.Stop) | .model = "sonnet"' "$work/original" >"$work/b"
same "$work/a" "$work/b"
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_code 0
expect_err_has 'nothing to change'
# A file of several lines comes back byte for byte; one that install made goes.
printf '{\n  "model": "opus"\n}\n' >"$settings"
cp "$settings" "$work/original"
install --yes
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
same "$settings" "$work/original"
rm -f "$settings"*
install --yes
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
checks=$((checks + 1))
[[ -z $(ls -A "$work/p/.claude") ]] || fail 'something was left behind'

about 'a file that was empty is empty again, and ours are known by what they say'
: >"$settings"
install --yes
install --yes --scope nova
expect_code 0
expect_json '[.hooks[][].hooks[].command | test(" --agent claude --scope nova$")] | all' true "$(<"$settings")"
expect_json '.hooks | length' 8 "$(<"$settings")"
run hook uninstall --agent claude --project "$work/p" --scope nova --yes </dev/null
expect_code 0
checks=$((checks + 1))
[[ -e $settings && ! -s $settings && ! -e $settings.reprise-backup ]] || fail 'it is not the empty file that it was'
# And one that holds blanks, whatever the commands were at last.
printf ' \n\n' >"$settings"
cp "$settings" "$work/original"
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_err_has 'nothing to change'
same "$settings" "$work/original"
install --yes
same "$settings.reprise-backup" "$work/original"
install --yes --scope nova
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_code 0
same "$settings" "$work/original"
rm -f "$settings"
install --yes
install --yes --scope nova
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
checks=$((checks + 1))
[[ -z $(ls -A "$work/p/.claude") ]] || fail 'something was left behind'
install --yes --scope 'no name'
expect_code 2
expect_err_has 'no name'
jq -n '{hooks: {Stop: [{hooks: [{type: "command", command: "/opt/memory/reprise hook Stop --agent claude"}]}]}}' >"$settings"
install --yes
expect_json '.hooks.Stop | length' 1 "$(<"$settings")"
rm -f "$settings"*

about 'a program of a build tree'
mkdir -p "$work/tree/src/cli" "$work/bin"
touch "$work/tree/build.ninja"
cp "$REPRISE" "$work/tree/src/cli/reprise"
cp "$REPRISE" "$work/bin/reprise"
REPRISE=$work/tree/src/cli/reprise run hook install --agent claude --project "$work/p" --yes </dev/null
expect_err_has 'the program of a build tree'
REPRISE=$work/bin/reprise run hook install --agent claude --project "$work/p" --yes </dev/null
expect_code 0
checks=$((checks + 1))
[[ $err != *'build tree'* ]] || fail 'an installed program is taken for a built one'
rm -rf "$settings"* "${work:?}/tree" "${work:?}/bin"

about 'what other programs are told stays'
jq -n '{hooks: {SessionStart: [{hooks: [{type: "command", command: "echo hook SessionStart --agent claude"}]}],
  Stop: [{hooks: [{type: "command", command: "my-reprise hook Stop --agent claude"}]},
    {hooks: [{type: "command", command: "reprise log last; x hook Stop --agent claude"}]}]}}' >"$settings"
cp "$settings" "$work/original"
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_err_has 'nothing to change'
install --yes
expect_json '[.hooks.SessionStart, .hooks.Stop | length] | tostring' '[2,3]' "$(<"$settings")"
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_err_has 'our hooks are taken out'
same "$settings" "$work/original"
ln -s "$REPRISE" "$work/it's mine" # quoted, and under another name
rm -f "$settings"*
"$work/it's mine" hook install --agent claude --project "$work/p" --yes </dev/null >/dev/null 2>&1
"$work/it's mine" --db sqlite:x hook install --agent claude --project "$work/p" --yes </dev/null >/dev/null 2>&1
expect_json '.hooks.Stop | length' 1 "$(<"$settings")"
rm -f "$settings"*

about 'a backup that is older than the file'
echo '{"model":"old"}' >"$settings.reprise-backup"
install --yes
run hook uninstall --agent claude --project "$work/p" --yes </dev/null
expect_err_has 'removed, for it held nothing but our hooks'
checks=$((checks + 1))
[[ ! -e $settings && -e $settings.reprise-backup ]] || fail 'an empty file was left, or the backup went'
rm -f "$settings"*

about 'what somebody else writes while it asks stays'
if command -v python3 >/dev/null; then
  for verb in install uninstall; do
    python3 - "$settings" "$verb" "$work/p" >"$work/out" 2>&1 <<'PY'
import os, pty, subprocess, sys
settings, verb, project = sys.argv[1:]
base = [os.environ["REPRISE"], "hook"]
tail = ["--agent", "claude", "--project", project]
open(settings, "w").write('{"model":"a"}\n')
if verb == "uninstall":
    subprocess.run(base + ["install"] + tail + ["--yes"], check=True, capture_output=True)
pid, fd = pty.fork()
if pid == 0:
    os.execv(base[0], base + [verb] + tail)
said = b""
while b"Write this" not in said:
    said += os.read(fd, 4096)
theirs = '{"model":"b","permissions":{"deny":["Bash(rm*)"]}}\n'
open(settings, "w").write(theirs)
os.write(fd, b"y\n")
said = b""
try:
    while more := os.read(fd, 4096):
        said += more
except OSError:
    pass
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 8, said
assert b"changed meanwhile" in said, said
assert open(settings).read() == theirs, open(settings).read()
PY
    code=$? out=$(<"$work/out")
    expect_code 0
    rm -f "$settings"*
  done
fi

about 'paths of the commands hold wherever the agent runs them'
(cd "$work" && run --db sqlite:rel/x.db --config rel.ini hook install --agent claude --project p --yes </dev/null
  [[ $code == 0 ]]) || fail 'install'
expect_json '[.hooks[][].hooks[].command | contains("--db sqlite:'"$(cd "$work" && pwd -P)"'/rel/x.db --config '"$(cd "$work" && pwd -P)"'/rel.ini ")] | all' \
  true "$(<"$settings")"
rm -f "$settings"*

about 'hooks and an MCP server of one agent: one session, one brief (N-05, X-09)'
if command -v python3 >/dev/null; then
  python3 - "$inputs/claude/SessionStart.json" >"$work/out" 2>"$work/err" <<'PY'
import json, os, subprocess, sys
reprise, start = os.environ["REPRISE"], json.load(open(sys.argv[1]))
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

def hook(event, sid, **more):
    given = dict(start, session_id=sid, hook_event_name=event, **more)
    command = "%s hook %s --agent claude --scope kin --within 60s; true" % (reprise, event)
    return subprocess.run(["sh", "-c", command], input=json.dumps(given).encode(), capture_output=True, check=True).stdout.decode()

class Mcp:
    def __init__(self):
        self.p = subprocess.Popen([reprise, "mcp", "--scope", "kin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.told = self.ask("initialize", HELLO)["instructions"]

    def ask(self, method, params):
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())["result"]

    def call(self, tool, **args):
        return self.ask("tools/call", {"name": tool, "arguments": args})["structuredContent"]

    def close(self):
        self.p.stdin.close()
        assert self.p.wait(60) == 0

def sessions():
    out = subprocess.run([reprise, "ls", "--scope", "kin", "--json"], capture_output=True, check=True).stdout
    return out.decode().count('"session_id"')

hook("SessionStart", "k1")
m = Mcp()
m.call("working_memory", action="pin", label="gap", content="mind the gap")
hook("UserPromptSubmit", "k1", prompt="hello")
assert m.call("session_status")["key"] == "claude:k1" and sessions() == 1
m.close()
hook("SessionEnd", "k1")
m = Mcp()
assert "mind the gap" in m.told, m.told
assert hook("SessionStart", "k2") == ""
hook("UserPromptSubmit", "k2", prompt="hello")
assert sessions() == 2
hook("SessionEnd", "k2")
m.close()
hooked = json.loads(hook("SessionStart", "k3"))["hookSpecificOutput"]["additionalContext"]
m = Mcp()
assert "mind the gap" in hooked and "mind the gap" not in m.told
assert sessions() == 3
m.close()
PY
  code=$? out=$(<"$work/out") err=$(<"$work/err")
  expect_code 0
  expect_quiet
fi

about 'settings of people: links are followed, what is no JSON is left alone'
printf '{"a":1}' >"$work/dotfile"
ln -s "$work/dotfile" "$settings"
install --yes
expect_code 0
checks=$((checks + 1))
[[ -L $settings ]] || fail 'the link is gone'
expect_json '[.a, (.hooks | length)] | tostring' '[1,8]' "$(<"$work/dotfile")"
rm "$settings"
refused() {
  printf '%s' "$1" >"$settings"
  cp "$settings" "$work/original"
  install --yes
  expect_code 2
  expect_err_has "$2"
  same "$settings" "$work/original"
}
refused '{"model": "opus", // mine
}' 'byte 18'
refused '{"a":1' 'byte'
refused '[]' 'no object'
refused '{"hooks":[]}' "'hooks'"
refused '{"hooks":{"Stop":{}}}' "'hooks.Stop'"

about 'for all projects of a user'
CLAUDE_CONFIG_DIR=$work/elsewhere run hook install --agent claude --user --yes </dev/null
expect_code 0
expect_json '.hooks | length' 8 "$(<"$work/elsewhere/settings.json")"
run hook install --agent gemini --yes </dev/null
expect_code 0
expect_json '.hooks | keys_unsorted | tostring' \
  '["SessionStart","BeforeAgent","BeforeTool","AfterTool","AfterAgent","SessionEnd"]' "$(<"$HOME/.gemini/settings.json")"
expect_json '.hooks.AfterTool[0].hooks[0] | [.name, .timeout] | tostring' '["reprise",5000]' "$(<"$HOME/.gemini/settings.json")"
run hook install --yes </dev/null
expect_code 2
expect_err_has '--agent'
run hook install --agent openclaw --yes </dev/null
expect_code 2
run hook install --agent claude --project "$work/none" --yes </dev/null
expect_code 3
run hook install --agent claude --project "$work" --user --yes </dev/null
expect_code 2

finish
