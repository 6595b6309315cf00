// SPDX-License-Identifier: Apache-2.0
// The tools as `reprise mcp` lists them: OpenClaw wants to know them before anything may run. A test compares the two;
// `node tests/integration/plugin-openclaw.mjs --write` (with $REPRISE) writes this file anew.
export const TOOLS = [
  {
    "name": "working_memory",
    "title": "Working memory",
    "description": "Keeps up to 10 short texts in sight for this session and the ones after it: decisions, constraints, what must not be forgotten. Pin something as soon as it matters beyond the current answer; unpin what is settled. working_memory_view shows them.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "description": "pin keeps a text, unpin takes one off, view lists all, clear takes all off",
          "enum": [
            "pin",
            "unpin",
            "view",
            "clear"
          ]
        },
        "label": {
          "type": "string",
          "description": "Short name of the pin. The same label again replaces its text. With unpin: which one",
          "minLength": 1,
          "maxLength": 100
        },
        "content": {
          "type": "string",
          "description": "The text to keep, with pin",
          "minLength": 1,
          "maxLength": 4000
        },
        "importance": {
          "type": "string",
          "description": "With pin; normal when left out. critical is inherited first by later sessions",
          "enum": [
            "normal",
            "high",
            "critical"
          ]
        },
        "index": {
          "type": "integer",
          "description": "With unpin, instead of label: the number that view shows, from 1",
          "minimum": 1,
          "maximum": 10
        }
      },
      "required": [
        "action"
      ],
      "additionalProperties": false
    }
  },
  {
    "name": "working_memory_view",
    "title": "View working memory",
    "description": "Lists what is pinned in working memory, in this session or inherited from earlier ones, with the numbers by which it can be unpinned. Changes nothing. Look before relying on a pin.",
    "parameters": {
      "type": "object",
      "properties": {},
      "additionalProperties": false
    }
  },
  {
    "name": "task",
    "title": "Tasks",
    "description": "Tracks work that may outlive this session: what is open when it ends is told to the next one. Open a task when you begin something of several steps, update its stage as you go, and mark it done when it is finished.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "description": "open begins a task, update changes its stage or title, done finishes it, list shows all that are not done",
          "enum": [
            "open",
            "update",
            "done",
            "list"
          ]
        },
        "task_id": {
          "type": "string",
          "description": "Which task, with update and done. With open: an id of your own; one is made when left out",
          "minLength": 1,
          "maxLength": 100
        },
        "title": {
          "type": "string",
          "description": "What is to be done, in one line; with open, or with update to change it",
          "minLength": 1,
          "maxLength": 200
        },
        "stage": {
          "type": "string",
          "description": "How far it is: build (when left out), verify, validate, or a word of your own; unfinished until done",
          "minLength": 1,
          "maxLength": 60
        }
      },
      "required": [
        "action"
      ],
      "additionalProperties": false
    }
  },
  {
    "name": "remember",
    "title": "Remember a fact",
    "description": "Stores a fact about this project for good: recall finds it in every later session. Use it for what was found out the hard way or what the user states as lasting: conventions, decisions, addresses, preferences. Not for secrets, nor for the state of the current work.",
    "parameters": {
      "type": "object",
      "properties": {
        "text": {
          "type": "string",
          "description": "The fact, in words that make sense without this conversation",
          "minLength": 1,
          "maxLength": 4000
        },
        "confidence": {
          "type": "number",
          "description": "How sure it is, from 0 to 1; 1 when left out",
          "minimum": 0,
          "maximum": 1
        },
        "categories": {
          "type": "array",
          "description": "What it is about, in a few words to find it by",
          "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": 64
          },
          "maxItems": 8
        }
      },
      "required": [
        "text"
      ],
      "additionalProperties": false
    }
  },
  {
    "name": "recall",
    "title": "Recall facts",
    "description": "Finds what was remembered about this project in any session, the surest first. Look here before asking the user for something or working it out again.",
    "parameters": {
      "type": "object",
      "properties": {
        "query": {
          "type": "string",
          "description": "Words to look for; without them the surest facts are listed",
          "maxLength": 400
        },
        "limit": {
          "type": "integer",
          "description": "At most so many; 10 when left out",
          "minimum": 1,
          "maximum": 100
        }
      },
      "additionalProperties": false
    }
  },
  {
    "name": "session_status",
    "title": "Session status",
    "description": "Tells which session this is, its project scope, how and why the current run began, what it has used so far and how much is pinned, open or of unknown outcome. Use it to orient yourself.",
    "parameters": {
      "type": "object",
      "properties": {},
      "additionalProperties": false
    }
  },
  {
    "name": "session_search",
    "title": "Search sessions",
    "description": "Searches everything that was said and done in this project's sessions, by words. Use it when the user refers to an earlier conversation, or to find the session to continue.",
    "parameters": {
      "type": "object",
      "properties": {
        "query": {
          "type": "string",
          "description": "Words that were said; all of them must occur",
          "minLength": 1,
          "maxLength": 400
        },
        "limit": {
          "type": "integer",
          "description": "At most so many hits; 10 when left out",
          "minimum": 1,
          "maximum": 100
        }
      },
      "required": [
        "query"
      ],
      "additionalProperties": false
    }
  },
  {
    "name": "session_chain",
    "title": "Chain of sessions",
    "description": "Lists the sessions that led to this one, the oldest first, with their times and how they ended. Use it to see what came before, or to find the session to continue.",
    "parameters": {
      "type": "object",
      "properties": {
        "session_id": {
          "type": "string",
          "description": "Where the chain ends; this session when left out",
          "minLength": 1,
          "maxLength": 128
        },
        "depth": {
          "type": "integer",
          "description": "At most so many sessions; 10 when left out",
          "minimum": 1,
          "maximum": 100
        }
      },
      "additionalProperties": false
    }
  },
  {
    "name": "session_continue",
    "title": "Continue a session",
    "description": "Inherits pins, open tasks and memories of an earlier session into this one, however old it is. Use it when the user wants to go on with work of that session; find its id with session_search or session_chain.",
    "parameters": {
      "type": "object",
      "properties": {
        "session_id": {
          "type": "string",
          "description": "The session to go on with: its id, the beginning of one, or its key",
          "minLength": 1,
          "maxLength": 128
        }
      },
      "required": [
        "session_id"
      ],
      "additionalProperties": false
    }
  },
  {
    "name": "cortex_session_continue",
    "title": "Continue a session (older name)",
    "description": "The same as session_continue, under its older name; use that one.",
    "parameters": {
      "type": "object",
      "properties": {
        "session_id": {
          "type": "string",
          "description": "The session to go on with: its id, the beginning of one, or its key",
          "minLength": 1,
          "maxLength": 128
        }
      },
      "required": [
        "session_id"
      ],
      "additionalProperties": false
    }
  }
]
