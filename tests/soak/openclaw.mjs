// SPDX-License-Identifier: Apache-2.0
// Turns in a real OpenClaw gateway with the plugin, against a model of our own. The gateway is
// killed and comes back, is told /new, is stopped, runs with a program that is not there, and with everything switched off.
//
// $OPENCLAW is its openclaw.mjs, $REPRISE the program under test; this runs in OpenClaw's own Node.js.
import { spawn, execFileSync } from "node:child_process"
import fs from "node:fs"
import net from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import assert from "node:assert/strict"
import { Model } from "./openclaw-model.mjs"

const PLUGIN = path.resolve(import.meta.dirname, "../../plugins/openclaw")
const PATIENCE = 180_000
const root = fs.mkdtempSync(path.join(tmpdir(), "reprise-openclaw-"))
const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: root, REPRISE_HOME: path.join(root, "reprise"), NO_COLOR: "1" }
const logFile = path.join(root, "gateway.log")
const model = new Model()

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
async function until(what, fn) {
  for (const end = Date.now() + PATIENCE; ; await sleep(100)) {
    const got = await fn()
    if (got) return got
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
  }
}
const say = (text) => console.log(`  ${text}`)

// ---- OpenClaw ----

function openclaw(...args) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [process.env.OPENCLAW, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    let out = ""
    let err = ""
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE)
    child.stdout.on("data", (bytes) => (out += bytes))
    child.stderr.on("data", (bytes) => (err += bytes))
    child.once("close", (code) => {
      clearTimeout(timer)
      if (code === 0) done(out)
      else fail(new Error(`openclaw ${args.join(" ")}: ${code}\n${out.slice(-2000)}${err.slice(-2000)}`))
    })
  })
}

const freePort = () =>
  new Promise((done) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })
const answers = (port) =>
  new Promise((done) => {
    const socket = net.connect(port, "127.0.0.1", () => done(true)).once("error", () => done(false))
    socket.once("connect", () => socket.destroy())
  })

class Gateway {
  static last = null // the one to be ended when something goes wrong
  async start(port) {
    Gateway.last = this
    const out = fs.openSync(logFile, "a")
    const args = ["gateway", "run", "--bind", "loopback", "--auth", "token", "--token", "T"]
    this.child = spawn(process.execPath, [process.env.OPENCLAW, ...args], { env, stdio: ["ignore", out, out] })
    fs.closeSync(out)
    this.over = new Promise((done) => this.child.once("exit", (code, signal) => done(signal ?? code)))
    await until("the gateway comes up", () => {
      if (this.child.exitCode !== null) throw new Error("the gateway ended")
      return answers(port)
    })
    return this
  }
  end(signal) {
    this.child.kill(signal)
    return this.over
  }
}

// Says something to the main agent; the requests that the model got for it.
async function turn(message, ...where) {
  const before = model.requests.length
  await openclaw("agent", "--agent", "main", ...where, "--message", message, "--json")
  return model.requests.slice(before)
}

// Tools of the names, parameters and answers that Cortex' and Synapse's have.
const MEMORIES = `
const tool = (name, answer) => ({ name, description: name, parameters: { type: "object", additionalProperties: true },
  async execute(_id, params) { return answer(params) } })
const text = (text, details) => ({ content: [{ type: "text", text }], details })
export default { id: "memories", name: "memories", description: "stand-ins", register(api) {
  api.registerTool(tool("cortex_add", (p) => text("Memory stored in Cortex: [radio] importance=2.0",
    { id: "stm_0123456789ab", categories: [p.category], importance: 2 })))
  api.registerTool(tool("synapse", () => text("sent", { id: "msg_1" })))
} }
`
async function installMemories() {
  const folder = path.join(root, "memories")
  fs.mkdirSync(folder)
  const write = (name, value) => fs.writeFileSync(path.join(folder, name), typeof value === "string" ? value : JSON.stringify(value))
  write("index.js", MEMORIES)
  write("package.json", { name: "memories", version: "1.0.0", type: "module", openclaw: { extensions: ["./index.js"] } })
  write("openclaw.plugin.json", { id: "memories", name: "memories", description: "stand-ins", activation: { onStartup: true },
    contracts: { tools: ["cortex_add", "synapse"] }, configSchema: { type: "object", additionalProperties: false } })
  await openclaw("plugins", "install", "--link", folder, "--force", "--accept-capabilities")
  await openclaw("plugins", "enable", "memories")
}

