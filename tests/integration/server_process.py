"""Starts the programs under test and sees to it that they end well."""

import ctypes
import errno
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import evidence

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_S = 30
STOP_S = 30


def binary(variable, name):
    path = os.environ.get(variable) or str(ROOT / "build" / "release" / name)
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"{path} is not there; build it or set {variable}")
    return path


def pillion_bin():
    return binary("PILLION_BIN", "pillion")


def fixture_bin():
    return binary("FIXTURE_BIN", "fixture-server")


def uring_refusal():
    """Why this kernel offers no io_uring; None when it does."""
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    descriptor = libc.syscall(425, 4, parameters)  # io_uring_setup, the same number everywhere
    if descriptor >= 0:
        os.close(descriptor)
        return None
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EPERM, errno.EACCES):
        return os.strerror(number)
    raise OSError(number, "io_uring_setup")


class Server:
    """A server over HTTP, running from construction to stop()."""

    def __init__(self, program, *arguments, command="serve", wait=True, env=None, **more):
        self.arguments = [program, *([command] if command else []), *map(str, arguments)]
        self.log = []
        self._ready = threading.Condition()
        self.urls = []
        self.process = subprocess.Popen(
            self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, **more)
        self._readers = [
            threading.Thread(target=self._read_log, daemon=True),
            threading.Thread(target=self._read_output, daemon=True),
        ]
        self.output = b""
        evidence.keep(f"log of {self.process.pid}", lambda: self.log)
        for reader in self._readers:
            reader.start()
        if wait:
            self.wait_until_ready()

    def _read_log(self):
        for line in self.process.stderr:
            text = line.decode("utf-8", "replace").rstrip("\n")
            with self._ready:
                self.log.append(text)
                match = re.search(r'pillion: listening on (\S+)|"listening","url":"([^"]+)"', text)
                if match:
                    self.urls.append(match[1] or match[2])
                self._ready.notify_all()
        with self._ready:
            self.log.append("")  # the end
            self._ready.notify_all()

    def _read_output(self):
        self.output = self.process.stdout.read()

    def wait_until_ready(self, listeners=1):
        def done():
            return len(self.urls) >= listeners or (self.log and self.log[-1] == "")
        with self._ready:
            self._ready.wait_for(done, START_S)
        if len(self.urls) < listeners:
            self.process.kill()
            self.wait()
            raise AssertionError(f"not ready: {self.arguments}: {self.log}")

    def wait_for_log(self, text, seconds=10):
        """Waits for a line that contains `text` and returns it."""
        def found():
            return next((line for line in self.log if text in line), None)
        with self._ready:
            line = self._ready.wait_for(found, seconds)
        assert line, f"no {text!r} in the log: {self.log[-20:]}"
        return line

    @property
    def port(self):
        return int(re.match(r"https?://[^/]*:(\d+)", self.urls[0])[1])

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    @property
    def pid(self):
        return self.process.pid

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_kb(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def alive(self):
        return self.process.poll() is None

    def wait(self, seconds=STOP_S):
        """Waits for the end and returns the exit code."""
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        self.process.stderr.close()
        self.process.stdout.close()
        return code

    def stop(self):
        """SIGTERM; the server must end by itself, cleanly and with nothing left over."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            raise AssertionError(f"no end after SIGTERM: {self.log[-20:]}") from None
        assert code == 0, f"exit code {code}: {self.log[-40:]}"
        assert self.output == b"", f"output of a server over HTTP: {self.output[:200]!r}"
        self.assert_nothing_left()

    def assert_nothing_left(self):
        lines = [line for line in self.log if re.search("shutdown[ .]complete", line)]
        assert len(lines) == 1, f"no report at the end: {self.log[-10:]}"
        left = dict(re.findall(r'\b(frames|ops|buffers|chunks)"?[=:](\d+)', lines[0]))
        assert set(left) == {"frames", "ops", "buffers", "chunks"}, lines[0]
        assert all(count == "0" for count in left.values()), lines[0]


def run_program(*arguments, **more):
    """Runs a program that is expected to end by itself."""
    return subprocess.run([str(argument) for argument in arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=START_S, check=False, **more)


def has_ended(pid):
    """Whether a process has, although nobody may have reaped it yet."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def wait_until(condition, seconds=10, what="condition"):
    """Polls `condition` until it is true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.01)
