"""Cases over https: W1 beside nginx, W2 beside plain W2 and the cost of its cryptography,
handshakes beside theirs; and what tokens cost. The client is pillion-bench, whatever the others are
measured with."""

import json
import statistics
import subprocess

import machine
from lab import OURS, OURS_EPOLL
from load import TLS_FULL, TLS_RESUMED, echo
from result import Result, Target, load_table, median, ratio

LARGE_BYTES = 32 * 1024
HANDSHAKE_CONNECTIONS = 8


def primitives(lab):
    """What the library's arithmetic costs in this minute, on the server's core."""
    process = machine.spawn(machine.SERVER_CORES, [lab.build / "bench/floor/crypto-cost"],
                            stdout=subprocess.PIPE)
    output, _ = process.communicate()
    return json.loads(output)


def contest(lab, name, those, scenario, connections=64, more=None):
    return lab.contest(name, {
        **{server.name: lambda server=server: lab.bench.measure(server, scenario, connections)
           for server in those}, **(more or {})}, those)


def small(lab):
    scenario = echo(100, lab.folder)
    with lab.servers() as plain:
        like = plain.ours()
        with lab.servers() as those:
            those.secure()
            nginx = [server.name for server in those.secure_peers(like)]
            for server in those.all:
                lab.bench.check(server, scenario)
            rounds = contest(lab, "tls", those.all, scenario)
    first = nginx[0] if nginx else OURS
    columns, rows = load_table(rounds, first)
    columns = [column.replace("floor", first) for column in columns]
    targets = [Target(f"CPU per request, {name}, × {first}", ratio(rounds[name], rounds[first]),
                      1.10) for name in (OURS, OURS_EPOLL) if nginx]
    return Result("tls", "W1 over https: echo of 100 bytes", columns, rows, targets,
                  ["64 connections, kept"], rounds)


def large(lab):
    scenario = echo(LARGE_BYTES, lab.folder)
    with lab.servers() as plain, lab.servers() as those:
        for server in [*plain.both(), *those.secure()]:
            lab.bench.check(server, scenario)
        rounds = lab.contest("tls-large", {
            **{f"{server.name}, plain": lambda server=server: lab.bench.measure(server, scenario)
               for server in plain.all},
            **{f"{server.name}, https": lambda server=server: lab.bench.measure(server, scenario)
               for server in those.all},
            "primitives": lambda: primitives(lab)}, [*plain.all, *those.all])
    costs = rounds.pop("primitives")
    rows, targets = [], []
    for name in (OURS, OURS_EPOLL):
        ours, without = rounds[f"{name}, https"], rounds[f"{name}, plain"]
        bounds = [run["cpu_us"] + 2 * LARGE_BYTES / cost["record_bytes"] * cost["aes_128_gcm_us"]
                  for run, cost in zip(without, costs)]
        rows.append([name, median(without, "cpu_us"), median(ours, "cpu_us"),
                     statistics.median(bounds)])
        targets.append(Target(f"CPU per request, {name}, × (plain + AES-GCM of as many bytes)",
                              statistics.median(run["cpu_us"] / bound
                                                for run, bound in zip(ours, bounds)), 1.2))
    return Result("tls-large", "W2 over https: echo of 32 KiB", ["server", "plain µs/request",
                  "https µs/request", "plain + AES-128-GCM µs"], rows, targets,
                  [f"Mbed TLS {costs[0]['library']}: a record of 16 KiB takes AES-128-GCM "
                   f"{median(costs, 'aes_128_gcm_us'):.1f} µs, ChaCha20-Poly1305, which is spoken, "
                   f"{median(costs, 'chacha20_poly1305_us'):.1f} µs"], rounds)


def tokens(lab):
    scenario = echo(100, lab.folder)
    with lab.servers() as those:
        those.both()
        those.guarded()
        for server in those.all:
            lab.bench.check(server, scenario)
        rounds = contest(lab, "tokens", those.all, scenario)
    columns, rows = load_table(rounds, OURS)
    columns = [column.replace("floor", OURS) for column in columns]
    targets = [Target(f"CPU per request with a JWT, {name}, × without",
                      ratio(rounds[f"{name}, JWT"], rounds[name]), 1.05)
               for name in (OURS, OURS_EPOLL)]
    return Result("tokens", "W1 with a JWT in each request", columns, rows, targets,
                  ["64 connections; the same token again and again"], rounds)


def least(runs, key):
    """What the quietest round took. A neighbour on the other thread of a virtual core makes long
    multiplications 1.6 times as slow, for seconds at a time: this is told beside the median, which
    the target is about."""
    return min(run[key] for run in runs)


def handshakes(lab):
    with lab.servers() as those:
        ours = those.secure()
        for server in ours:
            for scenario in (TLS_FULL, TLS_RESUMED):
                lab.bench.check(server, scenario)
        entries = {(server.name, kind[0]): lambda server=server, kind=kind: lab.bench.measure(
            server, kind, HANDSHAKE_CONNECTIONS)
            for server in ours for kind in (TLS_FULL, TLS_RESUMED)}
        rounds = lab.contest("handshakes", {**entries, "primitives": lambda: primitives(lab)}, ours)
    costs = rounds.pop("primitives")
    floors = [cost["sign_us"] + min(cost["ecdhe_p256_us"], cost["ecdhe_x25519_us"])
              for cost in costs]
    quietest = least(costs, "sign_us") + min(least(costs, "ecdhe_p256_us"),
                                             least(costs, "ecdhe_x25519_us"))
    rows, targets = [], []
    for name in (OURS, OURS_EPOLL):
        full, resumed = rounds[name, TLS_FULL[0]], rounds[name, TLS_RESUMED[0]]
        rows.append([name, median(full, "cpu_us"), median(resumed, "cpu_us"),
                     1e6 / median(full, "cpu_us"), 1e6 / median(resumed, "cpu_us")])
        targets += [
            Target(f"full handshakes a second of CPU, {name}, × what the arithmetic allows",
                   statistics.median(floor / run["cpu_us"] for run, floor in zip(full, floors)),
                   0.8, at_least=True),
            Target(f"resumed : full, {name}", ratio(full, resumed), 4, at_least=True)]
    return Result("handshakes", "TLS handshakes, with TCP and the end of the connection",
                  ["server", "full µs", "resumed µs", "full/s of CPU", "resumed/s of CPU"], rows,
                  targets,
                  [f"Mbed TLS {costs[0]['library']}: signature {median(costs, 'sign_us'):.0f} µs, "
                   f"key exchange P-256 {median(costs, 'ecdhe_p256_us'):.0f} µs, X25519 "
                   f"{median(costs, 'ecdhe_x25519_us'):.0f} µs; the least of the rounds: floor "
                   f"{quietest:.0f} µs, ours {least(rounds[OURS, TLS_FULL[0]], 'cpu_us'):.0f} and "
                   f"{least(rounds[OURS_EPOLL, TLS_FULL[0]], 'cpu_us'):.0f} µs; client: "
                   "pillion-bench"],
                  {f"{name}, {kind}": runs for (name, kind), runs in rounds.items()})
