// SPDX-License-Identifier: Apache-2.0
// The logical sessions of a gateway. OpenClaw's own ids can't name them: /new keeps the id, and after a restart a session
// goes on without a word. So a session begins with the first thing that happens under its key in this process, and the
// engine, which knows what was left open under that key, says whether it is a new one, a return or a crash, and gives it
// an id of its own. docs/operations.md tells it from the operator's side.
import { channelOf, clip, finalText } from "./shape.js"

const MAX_SESSIONS = 4096 // the one that was quiet for longest is forgotten: its next start repeats the last and gives no brief
const DEADLINE_MS = 2000
const CLOSE_MS = 1500 // of the 2 s that OpenClaw gives all ends at a shutdown
// Reasons of session_end after which the key's next turn is another session. The others (compaction, shutdown, restart)
// go on under the same one.
const ENDS = new Set(["new", "reset", "idle", "daily", "deleted"])

// The same conversation has the same name before and after a restart.
function nameOf(ctx) {
  const key = ctx?.sessionKey ?? ctx?.sessionId
  if (!key) return null
  return !ctx.agentId || key.startsWith("agent:") ? key : `agent:${ctx.agentId}:${key}`
}

export class Sessions {
  #helper
  #settings
  #complain
  #known = new Map() // name → session, the quiet ones first

  constructor(helper, settings, complain) {
    this.#helper = helper
    this.#settings = settings
    this.#complain = complain
  }

  // The text that goes in front of a prompt, once; undefined when there is none. Waits at most the deadline of the start:
  // a text that comes later goes in front of the next prompt.
  async brief(ctx, id) {
    const s = this.#begin(ctx)
    if (!s || !this.#settings.brief) return undefined
    await s.begun
    // A prompt that is built again, for another model perhaps, has the brief again.
    const again = s.told !== undefined && !(id && s.told === id)
    if (!s.text || again) return undefined
    s.told = id ?? null
    return s.text
  }

  // What the user said. `id` is the same when the prompt is built again for another try.
  prompt(ctx, prompt, id) {
    const s = this.#begin(ctx)
    if (!s || !prompt || (id && id === s.promptId)) return
    s.promptId = id
    this.#journal(s, "UserPromptSubmit", { prompt: clip(prompt), ...(id && { prompt_id: id }) })
  }

  // Resolves when the intent is stored, so that no tool runs that the journal does not know of; at the latest with the
  // deadline: a store that is away stops nobody's work.
  async toolBefore(ctx, event) {
    const s = this.#settings.journal && this.#known.has(nameOf(ctx)) ? this.#begin(ctx) : null
    if (!s) return
    const got = await this.#helper.call(this.#message(s, "PreToolUse", toolWords(ctx, event)), DEADLINE_MS)
    if (got?.ok === false) this.#complain(`PreToolUse: ${got.error?.message}`)
  }

  toolAfter(ctx, event) {
    const outcome = event.error === undefined ? event.result : { error: String(event.error) }
    this.#note(ctx, "PostToolUse", () => ({ ...toolWords(ctx, event), tool_response: clip(outcome) }))
  }

  compact(ctx) {
    this.#note(ctx, "PreCompact", () => ({ trigger: "auto" }))
  }

  turnEnd(ctx, event) {
    const text = finalText(event.messages)
    if (text) this.#note(ctx, "Stop", () => ({ last_assistant_message: clip(text) }))
    if (event.success === false) this.#note(ctx, "StopFailure", () => ({ error: clip(String(event.error ?? "failed")) }))
  }

  // What OpenClaw calls the end of a session. One that this process has not seen is none of ours: the helper ends what it
  // has open when its gateway goes.
  end(ctx, event) {
    const s = this.#known.get(nameOf({ ...ctx, sessionKey: event.sessionKey ?? ctx.sessionKey }))
    if (!s) return
    if (event.reason === "compaction") s.openclawId = event.nextSessionId ?? s.openclawId
    if (!ENDS.has(event.reason)) return
    this.#known.delete(s.name)
    this.#tellStart(s)
    this.#post(s, "SessionEnd", { reason: event.reason })
  }

  // Runs a tool in its caller's session. Resolves to the result; throws what the model should read.
  async tool(ctx, name, params) {
    const s = this.#begin(ctx)
    if (!s) throw new Error("this run has no session")
    const got = await this.#helper.call({ tool: name, session_id: s.name, ...s.where, arguments: params ?? {} }, DEADLINE_MS)
    if (!got) throw new Error("the session store does not answer; go on without it")
    if (!got.ok) throw new Error(got.error?.message ?? "the session store refused it")
    return got.result
  }

  // Ends all sessions and the helper.
  close() {
    // One that is not there is not started for its own end.
    if (this.#helper.running) for (const s of this.#known.values()) this.#post(s, "SessionEnd", { reason: "shutdown" })
    this.#known.clear()
    return this.#helper.close(CLOSE_MS)
  }

  #begin(ctx) {
    const name = nameOf(ctx)
    if (!name) return null
    let s = this.#known.get(name)
    // A session that was replaced while nobody told us.
    if (s && ctx.sessionId && s.openclawId && ctx.sessionId !== s.openclawId) {
      this.#post(s, "SessionEnd", { reason: "replaced" })
      s = undefined
    }
    s ??= { name, where: this.#where(ctx) }
    s.openclawId = ctx.sessionId ?? s.openclawId
    this.#known.delete(name)
    this.#known.set(name, s)
    if (this.#known.size > MAX_SESSIONS) this.#known.delete(this.#known.keys().next().value)
    this.#tellStart(s)
    return s
  }

  // Tells the helper of a session it does not know yet: a new one, or any after the helper was replaced.
  #tellStart(s) {
    if (this.#helper.running && s.generation === this.#helper.generation) return
    const again = s.begun !== undefined
    // The first start's word counts: a helper that was replaced has crashed, the conversation has not.
    const note = (got) => {
      if (got?.ok) s.text ??= got.context ?? ""
      if (got?.ok === false) this.#complain(`a session can't begin: ${got.error?.message}`)
    }
    const message = {
      hook_event_name: "SessionStart",
      session_id: s.name,
      ...s.where,
      source: again ? "resume" : "startup",
    }
    s.begun = this.#helper.call(message, DEADLINE_MS, note).then(note)
    s.generation = this.#helper.generation
  }

  #where(ctx) {
    const { scope } = this.#settings
    const channel = channelOf(ctx)
    return { ...(scope && { scope }), ...(ctx.workspaceDir && { cwd: ctx.workspaceDir }), ...(channel && { channel }) }
  }

  #journal(s, event, body) {
    if (this.#settings.journal) this.#post(s, event, body)
  }

  // An event of a session that has begun. These contexts do not say in which folder the agent works.
  #note(ctx, event, body) {
    const s = this.#known.has(nameOf(ctx)) ? this.#begin(ctx) : null
    if (s) this.#journal(s, event, body())
  }

  #post(s, event, body) {
    this.#helper.post(this.#message(s, event, body))
  }

  #message(s, event, body) {
    return { hook_event_name: event, session_id: s.name, ...s.where, ...body }
  }
}

function toolWords(ctx, event) {
  return {
    tool_name: event.toolName,
    tool_input: clip(event.params ?? {}),
    tool_use_id: event.toolCallId ?? ctx?.toolCallId,
  }
}
