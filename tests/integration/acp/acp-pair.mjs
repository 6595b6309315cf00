// SPDX-License-Identifier: Apache-2.0
// An editor and an agent, both on the official SDK of ACP, with `reprise acp` between them (O-05, B-02, B-04, B-06, X-17).
//
// $REPRISE is the program under test, $REPRISE_NPM a folder with node_modules in it. Every wait has a deadline. Every line
// that the proxy sends to either side is held against the SDK's own schema. $REPRISE_CASE runs one case.
import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import assert from "node:assert/strict"
import { Checker, checkTap, readTap } from "../../lib/acp-validate.mjs"
import { Editor, until, within } from "./acp-client.mjs"

const here = path.dirname(fileURLToPath(import.meta.url))
const npm = process.env.REPRISE_NPM ?? "", REPRISE = process.env.REPRISE
const AGENT = path.join(here, "acp-agent.mjs"), PEERS = path.join(here, "..", "..", "..", "..", "shared", "peers")
const ALL = ["--caps", "load,resume,list,close,delete"]
let checker
try {
  checker = new Checker(npm)
} catch (e) {
  console.log(`skipped: the SDK of ACP is not installed (./dev setup test): ${String(e.message).split("\n")[0]}`)
  process.exit(77)
}

// ---- what the cases share ----

// A home, a working directory, and the editors and taps of one case.
class Rig {
  constructor() {
    this.root = mkdtempSync(path.join(tmpdir(), "reprise-acp-"))
    this.home = path.join(this.root, "home")
    this.cwd = path.join(this.root, "work")
    this.store = path.join(this.root, "agent")
    this.tap = path.join(this.root, "tap")
    for (const dir of [this.home, this.cwd]) mkdirSync(dir)
    writeFileSync(path.join(this.cwd, "in.txt"), "first line\nsecond line\n")
    writeFileSync(this.tap, "")
    this.env = { PATH: process.env.PATH, HOME: this.home, REPRISE_HOME: this.home, REPRISE_NPM: npm }
    for (const name of ["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"])
      if (process.env[name]) this.env[name] = process.env[name]
    this.editors = []
  }

  agent(...args) { return [process.execPath, AGENT, "--tap", this.tap, "--dir", this.store, ...args] }

  async open(args = [], { proxy = [], ...more } = {}) {
    const command = [REPRISE, "acp", "-v", ...proxy, "--", ...this.agent(...args)]
    const e = await Editor.open(command, { npm, env: this.env, cwd: this.cwd, ...more })
    this.editors.push(e)
    return e
  }

  cli(...args) { return execFileSync(REPRISE, args, { env: this.env, cwd: this.cwd, encoding: "utf8", timeout: 30000 }) }
  // Bytes in any file of the database.
  holds(word) {
    return readdirSync(this.home, { recursive: true, withFileTypes: true }).filter((f) => f.isFile())
      .some((f) => readFileSync(path.join(f.parentPath, f.name)).includes(word))
  }

  // No line of the proxy's is against the schema, but for those that the case says came so from the other side.
  check(allowed = () => false) {
    const wire = this.editors.flatMap((e) => e.lines.map((l) => ({ ...l, pid: e.child.pid })))
    const client = checkTap(checker, wire, "client"), agent = checkTap(checker, readTap(this.tap), "agent")
    const wrong = [...client.found, ...agent.found].filter((f) => !allowed(f.line))
    assert.deepEqual(wrong, [])
    return client.checked + agent.checked
  }

  async done() {
    for (const e of this.editors) if (e.child.exitCode === null && e.child.signalCode === null) await e.kill()
    rmSync(this.root, { recursive: true, force: true })
  }
}

const STATES = ["available_commands_update", "usage_update", "current_mode_update", "config_option_update", "session_info_update"]

const shown = (c) => (c.type === "terminal" ? { type: "content", content: { type: "text", text: "hello from a terminal\n" } } : c)

