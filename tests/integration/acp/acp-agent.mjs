// SPDX-License-Identifier: Apache-2.0
// A scripted agent on the official SDK of ACP, for acp-pair.mjs. It does what a prompt's last text begins with:
//
//   work …          a whole turn: thought, plan, tool call, file, terminal, permission, messages, states
//   say …           one message that repeats the rest
//   split …         the rest, in two chunks
//   recall WORD     whether WORD is in anything it was told in this session
//   fill N          N chunks of a message, as fast as they go
//   ask             an elicitation
//   hang            a tool call that never ends (until it is cancelled or killed)
//   odd             lines that no schema knows, with their own spaces
//   wait            nothing, until it is cancelled
//   chosen          its mode and its model
//
// --caps A,B,…   which of load, resume, list, close, delete, fork it has (none)
// --dir DIR      where its sessions survive it
// --late         its replay comes mostly behind the answer to session/load, and goes on during the next turn
// --cut          … and its last message is never repeated
// --stray        it says something of its own behind the answer to session/load
// --mute         modes and options go with its process, and no answer but that to session/new tells them
// --plain        it takes no embedded resources
// --name NAME    what it is called
// --tap FILE     every line that passes is written there
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import { Readable, Writable } from "node:stream"
import { kit, tapper } from "../../lib/acp-validate.mjs"

const args = process.argv.slice(2)
const value = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
const caps = new Set((value("--caps") ?? "").split(",").filter(Boolean))
const dir = value("--dir"), [late, cut, stray, mute] = ["--late", "--cut", "--stray", "--mute"].map((a) => args.includes(a))
const name = value("--name") ?? "scripted"
const acp = await kit(process.env.REPRISE_NPM)
const M = acp.methods
let editor = {} // its capabilities

// ---- the wire, with a tap on it ----

const taps = value("--tap") ? { client: tapper(value("--tap"), "client"), agent: tapper(value("--tap"), "agent") } : null

function write(bytes) {
  taps?.client(Buffer.from(bytes))
  process.stdout.write(bytes)
}

const output = new WritableStream({ write })
const input = Readable.toWeb(process.stdin).pipeThrough(new TransformStream({
  transform(bytes, to) {
    taps?.agent(Buffer.from(bytes))
    to.enqueue(bytes)
  },
}))

// ---- sessions; those of --dir are kept there as they are ----

const sessions = new Map()
const file = (id) => path.join(dir, id + ".json")
if (dir) {
  mkdirSync(dir, { recursive: true })
  for (const entry of readdirSync(dir)) {
    if (entry.startsWith(".")) continue
    const s = JSON.parse(readFileSync(path.join(dir, entry), "utf8"))
    sessions.set(s.id, mute ? { ...s, mode: "ask", model: "small" } : s)
  }
}

function keep(s) { // whole or not at all: it is killed at any moment
  if (!dir) return
  const part = path.join(dir, `.${s.id}`)
  writeFileSync(part, JSON.stringify({ ...s, abort: undefined, due: undefined }))
  renameSync(part, file(s.id))
}

function find(id) {
  const s = sessions.get(id)
  if (!s) throw acp.RequestError.sessionNotFound(id)
  return s
}

const modes = (s) => ({ currentModeId: s.mode, availableModes: [{ id: "ask", name: "Ask" }, { id: "code", name: "Code" }] })
const options = (s) => [{
  id: "model", name: "Model", category: "model", type: "select", currentValue: s.model,
  options: [{ value: "small", name: "Small" }, { value: "big", name: "Big" }],
}]
const facts = (s) => ({ modes: modes(s), configOptions: options(s) })
const again = (s) => (mute ? {} : facts(s))

async function update(client, s, u, known = true) {
  if (known) s.told.push(u)
  await client.notify(M.client.session.update, { sessionId: s.id, update: u })
}

const text = (kind, words, messageId) => ({
  sessionUpdate: kind, content: { type: "text", text: words }, ...(messageId && { messageId }),
})

// ---- turns ----

async function files(client, s, call) {
  const read = await client.request(M.client.fs.readTextFile, { sessionId: s.id, path: s.cwd + "/in.txt", line: 1, limit: 1 })
  await update(client, s, {
    sessionUpdate: "tool_call_update", toolCallId: call, status: "in_progress",
    content: [{ type: "content", content: { type: "text", text: read.content } }],
  })
  await client.request(M.client.fs.writeTextFile, { sessionId: s.id, path: s.cwd + "/out.txt", content: "written\n" })
}

async function terminal(client, s, call) {
  const { terminalId } = await client.request(M.client.terminal.create, {
    sessionId: s.id, command: "echo", args: ["hello"], env: [{ name: "PLAIN", value: "terminal-env-value" }], cwd: s.cwd, outputByteLimit: 1000,
  })
  const to = { sessionId: s.id, terminalId }
  await update(client, s, { sessionUpdate: "tool_call_update", toolCallId: call, content: [{ type: "terminal", terminalId }] })
  await client.request(M.client.terminal.waitForExit, to)
  await client.request(M.client.terminal.output, to)
  await client.request(M.client.terminal.kill, to)
  await client.request(M.client.terminal.release, to)
}

