// SPDX-License-Identifier: Apache-2.0
// An editor on the official SDK of ACP, for acp-pair.mjs and tests/soak/acp-agents.mjs. It answers what an agent asks and
// keeps every line of its connection.
//
//   const e = await Editor.open([REPRISE, "acp", "--", …], { npm, env, cwd })
//   const { sessionId } = await e.fresh()
//   await e.prompt(sessionId, "say hello")
//   e.updates(sessionId)          // of this session, so far
//   await e.close()               // stdin is closed: { code, signal }
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { kit, splitter } from "../../lib/acp-validate.mjs"

const DEADLINE = Number(process.env.REPRISE_TEST_DEADLINE ?? 30) * 1000
const STDERR_MAX = 100000

export const CAPABILITIES = {
  fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {} }, _future: { kept: true },
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

export async function until(what, fn, ms = DEADLINE) {
  const end = Date.now() + ms
  for (;;) {
    const got = await fn()
    if (got) return got
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await sleep(5)
  }
}

export async function within(what, promise, ms = DEADLINE) {
  let timer
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`timed out: ${what}`)), ms) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

export class Editor {
  static async open(command, o) {
    const e = new Editor()
    e.acp = await kit(o.npm)
    e.M = e.acp.methods
    e.cwd = o.cwd
    e.o = o
    e.lines = [] // {to, line}: the wire, both ways
    e.got = [] // what the SDK made of the updates
    e.story = [] // the same, and what we said
    e.heard = [] // notifications of extensions
    e.asked = [] // methods that the agent called
    e.text = ""
    e.#spawn(command)
    e.#connect()
    if (o.initialize !== false) await e.initialize()
    return e
  }

  #spawn(command) {
    const child = spawn(command[0], command.slice(1), { env: this.o.env, cwd: this.cwd, stdio: ["pipe", "pipe", "pipe"] })
    this.child = child
    this.over = new Promise((done) => child.once("exit", (code, signal) => done({ code, signal })))
    child.once("error", (e) => { this.text += e.message })
    child.stdin.on("error", () => {})
    child.stderr.on("data", (bytes) => { this.text = (this.text + bytes).slice(-STDERR_MAX) })
  }

  #wire() {
    const down = splitter((line) => this.lines.push({ to: "agent", line }))
    const up = splitter((line) => this.lines.push({ to: "client", line }))
    const child = this.child
    let open = true // whether the SDK still reads
    const output = new WritableStream({
      write: (bytes) => { down(Buffer.from(bytes)); child.stdin.write(bytes) },
    })
    const input = new ReadableStream({
      start: (to) => {
        child.stdout.on("data", (bytes) => { up(bytes); if (open) to.enqueue(bytes) })
        child.stdout.on("end", () => { if (open) to.close() })
      },
      cancel: () => { open = false },
    })
    return this.acp.ndJsonStream(output, input)
  }

  #connect() {
    const M = this.M.client
    const asks = (app, method, answer) => app.onRequest(method, async (call) => {
      this.asked.push(method)
      return this.o.answers?.[method] ? this.o.answers[method](call.params) : answer(call.params)
    })
    const app = this.acp.client({ name: "scripted-editor" })
    app.onNotification(M.session.update, ({ params }) => { this.got.push(params); this.story.push(params) })
    app.onNotification("_example.test/heard", (v) => v, ({ params }) => { this.heard.push(params) })
    app.onNotification("_example.test/told", (v) => v, ({ params }) => { this.heard.push(params) })
    app.onRequest("_example.test/back", (v) => v, ({ params }) => ({ back: params }))
    asks(app, M.session.requestPermission, () => ({ outcome: { outcome: "selected", optionId: this.o.choose ?? "yes" } }))
    asks(app, M.fs.readTextFile, (p) => ({ content: readFileSync(p.path, "utf8").split("\n").slice(0, p.limit ?? undefined).join("\n") }))
    asks(app, M.fs.writeTextFile, (p) => { writeFileSync(p.path, p.content); return {} })
    let n = 0
    asks(app, M.terminal.create, () => ({ terminalId: `term_${++n}` }))
    asks(app, M.terminal.waitForExit, () => ({ exitCode: 0, signal: null }))
    asks(app, M.terminal.output, () => ({ output: "hello from a terminal\n", truncated: false, exitStatus: { exitCode: 0, signal: null } }))
    asks(app, M.terminal.kill, () => ({}))
    asks(app, M.terminal.release, () => ({}))
    asks(app, M.elicitation.create, () => ({ action: "accept", content: { colour: "blue" } }))
    const finished = new Promise((done) => { this.finish = done })
    this.connected = new Promise((done) => {
      this.connection = app.connectWith(this.#wire(), async (c) => { this.c = c; done(); await finished }).catch(() => {})
    })
  }

  async request(method, params) {
    await within("the connection", this.connected)
    return within(method, this.c.request(method, params), this.o.deadline ?? DEADLINE)
  }

  async notify(method, params) {
    await within("the connection", this.connected)
    return this.c.notify(method, params)
  }

  // What an error says, as an object; a result is a failure.
  async refused(method, params) {
    let result
    try {
      result = await this.request(method, params)
    } catch (e) {
      if (e.code === undefined) throw e
      return { code: e.code, message: e.message, data: e.data }
    }
    throw new Error(`${method} was answered: ${JSON.stringify(result)}`)
  }

  async initialize() {
    this.agent = await this.request(this.M.agent.initialize, {
      protocolVersion: 1, clientInfo: { name: "scripted-editor", version: "1" },
      clientCapabilities: this.o.capabilities ?? CAPABILITIES, _meta: { "example.test/editor": [1, 2] },
    })
    return this.agent
  }

  fresh(more = {}) { return this.request(this.M.agent.session.new, { cwd: this.cwd, mcpServers: [], ...more }) }
  prompt(sessionId, text, more = []) {
    const prompt = [...more, { type: "text", text }]
    for (const content of prompt) this.story.push({ sessionId, update: { sessionUpdate: "user_message_chunk", content } })
    return this.request(this.M.agent.session.prompt, { sessionId, prompt })
  }
  load(sessionId) { return this.request(this.M.agent.session.load, { sessionId, cwd: this.cwd, mcpServers: [] }) }
  resume(sessionId) { return this.request(this.M.agent.session.resume, { sessionId, cwd: this.cwd, mcpServers: [] }) }
  list(params = {}) { return this.request(this.M.agent.session.list, params) }
  async agentPid() { return (await this.request("_example.test/ping", {})).pid }

  updates(sessionId) { return this.got.filter((g) => g.sessionId === sessionId).map((g) => g.update) }
  kinds(sessionId) { return this.updates(sessionId).map((u) => u.sessionUpdate) }
  // The words of all messages of a kind, from update number `from` on.
  words(sessionId, kind = "agent_message_chunk", from = 0) {
    return this.updates(sessionId).slice(from).filter((u) => u.sessionUpdate === kind).map((u) => u.content.text ?? "").join("")
  }
  async answer(sessionId, text) {
    const from = this.updates(sessionId).length
    const { stopReason } = await this.prompt(sessionId, text)
    return { stopReason, words: this.words(sessionId, "agent_message_chunk", from) }
  }

  async close() {
    this.finish()
    this.child.stdin.end()
    return within("the proxy's end", this.over)
  }
  async kill() {
    this.child.kill("SIGKILL")
    this.finish()
    return within("the proxy's end", this.over)
  }
}