// OpenClaw's configuration but for the plugin, whose part goes by the documented commands.
async function configure(modelPort, port) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const one = { id: "mock-1", name: "mock-1", reasoning: false, input: ["text"], cost, contextWindow: 200000, maxTokens: 4096 }
  const provider = { baseUrl: `http://127.0.0.1:${modelPort}/v1`, apiKey: "none", api: "openai-completions", models: [one] }
  const config = {
    models: { providers: { mock: provider } },
    agents: { defaults: { model: { primary: "mock/mock-1" } } },
    gateway: { mode: "local", port, auth: { mode: "token", token: "T" } },
    tools: { toolSearch: false },
  }
  fs.mkdirSync(path.join(root, ".openclaw"))
  fs.writeFileSync(path.join(root, ".openclaw/openclaw.json"), JSON.stringify(config), { mode: 0o600 })
  await openclaw("plugins", "install", "--link", PLUGIN, "--force", "--accept-capabilities")
  await openclaw("plugins", "enable", "reprise")
  await openclaw("config", "set", "plugins.entries.reprise.hooks.allowConversationAccess", "true")
  await persistence({ command: process.env.REPRISE })
  await installMemories()
}
const persistence = (block) =>
  openclaw("config", "set", "plugins.entries.reprise.config", JSON.stringify({ session_persistence: block }), "--strict-json")

// ---- Reprise ----

