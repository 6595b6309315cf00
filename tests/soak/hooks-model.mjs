// SPDX-License-Identifier: Apache-2.0
// A model for coding agents under test, on loopback: says what it was told, and runs a command when asked "run: COMMAND".
// Speaks Anthropic's messages, Gemini's streamGenerateContent, OpenAI's chat completions and responses. node hooks-model.mjs LOG prints its port; each
// request's body is a line of LOG. With a second file it plays a part (Anthropic alone): a list of {asked, steps}; a prompt that holds `asked` is
// answered with the steps, one for each request: {say}, {tool, input}, or both. "@" in it is the folder that this runs in.
import fs from "node:fs";
import http from "node:http";

const log = process.argv[2];
const part = process.argv[3] ? JSON.parse(fs.readFileSync(process.argv[3], "utf8").replaceAll("@", process.cwd())) : [];
let calls = 0;

const text = (c) => (typeof c === "string" ? c : Array.isArray(c) ? c.map((x) => x.text ?? "").join("\n") : "");
const send = (res, body) => {
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify(body));
};
const stream = (res, events) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const [name, data] of events) res.write((name ? `event: ${name}\n` : "") + `data: ${JSON.stringify(data)}\n\n`);
  res.end();
};

// What was said to the model since it spoke itself.
const since = (messages, role) => messages.slice(messages.findLastIndex((m) => m.role === role) + 1);

// What to do next: a command to run, or something to say.
function plan(last, answered) {
  const wanted = [...last.matchAll(/^run: (.+)$/gm)].at(-1);
  return wanted && !answered ? { run: wanted[1].trim() } : { say: answered ? "that is done" : "I heard you" };
}

// What the user typed: agents put what they add into tags, and a brief quotes earlier prompts.
const typed = (c) => text(Array.isArray(c) ? c.filter((x) => !/^\s*<system-reminder>/.test(x.text ?? "")) : c);

// The step of the part that is next: those before it stand behind the prompt as the model's own messages.
function played(messages) {
  const at = messages.findLastIndex((m) => m.role === "user" && part.some((p) => typed(m.content).includes(p.asked)));
  if (at < 0) return null;
  const { steps } = part.find((p) => typed(messages[at].content).includes(p.asked));
  return steps[messages.slice(at).filter((m) => m.role === "assistant").length] ?? { say: "That is all." };
}

function anthropic(res, body) {
  const told = since(body.messages ?? [], "assistant");
  const answered = told.some((m) => Array.isArray(m.content) && m.content.some((b) => b.type === "tool_result"));
  const offered = (body.tools ?? []).some((t) => t.name === "Bash");
  const next = !offered ? { say: "a title" } : (played(body.messages ?? []) ?? plan(told.map((m) => text(m.content)).join("\n"), answered));
  const message = {
    id: `msg_${++calls}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null,
    stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 },
  };
  const tool = next.run ? { name: "Bash", input: { command: next.run, description: "asked for" } } : next.tool && { name: next.tool, input: next.input };
  const blocks = [
    ...(next.say ? [[{ type: "text", text: "" }, { type: "text_delta", text: next.say }]] : []),
    ...(tool ? [[{ type: "tool_use", id: `toolu_${calls}`, name: tool.name, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(tool.input) }]] : []),
  ];
  if (!body.stream) return send(res, { ...message, content: [{ type: "text", text: next.say ?? "" }], stop_reason: "end_turn" });
  return stream(res, [
    ["message_start", { type: "message_start", message }],
    ...blocks.flatMap(([content_block, delta], index) => [
      ["content_block_start", { type: "content_block_start", index, content_block }],
      ["content_block_delta", { type: "content_block_delta", index, delta }],
      ["content_block_stop", { type: "content_block_stop", index }],
    ]),
    ["message_delta", { type: "message_delta", delta: { stop_reason: tool ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } }],
    ["message_stop", { type: "message_stop" }],
  ]);
}

function gemini(res, body, streams) {
  const told = since(body.contents ?? [], "model");
  const answered = told.some((m) => (m.parts ?? []).some((p) => p.functionResponse));
  const next = plan(told.map((m) => text(m.parts)).join("\n"), answered);
  const part = next.run
    ? { functionCall: { name: "run_shell_command", args: { command: next.run, description: "asked for" } } }
    : { text: next.say };
  const reply = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: "scripted",
  };
  return streams ? stream(res, [[null, reply]]) : send(res, reply);
}

function openai(res, body) {
  const told = since(body.messages ?? [], "assistant");
  const answered = told.some((m) => m.role === "tool");
  const shell = (body.tools ?? []).map((t) => t.function.name).find((n) => ["run_shell_command", "bash"].includes(n));
  const next = shell ? plan(told.map((m) => text(m.content)).join("\n"), answered) : { say: "a title" };
  const call = next.run && {
    index: 0, id: `call_${++calls}`, type: "function",
    function: { name: shell, arguments: JSON.stringify({ command: next.run, description: "asked for", is_background: false }) },
  };
  const message = { role: "assistant", content: next.say ?? null, ...(call ? { tool_calls: [call] } : {}) };
  const finish_reason = call ? "tool_calls" : "stop";
  const base = { id: `c_${++calls}`, created: 1, model: body.model };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!body.stream) return send(res, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
  const chunk = (delta, reason, more) =>
    [null, { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }], ...more }];
  return stream(res, [chunk(message, null), chunk({}, finish_reason, { usage })]);
}

function responses(res, body) {
  const input = body.input ?? [];
  const told = input.slice(input.findLastIndex((m) => m.role === "assistant" || /call$/.test(m.type)) + 1);
  const answered = told.some((m) => /output$/.test(m.type));
  const next = plan(told.map((m) => text(m.content)).join("\n"), answered);
  const names = (body.tools ?? []).map((t) => t.name);
  const shell = ["exec_command", "shell_command", "shell"].find((n) => names.includes(n)) ?? names[0];
  const args = shell === "shell" ? { command: ["sh", "-c", next.run] } : { cmd: next.run, command: next.run };
  const item = next.run
    ? { type: "function_call", id: `fc_${++calls}`, call_id: `call_${calls}`, name: shell, arguments: JSON.stringify(args) }
    : { type: "message", id: `m_${++calls}`, role: "assistant", content: [{ type: "output_text", text: next.say }] };
  const response = { id: `r_${calls}`, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }, output: [item] };
  return stream(res, [
    ["response.created", { type: "response.created", response: { id: response.id } }],
    ["response.output_item.done", { type: "response.output_item.done", output_index: 0, item }],
    ["response.completed", { type: "response.completed", response }],
  ]);
}

const server = http.createServer((req, res) => {
  let raw = "";
  req.on("data", (d) => (raw += d));
  req.on("end", () => {
    let body = {};
    try { body = JSON.parse(raw); } catch { /* not for us */ }
    fs.appendFileSync(log, JSON.stringify({ url: req.url, body }) + "\n");
    if (/count_?tokens/i.test(req.url)) return send(res, { input_tokens: 1, totalTokens: 1 });
    if (/\/messages/.test(req.url)) return anthropic(res, body);
    if (/generateContent/i.test(req.url)) return gemini(res, body, /stream/.test(req.url));
    if (/\/chat\/completions/.test(req.url)) return openai(res, body);
    if (/\/responses/.test(req.url)) return responses(res, body);
    return send(res, { data: [], models: [] });
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
