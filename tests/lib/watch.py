# SPDX-License-Identifier: Apache-2.0
"""What a process costs: memory, processor time, file descriptors, threads, as the kernel counts them."""
import os
import re
import time

TICK = os.sysconf("SC_CLK_TCK")


def status(pid, name):
    """A number of /proc/PID/status: VmRSS and VmHWM in KiB, Threads."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return int(re.search(r"^%s:\s*(\d+)" % name, f.read(), re.M).group(1))


def rss(pid):
    """Bytes of memory in use."""
    return status(pid, "VmRSS") * 1024


def cpu(pid):
    """Seconds of processor time so far."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def files(pid):
    """File descriptors that are open."""
    return len(os.listdir("/proc/%d/fd" % pid))


def sockets(pid):
    """Those of them that are sockets."""
    found = 0
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            found += os.readlink("/proc/%d/fd/%s" % (pid, name)).startswith("socket:")
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def share(pid, seconds):
    """The share of one core that it takes over that time."""
    began, used = time.monotonic(), cpu(pid)
    time.sleep(seconds)
    return (cpu(pid) - used) / (time.monotonic() - began)


def is_sanitized(program):
    """Whether it was built with a sanitizer, whose own memory says nothing about the program's."""
    with open(program, "rb") as f:
        text = f.read()
    return b"__asan_init" in text or b"__tsan_init" in text
