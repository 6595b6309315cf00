// SPDX-License-Identifier: Apache-2.0
// A model for tests/soak/openclaw.mjs: OpenAI's chat completions on loopback. It keeps every request, and says what the
// test tells it to: a user's "call NAME {…}" becomes a call of that tool, anything else is answered with a number.
import http from "node:http"

const MAX_BODY = 64 * 1024 * 1024

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").join("\n")

export class Model {
  requests = [] // the messages of each, as they came

  start() {
    this.server = http.createServer((req, res) => this.#take(req, res))
    return new Promise((done) => this.server.listen(0, "127.0.0.1", () => done(this.server.address().port)))
  }

  stop() {
    this.server.closeAllConnections()
    return new Promise((done) => this.server.close(done))
  }

  // What was said since the model spoke last: the user's message and what OpenClaw adds around it.
  static prompt(request) {
    const spoke = request.messages.findLastIndex((message) => message.role !== "user")
    return request.messages.slice(spoke + 1).map((message) => textOf(message.content)).join("\n")
  }

  // Everything a request says, the system prompt included.
  static whole(request) {
    return request.messages.map((message) => textOf(message.content)).join("\n")
  }

  #take(req, res) {
    let body = ""
    req.setEncoding("utf8")
    req.on("data", (text) => {
      body += text
      if (body.length > MAX_BODY) req.destroy()
    })
    req.on("end", () => {
      if (!req.url.endsWith("/chat/completions")) return res.writeHead(404).end()
      const request = JSON.parse(body)
      this.requests.push(request)
      this.#answer(request, res)
    })
  }

  #answer(request, res) {
    const base = { id: `c${this.requests.length}`, object: "chat.completion.chunk", created: 1, model: request.model }
    const wish = /\bcall (\w+) (\{.*\})/.exec(Model.prompt(request))
    const delta = wish
      ? { role: "assistant", tool_calls: [{ index: 0, id: `call_${this.requests.length}`, type: "function", function: { name: wish[1], arguments: wish[2] } }] }
      : { role: "assistant", content: `answer ${this.requests.length}` }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const chunks = [
      { ...base, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...base, choices: [{ index: 0, delta: {}, finish_reason: wish ? "tool_calls" : "stop" }], usage },
    ]
    if (!request.stream) {
      const message = wish ? { ...delta, content: null } : delta
      const choices = [{ index: 0, message, finish_reason: wish ? "tool_calls" : "stop" }]
      res.setHeader("content-type", "application/json")
      return res.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }))
    }
    res.writeHead(200, { "content-type": "text/event-stream" })
    res.end([...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""))
  }
}
