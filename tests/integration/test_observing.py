"""What operators ask over HTTP beside the metrics: health, readiness, the page of a browser, the id
of every request, and the trace a call belongs to."""

import base64
import hashlib
import json
import re

import pytest

from http_client import Connection, EventStream
from mcp_client import compact, modern_params

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
MADE = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
POST = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]


def test_health_has_its_usual_names(connect):
    connection = connect()
    for path in ("/health", "/healthz", "/livez"):
        reply = connection.request("GET", path)
        assert (reply.status, reply.json()["status"]) == (200, "ok")
        assert reply["Cache-Control"] == "no-store"
    for path in ("/ready", "/readyz"):
        reply = connection.request("GET", path)
        assert reply.status == 200
        assert reply.json() == {"status": "ready", "checks": {
            "accepting": "ok", "configuration": "ok", "tasks": "ok", "fixture": "ok"}}


@pytest.mark.row(113, 114)
def test_a_check_of_the_embedding_program(start, make_client):
    """The fixture server registers one and lets a tool turn it; one that throws has said no."""
    server = start("--threads", 2)
    client = make_client("E", of=server)
    with Connection(server.address) as connection:
        for state in ("no", "throws"):
            client.tool("test_set_ready", {"to": state})
            reply = connection.request("GET", "/readyz")
            assert reply.status == 503
            assert reply.json()["status"] == "not_ready"
            assert reply.json()["checks"]["fixture"] == "fail"
            assert reply.json()["checks"]["accepting"] == "ok"
            assert connection.request("GET", "/livez").status == 200
            # Calls are served all the same: it is for whoever sends them here.
            assert client.tool("echo", {"text": "x"}).status == 200
        client.tool("test_set_ready", {"to": "yes"})
        assert connection.request("GET", "/ready").status == 200
    assert "hunter2" in server.wait_for_log("ready.check_threw")


def test_tasks_that_fill_the_store_are_told(start, make_client, tmp_path):
    """A full store is told, and makes nobody unready: other calls go on."""
    config = tmp_path / "few.json"
    config.write_text(json.dumps({"limits": {"tasks": 1}}))
    server = start("--config", config)
    client = make_client("D", of=server).open()
    with Connection(server.address) as connection:
        assert connection.request("GET", "/ready").json()["checks"]["tasks"] == "ok"
        client.call("tools/call", {"name": "slow_compute", "arguments": {"seconds": 1},
                                   "task": {"ttl": 60_000}}).result
        reply = connection.request("GET", "/ready")
        assert (reply.status, reply.json()["checks"]["tasks"]) == (200, "fail")


