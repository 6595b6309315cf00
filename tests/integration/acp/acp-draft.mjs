// SPDX-License-Identifier: Apache-2.0
// Version 2 of ACP, a draft, through the proxy, with editor and agent on the official SDK's own draft (O-05): everything passes, what is
// known of it is in the journal, and an agent that is killed in a turn is told of, started again, and given its session back.
//
//   acp-draft.mjs              the editor, and the judge
//   acp-draft.mjs --agent DIR  the agent; its sessions are files of DIR
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import path from "node:path"
import { Readable, Writable } from "node:stream"
import { fileURLToPath, pathToFileURL } from "node:url"

const DEADLINE = 20_000
const npm = process.env.REPRISE_NPM
const require = createRequire(path.join(npm, "package.json"))
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk/experimental/v2")))
const M = acp.methods

// ---- the agent ----

function runAgent(dir) {
  const file = (id) => path.join(dir, id)
  let n = 0
  const tell = (client, sessionId, update) => client.notify(M.client.session.update, { sessionId, update })
  async function turn(client, id, words, messageId) {
    const message = `m${process.pid}.${n}`, call = `c${process.pid}.${n}`
    await tell(client, id, { sessionUpdate: "user_message", messageId, content: [{ type: "text", text: words }] })
    await tell(client, id, { sessionUpdate: "state_update", state: "running" })
    await tell(client, id, { sessionUpdate: "tool_call_update", toolCallId: call, title: "Look", status: "in_progress" })
    await tell(client, id, { sessionUpdate: "agent_message_chunk", messageId: message, content: { type: "text", text: "half a " } })
    if (words === "hang") return
    await tell(client, id, { sessionUpdate: "tool_call_update", toolCallId: call, status: "completed", rawOutput: "plum" })
    await tell(client, id, { sessionUpdate: "agent_message", messageId: message, content: [{ type: "text", text: `you said ${words}` }] })
    await tell(client, id, { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" })
  }
  acp.agent({ name: "draft" })
    .onRequest(M.agent.initialize, () => ({
      protocolVersion: 2, info: { name: "@scope/draft", version: "1", _meta: { pid: process.pid } }, capabilities: { session: {} },
    }))
    .onRequest(M.agent.session.new, () => {
      const sessionId = `d${process.pid}.${++n}`
      writeFileSync(file(sessionId), "")
      return { sessionId }
    })
    .onRequest(M.agent.session.resume, async ({ params, client }) => {
      if (!existsSync(file(params.sessionId))) throw new Error("no such session")
      await tell(client, params.sessionId, { sessionUpdate: "state_update", state: "idle" })
      return {}
    })
    .onRequest(M.agent.session.prompt, ({ params, client }) => {
      const messageId = `u${process.pid}.${++n}`
      setImmediate(() => turn(client, params.sessionId, params.prompt.at(-1).text, messageId))
      return { messageId }
    })
    .onRequest("_test/pid", (v) => v, () => ({ pid: process.pid }))
    .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))
}

// ---- the editor ----

async function until(what, is) {
  for (const end = Date.now() + DEADLINE; !is();) {
    assert.ok(Date.now() < end, `${what} does not come`)
    await new Promise((go) => setTimeout(go, 5))
  }
}

async function judge() {
  const dir = mkdtempSync(path.join(tmpdir(), "reprise-draft-"))
  const env = { PATH: process.env.PATH, HOME: dir, REPRISE_HOME: dir, REPRISE_NPM: npm }
  const command = ["acp", "--", process.execPath, fileURLToPath(import.meta.url), "--agent", dir]
  const child = spawn(process.env.REPRISE, command, { env, cwd: dir, stdio: ["pipe", "pipe", "pipe"] })
  const said = [], updates = []
  child.stderr.on("data", (bytes) => said.push(String(bytes)))
  const app = acp.client({ name: "editor" })
  app.onNotification(M.client.session.update, ({ params }) => { updates.push(params) })
  let id
  try {
    await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (c) => {
      const ask = (sessionId, text) => c.request(M.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })
      const of = (kind) => updates.map((u) => u.update).filter((u) => u.sessionUpdate === kind)
      const idle = () => of("state_update").filter((u) => u.state === "idle" && u.stopReason)
      const hello = await c.request(M.agent.initialize, { protocolVersion: 2, info: { name: "editor", version: "1" }, capabilities: {} })
      assert.equal(hello.protocolVersion, 2)
      const { sessionId } = await c.request(M.agent.session.new, { cwd: dir, mcpServers: [] })
      await until("the notice", () => of("notice").length === 1)
      assert.match(of("notice")[0].title, /draft/)
      assert.ok((await ask(sessionId, "hello")).messageId)
      await until("the end of the turn", () => idle().length === 1)
      await ask(sessionId, "hang")
      await until("the turn's middle", () => of("agent_message_chunk").length === 2)
      process.kill((await c.request("_test/pid", {})).pid, "SIGKILL")
      await until("the end of that turn", () => idle().length === 2)
      const end = idle()[1]
      assert.equal(end.stopReason, "error")
      assert.deepEqual(end.error.data, { code: "agent.died", signal: 9 })
      assert.match(of("notice")[1].description, /The agent draft ended unexpectedly/)
      assert.equal(of("tool_call_update").at(-1).status, "failed")
      await ask(sessionId, "again")
      await until("the next turn", () => idle().length === 3)
      assert.equal(of("agent_message").at(-1).content[0].text, "you said again")
      assert.ok(updates.every((u) => u.sessionId === sessionId))
      id = sessionId
    })
    child.stdin.end()
    await until("the proxy's end", () => child.exitCode !== null)
    assert.equal(child.exitCode, 0)
    const log = execFileSync(process.env.REPRISE, ["log", id, "--json"], { env }).toString().trim().split("\n").map((l) => JSON.parse(l))
    const kinds = (kind) => log.filter((e) => e.kind === kind).map((e) => e.body)
    assert.deepEqual(kinds("message").filter((m) => m.role === "user").map((m) => m.content[0].text), ["hello", "hang", "again"])
    assert.deepEqual(kinds("message").filter((m) => m.whole).map((m) => m.content[0].text), ["you said hello", "you said again"])
    assert.deepEqual(kinds("tool").filter((t) => t.status !== "running").map((t) => [t.status, t.output]), [["done", "plum"], ["unknown", undefined], ["done", "plum"]])
    assert.deepEqual(kinds("x-acp-turn").map((t) => t.stop_reason ?? t.error.data.code), ["end_turn", "agent.died", "end_turn"])
    assert.equal(said.join("").match(/version 2 of ACP, which is a draft/g).length, 1)
    console.log("ok")
  } catch (e) {
    console.error(said.join(""))
    throw e
  } finally {
    child.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  }
}

if (process.argv[2] === "--agent") runAgent(process.argv[3])
else await judge().then(() => process.exit(0))
