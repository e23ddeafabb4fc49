#!/usr/bin/env python3
"""What one client's search does to the latency of another client's calls, as a table.

Usage: bench/files/neighbour.py [--pillion PROGRAM] [--text-mib N] [--rate N] [--seconds N]
                                [--rounds N] [--searches N] [--literal]

A server of a tree of text (default 1 GiB) runs on processor 0, helper threads and all; the clients
run on processor 1. One calls `echo` at a fixed rate (default 500 a second), whether or not earlier
answers have come; a latency counts from the time at which its request was due, so that a stall is
charged to every call it held up. Each round measures this without and with `search_files` going
over all the text (a regular expression, or with --literal a plain text that is nowhere in it); the
ratio of a round is that of its two 99th percentiles. The table shows medians of the rounds.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import selectors
import socket
import statistics
import sys
import tempfile
import time

from tree import ROOT, Server, Session, build, events

SERVER_CPU, CLIENT_CPU = 0, 1
CONNECTIONS = 4
MODERN = "2026-07-28"
PERCENTILES = (50, 99, 99.9)


def echo_request(port):
    body = json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "hello"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    return (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {len(body)}\r\n\r\n"
            f"{body}").encode()


class Caller:
    """Calls on a few connections in turn; requests of one connection may queue in the server."""

    def __init__(self, port):
        self.request = echo_request(port)
        # epoll's time limits are whole milliseconds.
        self.selector = selectors.SelectSelector()
        self.lines = []
        for _ in range(CONNECTIONS):
            line = socket.create_connection(("127.0.0.1", port))
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line.sendall(self.request)
            first = line.recv(65536)
            if b" 200 " not in first.split(b"\r\n", 1)[0] or b"hello" not in first:
                raise RuntimeError(f"echo failed: {first!r}")
            self.size = len(first)  # every answer is as long as this one
            due = []
            self.lines.append((line, due))
            self.selector.register(line, selectors.EVENT_READ, [line, due, 0])

    def take(self, timeout, latencies):
        for key, _ in self.selector.select(timeout):
            state = key.data
            state[2] += len(state[0].recv(65536))
            now = time.perf_counter()
            while state[2] >= self.size:
                state[2] -= self.size
                latencies.append(now - state[1].pop(0))

    def run(self, rate, seconds):
        latencies = []
        count = int(rate * seconds)
        begin = time.perf_counter() + 0.01
        for number in range(count):
            due = begin + number / rate
            while (left := due - time.perf_counter()) > 0:
                # The last stretch is polled: waking up would add to what is measured.
                self.take(left - 0.0001 if left > 0.0002 else 0, latencies)
            line, waiting = self.lines[number % CONNECTIONS]
            waiting.append(due)
            line.sendall(self.request)
        while len(latencies) < count:
            self.take(1, latencies)
        return sorted(latencies)


def search(port, literal, ready, stop):
    """Searches all the text again and again until told to stop."""
    os.sched_setaffinity(0, {CLIENT_CPU})
    # It shares the processor with the one that measures.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    session = Session(port)
    arguments = {"pattern": "no such line" if literal else "no such [a-z]+ line",
                 "regex": not literal}
    while not stop.is_set():
        answer = session.begin("tools/call", {"name": "search_files", "arguments": arguments,
                                              "_meta": {"progressToken": 1}})
        identifier = session.last
        for message in events(answer):
            if message.get("id") == identifier:
                if message["result"]["structuredContent"]["files_searched"] == 0:
                    raise RuntimeError("nothing was searched")
            else:
                ready.release()
            if stop.is_set():
                session.send({"method": "notifications/cancelled",
                              "params": {"requestId": identifier}})
                answer.read()
                break


def percentile(values, which):
    return values[min(len(values) - 1, int(len(values) * which / 100))]


def with_searches(port, chosen, run):
    stop = multiprocessing.Event()
    ready = multiprocessing.Semaphore(0)
    others = [multiprocessing.Process(target=search, args=(port, chosen.literal, ready, stop))
              for _ in range(chosen.searches)]
    for other in others:
        other.start()
    if not ready.acquire(timeout=60):
        raise RuntimeError("no search began")
    try:
        return run()
    finally:
        stop.set()
        for other in others:
            other.join()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--pillion", default=ROOT / "build" / "release" / "pillion")
    options.add_argument("--text-mib", type=int, default=1024)
    options.add_argument("--rate", type=float, default=500)
    options.add_argument("--seconds", type=float, default=4)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--searches", type=int, default=1, help="clients that search at a time")
    options.add_argument("--literal", action="store_true")
    chosen = options.parse_args()
    quiet, busy = [], []
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder), 0, chosen.text_mib)
        os.sched_setaffinity(0, {SERVER_CPU})
        # Only its own first line is read from its standard error: it must not say more.
        server = Server(os.fspath(chosen.pillion), folder, "info")
        os.sched_setaffinity(0, {CLIENT_CPU})
        try:
            caller = Caller(server.port)

            def measure():
                return caller.run(chosen.rate, chosen.seconds)

            measure()
            for _ in range(chosen.rounds):
                quiet.append(measure())
                busy.append(with_searches(server.port, chosen, measure))
        finally:
            server.stop()
    print(f"{chosen.text_mib} MiB of text, {chosen.searches} searching; echo at "
          f"{chosen.rate:.0f}/s for {chosen.seconds:.0f} s, {chosen.rounds} rounds; "
          f"{os.uname().release}")
    print(f"{'':<12}{'alone':>12}{'beside':>12}{'ratio':>8}")
    for which in PERCENTILES:
        pairs = [(percentile(a, which), percentile(b, which)) for a, b in zip(quiet, busy)]
        alone, beside = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"p{which:<11}{alone * 1e6:>9.0f} us{beside * 1e6:>9.0f} us{ratio:>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
