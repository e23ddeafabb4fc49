"""Beside a service: a tool that is a request to it, against nginx as a proxy before the same
service; and a server over standard input and output behind us, against the bridges of npm."""

from lab import BACKENDS, OURS, OURS_EPOLL
from result import Result, Target, load_table, median, ratio

ANSWER = ('{"order":7,"state":"sent","items":[{"name":"chain","count":1},'
          '{"name":"mirror","count":2}]}')
PROXY = "nginx, proxy_pass"
CALL = ("tools/call", "--tool", "look")
REVISION = "2025-06-18"  # that all bridges speak
BRIDGED = ("tools/call", "--tool", "test_simple_text")
RATE = 500
CONNECTIONS = 8


def http_tool(lab):
    socket = lab.folder / "service.sock"
    config = lab.folder / "tool.yaml"
    config.write_text(
        f"upstreams: {{service: {{url: 'http://service.internal', socket: '{socket}'}}}}\n"
        "tools: {look: {description: Looks, http: {upstream: service, path: /orders/7}}}\n",
        encoding="utf-8")
    if "nginx" not in lab.peers.names:
        raise SystemExit("http-tool needs nginx (--install)")
    with lab.servers() as behind, lab.servers() as those:
        behind.take(lab.peers.start_service(socket, ANSWER))
        those.take(lab.peers.start_proxy(PROXY, socket))
        ours = [those.ours(name, backend, more=("--config", config))
                for name, backend in ((OURS, "io_uring"), (OURS_EPOLL, "epoll"))]
        sizes = {server.name: lab.bench.check(server, CALL) for server in those.all}
        rounds = lab.contest("http-tool", {
            server.name: lambda server=server: lab.bench.measure(server, CALL)
            for server in those.all}, ours)
    columns, rows = load_table(rounds, PROXY)
    columns = [column.replace("floor", PROXY) for column in columns]
    targets = [Target(f"CPU per call, {name}, × {PROXY}", ratio(rounds[name], rounds[PROXY]), 1.5)
               for name in (OURS, OURS_EPOLL)]
    return Result("http-tool", "A tool that asks a service over a unix socket", columns, rows,
                  targets, [f"{sizes[OURS]} bytes in an answer of ours, {sizes[PROXY]} in one of "
                            "nginx; 64 connections; the service is another nginx, on the client's "
                            "core"], rounds)


def bridge(lab):
    """The CPU time of the server behind is its own, whoever is before it."""
    fixture = lab.build / "fixture-server"
    config = lab.folder / "bridge.yaml"
    config.write_text(f"servers:\n  fixture: {{command: '{fixture}', args: [stdio], prefix: ''}}\n",
                      encoding="utf-8")
    with lab.servers() as those:
        for backend in BACKENDS:
            those.ours(f"pillion, {backend}", backend, revision=REVISION,
                       more=("--config", config))
        theirs = [server.name for server in those.take(
            lab.peers.start_bridges([fixture, "stdio"], REVISION))]
        for server in those.all:
            lab.bench.check(server, BRIDGED)
        rounds = lab.contest("bridge", {
            (server.name, rate): lambda server=server, rate=rate: lab.bench.measure_before(
                server, BRIDGED, CONNECTIONS, rate, fixture.name)
            for server in those.all for rate in (None, RATE)})
        names = [server.name for server in those.all]
    rows = [[name, median(rounds[name, None], "cpu_us"), median(rounds[name, None], "rps"),
             median(rounds[name, RATE], "cpu_us"), median(rounds[name, RATE], "p50_us"),
             median(rounds[name, RATE], "p99_us")] for name in names]
    targets = []
    for name in (OURS, OURS_EPOLL):
        for other in theirs:
            targets += [
                Target(f"CPU per call, {other}, × {name}",
                       ratio(rounds[other, None], rounds[name, None]), 10, at_least=True),
                Target(f"p99 at {RATE} calls/s, {name}, × {other}",
                       ratio(rounds[name, RATE], rounds[other, RATE], "p99_us"), 1)]
    return Result("bridge", "A server over standard input and output behind a bridge",
                  ["bridge", "CPU µs/call", "calls/s", f"CPU µs/call at {RATE}/s",
                   f"p50 µs at {RATE}/s", f"p99 µs at {RATE}/s"], rows, targets,
                  [f"{CONNECTIONS} connections, {REVISION}; without the CPU time of the server "
                   "behind"],
                  {f"{name}, {rate or 'closed loop'}": runs
                   for (name, rate), runs in rounds.items()})