async function work({ client, s, n, words }) {
  const call = `call_${(n % 2) + 1}` // ids come again in later turns
  await update(client, s, text("agent_thought_chunk", "Let me ", `t${n}`))
  await update(client, s, text("agent_thought_chunk", "think.", `t${n}`))
  await update(client, s, { sessionUpdate: "plan", entries: [{ content: words, priority: "high", status: "in_progress" }] })
  await update(client, s, {
    sessionUpdate: "tool_call", toolCallId: call, title: "Read a file", kind: "read", status: "pending",
    locations: [{ path: s.cwd + "/in.txt", line: 1 }], rawInput: { path: s.cwd + "/in.txt" },
  })
  if (editor.fs?.readTextFile) await files(client, s, call)
  if (editor.terminal) await terminal(client, s, call)
  const { outcome } = await client.request(M.client.session.requestPermission, {
    sessionId: s.id, toolCall: { toolCallId: call, title: "Write a file" },
    options: [{ optionId: "yes", name: "Allow", kind: "allow_once" }, { optionId: "no", name: "Reject", kind: "reject_once" }],
  })
  const allowed = outcome.outcome === "selected" && outcome.optionId === "yes"
  await update(client, s, {
    sessionUpdate: "tool_call_update", toolCallId: call, status: allowed ? "completed" : "failed",
    content: [{ type: "diff", path: s.cwd + "/out.txt", oldText: null, newText: "written\n" }], rawOutput: { allowed },
  })
  for (const piece of [`turn ${n}: `, "I did ", JSON.stringify(words), ". "])
    await update(client, s, text("agent_message_chunk", piece, `m${n}`))
  await update(client, s, text("agent_message_chunk", "Anything else?", `n${n}`))
  if (editor.session?.notices) await update(client, s, { sessionUpdate: "notice", severity: "info", title: "a notice" }, false)
  await update(client, s, { sessionUpdate: "usage_update", used: 100 * n, size: 200000 })
  await update(client, s, { sessionUpdate: "session_info_update", title: `about ${words}`, updatedAt: new Date().toISOString() })
  return "end_turn"
}

const stopped = (s, signal) => new Promise((done) => {
  for (const by of [s.abort.signal, signal]) by.addEventListener("abort", () => done("cancelled"))
})

const acts = {
  work,
  async say({ client, s, n, rest }) {
    await update(client, s, text("agent_message_chunk", rest, `m${n}`))
    return "end_turn"
  },
  async split({ client, s, n, rest }) {
    const half = Math.floor(rest.length / 2)
    for (const piece of [rest.slice(0, half), rest.slice(half)]) await update(client, s, text("agent_message_chunk", piece, `m${n}`))
    return "end_turn"
  },
  async recall({ client, s, n, rest }) {
    const known = s.heard.slice(0, -1).concat(s.given).some((t) => t.includes(rest))
    await update(client, s, text("agent_message_chunk", `${rest}: ${known ? "known" : "unknown"}`, `m${n}`))
    return "end_turn"
  },
  async fill({ client, s, n, rest }) {
    for (let i = 0; i < Number(rest); i++) await update(client, s, text("agent_message_chunk", `${i} `, `m${n}`))
    return "max_tokens"
  },
  async ask({ client, s, n }) {
    const { action, content } = await client.request(M.client.elicitation.create, {
      mode: "form", sessionId: s.id, message: "Which colour?",
      requestedSchema: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
    })
    await update(client, s, text("agent_message_chunk", `${action} ${content?.colour ?? ""}`, `m${n}`))
    return "end_turn"
  },
  async hang({ client, s, signal }) {
    await update(client, s, { sessionUpdate: "tool_call", toolCallId: "call_1", title: "Takes long", kind: "execute", status: "in_progress" })
    await update(client, s, text("agent_message_chunk", "half a ", "half"))
    return stopped(s, signal)
  },
  async odd({ s }) {
    const sid = JSON.stringify(s.id)
    write(`{ "jsonrpc":"2.0","method" : "session/update","params":{"update":{"sessionUpdate":"_future","n":12345678901234567890,"e":1.0E+2},"sessionId":${sid},"_meta":{"é":"\\u00e9"}}}\n`)
    write(`{"params":{"zz":[1, 2],"sessionId":${sid}},"method":"_example.test/told","jsonrpc":"2.0","more":{}}\n`)
    return "end_turn"
  },
  wait: ({ s, signal }) => stopped(s, signal),
  async chosen({ client, s, n }) {
    await update(client, s, text("agent_message_chunk", `${s.mode} ${s.model}`, `m${n}`))
    return "end_turn"
  },
}

// The end of a late replay comes while the next turn runs.
async function finishReplay(client, s) {
  const due = s.due ?? []
  s.due = undefined
  for (const u of due) await client.notify(M.client.session.update, { sessionId: s.id, update: u })
}

