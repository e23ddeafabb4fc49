"""Servers under load, each one process on core 0: ours and the floors. Peers are in peers.py."""

import pathlib
import re
import signal
import socket
import time

import machine
from asking import MODERN

START_S = 30
STOP_S = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def served_folder(folder):
    """What stock `pillion serve` serves: a folder of its own, in which nothing changes."""
    served = folder / "served"
    served.mkdir(exist_ok=True)
    return served


class Server:
    """One process that answers HTTP. `canned`: whatever it is asked, so answers are not checked.
    `address` is where it was told to listen; None if it says so itself on stderr."""

    def __init__(self, name, command, folder, address=None, *, canned=False, revision=MODERN,
                 cores=None, warms_up=False, authority=None, headers=()):
        self.name, self.canned, self.revision = name, canned, revision
        self.authority = authority  # whom to trust where it speaks https
        self.headers = headers  # of each request: "Name: value"
        self.warms_up = warms_up  # compiles while it runs: a fresh process is slower
        self.log = folder / (re.sub(r"\W+", "-", name) + ".log")
        self._command, self._told_address = command, address
        self._cores, self._folder = cores or machine.SERVER_CORES, served_folder(folder)
        self.start()

    def start(self):
        self.forget_log()
        # Appended to, so that it can be emptied between two runs.
        with self.log.open("ab") as log:
            self.process = machine.spawn(self._cores, self._command, stdout=log, stderr=log,
                                         cwd=self._folder)
        self.address = self._told_address
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self):
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            if self.address is None:
                said = self.log.read_text(encoding="utf-8", errors="replace")
                if found := re.search(r"listening on (?:https?://[^/]*:(\d+)|unix:(\S+))", said):
                    self.address = found[2] or ("127.0.0.1", int(found[1]))
            if self.address is not None and self._accepts():
                return
            time.sleep(0.005)
        raise SystemExit(f"{self.name} does not start: {self.log.read_text(errors='replace')}")

    def _accepts(self):
        family = socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(self.address) == 0

    @property
    def pid(self):
        return self.process.pid

    @property
    def url(self):
        if isinstance(self.address, str):
            return f"unix:{self.address}"
        scheme = "https" if self.authority else "http"
        return f"{scheme}://{self.address[0]}:{self.address[1]}/mcp"

    def forget_log(self):
        """A log of many calls is emptied, not kept."""
        self.log.write_bytes(b"")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except Exception:
            self.process.kill()
            self.process.wait()
            raise
        if isinstance(self.address, str):
            pathlib.Path(self.address).unlink(missing_ok=True)

    def renew(self):
        """Another process in its place: with 32 KiB some processes were faster than others of the
        same program for all their lives, and nobody knows why."""
        if not self.warms_up:
            self.stop()
            self.start()


def floor_command(build, io, listen, answer_bytes, *, large=False):
    """Large bodies want large buffers (../shared/perf/README.md, finding 4)."""
    buffers = (16, 65536) if large and io == "uring" else ()
    return [build / "bench/floor/floor-server", io, listen, answer_bytes, *buffers]


def pillion_command(build, io, listen, *, program="pillion", threads=1, call_log=True, more=()):
    """Stock `serve` with its defaults, call log included."""
    where = ["--listen", listen] if str(listen).startswith("unix:") else ["--port", listen]
    return [pathlib.Path(build) / program, "serve", *where, "--threads", threads, "--io", io,
            *(() if call_log else ("--log-level", "warn")), *more]
