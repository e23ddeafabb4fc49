"""What the suites of run_tests.py share: counting, running programs within a time, and a server
under test."""

import atexit
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from free_port import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
TAIL_LINES = 40
STANDING_LINES = 32  # less than these, so that the last test's name is there too

_running = set()  # process groups that must not outlive us


class tally:
    """Counts the tests of one suite and prints those that do not pass."""

    def __init__(self, suite):
        self.suite = suite
        self.passed = self.failed = self.skipped = 0

    def ok(self, count=1):
        self.passed += count

    def fail(self, name, detail="", times=1):
        self.failed += times
        print(f"  FAILED {self.suite}: {name}" + (f" ({times} times)" if times > 1 else ""),
              flush=True)
        if detail:
            print(tail(detail), flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"  skipped {self.suite}: {name}: {reason}", flush=True)

    def check(self, name, passed, detail=""):
        if passed:
            self.ok()
        else:
            self.fail(name, detail)


def tail(text):
    """The last lines of a log, marked so that they are not taken for the driver's own."""
    text = text.split("\nShadow bytes around")[0]  # AddressSanitizer's dump hides its report
    return "\n".join("    | " + line for line in text.rstrip().split("\n")[-TAIL_LINES:])


def end_group(process, grace_s=0):
    """Ends a program and everything it started: politely first when it is given time for it."""
    if grace_s > 0:
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(grace_s)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    _running.discard(process)


@atexit.register
def _end_all():
    for process in list(_running):
        end_group(process)


def start(command, log, env=None, cwd=ROOT, **options):
    """Starts a program in a process group of its own, its output going to the open file `log`."""
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
        stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, cwd=cwd,
        start_new_session=True, **options)
    _running.add(process)
    return process


def members(group):
    """The processes of a group."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return sorted(found)


def standing(group):
    """Where the threads of a group stand, a line each: state, processor time in ticks, the kernel's
    function, the system call with its arguments; and their frames, if a debugger is there."""
    lines = []
    for pid in members(group):
        for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
            try:
                name, rest = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                fields = rest.split()
                lines.append(f"{task.name} {name}: {fields[0]}, {fields[11]} + {fields[12]} ticks, "
                             f"in {(task / 'wchan').read_text()}, "
                             f"call {(task / 'syscall').read_text().strip()[:60]}")
            except OSError as error:
                lines.append(f"{task.name}: {error.strerror}")
        if shutil.which("gdb"):
            lines += frames(pid)
    return lines[:STANDING_LINES]


def frames(pid):
    try:
        said = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex",
                               "set print frame-arguments none", "-ex",
                               "thread apply all backtrace 12"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=60).stdout
    except subprocess.TimeoutExpired:
        return ["the debugger took too long"]
    return [line[:160] for line in said.split("\n") if line.startswith(("Thread ", "#"))]


def run(command, timeout_s, **options):
    """Runs a program. Returns its exit code (None when time ran out) and its output, in which a
    program that did not end in time also says where it stands."""
    stands = []
    with tempfile.TemporaryFile() as log:
        process = start(command, log, **options)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code, stands = None, standing(process.pid)
        end_group(process)
        log.seek(0)
        output = log.read().decode(errors="replace")
    if code is None:
        output = "\n".join([output, f"killed after {timeout_s} s", *stands])
    return code, output


class server:
    """A server under test on a free port: `with server(command) as s: … s.url`."""

    START_S, STOP_S = 60, 20

    def __init__(self, count, command, env=None):
        self.count, self.port, self.env = count, free_port(), env
        self.command = [*command, "--port", str(self.port)]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = start(self.command, self.log, env=self.env)
        self.listening = self._wait()
        if not self.listening:
            self.count.fail("the server did not start: " + " ".join(map(str, self.command)),
                            self.log_text())
        return self

    def _wait(self):
        deadline = time.monotonic() + self.START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                time.sleep(0.05)
        return False

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def __exit__(self, *_):
        died = self.process.poll()
        end_group(self.process, self.STOP_S)
        if self.listening:
            code = self.process.returncode
            self.count.check(f"the server lives through the suite and stops on SIGTERM (it died: "
                             f"{died}, it ended with {code})", died is None and code == 0,
                             self.log_text())
        self.log.close()
