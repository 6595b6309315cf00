// SPDX-License-Identifier: Apache-2.0
// Whether a process lives. One that is dead but not yet reaped does not: in a container without an init nobody may ever
// reap it, and its folder in /proc stays. Tests in bash have alive.sh.
import fs from "node:fs"

export function alive(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
  } catch {
    return false
  }
}
