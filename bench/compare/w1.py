#!/usr/bin/env python3
"""W1: CPU per `tools/call` of `echo` with 100 bytes, against servers that answer canned bytes.

    bench/compare/w1.py [--perf ../shared/perf] [--rounds 5] [--seconds 2] [--connections 64]
                        [--call-log]

Runs every server on core 0 and the load generator on core 1, all of them in turn in every round, so
that a noisy moment hits them alike, and prints medians. The floor servers and the generator are not
ours and are compiled from --perf. The figure that lasts is the CPU time per request and its ratio
to the floor of the same round; requests per second depend on the machine.
"""

import argparse
import json
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCEPT = "application/json, text/event-stream"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def compile_tools(perf, folder):
    tools = {}
    for name, libraries in (("mload", []), ("floor_epoll", ["-pthread"]),
                            ("floor_uring", ["-pthread", "-luring"])):
        tools[name] = folder / name
        subprocess.run(["cc", "-O2", "-w", str(perf / f"{name}.c"), *libraries, "-o",
                        str(tools[name])], check=True)
    return tools


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"nothing listens on port {port}")


def new_session(url):
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": LEGACY, "capabilities": {},
                       "clientInfo": {"name": "bench", "version": "1"}}}
    request = urllib.request.Request(url, json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Accept": ACCEPT})
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Mcp-Session-Id"]


class Peer:
    """One server under load."""

    def __init__(self, name, command, port, modern=False, session=False):
        self.name = name
        self.process = subprocess.Popen(["taskset", "-c", "0", *map(str, command)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(port)
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.session = new_session(self.url) if session else "-"
        self.modern = modern
        self.runs = []

    def load(self, mload, options, body):
        extra = []
        if self.modern:
            extra = ["-b", body, "-P", MODERN, "-H", "Mcp-Method: tools/call", "-H",
                     "Mcp-Name: echo"]
        line = subprocess.run(
            ["taskset", "-c", "1", mload, "-k", "echo", "-c", str(options.connections), "-d",
             str(options.seconds), "-w", "0.4", "-p", str(self.process.pid), "-s", self.session,
             *extra, self.url], capture_output=True, text=True, check=True).stdout
        row = dict(re.findall(r"(\w+)=(\S+)", line))
        if int(row["bad"]) or int(row["err"]):
            raise SystemExit(f"{self.name}: wrong answers: {line}")
        self.runs.append({key: float(value) for key, value in row.items() if key != "kind"})

    def median(self, key):
        return statistics.median(run[key] for run in self.runs)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def start_peers(tools, fixture, call_log):
    peers = []
    for floor in ("floor_uring", "floor_epoll"):
        port = free_port()
        options = ["-m", "256"] if floor == "floor_uring" else []
        peers.append(Peer(floor, [tools[floor], port, 180, *options], port))
    for backend in ("uring", "epoll"):
        for modern, level in ((False, "warn"), (True, "warn"), *([(True, "info")] * call_log)):
            port = free_port()
            name = f"pillion {backend} {MODERN if modern else LEGACY}"
            peers.append(Peer(name + (" with call log" if level == "info" else ""),
                              [fixture, "serve", "--port", port, "--io", backend, "--log-level",
                               level], port, modern=modern, session=not modern))
    return peers


def modern_body(folder):
    path = folder / "body.json"
    path.write_text(json.dumps({
        "jsonrpc": "2.0", "id": 0, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "x" * 100}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {}}}}).replace('"id": 0', '"id": 1@ID@'))
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--perf", type=pathlib.Path, default=ROOT.parent / "shared" / "perf")
    parser.add_argument("--fixture", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "fixture-server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--call-log", action="store_true",
                        help="also servers that log every call (to /dev/null)")
    options = parser.parse_args()
    if not (options.perf / "mload.c").exists():
        raise SystemExit(f"{options.perf} holds no floor servers; name them with --perf")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tools = compile_tools(options.perf, folder)
        body = modern_body(folder)
        peers = start_peers(tools, options.fixture, options.call_log)
        try:
            for round_number in range(options.rounds):
                for peer in peers:
                    peer.load(tools["mload"], options, body)
                print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
        finally:
            for peer in peers:
                peer.stop()
        floor = peers[0]
        print("| server | CPU µs/request | × floor | requests/s | p50 µs | p99 µs | RSS MiB "
              "| others % |")
        print("|---|---|---|---|---|---|---|---|")
        for peer in peers:
            ratio = statistics.median(a["cpu_us"] / b["cpu_us"]
                                      for a, b in zip(peer.runs, floor.runs))
            print(f"| {peer.name} | {peer.median('cpu_us'):.2f} | {ratio:.2f} "
                  f"| {peer.median('rps'):.0f} | {peer.median('p50'):.0f} "
                  f"| {peer.median('p99'):.0f} | {peer.median('rss_mb'):.1f} "
                  f"| {peer.median('foreign'):.0f} |")


if __name__ == "__main__":
    main()
