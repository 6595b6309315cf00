// SPDX-License-Identifier: Apache-2.0
// What of OpenClaw's values goes into the journal.

const MAX_TEXT = 1024 * 1024 // characters of one value; the helper takes lines of 16 MiB

// The value itself when it is small and plain JSON; else the beginning of its text and how long it was.
export function clip(value) {
  if (typeof value === "string") return value.length <= MAX_TEXT ? value : cut(value)
  let text
  try {
    text = JSON.stringify(value)
  } catch {
    text = undefined // it turns in circles, or has something that JSON can't say
  }
  if (text === undefined) return value === undefined ? null : cut(String(value))
  return text.length <= MAX_TEXT ? value : { truncated: true, characters: text.length, text: cut(text) }
}

function cut(text) {
  if (text.length <= MAX_TEXT) return text
  return `${text.slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, "")}… (${text.length} characters)`
}

const MAX_CHANNEL = 31 // characters that the helper takes
const PEERS = new Set(["direct", "dm", "group", "channel", "room"])

// Where the user speaks (signal, telegram …): by the name of the conversation, agent:<agent>:<channel>:…:<kind of
// peer>:<peer>, whoever writes into it; else by the context of the turn. Undefined for one that belongs to no channel.
export function channelOf(ctx) {
  const parts = String(ctx?.sessionKey ?? "").split(":")
  const named = parts[0] === "agent" && parts.slice(3).some((part) => PEERS.has(part)) ? parts[2] : undefined
  const given = named ?? ctx?.channel ?? ctx?.messageProvider
  const name = String(given ?? "").toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+/, "").replaceAll("..", ".")
  return name.slice(0, MAX_CHANNEL) || undefined
}

// The text of a message's content: a string, or the text blocks of a list.
function textOf(content) {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.filter((block) => block?.type === "text" && typeof block.text === "string").map((block) => block.text).join("\n")
}

// What the assistant said last, or "".
export function finalText(messages) {
  if (!Array.isArray(messages)) return ""
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i]?.role === "user") return ""
    if (messages[i]?.role === "assistant") return textOf(messages[i].content)
  }
  return ""
}
