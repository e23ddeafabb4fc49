"""The log for operators: one line for each call, and nobody waits for whoever reads it."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from free_port import free_port
from http_client import Connection
from mcp_client import compact, modern_params
from server_process import fixture_bin

SECRET = "a text that nobody should find in a log"


@pytest.mark.row(108)
def test_one_line_a_call(start, make_client):
    server = start()
    client = make_client("E", of=server)
    client.call("tools/call", {"name": "greet", "arguments": {"name": SECRET}},
                extra=[("X-Request-Id", "find-me-1")])
    line = server.wait_for_log("request_id=find-me-1")
    assert re.search(r" info mcp\.call method=tools/call target=greet request_id=find-me-1 "
                     r"duration_us=\d+ status=ok bytes=\d+$", line), line
    client.tool("test_error_handling", {}, extra=[("X-Request-Id", "find-me-2")])
    assert "status=tool_error" in server.wait_for_log("request_id=find-me-2")
    client.call("resources/read", {"uri": "test://none"}, extra=[("X-Request-Id", "find-me-3")])
    assert "status=not_found" in server.wait_for_log("request_id=find-me-3")
    assert not any(SECRET in text for text in server.log)


@pytest.mark.row(108)
def test_json_lines(start, make_client):
    server = start("--log-format", "json")
    make_client("D", of=server).open().tool("test_simple_text", {},
                                            extra=[("X-Request-Id", "find-me")])
    line = json.loads(server.wait_for_log('"request_id":"find-me"'))
    assert line["event"] == "mcp.call" and line["status"] == "ok" and line["bytes"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_a_level_turns_it_off(start, make_client):
    server = start("--log-level", "warn")
    make_client("E", of=server).tool("test_simple_text", {})
    server.stop()
    assert not any("mcp.call" in line for line in server.log)


def stalled_server(io):
    """A server whose log nobody reads any further; returns it and its port."""
    process = subprocess.Popen([fixture_bin(), "--io", io, "--port", "0"], stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, bufsize=0)
    head = b""
    while not (found := re.search(rb"listening on http://127\.0\.0\.1:(\d+)", head)):
        head += os.read(process.stderr.fileno(), 4096)
    return process, int(found[1])


def test_a_log_that_nobody_reads_keeps_nobody_waiting(io):
    """The pipe and the queue fill up; calls go on, lines are dropped, and their number is told."""
    process, port = stalled_server(io)
    try:
        connection = Connection(("127.0.0.1", port))
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": modern_params({"name": "test_simple_text", "arguments": {}})}
        request = connection.render("POST", "/mcp", [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"), ("Mcp-Name", "test_simple_text"),
            ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
            ("X-Request-Id", "r" * 120)], compact(message))
        for _ in range(300):  # 9000 lines of more than 240 bytes
            connection.send(request * 30)
            for _ in range(30):
                assert connection.read_response().status == 200
        connection.close()
        # Whoever reads again hears what is missing.
        text = b""
        while not (found := re.search(rb" warn log\.dropped lines=(\d+)\n", text)):
            text += os.read(process.stderr.fileno(), 1 << 16)
        assert int(found[1]) > 1000
        process.send_signal(signal.SIGTERM)
        text += process.stderr.read()
        assert process.wait(20) == 0
        assert b"shutdown.begin" in text
        assert all(line.startswith(b"20") for line in text.splitlines()[1:] if b"mcp.call" in line)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def ends_well(process, port):
    """It answers, and ends when told."""
    try:
        with Connection(("127.0.0.1", port)) as connection:
            for _ in range(50):
                assert connection.request("GET", "/health").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_log_whose_reader_has_gone(io):
    process, port = stalled_server(io)
    process.stderr.close()
    ends_well(process, port)


def test_a_log_on_a_full_disk(io):
    port = free_port()  # nobody can read one from this log
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen([fixture_bin(), "--io", io, "--port", str(port)], stderr=full,
                                   stdin=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                Connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.02)
        ends_well(process, port)
