// SPDX-License-Identifier: Apache-2.0
// One `reprise hook --stream` process: a line of JSON out, a line back. Nothing here throws at its caller: whatever goes
// wrong, the answer is null, and the agent goes on as if the plugin was not there.
import { spawn } from "node:child_process"

const MAX_WAITING = 1024 // calls without an answer
const MAX_BACKLOG = 8 * 1024 * 1024 // bytes that the helper has not taken yet
const MAX_LINE = 16 * 1024 * 1024 // bytes of one answer
const STARTS = 3 // so many within WINDOW_MS, then none for REST_MS
const WINDOW_MS = 30_000
const REST_MS = 60_000
const HUNG_MS = 10_000 // without any answer while some are owed

export class Helper {
  #command
  #args
  #complain
  #hungMs
  #child = null
  #waiting = new Map() // id → resolve
  #nextId = 1
  #starts = [] // when the last ones were started
  #restUntil = 0
  #watch = null
  #closed = false

  // `generation` counts the processes: what one of them knew the next one may have to be told again.
  generation = 0

  // `complain(what)` is told what goes wrong, as often as it does.
  constructor({ command, args, complain, hungMs = HUNG_MS }) {
    this.#command = command
    this.#args = args
    this.#complain = complain
    this.#hungMs = hungMs
  }

  get running() {
    return this.#child !== null
  }

  // Sends a message and resolves to its answer; null when there is none to be had. `deadlineMs` bounds the wait alone:
  // `late` is told of an answer that comes after it.
  call(message, deadlineMs, late) {
    const answer = this.#send(message)
    if (!answer) return Promise.resolve(null)
    return new Promise((resolve) => {
      let over = false
      const timer = setTimeout(() => {
        over = true
        this.#complain(`no answer within ${deadlineMs} ms`)
        resolve(null)
      }, deadlineMs)
      answer.then((got) => {
        clearTimeout(timer)
        if (over) late?.(got)
        else resolve(got)
      })
    })
  }

  // Sends a message that nobody waits for.
  post(message) {
    this.#send(message)?.then((got) => {
      if (got?.ok === false) this.#complain(`${message.hook_event_name}: ${got.error?.message}`)
    })
  }

  // Closes the helper's input, which ends it, and waits for that at most `ms`. No call is taken afterwards.
  close(ms) {
    this.#closed = true
    const child = this.#child
    if (!child) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        child.kill("SIGTERM")
        resolve()
      }, ms)
      child.once("close", () => {
        clearTimeout(timer)
        resolve()
      })
      child.stdin.end()
    })
  }

  #send(message) {
    const child = this.#closed ? null : this.#child ?? this.#start()
    if (!child) return null
    if (this.#waiting.size >= MAX_WAITING || child.stdin.writableLength > MAX_BACKLOG) {
      this.#complain("the helper does not keep up, events are left out")
      return null
    }
    const id = this.#nextId++
    const line = `${JSON.stringify({ id, ...message })}\n`
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      child.stdin.write(line)
      this.#guard(child)
    })
  }

  #start() {
    const now = Date.now()
    if (now < this.#restUntil) return null
    this.#starts = this.#starts.filter((at) => now - at < WINDOW_MS)
    if (this.#starts.length >= STARTS) {
      this.#restUntil = now + REST_MS
      this.#starts = []
      this.#complain(`the helper ended ${STARTS} times; the next try is in a minute`)
      return null
    }
    this.#starts.push(now)
    let child
    try {
      child = spawn(this.#command, this.#args, { stdio: ["pipe", "pipe", "pipe"] })
    } catch (e) {
      this.#complain(`can't start ${this.#command}: ${e.message}`)
      return null
    }
    this.generation++
    this.#child = child
    this.#listen(child)
    return child
  }

  #listen(child) {
    let rest = ""
    let words = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()
      if (rest.length > MAX_LINE) child.kill("SIGKILL")
      for (const line of lines) this.#answer(line)
      this.#guard(child, true)
    })
    child.stderr.setEncoding("utf8")
    child.stderr.on("data", (text) => {
      words = (words + text).slice(-500)
    })
    child.stdin.on("error", () => {}) // its death is told by "close"
    child.once("error", (e) => this.#gone(child, `can't start ${this.#command}: ${e.message}`))
    child.once("close", (code, signal) => {
      this.#gone(child, `the helper ended (${signal ?? code}) ${words.trim()}`.trim())
    })
    // The gateway's life does not hang on the helper's.
    child.unref()
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.unref()
  }

  #answer(line) {
    let got
    try {
      got = JSON.parse(line)
    } catch {
      return this.#complain("an answer is no JSON")
    }
    // Answers come in the order of the calls: an error that names none is the oldest one's.
    const id = got?.ok === false && got.id == null ? this.#waiting.keys().next().value : got?.id
    const resolve = this.#waiting.get(id)
    if (!resolve) return
    this.#waiting.delete(id)
    resolve(got)
  }

  #gone(child, why) {
    if (this.#child !== child) return
    this.#child = null
    clearTimeout(this.#watch)
    this.#watch = null
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const resolve of waiting) resolve(null)
    if (!this.#closed) this.#complain(why)
  }

  // A helper that owes answers and gives none for long is replaced.
  #guard(child, alive = false) {
    if (alive || !this.#waiting.size) {
      clearTimeout(this.#watch)
      this.#watch = null
    }
    if (this.#watch || !this.#waiting.size || this.#child !== child) return
    this.#watch = setTimeout(() => child.kill("SIGKILL"), this.#hungMs)
    this.#watch.unref()
  }
}