// What a replay should tell of updates: chunks of a message are one, states and notices are apart, terminals are what they showed.
function tale(updates) {
  const out = []
  for (const u of updates) {
    const kind = u.sessionUpdate, text = u.content?.text
    if (STATES.includes(kind) || kind === "notice") continue
    const last = out.at(-1), joins = last?.kind === kind && last.id === u.messageId && kind !== "user_message_chunk"
    if (kind.endsWith("_chunk") && text !== undefined && joins) last.text += text
    else if (kind.endsWith("_chunk")) out.push({ kind, id: u.messageId, text: text ?? JSON.stringify(u.content) })
    else out.push({ kind, update: { ...u, ...(Array.isArray(u.content) && { content: u.content.map(shown) }) } })
  }
  return out
}

const states = (updates) => Object.fromEntries(updates.filter((u) => STATES.includes(u.sessionUpdate)).map((u) => [u.sessionUpdate, u]))

// Loads a session: its result, and the updates by the wire; all of them are before the answer. Only a new session of the agent's
// tells its commands, which is news, before it or behind it.
async function load(e, sessionId, how = "load") {
  const from = e.lines.length, at = e.got.length
  const result = await e[how](sessionId)
  await e.request("_example.test/ping", {})
  const lines = e.lines.slice(from).filter((l) => l.to === "client").map((l) => JSON.parse(l.line))
  const answer = lines.findIndex((m) => m.method === undefined)
  const behind = lines.slice(answer).filter((m) => m.method === "session/update").map((m) => m.params.update.sessionUpdate)
  const updates = lines.slice(0, answer).filter((m) => m.method === "session/update")
  const news = result._meta?.reprise?.rung === "new" ? ["available_commands_update"] : []
  assert.deepEqual(behind.filter((kind) => !news.includes(kind)), [], "an update behind the answer")
  assert.ok(updates.every((m) => m.params.sessionId === sessionId))
  assert.equal(e.got.length - at, updates.length + behind.length, "the SDK takes every update")
  return { result, rung: result._meta?.reprise?.rung, updates: updates.map((m) => m.params.update) }
}

const story = (e, sessionId) => e.story.filter((g) => g.sessionId === sessionId).map((g) => g.update)

// A load tells what was seen live and said: kinds, order and texts.
async function loadsAs(e, sessionId, seen) {
  const told = await load(e, sessionId)
  assert.deepEqual(tale(told.updates), tale(seen))
  assert.deepEqual(states(told.updates), states(seen))
  return told
}

// The prompts that agents got so far, as their blocks.
const prompts = (rig) => readTap(rig.tap).filter((t) => t.to === "agent").map((t) => JSON.parse(t.line))
  .filter((m) => m.method === "session/prompt").map((m) => m.params.prompt)

// A turn that stands still in the middle of a tool call.
async function hang(e, sessionId) {
  const pid = await e.agentPid(), ends = e.prompt(sessionId, "hang")
  ends.catch(() => {}) // its editor may be killed
  await until("the turn's middle", () => e.words(sessionId).endsWith("half a "))
  return { pid, ends }
}

// How a turn ends whose agent died; one that met an agent whose end nobody had noticed yet may.
const died = (why) => why.data?.code === "agent.died" && why.data.signal === 9
const mayDie = (ends) => ends.catch((why) => assert.ok(died(why), why))

const sid = (e) => e.fresh().then((s) => s.sessionId)

// ---- the cases ----

