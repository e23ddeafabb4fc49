#!/usr/bin/env python3
"""The percentiles of pillion-bench beside those that the server itself has measured.

Usage: bench/load/percentiles.py [--bench PROGRAM] [--requests N] [--rate N] [--io NAME]...

The server answers each request after a time of its own, 100 ms to 2 s, evenly spread over the
logarithm, in an order that is always the same; it notes how long each answer has really taken, from
the request's last byte to the call that sends the answer. What the client sees in addition is the
way there and back, so the two may not differ by more than 1 %; if they do, the exit code is 1.
The server runs on processor 0 and the client on processor 1; nothing else should run.
"""

import argparse
import asyncio
import json
import math
import os
import pathlib
import random
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORTEST_S, LONGEST_S = 0.1, 2.0
CONNECTIONS = 600
PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
MOST = 0.01


class Server(asyncio.Protocol):
    """One connection: small requests, each whole in one piece, one at a time."""

    def __init__(self, delays, took):
        self.delays = delays
        self.took = took
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        begin = time.perf_counter()
        body = data.partition(b"\r\n\r\n")[2]
        number = json.loads(body)["id"]
        delay = next(self.delays)
        asyncio.get_running_loop().call_at(asyncio.get_running_loop().time() + delay,
                                           self.answer, number, begin)

    def answer(self, number, begin):
        body = json.dumps({"jsonrpc": "2.0", "id": number,
                           "result": {"resultType": "complete", "tools": []}})
        self.transport.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        self.took.append(time.perf_counter() - begin)


def at(values, name):
    """By nearest rank, as the client does."""
    if name == "max":
        return values[-1]
    return values[max(math.ceil(float(name[1:]) / 100 * len(values) - 1e-6), 1) - 1]


async def measure(how, io):
    """The schedule, what the server took, and what the client saw, in ms."""
    planned = [SHORTEST_S * (LONGEST_S / SHORTEST_S) ** (i / (how.requests - 1))
               for i in range(how.requests)]
    random.Random(1).shuffle(planned)
    took = []
    order = iter(planned)
    server = await asyncio.get_running_loop().create_server(
        lambda: Server(order, took), "127.0.0.1", 0, backlog=CONNECTIONS)
    port = server.sockets[0].getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        "taskset", "-c", "1", how.bench, f"http://127.0.0.1:{port}/mcp", "tools/list", "--rate",
        str(how.rate), "-c", str(CONNECTIONS), "-n", str(how.requests), "--warm-up", "0s",
        "--json", "-", "-q", "--io", io, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    server.close()
    report = json.loads(output)
    if not report["passed"] or report["ok"] != how.requests or len(took) != how.requests:
        sys.exit(f"percentiles.py: not all was answered: {report['errors']}")
    return sorted(planned), sorted(took), report["latency_us"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", default=str(ROOT / "build/release/pillion-bench"))
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--rate", type=int, default=250)
    parser.add_argument("--io", action="append")
    how = parser.parse_args()
    os.sched_setaffinity(0, {0})
    worst = 0
    for io in how.io or ("uring", "epoll"):
        planned, took, seen = asyncio.run(measure(how, io))
        print(f"{how.requests} requests, {how.rate}/s, client on {io}")
        print(f"{'':8}{'schedule':>12}{'server':>12}{'client':>12}{'deviation':>12}")
        for name in (*PERCENTILES, "mean"):
            mean = name == "mean"
            plan = sum(planned) / len(planned) if mean else at(planned, name)
            real = sum(took) / len(took) if mean else at(took, name)
            deviation = seen[name] / (real * 1e6) - 1
            # One answer, which the machine may have held up, is shown and not judged.
            worst = worst if name == "max" else max(worst, abs(deviation))
            print(f"{name:8}{plan * 1e3:9.2f} ms{real * 1e3:9.2f} ms{seen[name] / 1e3:9.2f} ms"
                  f"{deviation * 100:10.2f} %")
    print(f"worst deviation {worst * 100:.2f} %, {MOST * 100:.0f} % may be")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
