// SPDX-License-Identifier: Apache-2.0
// The stock Phoenix client, unmodified, against the real server (L-01, L-02, L-03, L-05, L-08, L-10, L-13, C-10).
//
// $REPRISE_SERVE and $REPRISE are the programs under test, $REPRISE_NPM is a folder with node_modules in it. Every wait
// has a deadline; ports are the kernel's choice, and a server that comes back has the port it had.
import { spawn, execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import assert from "node:assert/strict"

const DEADLINE = 15000
let Socket, WebSocket
try {
  const require = createRequire(path.join(process.env.REPRISE_NPM, "package.json"))
  Socket = require("phoenix").Socket
  WebSocket = require("ws")
} catch (e) {
  console.log(`skipped: the phoenix client is not installed (./dev setup test): ${String(e.message).split("\n")[0]}`)
  process.exit(77)
}

const home = mkdtempSync(path.join(tmpdir(), "reprise-phoenix-"))
const env = { ...process.env, REPRISE_HOME: home, REPRISE_LEAVE_S: "1", REPRISE_HEARTBEAT_S: "1" }
for (const name of ["REPRISE_DB", "REPRISE_CONFIG", "REPRISE_NOW"]) delete env[name]

// ---- what the tests share ----

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

async function until(what, fn, ms = DEADLINE) {
  const end = Date.now() + ms
  for (;;) {
    const got = await fn()
    if (got) return got
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await sleep(10)
  }
}

function cliWith(more, ...args) {
  return execFileSync(process.env.REPRISE, args, { env: { ...env, ...more }, encoding: "utf8", timeout: DEADLINE })
}
const cli = (...args) => cliWith({}, ...args)
const log = (id) => cli("log", id, "--json").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line))
const show = (id) => JSON.parse(cli("show", id, "--json"))