const cases = {
  // A judge that never says no would prove nothing.
  async "the schema refuses"() {
    const say = (to, m) => checker.see(to, JSON.stringify({ jsonrpc: "2.0", ...m }))
    checker.begin()
    assert.match(say("client", { method: "session/update", params: { sessionId: "a", update: { sessionUpdate: "plan" } } }), /SessionNotification/)
    assert.match(say("client", { id: 1, result: {} }), /answer to nothing/)
    assert.equal(say("agent", { id: 1, method: "session/new", params: { cwd: "/", mcpServers: [] } }), null)
    assert.match(say("agent", { id: 1, method: "session/list", params: {} }), /used twice/)
    assert.match(say("client", { id: 1, result: { session: "a" } }), /NewSessionResponse/)
    assert.match(say("client", { id: 1, result: { sessionId: "a" } }), /answer to nothing/)
    assert.match(say("client", { method: "session/updates", params: {} }), /no method/)
    assert.match(checker.see("client", "{}"), /jsonrpc/)
    assert.match(checker.see("client", "{"), /no JSON/)
  },

  async "what is not ours passes as it came"(rig) {
    const e = await rig.open(), M = e.M.agent
    const a = e.agent.agentCapabilities
    assert.equal(a.loadSession, true)
    assert.deepEqual(a.sessionCapabilities, { _future: { x: 1 }, list: {}, resume: {}, close: {}, delete: {} })
    assert.deepEqual(a.promptCapabilities, { embeddedContext: true, image: true })
    assert.deepEqual(a._meta["example.test/x"], { y: 1 })
    assert.deepEqual(e.agent._meta.asked._meta, { "example.test/editor": [1, 2] })
    const s = await e.fresh()
    assert.equal(s.modes.currentModeId, "ask")
    await e.request(M.session.setMode, { sessionId: s.sessionId, modeId: "code" })
    const set = await e.request(M.session.setConfigOption, { sessionId: s.sessionId, configId: "model", value: "big" })
    assert.equal(set.configOptions[0].currentValue, "big")
    const link = { type: "resource_link", name: "x", uri: "file:///x" }
    assert.deepEqual(await e.prompt(s.sessionId, "work on it", [link]), { stopReason: "end_turn" })
    assert.deepEqual(await e.prompt(s.sessionId, "odd"), { stopReason: "end_turn" })
    assert.deepEqual(await e.answer(s.sessionId, "ask"), { stopReason: "end_turn", words: "accept blue" })
    assert.deepEqual((await e.request("_example.test/ping", { a: [1] })).pong, { a: [1] })
    assert.deepEqual(await e.request("_example.test/asks", { q: 1 }), { back: { q: 1 } })
    await e.notify("_example.test/hint", { h: 1 })
    await until("the hint's echo", () => e.heard.some((h) => h.h === 1))
    assert.equal((await e.refused("_nobody/knows", {})).code, -32601)
    const asks = ["fs/read_text_file", "fs/write_text_file", "session/request_permission", "terminal/create", "elicitation/create"]
    for (const method of asks) assert.ok(e.asked.includes(method), method)
    assert.equal(readFileSync(path.join(rig.cwd, "out.txt"), "utf8"), "written\n")
    const wire = (lines, to) => lines.filter((l) => l.to === to).map((l) => l.line)
    const mine = e.lines, its = readTap(rig.tap)
    assert.deepEqual(wire(its, "agent"), wire(mine, "agent"))
    const first = (lines) => lines.filter((l) => !l.includes('"agentCapabilities"'))
    assert.deepEqual(first(wire(mine, "client")), first(wire(its, "client")))
    assert.deepEqual(await e.close(), { code: 0, signal: null })
    rig.check((line) => line.includes('"_future","n"'))
  },

  async "a session's life"(rig) {
    const e = await rig.open(), M = e.M.agent
    const id = await sid(e), other = (await e.fresh({ cwd: rig.root })).sessionId
    await e.request(M.session.setMode, { sessionId: id, modeId: "code" })
    await e.prompt(id, "work on it", [{ type: "resource_link", name: "x", uri: "file:///x" }])
    const ends = e.prompt(id, "wait")
    await until("the prompt is there", () => prompts(rig).length === 2)
    await e.notify(M.session.cancel, { sessionId: id })
    assert.deepEqual(await ends, { stopReason: "cancelled" })
    await e.prompt(id, "fill 200")
    await e.prompt(id, "work again")
    const names = (l) => l.sessions.map((s) => s.sessionId)
    assert.deepEqual(names(await e.list()).sort(), [id, other].sort())
    const [mine] = (await e.list({ cwd: rig.cwd })).sessions
    assert.equal(mine.sessionId, id)
    assert.equal(mine.cwd, rig.cwd)
    assert.equal(mine.title, "about work again")
    assert.deepEqual((await e.list({ cwd: "/nowhere" })).sessions, [])
    assert.equal((await e.refused(M.session.list, { cursor: "bad" })).code, -32602)
    const live = story(e, id)
    const told = await loadsAs(e, id, live)
    assert.equal(told.rung, "live")
    assert.equal(told.result.modes.currentModeId, "code")
    assert.deepEqual((await load(e, id, "resume")).updates, [])
    assert.deepEqual(await e.answer(id, "recall again"), { stopReason: "end_turn", words: "again: known" })
    const seen = [...live, ...story(e, id).slice(-2)]
    assert.deepEqual(await e.request(M.session.close, { sessionId: id }), {})
    assert.equal(tale((await loadsAs(e, id, seen)).updates).at(-1).text, "again: known")
    assert.deepEqual(await e.answer(id, "recall fill"), { stopReason: "end_turn", words: "fill: known" })
    assert.deepEqual(await e.request(M.session.delete, { sessionId: id }), {})
    assert.deepEqual(names(await e.list()), [other])
    const gone = await e.refused(M.session.load, { sessionId: id, cwd: rig.cwd, mcpServers: [] })
    assert.equal(gone.code, -32002)
    assert.deepEqual(gone.data, { sessionId: id })
    assert.deepEqual(await e.request(M.session.delete, { sessionId: id }), {})
    await e.close()
    const kept = JSON.parse(rig.cli("ls", "--all", "--json")).sessions
    assert.deepEqual(kept.map((s) => [s.meta.acp_session_id, s.channel, s.status]), [[other, "acp", "closed"]])
    rig.check()
  },

  async "a list of several pages"(rig) {
    const alone = await Editor.open(rig.agent(...ALL), { npm, env: rig.env, cwd: rig.cwd })
    const theirs = await sid(alone)
    await alone.close()
    const e = await rig.open(ALL), made = []
    for (let i = 0; i < 53; i++) made.push(await sid(e))
    const first = await e.list({ cwd: rig.cwd })
    assert.equal(first.sessions.length, 50)
    const second = await e.list({ cwd: rig.cwd, cursor: first.nextCursor })
    assert.equal(second.nextCursor, undefined)
    const all = [...first.sessions, ...second.sessions]
    assert.deepEqual(all.map((s) => s.sessionId).sort(), [...made, theirs].sort(), "each of them once")
    assert.equal(all.at(-1).sessionId, theirs)
    const at = all.slice(0, -1).map((s) => s.updatedAt)
    assert.deepEqual(at, [...at].sort().reverse(), "newest first")
    await e.close()
    rig.check()
  },

  async "an agent that dies in a turn"(rig) {
    for (const args of [[], ["--plain"], ["--caps", "resume"], ["--caps", "load"]]) {
      const e = await rig.open(args), id = await sid(e), own = args[0] === "--caps"
      await e.prompt(id, "say the word is marzipan")
      const { pid, ends } = await hang(e, id)
      const from = e.updates(id).length
      process.kill(pid, "SIGKILL")
      await assert.rejects(ends, died)
      const after = e.updates(id).slice(from)
      assert.deepEqual(after.filter((u) => u.sessionUpdate === "tool_call_update").map((u) => [u.toolCallId, u.status]), [["call_1", "failed"]])
      const [word] = after.filter((u) => u.sessionUpdate === "agent_message_chunk" && /agent scripted ended/.test(u.content.text))
      assert.ok(word, "nobody is told")
      assert.ok(word.messageId && e.updates(id).slice(0, from).every((u) => u.messageId !== word.messageId) && word.content.text.startsWith("\n\n"), "a message of its own")
      assert.deepEqual(await e.answer(id, "recall marzipan"), { stopReason: "end_turn", words: "marzipan: known" })
      assert.notEqual(await e.agentPid(), pid)
      const [blocks] = prompts(rig).slice(-1)
      assert.equal(blocks.at(-1).text, "recall marzipan")
      assert.equal(blocks.length > 1, !own, "the history is for those who have none")
      assert.ok(blocks.every((b) => b.type === "text"), "a resource would not stay where it is")
      if (!own) assert.match(blocks[0].text, /\n\n$/, "the user's words are apart")
      const told = await loadsAs(e, id, story(e, id))
      assert.equal(told.rung, own ? args[1] : "live")
      await e.close()
    }
    rig.check()
  },

  async "what the user chose outlives the agent"(rig) {
    for (const args of [[], ["--caps", "resume"], ["--caps", "load"]]) {
      const e = await rig.open(args), M = e.M.agent.session, sessionId = await sid(e)
      await e.request(M.setMode, { sessionId, modeId: "code" })
      await e.request(M.setConfigOption, { sessionId, configId: "model", value: "big" })
      await e.prompt(sessionId, "say so")
      const from = e.lines.length, told = e.updates(sessionId).length
      process.kill(await e.agentPid(), "SIGKILL")
      await mayDie(e.prompt(sessionId, "say more"))
      const since = e.updates(sessionId).slice(told).map((u) => u.sessionUpdate)
      assert.ok(!since.includes("current_mode_update") && !since.includes("config_option_update"), "nothing has changed")
      assert.ok(e.lines.slice(from).every((l) => !l.line.includes("reprise/")), "the proxy's requests are its own")
      const { result } = await load(e, sessionId)
      assert.deepEqual([result.modes.currentModeId, result.configOptions[0].currentValue], ["code", "big"])
      await e.close()
      const next = await rig.open(args), again = await load(next, sessionId), shown = states(again.updates) // and the proxy
      assert.deepEqual([again.result.modes.currentModeId, again.result.configOptions[0].currentValue], ["code", "big"])
      assert.equal(shown.current_mode_update.currentModeId, "code", "the history says what the answer says")
      assert.equal(shown.config_option_update.configOptions[0].currentValue, "big")
      assert.equal((await next.answer(sessionId, "chosen")).words, "code big")
      await next.close()
    }
    rig.check()
  },

  // An agent that begins with its defaults and does not say so.
  async "what the user chose is set again unasked"(rig) {
    for (const cap of ["resume", "load"]) {
      const e = await rig.open(["--caps", cap, "--mute"]), M = e.M.agent.session, sessionId = await sid(e)
      await e.request(M.setMode, { sessionId, modeId: "code" })
      await e.request(M.setConfigOption, { sessionId, configId: "model", value: "big" })
      assert.equal((await e.answer(sessionId, "chosen")).words, "code big")
      process.kill(await e.agentPid(), "SIGKILL")
      await mayDie(e.prompt(sessionId, "say more"))
      assert.equal((await e.answer(sessionId, "chosen")).words, "code big")
      await e.close()
    }
    rig.check()
  },

  async "a proxy that dies in a turn"(rig) {
    const one = await rig.open(), id = await sid(one)
    await one.prompt(id, "say the word is nougat")
    await hang(one, id)
    const seen = story(one, id)
    await one.kill()
    const two = await rig.open(), listed = (await two.list({ cwd: rig.cwd })).sessions
    assert.deepEqual(listed.map((s) => s.sessionId), [id])
    assert.equal(listed[0]._meta.reprise.status, "idle", "its run is dead")
    const told = await load(two, id)
    assert.equal(told.rung, "new")
    const closed = told.updates.filter((u) => u.sessionUpdate === "tool_call_update")
    assert.deepEqual(closed.map((u) => [u.toolCallId, u.status]), [["call_1", "failed"]])
    assert.deepEqual(tale(told.updates.filter((u) => !closed.includes(u))), tale(seen))
    assert.deepEqual(await two.answer(id, "recall nougat"), { stopReason: "end_turn", words: "nougat: known" })
    assert.deepEqual(await two.answer(id, "say and on"), { stopReason: "end_turn", words: "and on" })
    assert.deepEqual(prompts(rig).slice(-1)[0].map((b) => b.type), ["text"], "the history is given once")
    assert.ok(two.updates(id).every((u) => !JSON.stringify(u).includes("reprise://")), "the history is for the agent alone")
    await two.close()
    rig.check()
  },

  async "an agent with a memory of its own"(rig) {
    for (const [args, rung] of [[ALL, "resume"], [["--caps", "load"], "load"], [["--caps", "load", "--late"], "load"]]) {
      const one = await rig.open(args), id = await sid(one)
      await one.prompt(id, "work on praline")
      await one.prompt(id, "say so")
      await one.kill()
      const seen = story(one, id), two = await rig.open(args)
      const told = await loadsAs(two, id, seen)
      assert.equal(told.rung, rung)
      assert.equal(told.result.modes.currentModeId, "ask")
      assert.deepEqual(await two.answer(id, "recall praline"), { stopReason: "end_turn", words: "praline: known" })
      assert.equal(prompts(rig).slice(-1)[0].length, 1)
      await loadsAs(two, id, [...seen, ...story(two, id).slice(-2)])
      assert.equal((await two.list()).sessions.filter((s) => s.sessionId === id).length, 1)
      await two.close()
    }
    rig.check()
  },

  // Behind the answer to session/load only what was delivered before is left out.
  async "words of its own after a load"(rig) {
    for (const args of [["--stray"], ["--stray", "--late"], ["--late", "--cut"]]) {
      const all = ["--caps", "load", ...args], one = await rig.open(all), id = await sid(one)
      await one.prompt(id, "say so")
      await one.kill()
      const two = await rig.open(all)
      assert.equal((await two.load(id))._meta.reprise.rung, "load")
      if (args[0] === "--stray") await until("a word of its own", () => two.words(id).endsWith("by the way"))
      assert.deepEqual(await two.answer(id, "say so"), { stopReason: "end_turn", words: "so" }, "the old answer, word for word")
      await two.close()
    }
    rig.check()
  },

  async "the same agent goes on with a new session"(rig) {
    for (const [args, rung] of [[ALL, "resume"], [["--caps", "load", "--late"], "load"], [[], "new"]]) {
      const one = await rig.open(args), id = await sid(one)
      await one.prompt(id, "say toffee")
      await one.close()
      const two = await rig.open(args, { proxy: ["--continue", "last"] }), from = two.lines.length, s = await two.fresh()
      assert.deepEqual([s.sessionId, s._meta.reprise.rung, s.modes.currentModeId], [id, rung, "ask"])
      const before = two.lines.slice(from).filter((l) => l.to === "client").map((l) => JSON.parse(l.line).method)
      assert.equal(before[0], undefined, "the answer comes first")
      assert.deepEqual(await two.answer(id, "recall toffee"), { stopReason: "end_turn", words: "toffee: known" })
      assert.equal(prompts(rig).slice(-1)[0].length, rung === "new" ? 2 : 1)
      assert.notEqual(await sid(two), id)
      await two.close()
    }
    rig.check()
  },

  async "a session that only the agent knows"(rig) {
    const alone = await Editor.open(rig.agent(...ALL), { npm, env: rig.env, cwd: rig.cwd })
    const id = await sid(alone)
    await alone.prompt(id, "say truffle")
    await alone.close()
    const e = await rig.open(ALL)
    assert.deepEqual((await e.list()).sessions.map((s) => [s.sessionId, s.title]), [[id, "the agent's"]])
    const told = await load(e, id)
    assert.deepEqual(told.updates.filter((u) => u.content).map((u) => u.content.text), ["say truffle", "truffle"])
    assert.deepEqual(await e.answer(id, "recall truffle"), { stopReason: "end_turn", words: "truffle: known" })
    assert.equal((await e.list()).sessions.length, 1)
    const gone = await e.refused(e.M.agent.session.load, { sessionId: "nobody", cwd: rig.cwd, mcpServers: [] })
    assert.equal(gone.code, -32002)
    await e.close()
    rig.check()
  },

  async "another agent goes on"(rig) {
    const one = await rig.open(["--name", "first"]), id = await sid(one)
    await one.prompt(id, "work on fudge")
    const seen = story(one, id)
    await one.close()
    const two = await rig.open(["--name", "second", ...ALL])
    assert.equal((await loadsAs(two, id, seen)).rung, "new")
    assert.deepEqual(await two.answer(id, "recall fudge"), { stopReason: "end_turn", words: "fudge: known" })
    assert.match(prompts(rig).at(-1)[0].text, /\nTool "Read a file": done\nInput: \{"path":".*in\.txt"\}\nOutput: .*out\.txt, before:\n> \n> after:\n> written\n/, "what tools gave is told")
    assert.match(two.text, /second could not load this session \(another agent had it\)/)
    await two.answer(id, "say brittle")
    await two.close()
    const third = await rig.open(["--name", "third"], { proxy: ["--continue", "last"] })
    assert.equal(await sid(third), id)
    assert.deepEqual(await third.answer(id, "recall brittle"), { stopReason: "end_turn", words: "brittle: known" })
    const more = await sid(third)
    assert.notEqual(more, id)
    assert.deepEqual(await third.answer(more, "recall brittle"), { stopReason: "end_turn", words: "brittle: unknown" })
    await third.close()
    rig.check()
  },

  async "two editors at one database"(rig) {
    const [one, two] = [await rig.open(), await rig.open()]
    const [a, b] = [await sid(one), await sid(two)]
    await Promise.all([one.prompt(a, "fill 300"), two.prompt(b, "fill 300")])
    assert.deepEqual((await two.list()).sessions.map((s) => s.sessionId).sort(), [a, b].sort())
    const held = await two.refused(two.M.agent.session.load, { sessionId: a, cwd: rig.cwd, mcpServers: [] })
    assert.equal(held.code, -32603)
    assert.match(JSON.stringify(held), new RegExp(`\\b${one.child.pid}\\b`), "the holder is named")
    const seen = story(one, a)
    await one.close()
    await loadsAs(two, a, seen)
    assert.deepEqual(await two.answer(a, "recall fill"), { stopReason: "end_turn", words: "fill: known" })
    await loadsAs(two, b, story(two, b))
    await two.close()
    rig.check()
  },

  // A fork is a session of its own: here, in the list, for the next process, and when the agent dies (B-07).
  async "forks"(rig) {
    const unstable = (line) => line.includes("session/fork")
    const fork = (e, sessionId) => e.request("session/fork", { sessionId, cwd: rig.cwd, mcpServers: [] })
    for (const caps of ["fork", "fork,load,resume"]) {
      const kept = caps === "fork" ? [] : ["--dir", rig.store] // the first forgets all when it dies
      const e = await rig.open(["--caps", caps, ...kept]), id = (await e.fresh()).sessionId
      await e.prompt(id, `say warm ${caps}`)
      const one = (await fork(e, id)).sessionId, two = (await fork(e, id)).sessionId
      assert.equal(new Set([id, one, two]).size, 3)
      await e.prompt(one, "say apples")
      await e.prompt(two, "say pears")
      const pid = await e.agentPid()
      process.kill(pid, "SIGKILL")
      await until("another agent", async () => (await e.agentPid().catch(() => pid)) !== pid)
      for (const [sid, knows, not] of [[one, "apples", "pears"], [two, "pears", "apples"], [id, `warm ${caps}`, "apples"]]) {
        assert.match((await e.answer(sid, `recall warm ${caps}`)).words, /: known$/)
        assert.match((await e.answer(sid, `recall ${knows}`)).words, /: known$/)
        assert.match((await e.answer(sid, `recall ${not}`)).words, /: unknown$/)
      }
      await e.close()
      const next = await rig.open(["--caps", caps, ...kept])
      const listed = (await next.list({ cwd: rig.cwd })).sessions.map((s) => s.sessionId)
      assert.deepEqual(listed.filter((s) => [id, one, two].includes(s)).sort(), [id, one, two].sort())
      const told = JSON.stringify((await load(next, one)).updates)
      assert.ok(told.includes(`warm ${caps}`) && told.includes("apples") && !told.includes("say pears"))
      // One that was made by hand of it has an id of its own too, and what is said there stays there.
      const mine = JSON.parse(rig.cli("fork", two)).session_id
      await load(next, mine)
      assert.match((await next.answer(mine, "recall pears")).words, /: known$/)
      await next.prompt(mine, "say plums")
      assert.match((await next.answer(one, "recall plums")).words, /: unknown$/)
      await next.close()
      const last = await rig.open(["--caps", caps, ...kept])
      assert.equal((await last.list({ cwd: rig.cwd })).sessions.filter((s) => s.sessionId === mine).length, 1)
      assert.ok(JSON.stringify((await load(last, mine)).updates).includes("say plums"))
      await last.close()
    }
    assert.equal(rig.cli("trash").includes("acp-names"), false, "names are no sessions")
    rig.check(unstable)
  },

  async "secrets stay out of the database"(rig) {
    const e = await rig.open()
    const mcpServers = [
      { name: "tool", command: "/bin/true", args: [], env: [{ name: "TOKEN", value: "env-value-4711" }] },
      { type: "http", name: "web", url: "http://127.0.0.1:9/", headers: [{ name: "X-Key", value: "header-value-4712" }] },
    ]
    const id = (await e.fresh({ mcpServers })).sessionId
    const key = ["ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("_")
    assert.equal((await e.answer(id, `say ${key}`)).words, key, "delivered as it is")
    assert.equal((await e.answer(id, `split ${key}`)).words, key)
    await e.prompt(id, "work on the terminal")
    await e.close()
    for (const word of ["env-value-4711", "header-value-4712", "terminal-env-value", key, key.slice(4, 24)])
      assert.ok(!rig.holds(word), `${word} is stored`)
    assert.ok(rig.holds("the terminal"), "nothing is stored")
    const two = await rig.open(), told = await load(two, id)
    assert.ok(!JSON.stringify(told.updates).includes(key.slice(4, 24)))
    assert.deepEqual(told.updates.map((u) => u.sessionUpdate).filter((k) => k === "user_message_chunk").length, 3)
    await two.close()
    rig.check()
  },

  // The pair that was there before the proxy: through it, an agent without a memory looks like the one with it.
  async "the reference pair"(rig) {
    if (!existsSync(path.join(PEERS, "acp-client.mjs"))) return "skipped: there is no reference pair beside the project"
    for (const name of ["acp-client.mjs", "acp-agent.mjs"]) copyFileSync(path.join(PEERS, name), path.join(rig.cwd, name))
    symlinkSync(path.join(npm, "node_modules"), path.join(rig.cwd, "node_modules"))
    const run = (...command) => {
      const r = spawnSync(process.execPath, ["acp-client.mjs", ...command], { cwd: rig.cwd, env: rig.env, encoding: "utf8", timeout: 60000 })
      assert.equal(r.status, 0, r.stderr)
      return r.stdout.trim().split("\n").map((line) => [line.slice(0, line.search(/[[{]|\d+$/)).trim(), JSON.parse(line.slice(line.search(/[[{]|\d+$/)))])
    }
    const kinds = (list) => tale(list.map((sessionUpdate) => ({ sessionUpdate, content: sessionUpdate.startsWith("agent_") ? { text: "" } : {} }))).map((t) => t.kind)
    const shape = ([name, v]) => {
      if (name === "initialize") return [name, v.agentCapabilities.loadSession, Object.keys(v.agentCapabilities.sessionCapabilities).sort()]
      if (name.startsWith("session/list")) return [name, v.sessions.map((s) => s.cwd)]
      if (Array.isArray(v) && typeof v[0] === "string") return [name, kinds(v)]
      if (name.endsWith("ERROR")) return [name, v.code, v.data]
      if (name === "after load +100ms") return [name]
      return [name, Object.keys(v).filter((k) => k !== "_meta").sort(), v.stopReason, v.modes?.currentModeId, v.configOptions?.[0].currentValue]
    }
    const agent = [process.execPath, "acp-agent.mjs"]
    const persist = run(...agent, "--persist"), ours = run(REPRISE, "acp", "--", ...agent)
    assert.deepEqual(ours.map(shape), persist.map(shape))
    const count = (out) => new Map(out).get("replayed before load response").length
    assert.equal(new Map(ours).get("after load +100ms"), count(ours), "an update behind the answer")
  },
}

// ---- all of them ----

const only = process.env.REPRISE_CASE
let failed = 0
for (const [name, run] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue
  const rig = new Rig(), begun = Date.now()
  try {
    const said = await within(name, run(rig), 120000)
    console.log(`${said ? `${said}: ` : "ok "}${name} (${Date.now() - begun} ms)`)
  } catch (e) {
    failed++
    console.log(`FAILED ${name}: ${e.stack}`)
    for (const ed of rig.editors) if (ed.text) console.log(ed.text.replace(/^/gm, "    "))
    if (process.env.REPRISE_CASE) for (const l of rig.editors.flatMap((ed) => ed.lines).slice(-30)) console.log(`  > ${l.to}: ${l.line.slice(0, 300)}`)
  } finally {
    await rig.done()
  }
}
process.exitCode = failed ? 1 : 0
