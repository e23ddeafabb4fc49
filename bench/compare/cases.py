"""Cases with load: W1 to W5, unix sockets, open loops, two threads. Each is a function of the lab
that gives a Result; what they are is in ../shared/perf/README.md, the bounds are the issue's."""

import re
import statistics
import time

import asking
import machine
from lab import BACKENDS, FLOORS, OURS, OURS_EPOLL, floor_of
from load import LIST, PING, echo
from result import Result, Target, load_table, median, ratio
from servers import free_port

CONNECTIONS = (1, 16, 64, 256, 1000)  # of W5
CONNECTIONS_RATE = 80_000
OPEN_RATE = 1000
OPEN_CONNECTIONS = 16
THREADS_RATE = 20_000
SHARE_CONNECTIONS = 64
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def both_targets(rounds, bound):
    """Against the cheaper floor, io_uring first: it is what --io auto takes."""
    floor = floor_of(rounds)
    return [Target(f"CPU per request, {name}, × {floor}", ratio(rounds[name], rounds[floor]), bound)
            for name in (OURS, OURS_EPOLL)]


def against_floor(lab, name, title, scenario, bound, *, large=False, **options):
    """W2 to W4: ours on both backends, with and without the call log, MCP peers, and floors that
    answer as many bytes."""
    with lab.servers() as those:
        ours = those.both(**options)
        those.without_call_log(**options)
        size = lab.load.check(ours[0], scenario)
        those.floors(size, large=large)
        those.mcp_peers()
        those.check(scenario)
        rounds = lab.load_contest(name, those.all, scenario)
    columns, rows = load_table(rounds, floor_of(rounds))
    return Result(name, title, columns, rows, both_targets(rounds, bound),
                  [f"{size} bytes in an answer, 64 connections"], rounds)


def w1(lab):
    scenario = echo(100, lab.folder)
    with lab.servers() as those:
        ours = those.both()
        those.without_call_log()
        those.sessions()
        size = lab.load.check(ours[0], scenario)
        those.floors(size)
        nginx = [one.name for one in those.canned_peers(ours[0]) if one.name.startswith("nginx")]
        those.mcp_peers()
        those.check(scenario)
        rounds = lab.load_contest("w1", those.all, scenario)
    floor = floor_of(rounds)
    fastest = max(FLOORS, key=lambda name: median(rounds[name], "rps"))
    targets = both_targets(rounds, 1.20)
    targets += [Target(f"CPU per request, {name}, × nginx", ratio(rounds[name], rounds[nginx[0]]),
                       1.0) for name in (OURS, OURS_EPOLL) if nginx]
    targets += [Target(f"requests/s, {name}, × {fastest}",
                       ratio(rounds[name], rounds[fastest], "rps"), 0.85, at_least=True)
                for name in (OURS, OURS_EPOLL)]
    for backend in BACKENDS:
        name = f"pillion, {backend}"
        between = ratio(rounds[f"{name}, session of {asking.SESSION}"], rounds[name])
        targets.append(Target(f"session against 2026-07-28, {backend}, either way",
                              max(between, 1 / between), 1.10))
    targets.append(Target("epoll against io_uring", ratio(rounds[OURS_EPOLL], rounds[OURS]), 1.15))
    columns, rows = load_table(rounds, floor)
    return Result("w1", "W1: echo of 100 bytes", columns, rows, targets,
                  [f"{size} bytes in an answer of ours, 64 connections"], rounds)


def w2(lab):
    return against_floor(lab, "w2", "W2: echo of 32 KiB", echo(32 * 1024, lab.folder), 2.0,
                         large=True)


def w3(lab):
    return against_floor(lab, "w3", "W3: ping (server/discover)", PING, 1.15)


def w4(lab):
    return against_floor(lab, "w4", "W4: tools/list with 50 tools", LIST, 1.10,
                         program="fixture-server", more=("--tools", "50"))


def by_connections(lab, name, title, counts, bound=None, rate=None):
    """How the CPU time of a call rises from 64 to 1000 connections."""
    scenario = echo(100, lab.folder)
    with lab.servers() as those:
        size = lab.load.check(those.both()[0], scenario)
        those.floors(size)
        those.check(scenario)
        # Each server's own one after the other: machines have slow seconds.
        rounds = lab.contest(name, {
            (server.name, count): lambda server=server, count=count: lab.load.measure(
                server, scenario, count, rate)
            for server in those.all for count in counts}, those.all)
        names = [server.name for server in those.all]
    rise = {name: ratio(rounds[name, 1000], rounds[name, 64]) for name in names}
    # The bound is what the floor's CPU time rose by where it was set; that varies by machine.
    floor = min(FLOORS, key=rise.get)
    rows = [[name, *(median(rounds[name, count], "cpu_us") for count in counts),
             rise[name], rise[name] / rise[floor]] for name in names]
    targets = [Target(f"1000 against 64 connections, {name}", rise[name], bound)
               for name in (OURS, OURS_EPOLL) if bound]
    return Result(name, title, ["server", *map(str, counts), "1000 : 64", f"that × of {floor}"],
                  rows, targets, [],
                  {f"{name}, {count} connections": runs for (name, count), runs in rounds.items()})


def w5(lab):
    return by_connections(lab, "w5", "W5: echo of 100 bytes, CPU µs/request by connections",
                          CONNECTIONS, 1.15)


def w5_rate(lab):
    """In a closed loop more connections are a longer queue as well, before whoever is slower. Here
    they are not, and only their number differs."""
    with lab.load.never_sleeping():
        return by_connections(lab, "w5-rate", f"W5 in open loop, {CONNECTIONS_RATE} echoes/s: CPU "
                              "µs/request by connections", (64, 1000), rate=CONNECTIONS_RATE)


