// SPDX-License-Identifier: Apache-2.0
// Lines of ACP held against the official SDK's own schema (v1), by their methods (O-05).
//
//   import { Checker, kit } from "../lib/acp-validate.mjs"
//   const check = new Checker(npm)
//   check.see("client", line)        // a line that arrives at the client; null, or what is wrong with it
//
//   acp-validate.mjs NPM FILE…               checks taps: of FILE.client what came to the client, else to the agent
//   acp-validate.mjs --tap FILE -- CMD…      copies bytes between its caller and CMD, and writes a tap of them
//
// A tap has a line for each line that passed: {"pid", "to": "client" or "agent", "line"}.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { appendFileSync, readFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import path from "node:path"

const NUMBERS = ["uint16", "uint32", "uint64", "int32", "int64", "double"]
const MAX_PENDING = 65536

const other = (side) => (side === "client" ? "agent" : "client")

// The official SDK of the folder with node_modules in it.
export async function kit(npm) {
  const require = createRequire(path.join(npm, "package.json"))
  return import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")))
}

function definitions(schema) {
  const names = { request: {}, response: {}, notification: {} }
  for (const [name, value] of Object.entries(schema.$defs)) {
    const method = value["x-method"]
    if (!method) continue
    const kind = name.endsWith("Notification") ? "notification" : name.endsWith("Response") ? "response" : "request"
    names[kind][method] = name
  }
  return names
}

// One connection: it remembers which request an answer belongs to.
export class Checker {
  constructor(npm) {
    const require = createRequire(path.join(npm, "package.json"))
    const Ajv = require("ajv/dist/2020.js").default
    const sdk = path.join(npm, "node_modules", "@agentclientprotocol", "sdk")
    const schema = JSON.parse(readFileSync(path.join(sdk, "schema", "v1", "schema.json"), "utf8"))
    this.ajv = new Ajv({ strict: false })
    require("ajv-formats").default(this.ajv)
    for (const name of NUMBERS) this.ajv.addFormat(name, true)
    this.ajv.addSchema(schema, "acp")
    this.names = definitions(schema)
    this.compiled = {}
    this.begin()
  }

  // A new connection; the compiled schemas stay.
  begin() {
    this.open = { client: new Map(), agent: new Map() }
    this.count = { checked: 0, extension: 0, bad: 0 }
    return this
  }

  #against(name, value) {
    this.compiled[name] ??= this.ajv.compile({ $ref: `acp#/$defs/${name}` })
    const fits = this.compiled[name]
    this.count.checked++
    return fits(value) ? null : `${name}: ${this.ajv.errorsText(fits.errors).slice(0, 300)}`
  }

  #asked(to, m) {
    if (m.method !== undefined && "id" in m) {
      const key = JSON.stringify(m.id)
      if (this.open[to].has(key)) return `the id ${key} is used twice`
      if (this.open[to].size >= MAX_PENDING) return "too many requests are open"
      this.open[to].set(key, m.method)
    }
    const name = this.names["id" in m ? "request" : "notification"][m.method]
    if (name) return this.#against(name, m.params ?? {})
    this.count.extension++
    return m.method.startsWith("_") ? null : `no method of v1: ${m.method}`
  }

  #answered(to, m) {
    const open = this.open[other(to)], key = JSON.stringify(m.id), method = open.get(key)
    if (m.id === null && m.error) return this.#against("Error", m.error)
    if (method === undefined) return `an answer to nothing: ${key}`
    open.delete(key)
    if ("error" in m === "result" in m) return "neither a result nor an error, or both"
    if ("error" in m) return this.#against("Error", m.error)
    const name = this.names.response[method]
    if (name) return m.result === null ? null : this.#against(name, m.result)
    this.count.extension++
    return null
  }

  #judge(to, line) {
    let m
    try {
      m = JSON.parse(line)
    } catch (e) {
      return `no JSON: ${e.message}`
    }
    if (m === null || typeof m !== "object" || Array.isArray(m)) return "no object"
    if (m.jsonrpc !== "2.0") return 'no "jsonrpc":"2.0"'
    return m.method === undefined ? this.#answered(to, m) : this.#asked(to, m)
  }

  see(to, line) {
    const wrong = this.#judge(to, line)
    if (wrong) this.count.bad++
    return wrong
  }
}

// ---- taps ----

export const readTap = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line))

// What is wrong with the lines that arrived at `side`: [{line, wrong}]; processes have connections of their own.
export function checkTap(checker, tap, side) {
  const found = [], total = { checked: 0, extension: 0 }
  for (const pid of new Set(tap.map((t) => t.pid))) {
    checker.begin()
    for (const { to, line } of tap.filter((t) => t.pid === pid)) {
      const wrong = checker.see(to, line)
      if (wrong && to === side) found.push({ line, wrong })
    }
    total.checked += checker.count.checked
    total.extension += checker.count.extension
  }
  return { found, ...total }
}

// Whole lines of a stream in pieces; `each` gets them without their end.
export function splitter(each) {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    for (let at; (at = rest.indexOf(10)) >= 0; rest = rest.subarray(at + 1)) each(rest.subarray(0, at).toString())
  }
}

export const tapper = (file, to) =>
  splitter((line) => appendFileSync(file, JSON.stringify({ pid: process.pid, to, line }) + "\n"))

function copy(file, command) {
  const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] })
  const down = tapper(file, "agent"), up = tapper(file, "client")
  appendFileSync(file + ".pid", `${child.pid}\n`)
  process.stdin.on("data", (bytes) => { down(bytes); child.stdin.write(bytes) })
  process.stdin.on("end", () => child.stdin.end())
  child.stdin.on("error", () => {})
  child.stdout.on("data", (bytes) => { up(bytes); process.stdout.write(bytes) })
  child.on("error", (e) => { console.error(`${command[0]}: ${e.message}`); process.exit(127) })
  child.on("exit", (code, signal) => { if (signal) process.exit(1) }) // a helper of its may keep the pipes open
  child.on("close", (code) => process.exit(code ?? 1))
  for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name))
}

function report(npm, files) {
  const checker = new Checker(npm)
  let bad = 0
  for (const file of files) {
    const side = file.endsWith(".client") ? "client" : "agent"
    const { found, checked, extension } = checkTap(checker, readTap(file), side)
    for (const { line, wrong } of found) console.log(`${wrong}\n    ${line.slice(0, 400)}`)
    console.log(`${path.basename(file)}: ${checked} checked, ${extension} of extensions, ${found.length} wrong`)
    bad += found.length
  }
  process.exitCode = bad ? 1 : 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2)
  if (args[0] === "--tap" && args[2] === "--") copy(args[1], args.slice(3))
  else if (args.length > 1) report(args[0], args.slice(1))
  else {
    console.error("usage: acp-validate.mjs NPM FILE…  or  --tap FILE -- CMD…")
    process.exitCode = 2
  }
}
