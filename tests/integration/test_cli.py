"""The command line: what is said, where, and with which exit code."""

import json
import os
import re
import socket
import stat
import subprocess

import pytest

from http_client import Connection
from server_process import Server, fixture_bin, pillion_bin, run_program

pytestmark = pytest.mark.user


def fails(code, *arguments, **more):
    """The program ends with `code`, one line on stderr and nothing on stdout."""
    done = run_program(pillion_bin(), *arguments, **more)
    assert done.returncode == code, done
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("pillion: "), lines
    return lines[0]


@pytest.mark.parametrize("arguments", [
    ["--no-such-flag"], ["serve", "--no-such-flag"], ["stdio", "--no-such-flag"],
    ["no-such-command"], ["serve", "extra"], ["--port"], ["-x"], ["stdio", "--port", "1"],
], ids=" ".join)
def test_unknown_arguments(arguments):
    fails(2, *arguments)


@pytest.mark.parametrize("arguments", [
    ["--port", "x"], ["--port", "-1"], ["--port", "65536"], ["--port", ""], ["--port", "1.5"],
    ["--threads", "0"], ["--threads", "many"], ["--threads", "-1"], ["--threads", "100000"],
    ["--io", "magic"], ["--host", "not a host"], ["--listen", "nonsense"],
    ["--listen", "fd:x"], ["--listen", "unix:"], ["--path", "mcp"],
    ["--path", ""], ["--log-level", "loud"], ["--log-format", "xml"],
    ["--root", "/no/such/directory"], ["--root", "/etc/passwd"],
    ["--allowed-origins", "not an origin"], ["--request-timeout", "5"],
    ["--request-timeout", "0s"], ["--drain-timeout", "soon"], ["--session-ttl", "-1s"],
    ["--max-connections", "0"],
], ids=" ".join)
def test_bad_values(arguments):
    line = fails(2, "serve", "--port", "0", *arguments)
    assert "Traceback" not in line and len(line) < 300


def test_a_value_that_is_named_in_the_message():
    assert "65536" in fails(2, "--port", "65536")


def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = fails(1, "serve", "--port", taken.getsockname()[1], "--root", os.curdir)
        assert str(taken.getsockname()[1]) in line


@pytest.mark.parametrize("listener", ["fd:999", "fd:0", "unix:/no/such/directory/s",
                                      "no-such-host.invalid:0"])
def test_a_listener_that_cannot_be(listener):
    done = run_program(pillion_bin(), "serve", "--listen", listener, "--root", os.curdir,
                       "--insecure-no-auth")
    assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, done


@pytest.mark.row(36, 37)
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_bind_for_the_world_needs_a_word(host):
    line = fails(2, "serve", "--port", "0", "--host", host, "--root", os.curdir)
    assert "--insecure-no-auth" in line


def test_a_bind_for_the_world_with_that_word(start, io):
    running = start("--host", "0.0.0.0", "--insecure-no-auth")
    with Connection(running.address) as connection:
        assert connection.request("GET", "/health").status == 200


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["serve", "--help"],
                                       ["stdio", "--help"]], ids=" ".join)
def test_help(arguments):
    done = run_program(pillion_bin(), *arguments)
    assert done.returncode == 0 and done.stderr == b""
    assert b"--root" in done.stdout or b"serve" in done.stdout
    assert max(map(len, done.stdout.decode().splitlines())) <= 120


def test_help_names_every_flag():
    text = run_program(pillion_bin(), "serve", "--help").stdout.decode()
    for flag in ("--host", "--port", "--listen", "--path", "--root", "--hidden", "--threads",
                 "--io", "--allowed-origins", "--log-level", "--log-format",
                 "--insecure-no-auth"):
        assert flag in text


def test_help_of_a_server_built_on_the_library():
    text = run_program(fixture_bin(), "serve", "--help").stdout.decode()
    assert "--tools" in text and "--page-size" in text and "--port" in text


def test_version():
    for arguments in (["version"], ["--version"]):
        done = run_program(pillion_bin(), *arguments)
        assert done.returncode == 0 and done.stderr == b""
        assert re.search(rb"\b\d+\.\d+\.\d+\b", done.stdout)


