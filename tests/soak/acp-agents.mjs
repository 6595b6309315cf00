// SPDX-License-Identifier: Apache-2.0
// Real agents behind `reprise acp`, with a model on loopback (O-05, B-02, B-04, X-17): each is prompted, uses a tool, is killed in a
// turn, loses its proxy, is loaded again; then another agent goes on with its session, and the first one after it.
//
// acp-agents.mjs DIR [NAME…]     DIR has a folder with node_modules for each agent; $REPRISE and $REPRISE_NPM as in the tests
import assert from "node:assert/strict"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Checker, checkTap, readTap } from "../lib/acp-validate.mjs"
import { alive } from "../lib/alive.mjs"
import { Editor, until } from "../integration/acp/acp-client.mjs"
import { model } from "./acp-model.mjs"

const here = path.dirname(fileURLToPath(import.meta.url))
const TAP = path.join(here, "..", "lib", "acp-validate.mjs")
const npm = process.env.REPRISE_NPM, REPRISE = process.env.REPRISE, [dir, ...names] = process.argv.slice(2)
const DEADLINE = 120000, HELPERS_MS = 3000, MINUTE_MS = 60000
const seen = [], checker = new Checker(npm)
const { server, url } = await model(seen)
const root = mkdtempSync(path.join(tmpdir(), "reprise-agents-"))
const bin = (agent, name) => path.join(dir, agent, "node_modules", ".bin", name)
const put = (file, value) => { mkdirSync(path.dirname(file), { recursive: true }); writeFileSync(file, JSON.stringify(value)) }

// ---- the agents; keys are words for the loopback ----

const agents = {
  claude: {
    command: () => [bin("claude", "claude-agent-acp")],
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "local", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    setup() {},
  },
  opencode: {
    command: () => [bin("opencode", "opencode"), "acp"],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
    setup: (home) => put(path.join(home, ".config", "opencode", "opencode.json"), {
      provider: { mock: { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "local" }, models: { m: { name: "Mock" } } } },
      model: "mock/m", small_model: "mock/m", autoupdate: false, share: "disabled", permission: { bash: "ask" },
    }),
  },
  gemini: {
    slow: true, // it finds no session in the minute in which it was made
    command: () => [bin("gemini", "gemini"), "--acp", "-m", "gemini-2.5-flash"],
    env: { GEMINI_API_KEY: "local", GOOGLE_GEMINI_BASE_URL: url },
    setup: (home) => put(path.join(home, ".gemini", "settings.json"), { security: { auth: { selectedType: "gemini-api-key" } } }),
  },
}

class Desk {
  constructor(name) {
    this.root = path.join(root, name)
    this.home = path.join(this.root, "home")
    this.cwd = path.join(this.root, "work")
    for (const d of [this.home, this.cwd]) mkdirSync(d, { recursive: true })
    for (const a of Object.values(agents)) a.setup(this.home)
    this.taps = new Set()
    this.editors = []
  }

  async open(name, proxy = []) {
    const a = agents[name], tap = path.join(this.root, `${name}.tap`)
    if (!this.taps.has(tap)) writeFileSync(tap, "")
    this.taps.add(tap)
    const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: this.home, REPRISE_HOME: path.join(this.root, "db"), ...a.env }
    for (const o of ["ASAN_OPTIONS", "UBSAN_OPTIONS"]) if (process.env[o]) env[o] = process.env[o]
    const command = [REPRISE, "acp", "-v", ...proxy, "--", process.execPath, TAP, "--tap", tap, "--", ...a.command()]
    const allow = ({ options }) => ({ outcome: { outcome: "selected", optionId: options.find((o) => o.kind === "allow_once").optionId } })
    const e = await Editor.open(command, { npm, env, cwd: this.cwd, deadline: DEADLINE, answers: { "session/request_permission": allow } })
    e.tap = tap
    this.editors.push(e)
    return e
  }

  // Lines that the proxy made or changed fit the schema; those that an agent wrote so are only counted.
  check() {
    const its = new Set([...this.taps].flatMap((t) => readTap(t)).filter((l) => l.to === "client").map((l) => l.line))
    const wire = this.editors.flatMap((e) => e.lines.map((l) => ({ ...l, pid: e.child.pid })))
    const parts = [checkTap(checker, wire, "client"), ...[...this.taps].map((t) => checkTap(checker, readTap(t), "agent"))]
    const found = parts.flatMap((p) => p.found), ours = found.filter((f) => !its.has(f.line))
    assert.deepEqual(ours, [])
    return { checked: parts.reduce((n, p) => n + p.checked, 0), quirks: [...new Set(found.map((f) => f.wrong.slice(0, 160)))] }
  }

  // Kills the agent and nothing else; who is left is ended with the case.
  kill(e) {
    this.left = [...(this.left ?? []), ...family(agentPid(e)).slice(1)]
    process.kill(agentPid(e), "SIGKILL")
  }

  async done() {
    const left = [...(this.left ?? []), ...this.editors.flatMap((e) => family(e.child.pid).slice(1))]
    for (const e of this.editors) if (e.child.exitCode === null && e.child.signalCode === null) await e.kill()
    await until("the agents end", () => !left.some(alive), HELPERS_MS).catch(() => {})
    for (const pid of left.filter(alive)) process.kill(pid, "SIGKILL")
  }
}

const OUTLIVES_MS = 10_000 // more than the keeper's grace
const minute = () => Math.floor(Date.now() / MINUTE_MS)
const agentPid = (e) => Number(readFileSync(e.tap + ".pid", "utf8").trim().split("\n").at(-1))
const rungs = (e) => [...e.text.matchAll(/the agent has it again \((\w+)\)/g)].map((m) => m[1])

