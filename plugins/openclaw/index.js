// SPDX-License-Identifier: Apache-2.0
// The OpenClaw plugin. It stores nothing itself: one helper process (`reprise hook --stream`) per gateway does.
import { Helper } from "./helper.js"
import { Sessions } from "./sessions.js"
import { helperArgs, settingsOf } from "./settings.js"
import { TOOLS } from "./tools.js"

const MAX_COMPLAINTS = 64

// OpenClaw has tools of these names, and its own win.
const RENAMED = { session_status: "reprise_session_status" }

// Turns that nobody asked for. OpenClaw keeps no prompt's context for the next turn, so the brief waits for the user's.
const UNASKED = new Set(["heartbeat", "memory"])

// OpenClaw registers a plugin several times in one process (to look at it, for its tools, in earnest), perhaps from
// several copies of this module. All share one helper.
const shared = (globalThis[Symbol.for("reprise.openclaw")] ??= { sessions: null })

// Says a thing once: a gateway lives for weeks.
function complainer(api) {
  const told = new Set()
  return (what) => {
    if (told.has(what) || told.size >= MAX_COMPLAINTS) return
    told.add(what)
    api.logger.warn(`reprise: ${what} (told once; the agent goes on without)`)
  }
}

function sessionsOf(settings, complain) {
  const { command } = settings
  shared.sessions ??= new Sessions(new Helper({ command, args: helperArgs(settings), complain }), settings, complain)
  return shared.sessions
}

async function closeShared() {
  const { sessions } = shared
  shared.sessions = null
  await sessions?.close()
}

// Whatever goes wrong in a hook is the plugin's business, never the agent's.
function failOpen(fn, complain) {
  return (event, ctx) => {
    try {
      return fn(event ?? {}, ctx ?? {})?.catch((e) => complain(e.message))
    } catch (e) {
      return complain(e.message)
    }
  }
}

function registerHooks(api, sessions, complain) {
  const on = (name, fn) => api.on(name, failOpen(fn, complain))
  const ours = new Set(TOOLS.map((tool) => RENAMED[tool.name] ?? tool.name))

  on("before_prompt_build", async (event, ctx) => {
    if (UNASKED.has(ctx.trigger)) return undefined
    const id = event.currentUserMessageId ?? ctx.runId
    const text = sessions().brief(ctx, id)
    sessions().prompt(ctx, event.currentUserMessage ?? event.prompt, id)
    const prependContext = await text
    return prependContext && { prependContext }
  })
  // Our own tools leave their own events.
  on("before_tool_call", async (event, ctx) => {
    if (!ours.has(event.toolName)) await sessions().toolBefore(ctx, event)
  })
  on("after_tool_call", (event, ctx) => {
    if (!ours.has(event.toolName)) sessions().toolAfter(ctx, event)
  })
  on("before_compaction", (_event, ctx) => sessions().compact(ctx))
  on("agent_end", (event, ctx) => {
    if (!UNASKED.has(ctx.trigger)) sessions().turnEnd(ctx, event)
  })
  on("session_end", (event, ctx) => sessions().end(ctx, event))
  on("gateway_stop", closeShared)
}

function registerTools(api, sessions) {
  for (const { name: tool, title, description, parameters } of TOOLS) {
    const name = RENAMED[tool] ?? tool
    api.registerTool(
      (ctx) => ({
        name,
        label: title,
        description,
        parameters,
        async execute(_id, params) {
          const result = await sessions().tool(ctx, tool, params)
          return { content: [{ type: "text", text: JSON.stringify(result) }], details: result }
        },
      }),
      { name },
    )
  }
}

export default {
  id: "reprise",
  name: "Reprise",
  description: "Sessions that survive crashes, restarts and days away",
  register(api) {
    const settings = settingsOf(api.pluginConfig)
    if (!settings.enabled) return
    const complain = complainer(api)
    const sessions = () => sessionsOf(settings, complain)
    registerHooks(api, sessions, complain)
    if (settings.tools) registerTools(api, sessions)
    api.registerService({
      id: "reprise",
      start() {},
      stop: closeShared,
    })
  },
}