def test_the_version_is_the_same_everywhere(start_pillion, tmp_path):
    said = run_program(pillion_bin(), "version").stdout.decode()
    with Connection(start_pillion("--root", tmp_path).address) as connection:
        assert connection.request("GET", "/health").json()["version"] in said


def test_check(tmp_path):
    done = run_program(pillion_bin(), "check", "--root", tmp_path)
    assert done.returncode == 0, done.stderr
    assert run_program(pillion_bin(), "check", "--root", tmp_path / "none").returncode == 2


def test_own_options_are_checked():
    done = run_program(fixture_bin(), "serve", "--port", "0", "--tools", "many")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_a_path_of_ones_own(start):
    with Connection(start("--path", "/api/tools").address) as connection:
        assert connection.request("POST", "/mcp", [], b"{}").status == 404
        assert connection.request("GET", "/api/tools").status in (400, 406)


def test_logs_as_json(start, io):
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--log-format", "json",
                     "--log-level", "debug", wait=False)
    running.wait_for_log("listening")
    running.process.terminate()
    assert running.wait() == 0
    lines = [line for line in running.log if line.startswith("{")]
    assert lines
    for line in lines:
        assert json.loads(line)["level"]


# ---- listeners ----

def test_a_unix_socket(start, tmp_path):
    path = str(tmp_path / "s")
    running = start("--listen", f"unix:{path}")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with Connection(path) as connection:
        assert connection.request("GET", "/health").status == 200
    running.stop()
    assert not os.path.exists(path)


def test_a_stale_unix_socket_is_taken_over(start, tmp_path):
    path = str(tmp_path / "s")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    start("--listen", f"unix:{path}")
    with Connection(path) as connection:
        assert connection.request("GET", "/health").status == 200


def test_a_unix_socket_in_use_is_not(start, tmp_path):
    path = str(tmp_path / "s")
    start("--listen", f"unix:{path}")
    fails(1, "serve", "--listen", f"unix:{path}", "--root", tmp_path)
    with Connection(path) as connection:
        assert connection.request("GET", "/health").status == 200


def test_a_file_is_not_taken_for_a_socket(tmp_path):
    (tmp_path / "s").write_text("precious")
    fails(1, "serve", "--listen", f"unix:{tmp_path}/s", "--root", tmp_path)
    assert (tmp_path / "s").read_text() == "precious"


@pytest.mark.parametrize("family", ["inet", "unix"])
def test_an_inherited_socket(start, tmp_path, family):
    if family == "inet":
        given = socket.socket()
        given.bind(("127.0.0.1", 0))
        address = given.getsockname()
    else:
        given = socket.socket(socket.AF_UNIX)
        address = str(tmp_path / "s")
        given.bind(address)
    given.listen()
    with given:
        start("--listen", f"fd:{given.fileno()}", pass_fds=(given.fileno(),))
        with Connection(address) as connection:
            assert connection.request("GET", "/health").status == 200


def test_several_listeners(start, tmp_path):
    path = str(tmp_path / "s")
    running = start("--listen", "127.0.0.1:0", "--listen", f"unix:{path}", "--listen",
                    "127.0.0.1:0", "--threads", 2)
    running.wait_until_ready(3)
    ports = {int(match[1]) for url in running.urls if (match := re.search(r":(\d+)/", url))}
    assert len(ports) == 2
    for address in [("127.0.0.1", port) for port in ports] + [path]:
        with Connection(address) as connection:
            assert connection.request("GET", "/health").status == 200


def test_both_threads_serve(start):
    running = start("--threads", 2)
    threads = os.listdir(f"/proc/{running.pid}/task")
    assert len(threads) >= 2
    for _ in range(20):
        with Connection(running.address) as connection:
            assert connection.request("GET", "/health").status == 200


def test_output_is_closed_without_harm(io):
    process = subprocess.Popen([fixture_bin(), "--io", io, "--port", "0"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    line = process.stderr.readline()
    assert b"listening on" in line
    process.stderr.close()
    port = int(re.search(rb":(\d+)/", line)[1])
    with Connection(("127.0.0.1", port)) as connection:
        for _ in range(3):
            assert connection.request("POST", "/mcp", [], b"{").status in (400, 415)
    process.terminate()
    assert process.wait(20) == 0