// A process and what it started: agents have helpers, which outlive one that is killed.
function family(pid) {
  const all = readdirSync("/proc").filter((n) => /^\d+$/.test(n)).map((n) => {
    try {
      return [Number(n), Number(readFileSync(`/proc/${n}/stat`, "utf8").split(") ")[1].split(" ")[1])]
    } catch {
      return [0, 0]
    }
  })
  const out = [pid]
  for (let i = 0; i < out.length; i++) for (const [child, parent] of all) if (parent === out[i]) out.push(child)
  return out
}

const spoken = (updates) => {
  const out = []
  for (const u of updates) {
    if (!/^(user|agent)_message_chunk$/.test(u.sessionUpdate) || u.content.type !== "text") continue
    const last = out.at(-1)
    if (last?.who === u.sessionUpdate) last.text += u.content.text
    else out.push({ who: u.sessionUpdate, text: u.content.text })
  }
  return out
}

// The history of a load, by the wire: what came before the answer; and what came behind it while the next turn ran.
async function load(e, sessionId) {
  const from = e.lines.length
  const result = await e.load(sessionId)
  const lines = e.lines.slice(from).filter((l) => l.to === "client").map((l) => JSON.parse(l.line))
  const at = lines.findIndex((m) => m.method === undefined)
  return { rung: result._meta?.reprise?.rung, updates: lines.slice(0, at).filter((m) => m.method === "session/update").map((m) => m.params.update) }
}

const story = (e, id) => e.story.filter((g) => g.sessionId === id).map((g) => g.update)

let asked = 0
async function recalls(e, id, word) {
  const r = await e.answer(id, `recall ${word} ${++asked}`)
  assert.equal(r.stopReason, "end_turn")
  assert.equal(r.words.trim(), `${word}: known`, e.text)
}

// ---- one agent ----

async function alone(name) {
  const desk = new Desk(name), fact = { rungs: [] }
  try {
    const one = await desk.open(name)
    fact.version = `${one.agent.agentInfo?.name} ${one.agent.agentInfo?.version}`
    const id = (await one.fresh()).sessionId, born = minute()
    await one.prompt(id, "the word is marzipan")
    await one.prompt(id, "run: touch made-by-a-tool")
    assert.ok(existsSync(path.join(desk.cwd, "made-by-a-tool")), "the tool did not run")
    fact.tools = one.kinds(id).filter((k) => k === "tool_call").length
    assert.ok(one.asked.includes("session/request_permission"))
    if (agents[name].slow) await until("the next minute", () => minute() !== born, 2 * MINUTE_MS)
    const ends = one.prompt(id, "stall")
    await until("half an answer", () => /half an( answer)?\s*$/.test(one.words(id)), DEADLINE)
    desk.kill(one)
    await assert.rejects(ends, (why) => why.data?.code === "agent.died")
    await recalls(one, id, "marzipan")
    fact.rungs.push(...rungs(one))
    const before = story(one, id), pids = family(one.child.pid).slice(1)
    await one.kill()
    await until("the agent ends with its proxy, and all it started", () => !pids.some(alive), OUTLIVES_MS)
    const two = await desk.open(name)
    assert.ok((await two.list({ cwd: desk.cwd })).sessions.some((s) => s.sessionId === id))
    const told = await load(two, id)
    fact.rungs.push(told.rung)
    assert.deepEqual(spoken(told.updates), spoken(before))
    await recalls(two, id, "marzipan")
    assert.deepEqual(spoken((await load(two, id)).updates), spoken([...before, ...story(two, id).filter((u) => u.sessionUpdate === "user_message_chunk").slice(-1), { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "marzipan: known" } }]))
    assert.equal((await two.close()).code, 0)
    const { checked, quirks } = desk.check()
    const what = [fact.version, `rungs ${fact.rungs.join(", ")}`, `${fact.tools} tool_call`, `${checked} lines checked`, ...quirks]
    return what.join("; ")
  } finally {
    await desk.done()
  }
}

// ---- one agent after another ----

async function handed(first, second) {
  const desk = new Desk(`${first}-${second}`)
  try {
    const one = await desk.open(first), id = (await one.fresh()).sessionId
    await one.prompt(id, "the word is nougat")
    await one.close()
    const two = await desk.open(second), told = await load(two, id)
    assert.equal(told.rung, "new")
    assert.deepEqual(spoken(told.updates), spoken(story(one, id)))
    await recalls(two, id, "nougat")
    await two.prompt(id, "and fudge is another")
    await two.close()
    const three = await desk.open(first, ["--continue", id])
    assert.equal((await three.fresh()).sessionId, id)
    await recalls(three, id, "fudge")
    await three.close()
    const { checked, quirks } = desk.check()
    return [`handed over and back, ${checked} lines checked`, ...quirks].join("; ")
  } finally {
    await desk.done()
  }
}

// ---- all of it ----

const there = (names.length ? names : Object.keys(agents)).filter((n) => existsSync(agents[n].command()[0]))
let failed = 0
async function run(what, promise) {
  try {
    console.log(`${what}: ${await promise}`)
  } catch (e) {
    failed++
    console.log(`FAILED ${what}: ${e.stack}`)
  }
}
for (const name of there) await run(name, alone(name))
for (let i = 0; there.length > 1 && i < there.length; i++) {
  const [a, b] = [there[i], there[(i + 1) % there.length]]
  await run(`${a} then ${b}`, handed(a, b))
}
server.closeAllConnections()
server.close()
if (process.env.REPRISE_KEEP) {
  writeFileSync(path.join(root, "model.json"), JSON.stringify(seen, null, 1))
  console.log(root)
}
else rmSync(root, { recursive: true, force: true })
if (!there.length) console.log("skipped: no agent is installed")
process.exitCode = failed ? 1 : there.length ? 0 : 77
