"""Unix sockets: the kernel says who connects, and the server listens to some of them only."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from server_process import run_program, pillion_bin

USER, GROUP, STRANGER = 4711, 4712, 4713

# What another user does: one call, as HTTP/1.1 by hand.
CLIENT = r"""
import socket, sys
body = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":'
        '{"text":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        '"io.modelcontextprotocol/clientCapabilities":{}}}}')
head = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        "Mcp-Method: tools/call\r\nMcp-Name: echo\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n")
with socket.socket(socket.AF_UNIX) as s:
    s.settimeout(20)
    s.connect(sys.argv[1])
    s.sendall((head + body).encode())
    answer = b""
    while piece := s.recv(65536):
        answer += piece
sys.stdout.write(answer.decode())
"""


@pytest.fixture
def folder():
    """A folder that other users may enter."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="pillion-peers-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def ask_as(path, user, groups=()):
    """The status and the message that `user` gets, who is in `groups` besides its own."""
    done = subprocess.run(["/usr/bin/python3", "-c", CLIENT, str(path)], user=user, group=65534,
                          extra_groups=list(groups), capture_output=True, text=True, timeout=60,
                          cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    head, _, body = done.stdout.partition("\n\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can connect as other users")
def test_named_users_and_groups_are_served(start, folder):
    path = folder / "s"
    server = start("--listen", f"unix:{path}", "--unix-users", USER, "--unix-groups", GROUP,
                   "--log-level", "info")
    assert path.stat().st_mode & 0o777 == 0o666
    for user, groups in [(USER, []), (STRANGER, [GROUP]), (STRANGER, [5, GROUP, 7]), (0, [])]:
        status, message = ask_as(path, user, groups)
        assert status == 200, message
        assert message["result"]["content"][0]["text"] == "x"
        server.wait_for_log(f"principal=uid:{user}")
    for groups in [[], [USER], [GROUP + 1]]:
        status, message = ask_as(path, STRANGER, groups)
        assert status == 403
        assert "this user may not connect" in message["error"]["message"]
    assert sum("mcp.call" in line for line in server.log) == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can connect as other users")
def test_nobody_else_can_connect_when_nobody_is_named(start, folder):
    path = folder / "s"
    start("--listen", f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o600
    done = subprocess.run(["/usr/bin/python3", "-c", CLIENT, str(path)], user=USER, group=65534,
                          extra_groups=[], capture_output=True, text=True, timeout=60, cwd="/",
                          check=False)
    assert "PermissionError" in done.stderr


def test_own_user_is_served_and_named(start, tmp_path):
    server = start("--listen", f"unix:{tmp_path}/s", "--unix-users", USER, "--log-level", "info",
                   "--log-format", "json")
    server.wait_until_ready()
    done = subprocess.run(["/usr/bin/python3", "-c", CLIENT, f"{tmp_path}/s"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("HTTP/1.1 200 ")
    line = json.loads(server.wait_for_log('"mcp.call"'))
    assert line["principal"] == f"uid:{os.geteuid()}"


def test_callers_over_tcp_have_no_name(start, make_client):
    server = start("--log-level", "info", "--unix-users", USER)
    assert make_client("E", of=server).tool("echo", {"text": "x"}).status == 200
    assert "principal" not in server.wait_for_log("mcp.call")


def test_unknown_users_are_a_fault_of_the_configuration(tmp_path):
    for flag in ("--unix-users", "--unix-groups"):
        done = run_program(pillion_bin(), "serve", "--root", tmp_path, flag, "no such one")
        assert done.returncode == 2
        assert re.search(rf"{flag}.*of this machine", done.stderr.decode()), done.stderr
    path = tmp_path / "c.yaml"
    path.write_text("http: {unix_users: [root, nope]}\n", encoding="ascii")
    done = run_program(pillion_bin(), "check", path)
    assert done.returncode != 0 and f"{path}:1:27" in (done.stderr + done.stdout).decode()
