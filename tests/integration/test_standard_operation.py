"""The corporate standard, operation: request ids, logs, health (rows 23, 39, 104-114)."""

import json
import re

import pytest

from http_client import Connection
from mcp_client import Stdio
from server_process import fixture_bin

TOKEN = "tok-0123456789abcdef-do-not-log"


@pytest.mark.row(38, 39, 110)
def test_secrets_of_a_request_reach_no_log(start, make_client):
    server = start("--conforming", "--log-level", "debug")
    for letter in "AE":
        client = make_client(letter, of=server).open()
        extra = [("Authorization", f"Bearer {TOKEN}"), ("Cookie", f"session={TOKEN}"),
                 ("X-Request-Id", f"seen-{letter}")]
        client.tool("leak_text", {"how": "tool", "plain": f"my password is {TOKEN}"}, extra=extra)
        client.tool("leak_text", {"how": TOKEN + "!"}, extra=extra)
        client.tool("leak_text", {"how": "throw", "plain": f"token={TOKEN}"}, extra=extra)
        server.wait_for_log(f"request_id=seen-{letter}")
    with Connection(server.address) as connection:
        response = connection.request("GET", f"/mcp?access_token={TOKEN}",
                                      [("Accept", "text/event-stream")])
        assert response.status == 400
    server.stop()
    assert not [line for line in server.log if TOKEN in line]


@pytest.mark.row(106)
def test_a_session_id_reaches_no_log(start, make_client):
    server = start("--conforming", "--log-level", "debug")
    client = make_client("D", of=server).open()
    client.tool("leak_text", {"how": "throw", "plain": "x"})
    session = client.session
    client.delete()
    server.wait_for_log("mcp.session_deleted")
    server.stop()
    assert not [line for line in server.log if session in line]


@pytest.mark.row(104)
def test_every_answer_has_a_request_id(server, make_client):
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    with Connection(server.address) as connection:
        for method, target in (("GET", "/health"), ("GET", "/ready"), ("OPTIONS", "/mcp"),
                               ("GET", "/none"), ("PUT", "/mcp"), ("DELETE", "/mcp")):
            response = connection.request(method, target)
            assert re.fullmatch(uuid, response["X-Request-Id"]), response
    ids = set()
    for letter in "AE":
        client = make_client(letter).open()
        replies = [client.call("tools/list"), client.tool("test_tool_with_progress", {},
                                                          meta={"progressToken": 1})]
        replies.append(client.notify("notifications/initialized"))
        assert replies[1].streamed
        ids |= {reply.response["X-Request-Id"] for reply in replies}
    assert len(ids) == 6


@pytest.mark.row(107, 108)
def test_calls_on_a_pipe_are_logged_with_an_id_of_ours(io):
    pipe = Stdio(fixture_bin(), "--io", io, "--conforming", "--log-format", "json", rev="D")
    pipe.open()
    pipe.call("tools/call", {"name": "leak_text", "arguments": {"how": "tool", "plain": "x"}})
    pipe.close()
    lines = [json.loads(line) for line in pipe.log.splitlines() if b"mcp.call" in line]
    assert len(lines) == 1 and re.fullmatch(r"stdio-\d+", lines[0]["request_id"])
    assert lines[0]["target"] == "leak_text" and lines[0]["status"] == "tool_error"
    assert lines[0]["duration_us"] >= 0


@pytest.mark.row(23, 112, 113, 114)
def test_health_and_readiness_say_no_more_than_they_must(server):
    with Connection(server.address) as connection:
        for path in ("/health", "/healthz", "/livez"):
            body = connection.request("GET", path).json()
            assert set(body) == {"status", "version", "uptime"}
            assert body["status"] == "ok" and isinstance(body["uptime"], int)
        for path in ("/ready", "/readyz"):
            body = connection.request("GET", path).json()
            assert body["status"] == "ready"
            assert set(body["checks"].values()) == {"ok"}
        head = connection.render("HEAD", "/health")
        connection.send(head)
        assert connection.read_response(to_head=True).status == 200
