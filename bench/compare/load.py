"""The load of one run, which is pillion-bench on core 1, and what the machine did meanwhile.

A server that answers canned bytes cannot be checked, and the client must be the same for all. So
answers are checked before the timed runs (`check`), these are all `--unchecked`, and their answers
must have the size of the checked ones."""

import contextlib
import json
import os
import subprocess
import sys
import time

import machine

WARM_UP_S = 0.4
FOREIGN_MAX = 0.4  # of a core; a run beside more is repeated
SIZE_TOLERANCE = 0.01
ID_BYTES = 8  # by which answers differ, as their requests' ids do


def echo(text_bytes, folder):
    """tools/call of `echo` with so much text."""
    arguments = folder / f"echo-{text_bytes}.json"
    arguments.write_text(json.dumps({"text": "x" * text_bytes}), encoding="utf-8")
    return ("tools/call", "--tool", "echo", "--arguments", f"@{arguments}")


TLS_FULL, TLS_RESUMED = ("tls-full",), ("tls-resumed",)
PING = ("ping",)
LIST = ("tools/list",)


class Load:
    """Runs pillion-bench."""

    def __init__(self, build, seconds, tries, spin=False):
        self.spin = spin
        self.program = build / "pillion-bench"
        self.seconds, self.tries = seconds, tries
        self.sizes = {}  # server and scenario -> bytes of an answer

    def _run(self, server, scenario, *options):
        command = [self.program, server.url, *scenario, "-r", server.revision, "--io", "uring",
                   "--json", "-", "-q", *(("--spin",) if self.spin else ()), *options]
        if server.authority:
            command += ["--cacert", server.authority]
        for header in server.headers:
            command += ["--header", header]
        process = machine.spawn(machine.CLIENT_CORES, command, stdout=subprocess.PIPE)
        output = process.stdout.read()
        process.stdout.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{server.name}: pillion-bench ends with {process.returncode}: "
                             f"{output.decode()[:600]}")
        return json.loads(output), used.ru_utime + used.ru_stime

    @contextlib.contextmanager
    def never_sleeping(self):
        """Runs with --spin: where a client that sleeps between two answers takes its core whole,
        most of it for being woken and for waking the server, its own delay would be measured."""
        before, self.spin = self.spin, True
        try:
            yield
        finally:
            self.spin = before

    def check(self, server, scenario):
        """Bytes of an answer, after some that were right."""
        unchecked = ("--unchecked",) if server.canned else ()
        report, _ = self._run(server, scenario, "-n", "200", "-c", "4", "--warm-up", "0s",
                              *unchecked)
        size = report["bytes_in"] / report["ok"]
        self.sizes[server.name, scenario] = size
        return round(size)

    def measure(self, server, scenario, connections=64, rate=None):
        """One timed run, repeated when others were busy meanwhile."""
        for _ in range(self.tries):
            row = self._measure(server, scenario, connections, rate)
            if row["foreign"] <= FOREIGN_MAX:
                break
            print(f"  {server.name}: others used {row['foreign']:.0%} of a core",
                  file=sys.stderr)
        return row

    def measure_before(self, server, scenario, connections, rate, behind):
        """One timed run of a bridge, without the CPU time of the process `behind` it."""
        options = ("--unchecked", "-c", str(connections), *(("--rate", str(rate)) if rate else ()),
                   "--warm-up", "0s")
        self._run(server, scenario, *options, "-d", f"{WARM_UP_S}s")
        before = machine.cpu_s(server.pid, behind)
        report, _ = self._run(server, scenario, *options, "-d", f"{self.seconds}s")
        used = machine.cpu_s(server.pid, behind) - before
        return {"cpu_us": used * 1e6 / report["ok"], "rps": report["rps"],
                "p50_us": report["latency_us"]["p50"], "p99_us": report["latency_us"]["p99"]}

    def _measure(self, server, scenario, connections, rate):
        server.forget_log()
        busy, cpu, begin = machine.busy_s(), machine.cpu_s(server.pid), time.monotonic()
        report, client_s = self._run(
            server, scenario, "--unchecked", "-c", str(connections), "-d", f"{self.seconds}s",
            "--warm-up", f"{WARM_UP_S}s", "--pid", str(server.pid),
            *(("--rate", str(rate)) if rate else ()))
        seconds = time.monotonic() - begin
        foreign = machine.busy_s() - busy - (machine.cpu_s(server.pid) - cpu) - client_s
        # In open loop what was late is answered after the measured time, which counts no bytes.
        if rate is None:
            self._compare_size(server, scenario, report)
        return {"cpu_us": report["server"]["cpu_us_per_request"], "rps": report["rps"],
                "p50_us": report["latency_us"]["p50"], "p99_us": report["latency_us"]["p99"],
                "rss_bytes": report["server"]["rss_bytes"],
                "server_share": report["server"]["cpu_share"],
                "client_us": report["client"]["cpu_us_per_request"],
                "client_share": report["client"]["cpu_share"],
                "client_was_bottleneck": report["client"]["bottleneck"],
                "foreign": max(foreign / seconds, 0)}

    def _compare_size(self, server, scenario, report):
        size = report["bytes_in"] / report["ok"]
        checked = self.sizes[server.name, scenario]
        # Answers at the edges of the measured time are counted on one side only.
        edge = 2 * report["connections"] / report["ok"]
        if abs(size - checked) > max(SIZE_TOLERANCE * checked, ID_BYTES) + edge * checked:
            raise SystemExit(f"{server.name}: answers of {size:.0f} bytes, not {checked:.0f}")