@pytest.mark.row(23)
def test_the_page_of_a_browser(connect):
    reply = connect().request("GET", "/")
    assert reply.status == 200
    assert reply["Content-Type"] == "text/html; charset=utf-8"
    page = reply.body.decode()
    assert "<code>/mcp</code>" in page and "https://modelcontextprotocol.io" in page
    health = connect().request("GET", "/health").json()
    assert health["version"] not in page
    policy = reply["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    style = re.search("<style>(.*)</style>", page)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["Referrer-Policy"] == "no-referrer"
    assert connect().request("HEAD", "/").body == b""
    assert connect().request("POST", "/", POST, b"{}").status == 405


def requests(session):
    """One request for each way an answer can come about."""
    call = modern_params({"name": "echo", "arguments": {"text": "x"}})
    modern = POST + [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
                     ("Mcp-Name", "echo")]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    mine = [("Mcp-Session-Id", session)]
    yield 200, "POST", "/mcp", modern, compact(message)
    yield 202, "POST", "/mcp", POST + mine, compact(
        {"jsonrpc": "2.0", "method": "notifications/initialized"})
    yield 200, "POST", "/mcp", POST + mine, compact({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    yield 400, "POST", "/mcp", POST, b"{"
    yield 404, "POST", "/mcp", POST + [("Mcp-Session-Id", "none")], compact(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    yield 403, "POST", "/mcp", [*modern, ("Origin", "https://evil.example")], compact(message)
    yield 406, "POST", "/mcp", [("Content-Type", "application/json"), ("Accept", "a/b")], b"{}"
    yield 415, "POST", "/mcp", [("Content-Type", "a/b"), POST[1]], b"{}"
    yield 411, "POST", "/mcp", POST, None
    yield 405, "PUT", "/mcp", [], b""
    yield 501, "BREW", "/mcp", [], b""
    yield 204, "OPTIONS", "/mcp", [], None
    yield 404, "GET", "/nowhere", [], None
    yield 200, "GET", "/", [], None
    yield 200, "GET", "/health", [], None
    yield 200, "HEAD", "/ready", [], None
    yield 204, "DELETE", "/mcp", mine, None


@pytest.mark.row(104)
@pytest.mark.parametrize("wanted", [None, "find-me.~1", "i" * 128, "two words", "i" * 129])
def test_every_answer_has_the_id_of_its_request(start, make_client, wanted):
    server = start("--threads", 1)
    session = make_client("D", of=server).open().session
    own = [] if wanted is None else [("X-Request-Id", wanted)]
    seen = set()
    for status, method, path, headers, body in requests(session):
        with Connection(server.address) as connection:
            reply = connection.request(method, path, headers + own, body)
        assert reply.status == status, (method, path, reply)
        if wanted and len(wanted) <= 128 and " " not in wanted:
            assert reply["X-Request-Id"] == wanted
        else:
            assert MADE.fullmatch(reply["X-Request-Id"])
            assert reply["X-Request-Id"] not in seen
            seen.add(reply["X-Request-Id"])


@pytest.mark.row(96)
def test_errors_name_the_id(connect):
    reply = connect().request("POST", "/mcp", [*POST, ("X-Request-Id", "mine")], b"{")
    assert reply.json()["error"]["data"]["requestId"] == "mine"


def test_streams_and_broken_heads_have_an_id(connect, make_client):
    client = make_client("D").open()
    connection = connect()
    connection.send_request("GET", "/mcp", [("Accept", "text/event-stream"),
                                            ("Mcp-Session-Id", client.session),
                                            ("X-Request-Id", "of-a-stream")])
    assert EventStream(connection, connection.read_head()).response["X-Request-Id"] == "of-a-stream"
    broken = connect()
    broken.send(b"GET /\x01 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: x\r\n\r\n")
    reply = broken.read_response()
    assert reply.status == 400 and MADE.fullmatch(reply["X-Request-Id"])


@pytest.mark.row(105)
def test_the_trace_of_a_call_is_in_its_line(start, make_client):
    server = start()
    client = make_client("E", of=server)
    echo = {"name": "echo", "arguments": {"text": "x"}}
    client.call("tools/call", echo, extra=[("X-Request-Id", "one"), ("traceparent", PARENT)])
    assert server.wait_for_log("request_id=one").endswith(f" trace_id={TRACE}")
    other = "1" * 32
    client.call("tools/call", echo, meta={"traceparent": f"00-{other}-{'2' * 16}-00"},
                extra=[("X-Request-Id", "two"), ("traceparent", PARENT)])
    assert server.wait_for_log("request_id=two").endswith(f" trace_id={other}")
    client.call("tools/call", echo, extra=[("X-Request-Id", "three"), ("traceparent", "00-1-2-3")])
    assert "trace_id" not in server.wait_for_log("request_id=three")


@pytest.mark.row(108)
def test_calls_without_an_answer_have_a_line(start, make_client):
    server = start()
    slow = {"name": "test_slow", "arguments": {"ms": 20_000, "announce": True}}
    legacy = make_client("D", of=server).open()
    connection, identifier = legacy.begin("tools/call", slow, meta={"progressToken": 1},
                                          extra=[("X-Request-Id", "cancelled-one")])
    stream = EventStream(connection, connection.read_head())
    assert legacy.next_message(stream)["method"] == "notifications/progress"
    legacy.notify("notifications/cancelled", {"requestId": identifier})
    line = server.wait_for_log("request_id=cancelled-one")
    assert "status=cancelled bytes=0" in line and "target=test_slow" in line
    modern = make_client("E", of=server)
    connection, _ = modern.begin("tools/call", slow, meta={"progressToken": 1},
                                 extra=[("X-Request-Id", "lost-one")])
    connection.read_head()
    connection.close()
    assert "status=disconnected bytes=0" in server.wait_for_log("request_id=lost-one")
    server.stop()
    for name in ("cancelled-one", "lost-one"):
        assert sum(f"request_id={name}" in line for line in server.log) == 1
