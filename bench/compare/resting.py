"""Cases without load: W6, what is idle, and W7, the start."""

import json
import pathlib
import subprocess
import time

import asking
import machine
import servers
from lab import BACKENDS, FLOORS
from result import Result, Target, median

IDLE = 10_000
WARM_REQUESTS = 1000
SETTLE_S = 0.5
START_PATIENCE_S = 20
MIB = 1 << 20


def idle_bytes(those, backend):
    """Growth of the server's own memory for each idle connection that has asked once."""
    server = those.ours(f"pillion, {backend}", backend)
    first = asking.Connection(server.address)
    for _ in range(WARM_REQUESTS):
        first.ask(asking.DISCOVER)
    first.close()
    time.sleep(SETTLE_S)
    before = machine.memory_bytes(server.pid, "RssAnon")
    idle = []
    try:
        for _ in range(IDLE):
            idle.append(asking.Connection(server.address))
            status, _ = idle[-1].ask(asking.DISCOVER)
            if status != 200:
                raise SystemExit(f"{server.name}: status {status} on connection {len(idle)}")
        time.sleep(SETTLE_S)
        return {"bytes": (machine.memory_bytes(server.pid, "RssAnon") - before) / IDLE}
    finally:
        for connection in idle:
            connection.close()
        those.stop()


def stream_bytes(lab, those, backend, listens, gets):
    """The same for streams, by the client of bench/streams."""
    server = those.ours(f"fixture, {backend}", backend, program="fixture-server", call_log=False,
                        more=("--max-connections", "1000000"))
    try:
        client = machine.spawn(machine.CLIENT_CORES,
                               [lab.build / "bench/streams/streams-load", server.address[1],
                                server.pid, listens, gets, 1], stdout=subprocess.PIPE)
        output, _ = client.communicate()
        if client.returncode != 0:
            raise SystemExit("streams-load failed")
        return {"bytes": json.loads(output)["bytes_idle"]}
    finally:
        those.stop()


def w6(lab):
    kinds = {"keep-alive connection": 1024, "subscriptions/listen stream": 2048,
             "GET stream of a session": 2048}
    with lab.servers() as those:
        entries = {}
        for backend in BACKENDS:
            entries["keep-alive connection", backend] = (
                lambda backend=backend: idle_bytes(those, backend))
            for kind, listens, gets in (("subscriptions/listen stream", IDLE, 0),
                                        ("GET stream of a session", 0, IDLE)):
                entries[kind, backend] = (
                    lambda backend=backend, listens=listens, gets=gets: stream_bytes(
                        lab, those, backend, listens, gets))
        rounds = lab.contest("w6", entries)
    rows = [[f"{kind}, {backend}", median(runs, "bytes")]
            for (kind, backend), runs in rounds.items()]
    targets = [Target(f"user memory per idle {kind}, {backend}", median(runs, "bytes"),
                      kinds[kind], "B") for (kind, backend), runs in rounds.items()]
    return Result("w6", f"W6: {IDLE} that are idle, bytes of the server's own memory for each",
                  ["what", "bytes"], rows, targets, ["RssAnon; the kernel's sockets are not in it"],
                  {f"{kind}, {backend}": runs for (kind, backend), runs in rounds.items()})


def start_once(folder, name, command_at):
    """From before the process exists to its first whole answer, and what it holds then."""
    port = servers.free_port()
    command = command_at(port)
    with open(folder / "start.log", "wb") as log:
        begin = time.monotonic()
        process = machine.spawn(machine.SERVER_CORES, command, stdout=log, stderr=log,
                                cwd=servers.served_folder(folder), close_fds=False)
        try:
            while True:
                try:
                    asking.ask_once(("127.0.0.1", port), asking.DISCOVER)
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() - begin > START_PATIENCE_S:
                        said = pathlib.Path(log.name).read_text(encoding="utf-8", errors="replace")
                        raise SystemExit(f"{name} does not start: {said}") from None
            took = time.monotonic() - begin
            return {"ms": took * 1e3, "rss_bytes": machine.memory_bytes(process.pid, "VmRSS")}
        finally:
            process.terminate()
            process.wait(servers.STOP_S)


def w7(lab):
    commands = {}
    for name, (backend, io) in zip(FLOORS, BACKENDS.items()):
        commands[f"pillion, {backend}"] = (
            lambda port, io=io: servers.pillion_command(lab.build, io, port))
        commands[name] = lambda port, io=io: servers.floor_command(lab.build, io, port, 300)
    rounds = lab.contest("w7", {
        name: lambda name=name, command=command: start_once(lab.folder, name, command)
        for name, command in commands.items()})
    rows = [[name, median(runs, "ms"), median(runs, "rss_bytes") / MIB]
            for name, runs in rounds.items()]
    targets = []
    for backend in BACKENDS:
        runs = rounds[f"pillion, {backend}"]
        targets += [Target(f"start to first answer, {backend}", median(runs, "ms"), 10, "ms"),
                    Target(f"RSS at start, {backend}", median(runs, "rss_bytes") / MIB, 6, "MiB")]
    return Result("w7", "W7: start", ["server", "ms to the first answer", "RSS MiB"], rows, targets,
                  ["one thread; programs are in the page cache"], rounds)