async function prompt({ params, client, signal }) {
  const s = find(params.sessionId)
  const words = params.prompt.filter((b) => b.type === "text").at(-1)?.text ?? ""
  const [verb, ...rest] = words.split(" ")
  await finishReplay(client, s)
  s.abort = new AbortController()
  s.turns++
  for (const b of params.prompt) {
    s.heard.push(b.text ?? "")
    if (b.type === "resource") s.given.push(b.resource.text)
    if (b.type !== "resource") s.told.push({ sessionUpdate: "user_message_chunk", messageId: `u${s.turns}`, content: b })
  }
  keep(s)
  const stopReason = await (acts[verb] ?? acts.say)({ client, s, n: s.turns, words, rest: rest.join(" "), signal })
  keep(s)
  return { stopReason }
}

// ---- the agent ----

function initialize({ params }) {
  editor = params.clientCapabilities ?? {}
  const has = (name) => (caps.has(name) ? { [name]: {} } : {})
  return {
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name, title: "A scripted agent", version: "0.1.2", _meta: { pid: process.pid } },
    agentCapabilities: {
      loadSession: caps.has("load"),
      promptCapabilities: { embeddedContext: !args.includes("--plain"), image: true },
      sessionCapabilities: { ...has("resume"), ...has("list"), ...has("close"), ...has("delete"), ...has("fork"), _future: { x: 1 } },
      _meta: { "example.test/x": { y: 1 } },
    },
    authMethods: [],
    _meta: { asked: params },
  }
}

function begin({ params, client }) {
  const s = {
    id: `${name}-${randomUUID()}`, cwd: params.cwd, told: [], heard: [], given: [], mode: "ask", model: "small", turns: 0,
    at: new Date().toISOString(),
  }
  sessions.set(s.id, s)
  keep(s)
  const availableCommands = [{ name: "echo", description: "Echo", input: { hint: "text" } }]
  setImmediate(() => update(client, s, { sessionUpdate: "available_commands_update", availableCommands }))
  return { sessionId: s.id, ...facts(s) }
}

// Another session that knows what this one knows.
function fork({ params }) {
  const from = find(params.sessionId)
  const s = { ...structuredClone({ ...from, abort: undefined, due: undefined }), id: `${name}-${randomUUID()}`, cwd: params.cwd }
  sessions.set(s.id, s)
  keep(s)
  return { sessionId: s.id, ...facts(s) }
}

async function load({ params, client }) {
  const s = find(params.sessionId), all = cut ? s.told.slice(0, -1) : s.told, split = cut ? all.length : all.length - 2
  const tell = async (updates) => { for (const u of updates) await client.notify(M.client.session.update, { sessionId: s.id, update: u }) }
  if (stray) setTimeout(() => tell([text("agent_message_chunk", "by the way", "stray")]), 20)
  await tell(late ? all.slice(0, 1) : all)
  if (late) setTimeout(() => tell(all.slice(1, split)), 20)
  if (late) s.due = all.slice(split)
  return again(s)
}

async function setMode({ params, client }) {
  const s = find(params.sessionId)
  s.mode = params.modeId
  await update(client, s, { sessionUpdate: "current_mode_update", currentModeId: s.mode })
  return {}
}

function setOption({ params }) {
  const s = find(params.sessionId)
  s.model = params.value
  return { configOptions: options(s) }
}

const app = acp.agent({ name })
  .onRequest(M.agent.initialize, initialize)
  .onRequest(M.agent.session.new, begin)
  .onRequest(M.agent.session.setMode, setMode)
  .onRequest(M.agent.session.setConfigOption, setOption)
  .onRequest(M.agent.session.prompt, prompt)
  .onNotification(M.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.abort?.abort())
  .onRequest("_example.test/ping", (v) => v, ({ params }) => ({ pong: params, pid: process.pid }))
  .onRequest("_example.test/asks", (v) => v, async ({ params, client }) => client.request("_example.test/back", params))
  .onNotification("_example.test/hint", (v) => v, ({ params, client }) => client.notify("_example.test/heard", params))
const optional = {
  load: [M.agent.session.load, load],
  resume: [M.agent.session.resume, ({ params }) => again(find(params.sessionId))],
  list: [M.agent.session.list, ({ params }) => ({
    sessions: [...sessions.values()].filter((s) => !params.cwd || s.cwd === params.cwd)
      .map((s) => ({ sessionId: s.id, cwd: s.cwd, title: "the agent's", updatedAt: s.at })),
  })],
  close: [M.agent.session.close, ({ params }) => { find(params.sessionId).abort?.abort(); return {} }],
  delete: [M.agent.session.delete, ({ params }) => {
    sessions.delete(params.sessionId)
    if (dir && existsSync(file(params.sessionId))) rmSync(file(params.sessionId))
    return {}
  }],
}
optional.fork = ["session/fork", (v) => v, fork] // no method of the stable schema
for (const cap of caps) app.onRequest(...optional[cap])
app.connect(acp.ndJsonStream(output, input))
