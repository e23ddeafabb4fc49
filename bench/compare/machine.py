"""Processes on their cores, and what /proc knows of them."""

import contextlib
import os
import pathlib
import resource
import subprocess

SERVER_CORES = {0}
CLIENT_CORES = {1}
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# Servers at real-time priority. A client that never sleeps would be throttled by the system.
servers_first = False


def raise_descriptor_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def spawn(cores, command, **options):
    """Starts a process on some cores. No taskset in between: its start would be measured, too."""
    before = os.sched_getaffinity(0)
    first = servers_first and cores == SERVER_CORES
    os.sched_setaffinity(0, cores)
    if first:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        return subprocess.Popen(list(map(str, command)), **options)
    finally:
        if first:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, before)


def with_children(pid):
    """A process and all that it has started."""
    found = [pid]
    for one in found:
        for task in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, task.read_text(encoding="ascii").split())
    return found


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()


def cpu_of_threads(pid, but_not=None):
    """Nanoseconds that each thread of a process and its children has run; without children of a
    name. Children may end meanwhile."""
    times = {}
    for one in with_children(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if but_not is not None and one != pid and name_of(one) == but_not:
                continue
            for task in pathlib.Path(f"/proc/{one}/task").iterdir():
                ran = (task / "schedstat").read_text(encoding="ascii")
                times[int(task.name)] = int(ran.split()[0])
    return times


def cpu_s(pid, but_not=None):
    return sum(cpu_of_threads(pid, but_not).values()) / 1e9


def memory_bytes(pid, field):
    """A line of /proc/PID/status, such as RssAnon or VmRSS, of a process and its children."""
    total = 0
    for one in with_children(pid):
        for line in pathlib.Path(f"/proc/{one}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                total += int(line.split()[1]) * 1024
    return total


def busy_s():
    """Seconds that all cores together were not idle."""
    words = pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_S


def description():
    model = next((line.split(":")[1].strip()
                  for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
                  if line.startswith("model name")), "unknown processor")
    return f"{os.cpu_count()} cores, {model}, Linux {os.uname().release}"