class Server {
  async start(port = 0) {
    this.child = spawn(process.env.REPRISE_SERVE, ["--listen", `127.0.0.1:${port}`], {
      env, stdio: ["ignore", "ignore", "pipe"],
    })
    this.text = ""
    this.over = new Promise((done) => this.child.once("exit", (code, signal) => done({ code, signal })))
    this.child.stderr.on("data", (bytes) => { this.text = (this.text + bytes).slice(-100000) })
    await until("the server comes up", () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.text}`)
      return /event=ready/.test(this.text)
    })
    this.port = Number(/event=listening.* address=127\.0\.0\.1:(\d+)/.exec(this.text)[1])
    return this
  }
  async kill(signal) {
    this.child.kill(signal)
    return this.over
  }
}

let server
const open = new Set()
function connect(params = {}, options = {}) {
  const socket = new Socket(`ws://127.0.0.1:${server.port}/socket`, { transport: WebSocket, params, ...options })
  open.add(socket)
  socket.connect()
  return socket
}
function disconnect(socket) {
  open.delete(socket)
  return new Promise((done) => socket.disconnect(done))
}

// A push's or join's reply: {status, response}.
const answer = (push) => new Promise((done, fail) => {
  push.receive("ok", (response) => done({ status: "ok", response }))
    .receive("error", (response) => done({ status: "error", response }))
    .receive("timeout", () => fail(new Error("no reply")))
})
async function ok(push) {
  const got = await answer(push)
  assert.equal(got.status, "ok", JSON.stringify(got))
  return got.response
}
async function refused(push) {
  const got = await answer(push)
  assert.equal(got.status, "error", JSON.stringify(got))
  return got.response
}

// A socket without the client: frames as they are on the wire.
class Raw {
  constructor(query = "?vsn=2.0.0", protocols = [], headers = {}) {
    this.frames = []
    this.ws = new WebSocket(`ws://127.0.0.1:${server.port}/socket/websocket${query}`, protocols, { headers })
    this.ws.binaryType = "arraybuffer"
    this.ws.on("message", (data, binary) => this.frames.push(binary ? Buffer.from(data) : JSON.parse(data.toString())))
    this.closed = new Promise((done) => this.ws.on("close", (code, why) => done({ code, why: why.toString() })))
    this.refusal = new Promise((done) => this.ws.on("unexpected-response", (_, res) => {
      let body = ""
      res.on("data", (b) => { body += b })
      res.on("end", () => done({ status: res.statusCode, body: JSON.parse(body) }))
    }))
    this.ws.on("error", () => {})
    this.ready = new Promise((done) => this.ws.on("open", done))
  }
  send(...fields) { this.ws.send(JSON.stringify(fields)) }
  async next() {
    await until("a frame", () => this.frames.length)
    return this.frames.shift()
  }
  close() { this.ws.terminate() }
}

// Whatever was due to be closed for a leave before this call has been closed when it returns.
let graces = 0
async function graceIsOver() {
  const id = `grace-${++graces}`
  const socket = connect()
  const channel = socket.channel(`session:${id}`, {})
  await ok(channel.join())
  await ok(channel.leave())
  await until("a session that was left later is closed", () => show(id).status === "closed")
  await disconnect(socket)
}

const tests = []
const test = (name, fn) => tests.push([name, fn])
const message = (content) => ({ kind: "message", body: { role: "user", content } })

// ---- the protocol, frame by frame ----

test("the handshake: version, subprotocol, heartbeat (L-03)", async () => {
  for (const query of ["", "?vsn=1.0.0"]) {
    const raw = new Raw(query)
    const { status, body } = await raw.refusal
    assert.equal(status, 400)
    assert.equal(body.field, "vsn")
    assert.match(body.hint, /2\.0\.0/)
  }
  const raw = new Raw("?vsn=2.0.0", ["phoenix"])
  await raw.ready
  assert.equal(raw.ws.protocol, "phoenix")
  raw.send(null, "7", "phoenix", "heartbeat", {})
  assert.deepEqual(await raw.next(), [null, "7", "phoenix", "phx_reply", { status: "ok", response: {} }])
  raw.close()
})

test("what is no message closes the socket with 1003 and a reason", async () => {
  for (const bad of ["hello", "{}", '["1","2","a","e"]', '[1,"2","a","e",{}]', Buffer.from([1, 2, 3])]) {
    const raw = new Raw()
    await raw.ready
    raw.ws.send(bad)
    const { code, why } = await raw.closed
    assert.equal(code, 1003)
    assert.notEqual(why, "")
  }
})

test("topics and join_refs by the rules of Phoenix", async () => {
  const raw = new Raw()
  await raw.ready
  const unmatched = { status: "error", response: { reason: "unmatched topic" } }
  for (const [topic, event] of [["video:meta", "phx_join"], ["notes:x", "phx_join"], ["session:none", "ping"], ["phoenix", "hm"]]) {
    raw.send("1", "2", topic, event, {})
    assert.deepEqual(await raw.next(), [null, "2", topic, "phx_reply", unmatched])
  }
  raw.send("1", "3", "session:none", "phx_leave", {})
  assert.deepEqual(await raw.next(), ["1", "3", "session:none", "phx_reply", { status: "ok", response: {} }])

  raw.send("4", "4", "session:rules", "phx_join", {})
  assert.equal((await raw.next())[4].response.session_id, "rules")
  raw.send("stale", "5", "session:rules", "ping", {})
  raw.send("4", "6", "session:rules", "ping", {})
  assert.deepEqual(await raw.next(), ["4", "6", "session:rules", "phx_reply", { status: "ok", response: { pong: true } }])
  raw.send(null, "7", "session:rules", "ping", {})
  assert.equal((await raw.next())[1], "7")
  raw.send("4", "8", "session:rules", "no_such_event", {})
  assert.deepEqual((await raw.next())[4], { status: "error", response: { reason: "unmatched event" } })

  // A second join: its reply, then the close of the first, by the first's ref.
  raw.send("9", "9", "session:rules", "phx_join", {})
  const second = await raw.next()
  assert.deepEqual([second[0], second[1], second[4].status], ["9", "9", "ok"])
  assert.deepEqual(await raw.next(), ["4", "4", "session:rules", "phx_close", {}])
  raw.send("9", "10", "session:rules", "phx_leave", {})
  assert.deepEqual(await raw.next(), ["9", "10", "session:rules", "phx_reply", { status: "ok", response: {} }])
  assert.deepEqual(await raw.next(), ["9", "9", "session:rules", "phx_close", {}])
  raw.close()
})

test("at most 100 channels on a socket; pushes before the reply are answered after it", async () => {
  const raw = new Raw()
  await raw.ready
  for (let i = 0; i < 101; i++) raw.send(`${i}`, `${i}`, `session:many-${i}`, "phx_join", {})
  const replies = []
  while (replies.length < 101) {
    const frame = await raw.next()
    if (frame[3] === "phx_reply") replies.push(frame)
  }
  const last = replies.find((r) => r[1] === "100")
  assert.deepEqual(last[4], { status: "error", response: { reason: "too many channels joined" } })
  assert.equal(replies.filter((r) => r[4].status === "ok").length, 100)
  raw.close()
  const early = new Raw()
  await early.ready
  early.send("1", "1", "session:early", "phx_join", {})
  early.send("1", "2", "session:early", "event", message("a"))
  early.send("1", "3", "session:early", "event", message("b"))
  early.send("1", "4", "session:early", "sync", { last_known_sequence: 0 })
  const got = []
  while (got.length < 4) {
    const frame = await early.next()
    if (frame[3] === "phx_reply") got.push(frame)
  }
  assert.deepEqual(got.map((f) => f[1]), ["1", "2", "3", "4"])
  assert.deepEqual(got.slice(1, 3).map((f) => f[4].response.seq), [1, 2])
  assert.deepEqual(got[3][4].response, { gap: 2, status: "active", seq: 2 })
  early.close()
})

// ---- the stock client ----

test("join, push, reply, broadcast, status, leave (L-03, L-08)", async () => {
  const socket = connect()
  const channel = socket.channel("session:first", { scope: "lossy", video_id: "v1" })
  const events = [], statuses = []
  channel.on("event", (e) => events.push(e))
  channel.on("status", (s) => statuses.push(s.status))
  const joined = await ok(channel.join())
  assert.equal(joined.session_id, "first")
  assert.equal(joined.scope, "lossy")
  assert.equal(joined.status, "created")
  assert.equal(joined.created, true)
  assert.match(joined.token, /^rps_/)
  assert.deepEqual(await ok(channel.push("event", message("hello"))), { seq: 1, durability: "disk" })
  const at = "2026-01-02T03:04:05.678Z"
  assert.equal((await ok(channel.push("event", { ...message("then"), at }))).seq, 2)
  await until("the broadcasts", () => events.length >= 2)
  assert.deepEqual(events.map((e) => [e.seq, e.kind, e.body.content]), [[1, "message", "hello"], [2, "message", "then"]])
  assert.equal(events[1].at, at)
  await until("the status", () => statuses.includes("active"))
  assert.equal((await ok(channel.push("event", { ...message("quick"), durability: "memory" }))).durability, "memory")
  assert.ok((await ok(channel.push("checkpoint", {}))).snapshot >= 1)
  assert.equal(show("first").meta.video_id, "v1")
  assert.equal(show("first").channel, "channel")

  const bad = await refused(channel.push("event", { kind: "message", body: { role: "nobody", content: "" } }))
  assert.deepEqual([bad.reason, bad.field], ["event.invalid", "body.role"])
  assert.equal((await refused(channel.push("event", { body: {} }))).field, "kind")
  assert.equal((await refused(channel.push("event", { kind: "message", body: {}, client_id: "c" }))).field, "client_seq")
  assert.equal((await refused(channel.push("event", { ...message("x"), sequence: 1 }))).field, "sequence")

  await ok(channel.leave())
  await until("closed by leaving", () => show("first").status === "closed")
  const again = socket.channel("session:first", {})
  const back = await ok(again.join())
  assert.equal(back.session_id, "first")
  assert.ok(back.epoch > joined.epoch, "an explicit resume is a run of its own (L-05)")
  assert.equal(back.resumed, true)
  await ok(again.push("close_session", {}))
  assert.equal(show("first").status, "closed")
  await until("its channel is closed", () => again.state === "closed")
  await disconnect(socket)
})

test("the end of a session: what is owed, the status, then phx_close (L-05)", async () => {
  const raw = new Raw(), watcher = new Raw()
  for (const [socket, ref] of [[raw, "1"], [watcher, "w"]]) {
    await socket.ready
    socket.send(ref, ref, "session:over", "phx_join", {})
    assert.equal((await socket.next())[4].status, "ok")
  }
  raw.send("1", "2", "session:over", "event", message("last words"))
  raw.send("1", "3", "session:over", "close_session", {})
  const frames = []
  do frames.push(await raw.next()); while (frames.at(-1)[3] !== "phx_close")
  const at = (what) => frames.findIndex((f) => f[1] === what || (f[3] === "status" && f[4].status === what))
  assert.deepEqual(frames.at(-1), ["1", "1", "session:over", "phx_close", {}])
  assert.deepEqual([frames[at("2")][4].status, frames[at("3")][4].response], ["ok", { status: "closed" }])
  assert.ok(at("closed") >= 0)
  const heard = []
  do heard.push(await watcher.next()); while (heard.at(-1)[3] !== "phx_close")
  assert.deepEqual(heard.at(-1), ["w", "w", "session:over", "phx_close", {}])
  assert.equal(heard.at(-2)[4].status, "closed")
  raw.send("1", "4", "session:over", "event", message("late"))
  assert.deepEqual((await raw.next())[4], { status: "error", response: { reason: "unmatched topic" } })

  // An end of the past, told again to who asks for the past, ends nothing.
  raw.send("5", "5", "session:over", "phx_join", { after: 0 })
  assert.equal((await raw.next())[4].response.resumed, true)
  raw.send("5", "6", "session:over", "event", message("again"))
  const replayed = []
  do replayed.push(await raw.next()); while (replayed.at(-1)[4].body?.content !== "again")
  assert.ok(replayed.some((f) => f[3] === "event" && f[4].body.status === "closed"))
  assert.ok(!replayed.some((f) => f[3] === "phx_close" || f[4].status === "closed"))
  raw.close()
  watcher.close()
})

// The client has no channel that it would join again: it comes back, and does not.
async function comesBackWithout(socket, channel) {
  let opened = 0
  socket.onOpen(() => opened++)
  socket.conn.terminate()
  await until("the client is back", () => opened === 1)
  const other = socket.channel(`session:after-${channel.topic.split(":")[1]}`, {})
  await ok(other.join())
  assert.equal(channel.state, "closed")
}
const joinedChannels = async () => {
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
  return Number(/^reprise_server_channels (\d+)$/m.exec(text)[1])
}

test("a session that was ended stays so when the client joins again by itself (L-05)", async () => {
  await until("nobody is joined", async () => await joinedChannels() === 0)
  const socket = connect()
  const channel = socket.channel("session:ended", {})
  const statuses = []
  channel.on("status", (s) => statuses.push(s.status))
  await ok(channel.join())
  cli("end", "ended")
  await until("the channel is closed", () => channel.state === "closed")
  assert.equal(statuses.at(-1), "closed")
  assert.equal(await joinedChannels(), 0)
  await comesBackWithout(socket, channel)
  assert.equal(show("ended").status, "closed")
  const anew = socket.channel("session:ended", {})
  assert.equal((await ok(anew.join())).resumed, true)
  assert.equal((await ok(anew.push("event", message("back")))).durability, "disk")
  await disconnect(socket)
})

test("who watches a session hears that it was abandoned, and that was it (L-09)", async () => {
  const raw = new Raw()
  await raw.ready
  raw.send("1", "1", "session:silent", "phx_join", { scope: "silent" })
  assert.equal((await raw.next())[4].status, "ok")
  raw.close()
  const made = cli("token", "create", "--read-only", "--json")
  const reader = connect({ token: JSON.parse(made).token }) // keeps nothing alive
  const channel = reader.channel("session:silent", {})
  const statuses = []
  channel.on("status", (s) => statuses.push(s.status))
  await ok(channel.join())
  cliWith({ REPRISE_NOW: new Date(Date.now() + 7200000).toISOString() }, "gc", "--scope", "silent")
  await until("the channel is closed", () => channel.state === "closed")
  assert.equal(statuses.at(-1), "abandoned")
  await disconnect(reader)
})

test("a session that was deleted is not made again by a client that joins by itself", async () => {
  const socket = connect()
  for (const [id, remove] of [
    ["erased", () => cli("rm", "erased", "--now", "--yes")],
    ["trashed", () => cli("rm", "trashed")],
  ]) {
    const first = socket.channel(`session:${id}`, {})
    await ok(first.join())
    cli("end", id)
    await until("closed", () => first.state === "closed")
    const made = cli("token", "create", "--read-only", "--json")
    const reader = connect({ token: JSON.parse(made).token })
    const channel = reader.channel(`session:${id}`, {}) // who may not write looks at what has ended
    await ok(channel.join())
    remove()
    await until("the reader's channel is closed", () => channel.state === "closed")
    await disconnect(reader)
  }
  await disconnect(socket)
})

test("one session per key; a reload keeps it, another video is another one (L-01, L-02)", async () => {
  const socket = connect()
  const join = { scope: "lossy", key: "tab1:video1" }
  const first = socket.channel("audio:page-load-1", join)
  const one = await ok(first.join())
  assert.equal(one.created, true)
  await ok(first.push("transcript_final", { text: "before the reload" }))
  first.leave()
  await disconnect(socket)
  const reloaded = connect()
  const second = reloaded.channel("audio:page-load-2", join)
  const events = []
  second.on("event", (e) => events.push(e))
  const two = await ok(second.join())
  assert.equal(two.session_id, one.session_id)
  assert.equal(two.epoch, one.epoch)
  assert.equal(two.resumed, true)
  await graceIsOver()
  assert.equal((await ok(second.push("transcript_final", { text: "after the reload" }))).seq, 2)
  await until("its own topic", () => events.some((e) => e.body.text === "after the reload"))
  const other = await ok(reloaded.channel("audio:page-load-3", { scope: "lossy", key: "tab1:video2" }).join())
  assert.notEqual(other.session_id, one.session_id)
  await ok(second.push("close_session", {}))
  const third = await ok(reloaded.channel("audio:page-load-4", join).join())
  assert.notEqual(third.session_id, one.session_id, "what was closed does not come back by its key (L-05)")
  await disconnect(reloaded)
})

test("two tabs, and a third that asks for the past", async () => {
  const a = connect(), b = connect()
  const left = a.channel("session:shared", {}), right = b.channel("audio:shared", {})
  const heard = [], notes = [], partials = []
  await ok(left.join())
  await ok(right.join())
  right.on("event", (e) => heard.push(e.seq))
  right.on("note_created", (n) => notes.push(n))
  right.on("transcript_partial", (p) => partials.push(p.text))
  left.push("transcript_partial", { text: "so" })
  await ok(left.push("event", message("one")))
  await ok(left.push("note", { id: "n1", text: "cut here", category: "pacing", confidence: 0.8, timestamp_seconds: 12.5 }))
  await until("the other tab hears it", () => heard.length >= 2)
  assert.deepEqual(heard, [1, 2])
  assert.deepEqual(partials, ["so"])
  const { timestamp, ...note } = await until("note_created", () => notes[0])
  assert.deepEqual(note, { id: "n1", text: "cut here", category: "pacing", confidence: 0.8, timestamp_seconds: 12.5, raw_transcript: null })
  assert.ok(Number.isInteger(timestamp))
  const late = b.channel("session:shared", { after: 0 })
  const past = []
  late.on("event", (e) => past.push(e.seq))
  assert.equal((await ok(late.join())).seq, 2)
  await until("the replay", () => past.length >= 2)
  assert.deepEqual(past, [1, 2])
  await ok(left.leave())
  await graceIsOver()
  assert.notEqual(show("shared").status, "closed", "somebody is still there")
  await Promise.all([disconnect(a), disconnect(b)])
  await until("closed after both hung up by their own will", () => show("shared").status === "closed")
})

test("twelve segments in one session, the seed's own events (L-01, L-07, L-13)", async () => {
  const socket = connect()
  const channel = socket.channel("audio:segments", { scope: "lossy", video_id: "v9", timestamp: 1 })
  await ok(channel.join())
  for (let i = 0; i < 12; i++) {
    await ok(channel.push("set_timestamp", { timestamp: 10 * i }))
    channel.push("audio_chunk", { data: [1, 2, 3, 4] })
    channel.push("audio_chunk", { data: { 0: 1, 1: 2 } })
    channel.push("audio_chunk", { data: "abc" })
    channel.push("audio_chunk", new Uint8Array([1, 2, 3, 4, 5]).buffer)
    assert.deepEqual(await ok(channel.push("stop_recording", {})), {})
    await ok(channel.push("transcript_final", {
      text: `segment ${i}`, source: "local", chunks: 4, durationSeconds: 1.5, transcriptionTimeMs: 20,
    }))
  }
  await ok(channel.push("frame_embedding", { embedding: [0.1, 0.2], timestamp: 111, source: "webgpu", device: "d", embeddingTimeMs: 3 }))
  await ok(channel.push("update_video_context", { video_id: "v10" }))
  await ok(channel.push("note_created", { text: "tighten this", category: "pacing", confidence: 0.9 }))
  assert.deepEqual(await ok(channel.push("ping", {})), { pong: true })
  assert.equal((await refused(channel.push("transcript_final", { text: 7 }))).field, "text")
  assert.equal((await refused(channel.push("set_timestamp", { timestamp: "x" }))).field, "timestamp")
  assert.equal((await refused(channel.push("set_timestamp", { timestamp: -4 }))).field, "timestamp")
  assert.equal((await refused(channel.push("note", { text: "x", timestamp_seconds: -1 }))).field, "timestamp_seconds")
  assert.equal((await refused(channel.push("note", { text: "x", timestamp_seconds: "x" }))).field, "timestamp_seconds")
  assert.equal((await refused(socket.channel("audio:before", { scope: "lossy", timestamp: -5 }).join())).field, "timestamp")
  const events = log("segments")
  const transcripts = events.filter((e) => e.kind === "transcript")
  assert.deepEqual(transcripts.map((e) => e.body.text), Array.from({ length: 12 }, (_, i) => `segment ${i}`))
  assert.deepEqual(transcripts.map((e) => e.body.timestamp), Array.from({ length: 12 }, (_, i) => 10 * i))
  assert.ok(transcripts.every((e) => e.body.final === true && e.body.duration_seconds === 1.5))
  const audio = events.filter((e) => e.kind === "x-audio")
  assert.equal(audio.length, 12)
  assert.ok(audio.every((e) => e.body.chunks === 4 && e.body.bytes === 14))
  const frame = events.find((e) => e.kind === "frame")
  assert.equal(frame.body.timestamp, 111)
  assert.ok(frame.body.frame_id && frame.body.uploaded_at)
  assert.equal(JSON.parse(cli("state", "segments", "--json")).settings.meta.video_id, "v10")
  const note = events.find((e) => e.kind === "note")
  assert.equal(note.body.timestamp, 110)
  const { brief } = await ok(channel.push("brief", {}))
  assert.match(brief, /segment 11/)
  assert.match(brief, /tighten this/)
  await disconnect(socket)
})

test("a binary push gets a binary reply", async () => {
  const raw = new Raw()
  await raw.ready
  raw.send("3", "3", "audio:binary", "phx_join", {})
  assert.equal((await raw.next())[4].status, "ok")
  const head = (ref, event) => Buffer.concat([Buffer.from([0, 1, ref.length, 12, event.length]), Buffer.from(`3${ref}audio:binary${event}`)])
  raw.ws.send(Buffer.concat([head("6", "ping"), Buffer.from([9, 8, 7])]))
  assert.deepEqual(await raw.next(), Buffer.concat([Buffer.from([1, 1, 1, 12, 2]), Buffer.from("36audio:binaryok"), Buffer.from([9, 8, 7])]))
  raw.ws.send(Buffer.concat([head("7", "event"), Buffer.from("{}")]))
  assert.equal((await raw.next())[4].response.reason, "event.invalid")
  raw.close()
})

test("close_session, then leave, then gone: all of it is heard (L-08)", async () => {
  const socket = connect()
  const channel = socket.channel("session:goodbye", {})
  await ok(channel.join())
  channel.push("event", message("last words"))
  channel.push("close_session", {})
  channel.leave()
  socket.disconnect()
  open.delete(socket)
  await until("closed at once", () => show("goodbye").status === "closed")
  assert.equal(log("goodbye")[0].body.content, "last words")
})

test("a connection that is lost closes nothing (L-08)", async () => {
  const raw = new Raw()
  await raw.ready
  raw.send("1", "1", "session:lost", "phx_join", {})
  const { epoch } = (await raw.next())[4].response
  raw.ws.terminate()
  await graceIsOver()
  assert.equal(show("lost").status, "created")
  const socket = connect()
  assert.equal((await ok(socket.channel("session:lost", {}).join())).epoch, epoch)
  await disconnect(socket)
})

test("the sessions of a scope, live (C-10)", async () => {
  const socket = connect()
  const list = socket.channel("sessions:watched", {})
  const seen = []
  list.on("session", (doc) => seen.push([doc.session_id, doc.status]))
  list.on("removed", (doc) => seen.push([doc.session_id, "removed"]))
  await ok(list.join())
  const channel = socket.channel("session:watched-1", { scope: "watched" })
  await ok(channel.join())
  await until("the new one", () => seen.some(([id]) => id === "watched-1"))
  assert.equal((await refused(list.push("event", message("x")))).reason, "unmatched event")
  await ok(channel.push("close_session", {}))
  await until("its end", () => seen.some(([id, status]) => id === "watched-1" && status !== "created" && status !== "active"))
  await disconnect(socket)
})

test("tokens: a session's own opens that session, one for reading does not write", async () => {
  const local = connect()
  const { token } = await ok(local.channel("session:own", { scope: "guarded" }).join())
  await ok(local.channel("session:foreign", { scope: "guarded" }).join())
  const guest = connect({}, { authToken: token })
  const own = guest.channel("session:own", {})
  assert.equal((await ok(own.join())).session_id, "own")
  assert.equal((await ok(own.push("event", message("mine")))).seq, 1)
  assert.equal((await refused(guest.channel("session:foreign", {}).join())).reason, "auth.forbidden")
  assert.equal((await refused(guest.channel("session:new", {}).join())).reason, "auth.forbidden")
  assert.equal((await refused(guest.channel("sessions:guarded", {}).join())).reason, "auth.forbidden")

  const made = cli("token", "create", "--scope", "guarded", "--read-only", "--json")
  const reader = connect({ token: JSON.parse(made).token })
  const watch = reader.channel("session:own", { after: 0 })
  const seen = []
  watch.on("event", (e) => seen.push(e.body.content))
  assert.equal((await ok(watch.join())).token, undefined)
  await until("what was said", () => seen.includes("mine"))
  assert.equal((await refused(watch.push("event", message("x")))).reason, "auth.forbidden")
  assert.equal((await refused(watch.push("close_session", {}))).reason, "auth.forbidden")
  assert.equal((await refused(reader.channel("session:new", { scope: "guarded" }).join())).reason, "auth.forbidden")
  assert.equal((await refused(reader.channel("session:crash-other", { scope: "other" }).join())).reason, "auth.forbidden")

  const raw = new Raw("?vsn=2.0.0&token=rpt_nonsense")
  assert.equal((await raw.refusal).status, 401)
  await Promise.all([disconnect(local), disconnect(guest), disconnect(reader)])
})

const FORGED = `rps_${"A".repeat(43)}`

test("a token that opens nothing is closed with 1008 after three joins, and learns nothing", async () => {
  const local = connect()
  await ok(local.channel("session:hidden", { scope: "guarded" }).join())
  const raw = new Raw(`?vsn=2.0.0&token=${FORGED}`)
  await raw.ready
  const payloads = [["session:hidden", { scope: "wrong" }], ["session:missing", { scope: "wrong" }], ["session:hidden", { key: "hidden" }]]
  const answers = []
  for (const [topic, payload] of payloads) {
    raw.send("1", "1", topic, "phx_join", payload)
    answers.push((await raw.next())[4].response)
  }
  assert.equal(answers[0].reason, "auth.forbidden")
  assert.deepEqual(answers, [answers[0], answers[0], answers[0]])
  assert.equal((await raw.closed).code, 1008)

  const made = JSON.parse(cli("token", "create", "--scope", "elsewhere", "--json"))
  const scoped = connect({ token: made.token })
  for (const scope of ["guarded", "elsewhere"]) {
    const there = await refused(scoped.channel("session:hidden", { scope }).join())
    assert.equal(there.reason, "auth.forbidden")
  }
  await Promise.all([disconnect(local), disconnect(scoped)])
})

test("wrong tokens of sessions are counted per address, off this machine", async () => {
  let limited
  for (let i = 0; i < 100 && !limited; i++) {
    const raw = new Raw(`?vsn=2.0.0&token=${FORGED}`, [], { "X-Forwarded-For": "192.0.2.9" })
    await raw.ready
    raw.send("1", "1", "session:guessed", "phx_join", {})
    const { reason } = (await raw.next())[4].response
    if (reason === "limit.count") limited = (await raw.closed).code
    else assert.equal(reason, "auth.forbidden")
    raw.close()
  }
  assert.equal(limited, 1008)
})

// ---- numbered clients, crashes and restarts ----

// An application that numbers its events, keeps what was not acknowledged, and sends it again after a sync.
class Numbered {
  constructor(channel, id) {
    Object.assign(this, { channel, id, next: 1, unsent: [], errors: [], syncing: false })
  }
  say(text) {
    const seq = this.next++
    this.unsent.push({ ...message(text), client_id: this.id, client_seq: seq })
    if (!this.syncing) this.push(this.unsent.at(-1))
  }
  push(event) {
    this.channel.push("event", event, 60000)
      .receive("ok", () => { this.unsent = this.unsent.filter((e) => e.client_seq > event.client_seq) })
      .receive("error", (e) => this.errors.push(e))
  }
  async rejoined() {
    this.syncing = true
    const { last_client_seq } = await ok(this.channel.push("sync", { client_id: this.id }))
    this.unsent = this.unsent.filter((e) => e.client_seq > last_client_seq)
    this.syncing = false
    for (const event of this.unsent) this.push(event)
  }
}

test("kill -9 in mid-stream: every numbered event is stored exactly once (L-10)", async () => {
  const socket = connect()
  const channel = socket.channel("session:crash", {})
  const app = new Numbered(channel, "phone")
  let joins = 0, epoch
  channel.join().receive("ok", (r) => {
    epoch ??= r.epoch
    if (joins++) app.rejoined().catch((e) => app.errors.push(e))
  })
  await until("joined", () => joins === 1)
  let said = 0
  const talk = setInterval(() => { for (let i = 0; i < 5; i++) app.say(`n${++said}`) }, 2)
  await until("a stream", () => app.unsent.length > 0 && said > 200)
  const port = server.port
  await server.kill("SIGKILL")
  const then = said
  await until("the app goes on talking", () => said > then + 50)
  clearInterval(talk)
  assert.ok(app.unsent.length > 0, "something was on its way")
  await server.start(port)
  await until("rejoined", () => joins >= 2)
  await until("all is acknowledged", () => !app.syncing && app.unsent.length === 0)
  const stored = log("crash").filter((e) => e.kind === "message").map((e) => e.body.content)
  assert.deepEqual(stored, Array.from({ length: said }, (_, i) => `n${i + 1}`))
  assert.ok(app.errors.every((e) => e.reason === "event.client_gap"), JSON.stringify(app.errors[0]))
  await disconnect(socket)
})

test("a repeat is acknowledged and not stored, a gap names what was expected (L-10)", async () => {
  const socket = connect()
  const channel = socket.channel("session:numbers", {})
  await ok(channel.join())
  const numbered = (n) => ({ ...message(`m${n}`), client_id: "tab", client_seq: n })
  assert.deepEqual(await ok(channel.push("sync", { client_id: "tab" })), { last_client_seq: 0, seq: 0 })
  assert.equal((await ok(channel.push("event", numbered(1)))).seq, 1)
  const again = await ok(channel.push("event", numbered(1)))
  assert.deepEqual([again.repeated, again.seq], [true, 1])
  const gap = await refused(channel.push("event", numbered(5)))
  assert.equal(gap.reason, "event.client_gap")
  assert.equal(gap.expected, 2)
  assert.deepEqual(await ok(channel.push("sync", { client_id: "tab" })), { last_client_seq: 1, seq: 1 })
  assert.equal((await ok(channel.push("event", numbered(2)))).seq, 2)
  const older = await ok(channel.push("event", numbered(1)))
  assert.deepEqual([older.repeated, older.seq], [true, null])
  assert.equal((await refused(channel.push("sync", { last_known_sequence: 500 }))).reason, "reset_required")
  assert.equal((await refused(channel.push("sync", {}))).field, "client_id")
  assert.equal(log("numbers").length, 2)
  await disconnect(socket)
})

// Another process holds the store, so that no push is done until it is released.
async function holdStore() {
  const store = spawn("sqlite3", [path.join(home, "reprise.db")], { stdio: ["pipe", "pipe", "inherit"] })
  let said = ""
  store.stdout.setEncoding("utf8")
  store.stdout.on("data", (text) => { said += text })
  store.stdin.write("BEGIN IMMEDIATE;\nSELECT 'held';\n")
  await until("another process holds the store", () => said.includes("held"))
  return () => store.stdin.end("ROLLBACK;\n")
}

test("back-pressure: warned, and told when it is over; nothing is lost", async () => {
  const socket = connect()
  const channel = socket.channel("session:flood", {})
  const levels = []
  channel.on("backpressure", (b) => levels.push(b.level))
  await ok(channel.join())
  const release = await holdStore()
  const pushes = Array.from({ length: 600 }, (_, i) => ok(channel.push("event", message(`f${i}`), 30000)))
  await until("critical", () => levels.includes("critical"))
  release()
  const seqs = (await Promise.all(pushes)).map((r) => r.seq)
  assert.deepEqual(seqs, Array.from({ length: 600 }, (_, i) => i + 1))
  await until("normal again", () => levels.at(-1) === "normal")
  assert.deepEqual(levels.slice(0, 2), ["warn", "critical"])
  await disconnect(socket)
})

test("more than 1,000 pushes that are not done are refused; the others are stored", async () => {
  const socket = connect()
  const channel = socket.channel("session:overflow", {})
  await ok(channel.join())
  const release = await holdStore()
  let limited = 0, stored = 0
  const others = []
  for (let i = 0; i < 1100; i++) {
    channel.push("event", message(`o${i}`), 30000)
      .receive("ok", () => stored++)
      .receive("error", (e) => e.reason === "limit.count" ? limited++ : others.push(e))
  }
  await until("the refusals", () => limited >= 100)
  release()
  await until("the rest", () => stored + limited + others.length === 1100)
  assert.deepEqual([stored, limited, others.length], [1000, 100, 0])
  assert.equal(log("overflow").length, 1000)
  await disconnect(socket)
})

test("SIGTERM closes with 1012; the client comes back to the next server (L-03)", async () => {
  const socket = connect()
  const codes = []
  socket.onClose((e) => codes.push(e.code))
  const channel = socket.channel("session:restart", {})
  const epochs = []
  channel.join().receive("ok", (r) => epochs.push(r.epoch))
  await until("joined", () => epochs.length === 1)
  await ok(channel.push("event", message("before")))
  const port = server.port
  const { code } = await server.kill("SIGTERM")
  assert.equal(code, 0)
  await until("the close", () => codes.length)
  assert.equal(codes[0], 1012)
  await server.start(port)
  await until("rejoined", () => epochs.length === 2)
  assert.equal(epochs[1], epochs[0], "a restart of the server fences nobody")
  assert.equal((await ok(channel.push("event", message("after")))).seq, 2)
  await disconnect(socket)
})

// ---- running them ----

async function main() {
  const only = process.argv[2]
  let failed = 0
  server = await new Server().start()
  for (const [name, fn] of tests) {
    if (only && !name.includes(only)) continue
    const began = Date.now()
    let timer
    try {
      await Promise.race([fn(), new Promise((_, no) => { timer = setTimeout(() => no(new Error("the test took too long")), 2 * DEADLINE) })])
      console.log(`ok      ${name} (${Date.now() - began} ms)`)
    } catch (e) {
      failed++
      console.log(`FAILED  ${name}: ${e.stack}`)
    }
    clearTimeout(timer)
    for (const socket of open) await disconnect(socket)
  }
  const { code, signal } = await server.kill("SIGTERM")
  if (code !== 0) {
    failed++
    console.log(`FAILED  the server ended with ${code ?? signal}: ${server.text.slice(-3000)}`)
  }
  return failed
}

main().then((failed) => {
  rmSync(home, { recursive: true, force: true })
  process.exit(failed ? 1 : 0)
}, (e) => {
  console.log(e.stack)
  server?.child?.kill("SIGKILL")
  rmSync(home, { recursive: true, force: true })
  process.exit(1)
})