const cli = (...args) => execFileSync(process.env.REPRISE, args, { env, encoding: "utf8" })
const list = () => JSON.parse(cli("ls", "--all", "--json")).sessions
const log = (id) => cli("log", id, "--json").trim().split("\n").map((line) => JSON.parse(line))
const said = (id) => log(id).filter((ev) => ev.kind === "message").map((ev) => `${ev.body.role}: ${ev.body.content}`)
const BRIEF = /\[SESSION CONTINUITY/g
const briefs = (request) => (Model.whole(request).match(BRIEF) ?? []).length
const helpers = () =>
  fs.readdirSync("/proc").filter((pid) => {
    try {
      const [program, ...args] = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
      return program === process.env.REPRISE && args.includes("--stream")
    } catch {
      return false // it ended meanwhile, or is no process
    }
  }).length

// ---- the story ----

async function inspected() {
  const seen = JSON.parse(await openclaw("plugins", "inspect", "reprise", "--runtime", "--json"))
  const manifest = JSON.parse(fs.readFileSync(path.join(PLUGIN, "openclaw.plugin.json"), "utf8"))
  assert.equal(seen.plugin.status, "loaded")
  assert.deepEqual(seen.diagnostics, [])
  assert.deepEqual([...seen.plugin.toolNames].sort(), [...manifest.contracts.tools].sort())
  assert.equal(helpers(), 0, "a look starts no process")
  say(`inspected: ${seen.plugin.toolNames.length} tools, ${seen.typedHooks.length} hooks`)
  return manifest.contracts.tools
}

async function firstTurns(tools) {
  const [first] = await turn("the rig is an ft991a")
  assert.equal(briefs(first), 0, "nothing to tell at a cold start")
  const offered = first.tools.map((tool) => tool.function.name)
  for (const name of tools) assert(offered.includes(name), `the model is not offered ${name}`)
  const pin = await turn('please call working_memory {"action":"pin","label":"rig","content":"never transmit without the dummy load"}')
  assert.match(Model.whole(pin.at(-1)), /"count":1/)
  const exec = await turn('please call exec {"command":"echo forty-two"}')
  assert.match(Model.whole(exec.at(-1)), /forty-two/)
  const [s, ...others] = list()
  assert.deepEqual(others, [])
  const story = said(s.session_id)
  assert.equal(story.length, 6)
  assert.match(story[0], /^user: .*the rig is an ft991a/s)
  assert.match(story[1], /^assistant: answer 1/)
  const ledger = log(s.session_id).filter((ev) => ev.kind === "tool").map((ev) => `${ev.body.name} ${ev.body.status}`)
  assert.deepEqual(ledger, ["exec intended", "exec done"])
  return s.session_id
}

async function otherMemories(id) {
  await turn('please call cortex_add {"content":"the mast is twelve metres high","category":"radio"}')
  await turn('please call synapse {"action":"send","to":"helios","subject":"mast","body":"it is down"}')
  const learned = log(id).filter((ev) => ev.kind === "learning").map((ev) => [ev.body.memory_id, ev.body.content, ev.body.categories])
  assert.deepEqual(learned, [["stm_0123456789ab", "the mast is twelve metres high", ["radio"]]])
  assert(said(id).includes("assistant: To helios: mast\n\nit is down"))
}

// Another conversation, which is Signal's.
async function signal() {
  await turn("hello from a boat", "--session-key", "agent:main:signal:direct:+491")
  const [s] = list()
  assert.equal(s.channel, "signal")
  assert.match(said(s.session_id)[0], /hello from a boat/)
}

const startOf = (id) => log(id).filter((ev) => ev.kind === "restored").at(-1).body

async function afterDeath(first) {
  const [back] = await turn("where were we?")
  assert.equal(startOf(first).cause, "crash")
  assert.equal(briefs(back), 1)
  assert.match(Model.prompt(back), /never transmit without the dummy load/)
  assert.match(Model.prompt(back), /where were we\?/)
  const [next] = await turn("and then?")
  assert.equal(briefs(next), 0, "the brief is given once")
  assert(list().some((s) => s.session_id === first))
}

async function afterNew() {
  const before = list()
  await turn("/new")
  const [fresh] = await turn("a new beginning")
  assert.equal(briefs(fresh), 1)
  assert.match(Model.prompt(fresh), /never transmit without the dummy load/)
  const after = list()
  assert.equal(after.length, before.length + 1)
  assert.equal(after[0].previous_session_id, before.find((s) => s.channel !== "signal").session_id)
}

async function story() {
  const [modelPort, port] = [await model.start(), await freePort()]
  await configure(modelPort, port)
  const tools = await inspected()

  let gateway = await new Gateway().start(port)
  const first = await firstTurns(tools)
  say("first turns: journalled, tools work")
  await otherMemories(first)
  say("what Cortex' and Synapse's tools store is seen")
  await signal()
  say("a conversation of Signal's: a session of that channel")
  await gateway.end("SIGKILL")
  await until("the helper goes with its gateway", () => helpers() === 0)
  gateway = await new Gateway().start(port)
  await afterDeath(first)
  say("killed and restarted: the next prompt has the brief, the one after has not")
  await afterNew()
  say("after a new: a session of its own")
  assert.equal(helpers(), 1)
  await gateway.end("SIGTERM")
  await until("the helper goes with its gateway", () => helpers() === 0)
  // Signal's was left by the gateway that was killed: it waits for the next word there.
  const left = list().filter((s) => !s.ended_at).map((s) => s.channel)
  assert.deepEqual(left, ["signal"], "a gateway that stops ends its sessions")
  say("stopped: all sessions are ended")

  await persistence({ command: path.join(root, "is-not-there") })
  gateway = await new Gateway().start(port)
  assert.equal((await turn("is anybody there?")).length, 1)
  await gateway.end("SIGTERM")
  say("no program: the agent goes on")

  const count = list().length
  await persistence({ enabled: false, command: process.env.REPRISE })
  gateway = await new Gateway().start(port)
  const [off] = await turn("and now?")
  assert.equal(briefs(off), 0)
  for (const name of tools) assert(!off.tools.some((tool) => tool.function.name === name), `${name} is offered`)
  assert.equal(helpers(), 0)
  assert.equal(list().length, count)
  await gateway.end("SIGTERM")
  say("switched off: no tool, no process, no session")
}

const begun = Date.now()
try {
  await story()
  console.log(`openclaw: ${model.requests.length} requests to the model, ${list().length} sessions, ${Math.round((Date.now() - begun) / 1000)} s`)
} catch (e) {
  process.exitCode = 1
  console.log(e.stack)
  if (fs.existsSync(logFile)) console.log(`---- gateway\n${fs.readFileSync(logFile, "utf8").slice(-8000)}`)
} finally {
  await Gateway.last?.end("SIGKILL")
  await model.stop()
  fs.rmSync(root, { recursive: true, force: true })
}
process.exit(process.exitCode)
