"""Where cases are run: servers side by side, load in turn, all of them in every round."""

import contextlib
import random
import subprocess
import sys

import asking
import load
import mload
import peers
import servers
from asking import MODERN, SESSION
from result import cheapest

FLOORS = ("floor, io_uring", "floor, epoll")
OURS = "pillion, io_uring"
OURS_EPOLL = "pillion, epoll"
BACKENDS = {"io_uring": "uring", "epoll": "epoll"}


class Lab:
    """Starts servers for a case and ends them with it (`with lab.servers() as those`)."""

    def __init__(self, options, build, folder):
        self.build, self.folder, self.rounds = build, folder, options.rounds
        self.load = (mload.Mload(build, options, folder) if options.mload else
                     load.Load(build, options.seconds, options.tries, options.spin))
        # The only client that speaks TLS.
        self.bench = load.Load(build, options.seconds, options.tries, options.spin)
        self.peers = peers.Peers(build, folder, options.peers)

    @contextlib.contextmanager
    def servers(self):
        those = Servers(self)
        try:
            yield those
        finally:
            those.stop()

    def contest(self, name, entries, renewed=()):
        """Interleaved rounds. `entries` maps a name to a function that measures once; `renewed` are
        servers that each round has anew. Who comes first has an advantage: the memory that the old
        servers gave back is still in the caches, and the system hands it out first. So each round
        is followed by its reverse. And a machine's slow seconds may come again about once a round:
        each such pair has an order of its own, or they would meet the same servers always."""
        rounds = {entry: [] for entry in entries}
        there = list(entries.items())
        shuffle = random.Random(name).shuffle
        for number in range(self.rounds):
            for server in renewed:
                server.renew()
            if number % 2 == 0:
                shuffle(there)
            for entry, measure in there[::-1] if number % 2 else there:
                rounds[entry].append(measure())
            print(f"{name}: round {number + 1} of {self.rounds}", file=sys.stderr)
        return rounds

    def certificate(self):
        """One that signs itself, for this machine: the paths of it and its key."""
        paths = self.folder / "certificate.pem", self.folder / "certificate.key"
        if not paths[0].exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
                            "/CN=localhost", "-addext",
                            "subjectAltName=DNS:localhost,IP:127.0.0.1",
                            "-out", paths[0], "-keyout", paths[1]],
                           check=True, capture_output=True)
        return paths

    def load_contest(self, name, those, scenario, connections=64, rate=None):
        return self.contest(name, {
            server.name: lambda server=server: self.load.measure(server, scenario, connections,
                                                                 rate)
            for server in those}, those)


class Servers:
    """The servers of one case."""

    def __init__(self, lab):
        self.lab = lab
        self.all = []

    def _add(self, name, command, **options):
        self.all.append(servers.Server(name, command, self.lab.folder, **options))
        return self.all[-1]

    def ours(self, name=OURS, backend="io_uring", listen="0", revision=MODERN, cores=None,
             **options):
        command = servers.pillion_command(self.lab.build, BACKENDS[backend], listen, **options)
        return self._add(name, command, revision=revision, cores=cores)

    def secure(self):
        """Ours behind https, on either backend."""
        cert, key = self.lab.certificate()
        more = ("--tls-cert", cert, "--tls-key", key)
        return [self._add(name, servers.pillion_command(self.lab.build, io, "0", more=more),
                          authority=cert)
                for name, io in ((OURS, "uring"), (OURS_EPOLL, "epoll"))]

    def guarded(self):
        """Ours where a JWT is asked for, which each request has, on either backend."""
        issuer, audience = "https://issuer.example", "https://pillion.example/mcp"
        program, keys = self.lab.build / "pillion", self.lab.folder / "keys"
        if not keys.exists():
            subprocess.run([program, "token", "keys", "--out", keys], check=True,
                           stdout=subprocess.DEVNULL)
        token = subprocess.run(
            [program, "token", "sign", "--key", keys / "dev.pem", "--issuer", issuer, "--audience",
             audience, "--subject", "bench", "--scope", "tools:call files:read", "--expires", "1h"],
            check=True, capture_output=True, text=True).stdout.strip()
        more = ("--oidc-issuer", issuer, "--oidc-jwks", keys / "jwks.json", "--oidc-audience",
                audience)
        return [self._add(f"{name}, JWT",
                          servers.pillion_command(self.lab.build, io, "0", more=more),
                          headers=(f"Authorization: Bearer {token}",))
                for name, io in ((OURS, "uring"), (OURS_EPOLL, "epoll"))]

    def both(self, **options):
        """On either backend, with the call log."""
        return [self.ours(OURS, "io_uring", **options), self.ours(OURS_EPOLL, "epoll", **options)]

    def without_call_log(self, **options):
        return [self.ours(f"pillion, {backend}, no call log", backend, call_log=False, **options)
                for backend in BACKENDS]

    def sessions(self, **options):
        return [self.ours(f"pillion, {backend}, session of {SESSION}", backend, revision=SESSION,
                          **options) for backend in BACKENDS]

    def floors(self, answer_bytes, *, listen="0", large=False, suffix=""):
        """Both, with answers of that size."""
        return [self._add(f"floor, {backend}{suffix}",
                          servers.floor_command(self.lab.build, io,
                                                listen.format(io=io), answer_bytes, large=large),
                          canned=True)
                for backend, io in BACKENDS.items()]

    def canned_peers(self, like):
        """nginx and the like, with the body of an answer of `like` to an echo of 100 bytes."""
        return self.take(self.lab.peers.start_canned(self._body_of(like)))

    @staticmethod
    def _body_of(like):
        request = asking.post("tools/call", {"name": "echo", "arguments": {"text": "x" * 100}},
                              "echo")
        status, body = asking.ask_once(like.address, request)
        if status != 200 or not body:
            raise SystemExit(f"{like.name}: status {status} for an echo")
        return body

    def mcp_peers(self):
        return self.take(self.lab.peers.start_mcp())

    def secure_peers(self, like):
        """nginx behind https, with the body of an answer of `like`, which is plain."""
        return self.take(self.lab.peers.start_secure(self._body_of(like),
                                                      self.lab.certificate()))

    def take(self, starting):
        """Each is ours to stop as soon as it runs, whatever becomes of the next."""
        begin = len(self.all)
        for server in starting:
            self.all.append(server)
        return self.all[begin:]

    def check(self, scenario):
        """All of them answer; those that can be wrong are right."""
        for server in self.all:
            self.lab.load.check(server, scenario)

    def stop(self):
        for server in self.all:
            server.stop()
        self.all = []


def floor_of(rounds, key="cpu_us"):
    return cheapest(rounds, [name for name in FLOORS if name in rounds], key)
