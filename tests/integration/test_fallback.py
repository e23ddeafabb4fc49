"""Systems that deny io_uring: containers by seccomp, ordinary users by their memory limit."""

import ctypes
import os
import platform
import resource
import struct

import pytest

from http_client import Connection
from server_process import Server, fixture_bin, run_program

EPERM, ENOSYS = 1, 38
IO_URING_SETUP = 425  # the same number on every architecture

pytestmark = [pytest.mark.asan, pytest.mark.user]


def deny_io_uring(number):
    """A seccomp filter that answers io_uring_setup with an errno, as container runtimes do."""
    def instruction(code, true, false, value):
        return struct.pack("HBBI", code, true, false, value)

    program = b"".join([
        instruction(0x20, 0, 0, 0),                      # load the call's number
        instruction(0x15, 0, 1, IO_URING_SETUP),         # is it io_uring_setup?
        instruction(0x06, 0, 0, 0x00050000 | number),    # errno
        instruction(0x06, 0, 0, 0x7FFF0000),             # allow
    ])

    def apply():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
        holder = ctypes.create_string_buffer(header)
        assert libc.prctl(38, 1, 0, 0, 0) == 0           # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, holder, 0, 0) == 0      # PR_SET_SECCOMP, filter mode
    return apply


def served(server):
    with Connection(server.address) as connection:
        return connection.request("GET", "/health").status


@pytest.mark.parametrize("number, name", [(EPERM, "EPERM"), (ENOSYS, "ENOSYS")])
def test_auto_uses_epoll_and_says_why_in_one_line(number, name):
    server = Server(fixture_bin(), "--port", 0, "--io", "auto", preexec_fn=deny_io_uring(number))
    try:
        lines = [line for line in server.log if "io.fallback" in line]
        assert len(lines) == 1 and name in lines[0], server.log
        assert "io=epoll" in server.wait_for_log("serve.start")
        assert served(server) == 200
    finally:
        server.stop()


def test_uring_insists_and_fails_with_one_line():
    done = run_program(fixture_bin(), "serve", "--port", 0, "--io", "uring",
                       preexec_fn=deny_io_uring(EPERM))
    assert done.returncode == 1
    lines = done.stderr.decode().strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("pillion: "), lines


def test_stdio_falls_back_as_well():
    done = run_program(fixture_bin(), "stdio", preexec_fn=deny_io_uring(EPERM))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""


@pytest.mark.skipif(platform.system() != "Linux", reason="resource limits of Linux")
def test_no_locked_memory_at_all_is_survived():
    def apply():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    server = Server(fixture_bin(), "--port", 0, "--io", "auto", "--threads", 2, preexec_fn=apply)
    try:
        # Root is exempt from the limit and gets its rings all the same.
        wanted = "io=" if os.geteuid() == 0 else "io=epoll"
        assert wanted in server.wait_for_log("serve.start")
        assert served(server) == 200
    finally:
        server.stop()