def unix(lab):
    scenario = echo(100, lab.folder)
    over = " over unix"
    with lab.servers() as those:
        for backend, io in BACKENDS.items():
            those.ours(f"pillion, {backend}{over}", backend, f"unix:{lab.folder}/ours-{io}")
        size = lab.load.check(those.all[0], scenario)
        those.floors(size)
        those.floors(size, listen=f"unix:{lab.folder}/floor-{{io}}", suffix=over)
        those.check(scenario)
        rounds = lab.load_contest("unix", those.all, scenario)
    floor = floor_of(rounds)
    columns, rows = load_table(rounds, floor)
    targets = [Target(f"CPU per request, pillion, {backend}{over}, × {floor} over TCP",
                      ratio(rounds[f"pillion, {backend}{over}"], rounds[floor]), 0.70)
               for backend in BACKENDS]
    return Result("unix", "W1 over a unix socket", columns, rows, targets,
                  [f"{size} bytes in an answer, 64 connections; × floor is of {floor} over TCP"],
                  rounds)


def latency_contest(lab, name, those, scenario, rate, connections):
    those.check(scenario)
    rounds = lab.load_contest(name, those.all, scenario, connections, rate)
    floors = {key: floor_of(rounds, key) for key in ("p50_us", "p99_us")}
    columns, rows = load_table(rounds, floor_of(rounds))
    return rounds, floors, columns, rows


def open_loop(lab):
    scenario = echo(100, lab.folder)
    with lab.servers() as those:
        those.floors(lab.load.check(those.both()[0], scenario))
        rounds, floors, columns, rows = latency_contest(lab, "open", those, scenario, OPEN_RATE,
                                                        OPEN_CONNECTIONS)
    targets = [Target(f"{key[:3]}, {name}, × {floors[key]}",
                      ratio(rounds[name], rounds[floors[key]], key), bound)
               for name in (OURS, OURS_EPOLL) for key, bound in (("p50_us", 1.25), ("p99_us", 1.5))]
    return Result("open", f"Open loop: {OPEN_RATE} echoes/s over {OPEN_CONNECTIONS} connections",
                  columns, rows, targets, [], rounds)


def half(lab):
    scenario = echo(100, lab.folder)
    with lab.servers() as those:
        ours = those.both()
        those.floors(lab.load.check(ours[0], scenario))
        those.check(scenario)
        capacity = statistics.median(lab.load.measure(ours[0], scenario)["rps"] for _ in range(3))
        rate = round(capacity / 2)
        with lab.load.never_sleeping():
            rounds, floors, columns, rows = latency_contest(lab, "half", those, scenario, rate, 64)
    floor = floors["p99_us"]
    targets = [Target(f"p99, {name}, above {floor}",
                      statistics.median(a["p99_us"] - b["p99_us"]
                                        for a, b in zip(rounds[name], rounds[floor])), 300, "µs")
               for name in (OURS, OURS_EPOLL)]
    return Result("half", f"Open loop at half of what ours can do: {rate} echoes/s over 64 "
                  "connections", columns, rows, targets, ["the client never sleeps"], rounds)


def shares_of(server, metrics):
    """Which part of connections each thread has, by the server's own word."""
    connections = [asking.Connection(server.address) for _ in range(SHARE_CONNECTIONS)]
    try:
        for connection in connections:
            connection.ask(asking.DISCOVER)
        until = time.monotonic() + asking.PATIENCE_S
        while time.monotonic() < until:
            _, page = asking.ask_once(metrics, METRICS)
            counts = [int(value) for value in
                      re.findall(r"^pillion_shard_connections\{.*\} (\d+)$", page, re.MULTILINE)]
            # Those of the load may take a moment to go.
            if sum(counts) == SHARE_CONNECTIONS:
                return sorted(count / SHARE_CONNECTIONS for count in counts)
        raise SystemExit(f"{server.name}: {counts} connections instead of {SHARE_CONNECTIONS}")
    finally:
        for connection in connections:
            connection.close()


def threads(lab):
    scenario = echo(100, lab.folder)
    names = {(backend, count): f"pillion, {backend}, {count} thread{'s' * (count > 1)}"
             for backend in BACKENDS for count in (1, 2)}
    ports = {name: ("127.0.0.1", free_port()) for name in names.values()}
    with lab.servers() as those:
        for (backend, count), name in names.items():
            those.ours(name, backend, threads=count,
                       cores=machine.SERVER_CORES | machine.CLIENT_CORES if count > 1 else None,
                       more=("--metrics-listen", f"127.0.0.1:{ports[name][1]}"))
        those.check(scenario)
        rounds = lab.contest("threads", {
            server.name: lambda server=server: {
                **lab.load.measure(server, scenario, SHARE_CONNECTIONS, THREADS_RATE),
                "shares": shares_of(server, ports[server.name])}
            for server in those.all}, those.all)
    targets, rows = [], []
    for (backend, count), name in names.items():
        runs = rounds[name]
        between = ratio(runs, rounds[names[backend, 1]])
        least = statistics.median(run["shares"][0] for run in runs)
        rows.append([name, median(runs, "cpu_us"), between, 100 * least, median(runs, "p99_us"),
                     100 * median(runs, "foreign")])
        if count > 1:
            targets += [Target(f"CPU per request, {backend}, two threads × one", between, 1.11),
                        Target(f"connections on the thread that has fewer, {backend}", 100 * least,
                               40, "%", at_least=True)]
    return Result("threads", f"Two threads: {THREADS_RATE} echoes/s over {SHARE_CONNECTIONS} "
                  "connections", ["server", "CPU µs/request", "× one thread",
                                  "least share of connections %", "p99 µs", "others %"], rows,
                  targets, ["the second thread has the client's core"], rounds)
