// SPDX-License-Identifier: Apache-2.0
// The official SDK's client, unmodified, against `reprise mcp` and `reprise serve` (B-04, X-09, X-17, N-05), and what no
// client sends: raw messages over both transports.
//
// $REPRISE_SERVE and $REPRISE are the programs under test, $REPRISE_NPM is a folder with node_modules in it. Every wait
// has a deadline; ports are the kernel's choice.
import { spawn, execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import assert from "node:assert/strict"

const DEADLINE = 30000
let Client, StdioClientTransport, StreamableHTTPClientTransport, Next
try {
  const require = createRequire(path.join(process.env.REPRISE_NPM, "package.json"))
  Client = require("@modelcontextprotocol/sdk/client/index.js").Client
  StdioClientTransport = require("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport
  StreamableHTTPClientTransport = require("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport
  Next = { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") }
} catch (e) {
  console.log(`skipped: the SDK of MCP is not installed (./dev setup test): ${String(e.message).split("\n")[0]}`)
  process.exit(77)
}

const home = mkdtempSync(path.join(tmpdir(), "reprise-mcp-"))
const env = { PATH: process.env.PATH, HOME: home, REPRISE_HOME: home, REPRISE_HEARTBEAT_S: "1" }
for (const name of ["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"])
  if (process.env[name]) env[name] = process.env[name]
const MODERN = "2026-07-28"
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
}

// ---- what the tests share ----

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

async function until(what, fn) {
  const end = Date.now() + DEADLINE
  for (;;) {
    const got = await fn()
    if (got) return got
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await sleep(10)
  }
}

const cli = (...args) => execFileSync(process.env.REPRISE, args, { env, encoding: "utf8", timeout: DEADLINE })
const show = (id) => JSON.parse(cli("show", id, "--json"))
const sessions = (scope) => JSON.parse(cli("ls", "--scope", scope, "--json")).sessions

async function stdioClient(scope, more = {}) {
  const transport = new StdioClientTransport({
    command: process.env.REPRISE, args: ["mcp", "--scope", scope], env: { ...env, ...more }, stderr: "inherit",
  })
  const client = new Client({ name: "sdk", version: "1" })
  await client.connect(transport)
  return { client, transport }
}

let server
class Server {
  async start() {
    this.child = spawn(process.env.REPRISE_SERVE, ["--listen", "127.0.0.1:0"], { env, stdio: ["ignore", "ignore", "pipe"] })
    this.text = ""
    this.over = new Promise((done) => this.child.once("exit", (code, signal) => done({ code, signal })))
    this.child.stderr.on("data", (bytes) => { this.text = (this.text + bytes).slice(-100000) })
    await until("the server comes up", () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.text}`)
      return /event=ready/.test(this.text)
    })
    this.url = `http://${/event=listening.* address=(127\.0\.0\.1:\d+)/.exec(this.text)[1]}/mcp`
    return this
  }
  async stop() {
    this.child.kill("SIGTERM")
    return this.over
  }
}

async function httpClient(scope, headers = {}) {
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}?scope=${scope}`), { requestInit: { headers } })
  const client = new Client({ name: "sdk", version: "1" })
  await client.connect(transport)
  return { client, transport }
}

// One POST as it is; {status, headers, json}.
async function post(body, headers = {}, query = "") {
  const res = await fetch(server.url + query, {
    method: "POST", body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
  })
  const text = await res.text()
  return { status: res.status, headers: res.headers, text, json: text ? JSON.parse(text) : null }
}
const modern = (method, params = {}, headers = {}, query = "", id = 7) =>
  post({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } },
    { "MCP-Protocol-Version": MODERN, "Mcp-Method": method, ...headers }, query)

// `reprise mcp` by its pipes.
class Raw {
  constructor(scope, more = {}) {
    this.child = spawn(process.env.REPRISE, ["mcp", "--scope", scope], { env: { ...env, ...more } })
    this.over = new Promise((done) => this.child.once("exit", (code, signal) => done({ code, signal })))
    this.lines = []
    this.err = ""
    let rest = ""
    this.child.stdout.on("data", (bytes) => {
      const parts = (rest + bytes).split("\n")
      rest = parts.pop()
      this.lines.push(...parts)
    })
    this.child.stderr.on("data", (bytes) => { this.err += bytes })
  }
  send(message) { this.child.stdin.write((typeof message === "string" ? message : JSON.stringify(message)) + "\n") }
  async next() {
    await until("an answer", () => this.lines.length)
    return JSON.parse(this.lines.shift())
  }
  async ask(method, params, id = 1) {
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })
    return this.next()
  }
}
const INIT = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }

// The newer SDK's client, without a handshake.
async function modernClient(scope) {
  const transport = new Next.StdioClientTransport({
    command: process.env.REPRISE, args: ["mcp", "--scope", scope], env, stderr: "inherit",
  })
  const client = new Next.Client({ name: "sdk2", version: "1" }, { versionNegotiation: { mode: { pin: MODERN } } })
  await client.connect(transport)
  return client
}

// What a client sees, whatever the transport.
async function tour({ client }) {
  assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ["prompts", "resources", "tools"])
  assert.equal(client.getServerVersion().name, "reprise")
  await client.ping()
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map((t) => t.name), (await client.listTools()).tools.map((t) => t.name))
  for (const name of ["working_memory", "session_continue", "cortex_session_continue", "session_chain", "session_search",
    "session_status", "remember", "recall", "task"]) assert(tools.some((t) => t.name === name), name)
  const pinned = await client.callTool({
    name: "working_memory", arguments: { action: "pin", label: "river", content: "otters live upstream", importance: "critical" },
  })
  assert(!pinned.isError && pinned.structuredContent.count === 1, JSON.stringify(pinned))
  // Bad arguments are the model's business, an unknown tool is the client's.
  const bad = await client.callTool({ name: "working_memory", arguments: { action: "pin", nonsense: 1 } })
  assert(bad.isError && /nonsense/.test(bad.content[0].text), JSON.stringify(bad))
  await assert.rejects(client.callTool({ name: "nope", arguments: {} }), (e) => e.code === -32602)
  const { resources } = await client.listResources()
  assert(resources.some((r) => r.uri === "reprise://brief") && resources.length > 2)
  for (const r of resources) assert((await client.readResource({ uri: r.uri })).contents.length === 1, r.uri)
  assert((await client.listResourceTemplates()).resourceTemplates.length > 0)
  await assert.rejects(client.readResource({ uri: "reprise://sessions/none" }), (e) => e.code === -32002)
  await assert.rejects(client.listResources({ cursor: "nonsense" }), (e) => e.code === -32602)
  await assert.rejects(client.listTools({ cursor: "x" }), (e) => e.code === -32602)
  const { prompts } = await client.listPrompts()
  assert.deepEqual(prompts.map((p) => p.name), ["resume", "handoff"])
  assert(/otters live upstream/.test((await client.getPrompt({ name: "handoff" })).messages[0].content.text))
  await assert.rejects(client.getPrompt({ name: "nope" }), (e) => e.code === -32602)
  const status = await client.callTool({ name: "session_status", arguments: {} })
  return status.structuredContent.session_id
}

const cases = {
  // N-05, X-09: what was before is in the instructions, once, without the model doing anything.
  async "over pipes: a session, its end, and the next one's instructions"() {
    const first = await stdioClient("pipes")
    assert(!/otters/.test(first.client.getInstructions()))
    const id = await tour(first)
    await first.client.close()
    await until("it is closed", () => show(id).status === "closed")
    const second = await stdioClient("pipes")
    const said = second.client.getInstructions()
    assert.equal(said.split("otters live upstream").length, 2, said)
    await second.client.close()
    await until("both are closed", () => sessions("pipes").length === 2 && sessions("pipes").every((s) => s.status === "closed"))
  },

  async "over pipes: both eras, and what is no message"() {
    const raw = new Raw("eras")
    for (const [wanted, got] of [["2024-11-05", "2024-11-05"], ["2025-03-26", "2025-03-26"], ["1999-01-01", "2025-11-25"],
      [MODERN, "2025-11-25"]])
      assert.equal((await raw.ask("initialize", { ...INIT, protocolVersion: wanted })).result.protocolVersion, got)
    assert.equal((await raw.ask("initialize", {})).error.code, -32602)
    assert.deepEqual((await raw.ask("ping")).result, {})
    const found = await raw.ask("server/discover", { _meta: META }, "seven")
    assert.equal(found.id, "seven")
    assert.equal(found.result.resultType, "complete")
    assert.deepEqual(found.result.supportedVersions, [MODERN])
    assert.equal((await raw.ask("ping", { _meta: META })).error.code, -32601)
    const old = { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": "2027-01-01" } }
    assert.deepEqual((await raw.ask("tools/list", old)).error.data, { supported: [MODERN], requested: "2027-01-01" })
    assert.equal((await raw.ask("server/discover", {})).error.code, -32602)
    const lost = await raw.ask("resources/read", { uri: "reprise://nothing", _meta: META })
    assert.deepEqual([lost.error.code, lost.error.data], [-32602, { uri: "reprise://nothing" }])
    // Notifications and responses are heard in silence; the next answer is the next request's.
    raw.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
    raw.send({ jsonrpc: "2.0", id: 99, result: {} })
    for (const [line, code] of [["nonsense", -32700], ["[]", -32600], ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602], ['{"id":1,"method":"ping"}', -32600],
      ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600], ['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602]]) {
      raw.send(line)
      assert.equal((await raw.next()).error.code, code, line)
    }
    raw.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"y".repeat(11 * 1024 * 1024)}"}}`)
    const long = await raw.next()
    assert.deepEqual([long.id, long.error.code], [1, -32600])
    assert.deepEqual((await raw.ask("ping", {}, 5)).id, 5)
    raw.child.stdin.end('{"jsonrpc":"2.0","id":6,"method":"ping"}') // a last line without an end is one too
    assert.equal((await raw.next()).id, 6)
    assert.deepEqual(await raw.over, { code: 0, signal: null }, raw.err)
    assert.equal(raw.err, "")
    assert.deepEqual(sessions("eras").map((s) => s.status), ["closed"])
  },

  async "over pipes: a signal ends it in good order, also while nobody reads"() {
    const raw = new Raw("signal")
    await raw.ask("initialize", INIT)
    raw.child.kill("SIGTERM")
    assert.deepEqual(await raw.over, { code: 0, signal: null })
    const deaf = new Raw("signal")
    await deaf.ask("initialize", INIT)
    deaf.child.stdout.pause()
    for (let i = 0; i < 200; i++) deaf.send({ jsonrpc: "2.0", id: i, method: "tools/list" })
    await sleep(200) // long enough for the pipe to be full; the test holds either way
    deaf.child.kill("SIGTERM")
    assert.deepEqual(await deaf.over, { code: 0, signal: null })
    assert.deepEqual(sessions("signal").map((s) => s.status), ["closed", "closed"])
  },

  async "what may destroy and what only reads is told apart, and a few are always loaded"() {
    const { client } = await stdioClient("honest")
    const { tools } = await client.listTools()
    const hints = Object.fromEntries(tools.map((t) => [t.name, t.annotations]))
    assert.deepEqual(hints.working_memory_view, { title: "View working memory", readOnlyHint: true, destructiveHint: false,
      idempotentHint: true, openWorldHint: false })
    assert.equal(hints.working_memory.destructiveHint, true)
    for (const name of ["task", "remember", "recall"]) assert.equal(hints[name].destructiveHint, false, name)
    const always = tools.filter((t) => t._meta?.["anthropic/alwaysLoad"] === true).map((t) => t.name)
    assert.deepEqual(always, ["working_memory", "working_memory_view", "task", "remember", "recall"])
    const pinned = await client.callTool({ name: "working_memory", arguments: { action: "pin", label: "a", content: "otters" } })
    assert.deepEqual(pinned.structuredContent, { action: "pin", label: "a", count: 1, max: 10 })
    const seen = await client.callTool({ name: "working_memory_view" })
    assert(/1. \[a\] otters/.test(seen.content[0].text), JSON.stringify(seen))
    await client.callTool({ name: "task", arguments: { action: "open", title: "Mend it", stage: "whatever you like" } })
    const list = await client.callTool({ name: "task", arguments: { action: "list" } })
    assert(/Mend it/.test(list.content[0].text), JSON.stringify(list))
    await client.close()
  },

  async "without a handshake: who only asks leaves no session, who writes has one"() {
    const questions = { working_memory_view: {}, recall: {}, session_search: { query: "x" }, working_memory: { action: "view" },
      task: { action: "list" } }
    for (const name in questions) {
      const asks = await modernClient("asks")
      const got = await asks.callTool({ name, arguments: questions[name] })
      assert(!got.isError, JSON.stringify(got))
      await asks.listTools()
      await asks.close()
      assert.deepEqual(sessions("asks"), [], name)
    }
    const lost = await modernClient("asks")
    assert(/nothing was recorded/.test((await lost.callTool({ name: "session_status" })).content[0].text))
    await lost.close()
    const writes = await modernClient("asks")
    await writes.callTool({ name: "working_memory", arguments: { action: "pin", label: "den", content: "below the bridge" } })
    assert.equal((await writes.callTool({ name: "working_memory_view" })).structuredContent.count, 1)
    await writes.close()
    await until("its end", () => sessions("asks").every((s) => s.status === "closed"))
    assert.equal(sessions("asks").length, 1)
    const next = await modernClient("asks")
    assert(/below the bridge/.test(next.getInstructions()), next.getInstructions())
    assert.equal((await next.callTool({ name: "working_memory_view" })).structuredContent.pins[0].label, "den")
    await next.close()
    assert.equal(sessions("asks").length, 1)
    const legacy = await stdioClient("empty")
    await legacy.client.close()
    assert.equal(sessions("empty").length, 1)
  },

  // The SDK above asks one process and talks to another; who stays with one is told once (N-05, X-09).
  async "without a handshake: told there, so not by the agent's hooks, and what they begin is joined"() {
    cli("start", "--scope", "told", "--key", "before")
    cli("pin", "before", "den", "below the bridge", "--importance", "critical")
    cli("end", "before")
    const raw = new Raw("told")
    const ask = async (method, params = {}) => (await raw.ask(method, { ...params, _meta: META })).result
    const start = { session_id: "h", hook_event_name: "SessionStart", source: "startup", cwd: home }
    const hook = (input) => execFileSync(process.env.REPRISE, ["hook", "--scope", "told", "--within", "30s"],
      { env, input: JSON.stringify(input), encoding: "utf8", timeout: DEADLINE })
    assert.match((await ask("server/discover")).instructions, /below the bridge/)
    const second = new Raw("told")
    assert.doesNotMatch((await second.ask("server/discover", { _meta: META })).result.instructions, /below the bridge/)
    second.child.stdin.end()
    await second.over
    assert.equal(hook(start), "")
    const status = await ask("tools/call", { name: "session_status", arguments: {} })
    assert.equal(status.structuredContent.key, "claude:h")
    await ask("tools/call", { name: "remember", arguments: { text: "otters bite" } })
    assert.equal(sessions("told").length, 2)
    hook({ ...start, hook_event_name: "SessionEnd" })
    raw.child.stdin.end()
    await raw.over
    assert.match(hook({ ...start, session_id: "h2" }), /below the bridge/)
    hook({ ...start, session_id: "h2", hook_event_name: "SessionEnd" })
  },

  // Inside another bridge nothing is begun, told or ended.
  async "within another bridge: a guest"() {
    const host = JSON.parse(cli("start", "--scope", "nest", "--json")).session_id
    cli("pin", host, "den", "under the willow")
    const guest = new Raw("elsewhere", { REPRISE_SESSION: host, REPRISE_SCOPE: "nest" })
    assert(!/willow/.test((await guest.ask("initialize", INIT)).result.instructions))
    const got = await guest.ask("tools/call", { name: "session_status", arguments: {} })
    assert.equal(got.result.structuredContent.session_id, host)
    guest.child.stdin.end()
    await guest.over
    assert.notEqual(show(host).status, "closed")
    assert.equal(sessions("elsewhere").length, 0)
  },

  async "over HTTP: a session of its own, until the client ends it"() {
    const first = await httpClient("web")
    const id = await tour(first)
    assert.equal(first.transport.sessionId, id)
    assert.equal(show(id).channel, "mcp")
    assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "MCP-Session-Id": id })).status, 404, "another scope's")
    await first.transport.terminateSession()
    await first.client.close()
    assert.equal(show(id).status, "closed")
    const gone = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "MCP-Session-Id": id }, "?scope=web")
    assert.equal(gone.status, 404)
    const second = await httpClient("web")
    assert.equal(second.client.getInstructions().split("otters live upstream").length, 2)
    assert.notEqual(second.transport.sessionId, id)
    await second.client.close()
  },

  async "over HTTP: a client of the legacy era comes back to its session after a restart of the server"() {
    const { client, transport } = await httpClient("restart")
    await client.callTool({ name: "working_memory", arguments: { action: "pin", label: "a", content: "b" } })
    await client.close()
    assert.deepEqual(await server.stop(), { code: 0, signal: null })
    server = await new Server().start()
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "working_memory", arguments: { action: "view" } } }
    const got = await post(call, { "MCP-Session-Id": transport.sessionId }, "?scope=restart")
    assert.equal(got.json.result.structuredContent.count, 1, got.text)
  },

  async "over HTTP: without a handshake, one session per scope and client"() {
    const query = "?scope=modern"
    const call = (name, args, headers = {}) =>
      modern("tools/call", { name, arguments: args }, { "Mcp-Name": name, ...headers }, query)
    const pin = await call("working_memory", { action: "pin", label: "den", content: "below the bridge" })
    assert.equal(pin.status, 200)
    assert.equal(pin.headers.get("mcp-session-id"), null)
    const view = await call("working_memory", { action: "view" }, { "MCP-Session-Id": "whatever" })
    assert.equal(view.json.result.structuredContent.count, 1, view.text)
    assert.equal(sessions("modern").length, 1)
    // N-05: who comes back is told what is there now.
    const found = await modern("server/discover", {}, {}, query)
    assert(/below the bridge/.test(found.json.result.instructions), found.text)
    const brief = await modern("resources/read", { uri: "reprise://brief" },
      { "Mcp-Name": `=?base64?${Buffer.from("reprise://brief").toString("base64")}?=` }, query)
    assert(/below the bridge/.test(brief.json.result.contents[0].text), brief.text)
    assert.equal(brief.json.result.cacheScope, "private")
    assert.equal(sessions("modern").length, 1)
  },

  async "over HTTP: statuses and headers"() {
    const list = (headers, meta = META) => post({ jsonrpc: "2.0", id: 3, method: "tools/list", params: { _meta: meta } }, headers)
    const right = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list" }
    assert.equal((await list(right)).status, 200)
    const wrong = [
      [{ ...right, "Mcp-Method": "tools/call" }, META, -32020], [{ "MCP-Protocol-Version": MODERN }, META, -32020],
      [{ "Mcp-Method": "tools/list" }, META, -32020], [right, {}, -32602],
      [{ ...right, "Mcp-Method": "=?base64?dG9vbHMvbGlzdA?=" }, META, -32020],
      [{ ...right, "MCP-Protocol-Version": "9" }, { ...META, "io.modelcontextprotocol/protocolVersion": "9" }, -32022],
      [{ "MCP-Protocol-Version": "2020-01-01" }, {}, -32600],
    ]
    for (const [headers, meta, code] of wrong) {
      const got = await list(headers, meta)
      assert.deepEqual([got.status, got.json.error?.code, got.json.id], [400, code, 3], JSON.stringify([headers, got.json]))
    }
    assert.equal((await list({ ...right, "Mcp-Method": "=?base64?dG9vbHMvbGlzdA==?=" })).status, 200)
    assert.equal((await modern("ping")).status, 404)
    assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "nope" })).status, 200)
    assert.deepEqual([(await post("nonsense")).status, (await post("nonsense")).json.error.code], [400, -32700])
    const note = await post({ jsonrpc: "2.0", method: "notifications/initialized" })
    assert.deepEqual([note.status, note.text], [202, ""])
    assert.equal((await fetch(server.url)).status, 405)
    assert.equal((await fetch(server.url, { method: "DELETE" })).status, 400)
    assert.equal((await fetch(server.url, { method: "DELETE", headers: { "MCP-Session-Id": "nope" } })).status, 404)
    assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { Origin: "http://evil.example" })).status, 403)
    const begun = JSON.parse(cli("start", "--scope", "default", "--json")).session_id
    assert.equal((await fetch(server.url, { method: "DELETE", headers: { "MCP-Session-Id": begun } })).status, 404, "others' to end")
  },

  async "over HTTP: a token's scope, and one that only reads"() {
    const token = (...more) => JSON.parse(cli("token", "create", "--scope", "mine", "--json", ...more)).token
    const bearer = (text) => ({ Authorization: `Bearer ${text}` })
    const full = await httpClient("mine", bearer(token()))
    await full.client.callTool({ name: "remember", arguments: { text: "the key is under the mat" } })
    const secret = full.transport.sessionId
    assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, bearer(token()), "?scope=other")).status, 403)
    const before = sessions("mine").length
    const reader = await httpClient("mine", bearer(token("--read-only")))
    assert.equal(reader.transport.sessionId, undefined)
    const found = await reader.client.callTool({ name: "recall", arguments: { query: "mat" } })
    assert(/under the mat/.test(found.content[0].text), JSON.stringify(found))
    const refused = await reader.client.callTool({ name: "remember", arguments: { text: "x" } })
    assert(refused.isError, JSON.stringify(refused))
    assert((await reader.client.listResources()).resources.length > 2)
    assert.equal(sessions("mine").length, before)
    // Another scope's sessions are not there for it.
    const stranger = await httpClient("mine", bearer(token()))
    cli("start", "--scope", "theirs", "--id", "theirs-1")
    const taken = await stranger.client.callTool({ name: "session_continue", arguments: { session_id: "theirs-1" } })
    assert(taken.isError, JSON.stringify(taken))
    await assert.rejects(stranger.client.readResource({ uri: "reprise://sessions/theirs-1" }), (e) => e.code === -32002)
    const own = token("--read-only")
    const del = await fetch(`${server.url}?scope=mine`, { method: "DELETE", headers: { "MCP-Session-Id": secret, ...bearer(own) } })
    assert.equal(del.status, 403)
    const session = JSON.parse(await (await fetch(server.url.replace("/mcp", "/v1/sessions"),
      { method: "POST", body: '{"scope":"mine"}', headers: { "Content-Type": "application/json" } })).text()).token
    assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, bearer(session))).status, 403, "a session's own token")
    for (const c of [full, reader, stranger]) await c.client.close()
  },
}

let failed = 0
try {
  server = await new Server().start()
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run()
      console.log(`ok     ${name}`)
    } catch (e) {
      failed++
      console.log(`FAILED ${name}: ${e.stack}`)
    }
  }
  const end = await server.stop()
  if (end.code !== 0) {
    failed++
    console.log(`FAILED the server's end: ${JSON.stringify(end)}\n${server.text}`)
  }
} finally {
  server?.child.kill("SIGKILL")
  rmSync(home, { recursive: true, force: true })
}
console.log(`${Object.keys(cases).length} cases, ${failed} failed`)
process.exit(failed ? 1 : 0)
