// SPDX-License-Identifier: Apache-2.0
// The block `session_persistence` of the plugin's configuration (openclaw.plugin.json has its schema).

const DEFAULTS = { enabled: true, command: "reprise", brief: true, tools: true, journal: true }

export function settingsOf(pluginConfig) {
  const given = pluginConfig?.session_persistence ?? {}
  return { ...DEFAULTS, ...given }
}

// The helper's command line.
export function helperArgs(settings) {
  return [...(settings.db ? ["--db", settings.db] : []), "hook", "--stream", "--agent", "openclaw"]
}
