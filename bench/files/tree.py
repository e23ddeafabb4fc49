#!/usr/bin/env python3
"""What the file server takes on a large tree, as a table.

Usage: bench/files/tree.py [--pillion PROGRAM] [--files N] [--text-mib N] [--rounds N]

Builds a tree of N files (default 100 000) and one file of text under many names (default 1 GiB in
all) in a temporary directory and measures a server of it: the start, the first page of
resources/list, the time from a write to its notification (of which 50 ms are the settling time),
a search of everything, and the time from cancelling a search to the end of its stream.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "2025-11-25"
FILES_PER_DIRECTORY = 100
TEXT_FILE_MIB = 32


def build(root, count, text_mib):
    for number in range(0, count, FILES_PER_DIRECTORY):
        place = root / f"d{number // FILES_PER_DIRECTORY // 100:03}" / f"e{number:06}"
        place.mkdir(parents=True)
        for other in range(number, min(number + FILES_PER_DIRECTORY, count)):
            (place / f"f{other:06}.txt").write_text(f"file {other}\n")
    text = root / "text"
    text.mkdir()
    block = b"".join(b"line %07d of some text to search through\n" % n for n in range(25_000))
    first = text / "t000"
    with open(first, "wb") as file:
        while file.tell() < TEXT_FILE_MIB << 20:
            file.write(block)
    for number in range(1, text_mib // TEXT_FILE_MIB):
        (text / f"t{number:03}").hardlink_to(first)


class Server:
    def __init__(self, program, root, log_level="debug"):
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [program, "--root", root, "--port", "0", "--log-level", log_level],
            stderr=subprocess.PIPE, text=True)
        self.port = int(self.wait_for("listening on").split("/mcp")[0].rsplit(":", 1)[1])
        self.ready_s = time.perf_counter() - began
        self.began = began

    def wait_for(self, text):
        for line in self.process.stderr:
            if text in line:
                return line
        raise RuntimeError("the server ended")

    def stop(self):
        self.process.terminate()
        self.process.communicate()


class Session:
    """A legacy session; every request on a connection of its own."""

    def __init__(self, port):
        self.port, self.id, self.last = port, None, 0
        self.request("initialize", {"protocolVersion": VERSION, "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.id:
            headers.update({"Mcp-Session-Id": self.id, "MCP-Protocol-Version": VERSION})
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), headers)
        return connection.getresponse()

    def begin(self, method, params):
        self.last += 1
        return self.send({"id": self.last, "method": method, "params": params})

    def request(self, method, params):
        answer = self.begin(method, params)
        self.id = self.id or answer.getheader("Mcp-Session-Id")
        if answer.getheader("Content-Type", "").startswith("text/event-stream"):
            for message in events(answer):
                if message.get("id") == self.last:
                    return message["result"]
            raise RuntimeError("no answer")
        return json.loads(answer.read())["result"]

    def stream(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", "/mcp", headers={
            "Accept": "text/event-stream", "Mcp-Session-Id": self.id,
            "MCP-Protocol-Version": VERSION})
        return connection.getresponse()


def events(answer):
    while line := answer.readline():
        if line.startswith(b"data:") and line[5:].strip():
            yield json.loads(line[5:])


def timed(run):
    began = time.perf_counter()
    value = run()
    return time.perf_counter() - began, value


def change_latency(session, root, rounds):
    paths = sorted((root / "d000").glob("*/*.txt"))[:rounds]
    stream = events(session.stream())
    taken = []
    for path in paths:
        uri = "pillion://files/" + path.relative_to(root).as_posix()
        session.request("resources/subscribe", {"uri": uri})
        began = time.perf_counter()
        path.write_text("changed\n")
        next(m for m in stream if m.get("params", {}).get("uri") == uri)
        taken.append(time.perf_counter() - began)
    return taken


def cancel_latency(session, rounds):
    taken = []
    for _ in range(rounds):
        answer = session.begin("tools/call", {
            "name": "search_files", "_meta": {"progressToken": 1},
            "arguments": {"pattern": "no such [a-z]+ line", "regex": True, "path": "text"}})
        identifier = session.last
        next(events(answer))
        began = time.perf_counter()
        session.send({"method": "notifications/cancelled", "params": {"requestId": identifier}})
        answer.read()
        taken.append(time.perf_counter() - began)
    return taken


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--pillion", default=ROOT / "build" / "release" / "pillion")
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--text-mib", type=int, default=1024)
    options.add_argument("--rounds", type=int, default=10)
    chosen = options.parse_args()
    rows = []

    def row(name, seconds, note=""):
        rows.append((name, f"{seconds * 1000:.1f} ms", note))

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        build(root, chosen.files, chosen.text_mib)
        server = Server(os.fspath(chosen.pillion), folder)
        try:
            row("start to listening", server.ready_s)
            session = Session(server.port)
            seconds, page = timed(lambda: session.request("resources/list", {}))
            row("first page", seconds, f"{len(page['resources'])} entries")
            server.wait_for("files.watch.settled")
            row("start to all watched", time.perf_counter() - server.began, "in the background")
            taken = change_latency(session, root, chosen.rounds)
            row("change to notification, median", statistics.median(taken), "50 ms of it settling")
            row("change to notification, worst", max(taken), f"of {len(taken)}")
            seconds, found = timed(lambda: session.request("tools/call", {
                "name": "search_files", "arguments": {"pattern": "no such line"}}))
            structured = found["structuredContent"]
            row("search of everything", seconds,
                f"{structured['files_searched']} files, truncated: {structured['truncated']}")
            taken = cancel_latency(session, chosen.rounds)
            row("cancel to end, median", statistics.median(taken))
            row("cancel to end, worst", max(taken), f"of {len(taken)}")
        finally:
            server.stop()
    print(f"{chosen.files} files, {chosen.text_mib} MiB of text, {os.cpu_count()} processors")
    for name, value, note in rows:
        print(f"{name:<32}{value:>12}  {note}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
