// SPDX-License-Identifier: Apache-2.0
// LangGraph's SQLite checkpointer, a conversation growing by one message per put.
// node langgraph.mjs FOLDER DATABASE plain|messages NORMAL|FULL full|quick
// prints per size: messages, median and p99 of put, median of getTuple (ns); at the end "bytes N".
import { createRequire } from "node:module";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, database, shape, sync, length] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { SqliteSaver } = await load("@langchain/langgraph-checkpoint-sqlite");
const { uuid6, emptyCheckpoint } = await load("@langchain/langgraph-checkpoint");
const { HumanMessage, AIMessage } = await load("@langchain/core/messages");

const remove = () => ["", "-wal", "-shm"].forEach((end) => rmSync(database + end, { force: true }));
const word = (i) => ((i * 2654435761) >>> 0).toString(36);
function text(i) {
  let s = "";
  for (let k = 0; s.length < 1000; k++) s += word(i * 1000 + k) + " ";
  return s.slice(0, 1000);
}
function message(i) {
  if (shape === "plain") return { role: i % 2 ? "user" : "assistant", content: text(i) };
  return i % 2 ? new HumanMessage({ content: text(i), id: word(i) }) : new AIMessage({ content: text(i), id: word(i) });
}

const at = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))];
async function timed(samples, work) {
  const t = process.hrtime.bigint();
  const result = await work();
  samples.push(Number(process.hrtime.bigint() - t));
  return result;
}

remove();
const saver = SqliteSaver.fromConnString(database);
saver.setup();
saver.db.pragma(`synchronous=${sync}`);

const messages = [];
let config = { configurable: { thread_id: "bench", checkpoint_ns: "" } };
async function putNext(samples) {
  const n = messages.push(message(messages.length));
  const checkpoint = {
    ...emptyCheckpoint(), id: uuid6(n), ts: new Date().toISOString(),
    channel_values: { messages: [...messages] }, channel_versions: { messages: n },
  };
  config = await timed(samples, () => saver.put(config, checkpoint, { source: "loop", step: n, parents: {} }, { messages: n }));
}

const width = length === "quick" ? 3 : 20;
for (const size of length === "quick" ? [10, 20] : [50, 200, 500]) {
  const ignored = [], puts = [], gets = [];
  while (messages.length < size - width / 2) await putNext(ignored);
  for (let i = 0; i < width; i++) await putNext(puts);
  for (let i = 0; i < width; i++) await timed(gets, () => saver.getTuple({ configurable: { thread_id: "bench" } }));
  [puts, gets].forEach((list) => list.sort((a, b) => a - b));
  console.log(size, at(puts, 50), at(puts, 99), at(gets, 50));
}
console.log("bytes", statSync(database).size + statSync(`${database}-wal`).size);
saver.db.close();
remove();
