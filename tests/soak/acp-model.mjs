// SPDX-License-Identifier: Apache-2.0
// A model for real agents, on loopback: Anthropic's messages, OpenAI's chat completions, Gemini's generateContent. What it
// does is in the last thing the user said:
//
//   recall WORD N "WORD: known" when WORD was in the conversation before, else "WORD: unknown"; the highest N counts, since agents
//                 put what they were given before and behind what the user said
//   run: COMMAND  one call of the agent's shell tool, then "that is done"
//   stall         the beginning of an answer, and no end
//   anything      "I heard: " and its last words
import http from "node:http"

const SHELLS = { Bash: {}, bash: {}, run_shell_command: {} }

const text = (c) => (typeof c === "string" ? c : Array.isArray(c) ? c.map((x) => x.text ?? "").join("\n") : "")
const tools = (b) => (b.tools ?? []).flatMap((t) => t.functionDeclarations ?? [t.function ?? t]).map((t) => t.name)

// The conversation in one form: [{role, text, result}].
function turns(b) {
  const list = b.messages ?? b.contents ?? []
  return list.map((m) => {
    const parts = Array.isArray(m.content ?? m.parts) ? m.content ?? m.parts : []
    const result = m.role === "tool" || parts.some((p) => p.type === "tool_result" || p.functionResponse)
    return { role: m.role === "model" ? "assistant" : m.role, text: text(m.content ?? m.parts), result }
  })
}

function plan(b) {
  const all = turns(b), shell = tools(b).find((t) => t in SHELLS)
  const since = all.slice(all.findLastIndex((m) => m.role === "assistant") + 1)
  const said = since.map((m) => m.text).join("\n"), last = said.trimEnd().split("\n").at(-1)
  const run = [...said.matchAll(/^run: (.+)$/gm)].at(-1), words = [...said.matchAll(/recall (\S+) (\d+)/g)]
  const word = words.sort((x, y) => x[2] - y[2]).at(-1)
  if (!shell) return { say: "a title" }
  if (since.some((m) => m.result)) return { say: "that is done" }
  if (word) return { say: `${word[1]}: ${all.map((m) => m.text).join("\n").split(word[1]).length - 1 > words.filter((w) => w[1] === word[1]).length ? "known" : "unknown"}` }
  if (run) return { run: run[1].trim(), tool: shell }
  if (last === "stall") return { say: "half an answer", stall: true }
  return { say: `I heard: ${last.slice(-60)}` }
}

// ---- the three dialects: [event name, data] in order ----

let calls = 0

function anthropic(b, p) {
  const id = `${++calls}`
  const message = {
    id: `msg_${id}`, type: "message", role: "assistant", model: b.model, content: [], stop_reason: null, stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const block = p.run ? { type: "tool_use", id: `toolu_${id}`, name: p.tool, input: {} } : { type: "text", text: "" }
  const deltas = p.run
    ? [{ type: "input_json_delta", partial_json: JSON.stringify({ command: p.run, description: "asked for" }) }]
    : p.say.split(/(?<= )/).map((t) => ({ type: "text_delta", text: t }))
  const body = { ...message, content: [{ type: "text", text: p.say ?? "" }], stop_reason: "end_turn" }
  return {
    body,
    begin: [["message_start", { type: "message_start", message }], ["content_block_start", { type: "content_block_start", index: 0, content_block: block }],
      ...deltas.map((delta) => ["content_block_delta", { type: "content_block_delta", index: 0, delta }])],
    end: [["content_block_stop", { type: "content_block_stop", index: 0 }],
      ["message_delta", { type: "message_delta", delta: { stop_reason: p.run ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } }],
      ["message_stop", { type: "message_stop" }]],
  }
}

function openai(b, p) {
  const base = { id: `c${++calls}`, object: "chat.completion.chunk", created: 1, model: b.model }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const call = { index: 0, id: `call_${calls}`, type: "function", function: { name: p.tool, arguments: JSON.stringify({ command: p.run, description: "asked for" }) } }
  const deltas = p.run ? [{ role: "assistant", tool_calls: [call] }] : p.say.split(/(?<= )/).map((content) => ({ role: "assistant", content }))
  const chunk = (delta, finish_reason) => [null, { ...base, choices: [{ index: 0, delta, finish_reason }], ...(finish_reason && { usage }) }]
  return {
    body: { ...base, object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: p.say ?? "" }, finish_reason: "stop" }], usage },
    begin: deltas.map((d) => chunk(d, null)),
    end: [chunk({}, p.run ? "tool_calls" : "stop"), [null, "[DONE]"]],
  }
}

function gemini(b, p) {
  const part = (x, finish) => ({
    candidates: [{ content: { role: "model", parts: [x] }, ...(finish && { finishReason: "STOP" }), index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }, modelVersion: "mock",
  })
  if (p.run) {
    const call = { functionCall: { name: p.tool, args: { command: p.run, description: "asked for" } } }
    return { body: part(call, true), begin: [], end: [[null, part(call, true)]] }
  }
  const words = p.say.split(/(?<= )/)
  return { body: part({ text: p.say }, true), begin: words.slice(0, -1).map((t) => [null, part({ text: t })]), end: [[null, part({ text: words.at(-1) }, true)]] }
}

function answer(req, res, b) {
  const path = req.url, json = (v) => { res.setHeader("content-type", "application/json"); res.end(JSON.stringify(v)) }
  if (/count_?tokens/i.test(path)) return json({ input_tokens: 1, totalTokens: 1 })
  const dialect = /chat\/completions/.test(path) ? openai : /\/messages/.test(path) ? anthropic : /enerateContent/.test(path) ? gemini : null
  if (!dialect) return json({ data: [], models: [], object: "list" })
  const p = plan(b), { body, begin, end } = dialect(b, p)
  if (!b.stream && !/stream/.test(path)) return json(body)
  res.writeHead(200, { "content-type": "text/event-stream" })
  for (const [name, data] of p.stall ? begin : [...begin, ...end])
    res.write((name ? `event: ${name}\n` : "") + `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)
  return p.stall ? undefined : res.end()
}

// A server on a port of the kernel's choice; `seen` gets each request's {url, body}.
export function model(seen) {
  const server = http.createServer((req, res) => {
    const pieces = []
    req.on("data", (bytes) => pieces.push(bytes))
    req.on("end", () => {
      let b = {}
      try {
        b = JSON.parse(Buffer.concat(pieces))
      } catch { /* a request without a body */ }
      seen.push({ url: req.url, body: b })
      answer(req, res, b)
    })
  })
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ server, url: `http://127.0.0.1:${server.address().port}` })))
}
