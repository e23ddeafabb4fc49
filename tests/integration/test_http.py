"""HTTP around the messages: methods, statuses, negotiation, connections."""

import json
import re

import pytest

from http_client import EventStream
from mcp_client import compact, modern_params
from wire_schema import JUDGE, VERSIONS

pytestmark = pytest.mark.asan

JSON = ("Content-Type", "application/json")
BOTH = ("Accept", "application/json, text/event-stream")
E_HEADERS = [JSON, BOTH, ("MCP-Protocol-Version", VERSIONS["E"]), ("Mcp-Method", "tools/call"),
             ("Mcp-Name", "echo")]
LIMIT = 1024 * 1024


def echo(text="hello", identifier=1):
    return compact({"jsonrpc": "2.0", "id": identifier, "method": "tools/call",
                    "params": modern_params({"name": "echo", "arguments": {"text": text}})})


def text_of(response):
    return response.json()["result"]["content"][0]["text"]


def assert_refusal(response, status):
    """An error with a JSON-RPC body that names no id."""
    assert response.status == status, response
    body = response.json()
    JUDGE.error("E", body)
    assert "id" not in body
    return body["error"]


# ---- the good case and its variants ----

@pytest.mark.row(20, 27)
def test_a_plain_request(connect):
    response = connect().request("POST", "/mcp", E_HEADERS, echo())
    assert response.status == 200 and text_of(response) == "hello"
    assert response.media_type == "application/json"


@pytest.mark.parametrize("content_type", [
    "application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
    "application/json;charset=\"UTF-8\"", "application/json ; x=y"])
def test_content_types_that_mean_json(connect, content_type):
    headers = [("Content-Type", content_type), *E_HEADERS[1:]]
    assert connect().request("POST", "/mcp", headers, echo()).status == 200


@pytest.mark.row(24)
@pytest.mark.parametrize("content_type", [None, "text/plain", "application/jsonp", "application",
                                          "text/json", "application/x-www-form-urlencoded", ""])
def test_content_types_that_do_not(connect, content_type):
    headers = [*([] if content_type is None else [("Content-Type", content_type)]),
               *E_HEADERS[1:]]
    assert_refusal(connect().request("POST", "/mcp", headers, echo()), 415)


def test_a_content_coding_is_refused(connect):
    for codings in (["gzip"], ["identity, gzip"], ["identity", "gzip"], [""]):
        headers = [*E_HEADERS, *(("Content-Encoding", coding) for coding in codings)]
        assert_refusal(connect().request("POST", "/mcp", headers, echo()), 415)


def test_a_coding_that_changes_nothing_is_taken(connect):
    """As use://http-headers says."""
    for coding in ("identity", "Identity"):
        response = connect().request("POST", "/mcp", [*E_HEADERS, ("Content-Encoding", coding)],
                                     echo())
        assert response.status == 200 and text_of(response) == "hello"


@pytest.mark.row(25)
@pytest.mark.parametrize("accept", [
    None, "*/*", "application/json, text/event-stream", "text/event-stream,application/json",
    "application/*, text/*", "application/json;q=0.9, text/event-stream;q=0.1",
    "APPLICATION/JSON, TEXT/EVENT-STREAM", "text/html, */*;q=0.1"])
def test_accept_that_covers_both(connect, accept):
    headers = [JSON, *([] if accept is None else [("Accept", accept)]), *E_HEADERS[2:]]
    assert connect().request("POST", "/mcp", headers, echo()).status == 200


@pytest.mark.row(25)
@pytest.mark.parametrize("accept", ["text/html", "image/*", "application/xml, text/plain",
                                    "application/json;q=0, text/event-stream;q=0"])
def test_accept_that_covers_neither(connect, accept):
    headers = [JSON, ("Accept", accept), *E_HEADERS[2:]]
    assert_refusal(connect().request("POST", "/mcp", headers, echo()), 406)


# ---- bodies ----

@pytest.mark.parametrize("body", [
    b"", b"{", b"not json", b"{\"a\":1}}", b"\xff\xfe", b"{\"jsonrpc\":\"2.0\",}",
    b"\xef\xbb\xbf{}", b"{\"a\":\"\\ud800\"}", b"{\"a\":\"\xc0\x80\"}", b"[" * 200 + b"]" * 200,
    b"{\"a\":01}", b"{\"a\":\"\x01\"}", b"nul", b"{\"a\":NaN}"], ids=repr)
def test_what_is_no_json(connect, body):
    error = assert_refusal(connect().request("POST", "/mcp", E_HEADERS, body), 400)
    assert error["code"] == -32700


@pytest.mark.row(26)
@pytest.mark.parametrize("message", [
    1, "x", None, True, {}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "id": 1, "method": "ping"},
    {"id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": None, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, {"jsonrpc": "2.0", "id": {}, "method": "x"},
    {"jsonrpc": "2.0", "id": True, "method": "ping"}, {"jsonrpc": "2.0", "id": 1, "method": 7},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x"},
    {"jsonrpc": 2.0, "id": 1, "method": "ping"},
], ids=repr)
def test_what_is_no_message(connect, message):
    response = connect().request("POST", "/mcp", E_HEADERS, compact(message))
    assert response.status == 400
    JUDGE.error("E", response.json())
    assert response.error_code() in (-32600, -32602)


@pytest.mark.parametrize("body", [
    b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', b'{"jsonrpc":"2.0","id":1e0,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}',
], ids=repr)
def test_ambiguous_messages(connect, body):
    response = connect().request("POST", "/mcp", E_HEADERS, body)
    assert response.status == 400 and response.error_code() == -32600


def test_white_space_around_a_message(connect):
    body = b" \r\n\t" + echo().replace(b",", b" ,\n ") + b"\n\n"
    assert text_of(connect().request("POST", "/mcp", E_HEADERS, body)) == "hello"


@pytest.mark.row(97)
def test_the_largest_body_and_one_more(connect):
    room = LIMIT - len(echo(""))
    connection = connect()
    response = connection.request("POST", "/mcp", E_HEADERS, echo("x" * room))
    assert text_of(response) == "x" * room
    error = assert_refusal(connection.request("POST", "/mcp", E_HEADERS, echo("x" * (room + 1))),
                           413)
    assert error["code"] == -32005


def test_a_refused_body_does_not_hide_the_refusal(connect):
    connection = connect()
    body = echo("x" * (LIMIT + 200_000))
    connection.send_request("POST", "/mcp", E_HEADERS, body)
    assert_refusal(connection.read_response(), 413)
    assert connection.at_eof()


@pytest.mark.row(97)
def test_a_chunked_body_beyond_the_limit(connect):
    connection = connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Transfer-Encoding", "chunked")])
    for _ in range(20):
        connection.send(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
    assert_refusal(connection.read_response(), 413)


@pytest.mark.parametrize("size", [1, 2, 7, 100, 5000])
def test_chunked_bodies(connect, size):
    body, connection = echo("chunks"), connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Transfer-Encoding", "chunked")])
    for at in range(0, len(body), size):
        part = body[at:at + size]
        connection.send(f"{len(part):x};ext=1\r\n".encode() + part + b"\r\n")
    connection.send(b"0\r\nTrailer: x\r\n\r\n")
    assert text_of(connection.read_response()) == "chunks"


@pytest.mark.parametrize("chunks", [b"x\r\n", b"-1\r\n", b"5\r\nhelloXX", b"fffffffffffffffff\r\n",
                                    b"5 \nhello\r\n0\r\n\r\n"], ids=repr)
def test_malformed_chunks(connect, chunks):
    connection = connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Transfer-Encoding", "chunked")])
    connection.send(chunks)
    assert connection.read_response().status in (400, 413)
    assert connection.at_eof()


# ---- methods and paths ----

@pytest.mark.row(20)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "FOO"])
def test_methods_that_are_not_offered(connect, method):
    response = connect().request(method, "/mcp", [])
    assert response.status in (405, 501)
    JUDGE.error("E", response.json())
    if response.status == 405:
        assert "POST" in response["Allow"]


def test_head_has_no_body(connect):
    for path in ("/health", "/ready", "/mcp", "/nowhere"):
        connection = connect()
        response = connection.request("HEAD", path)
        assert response.status in (200, 400, 404, 405, 406)
        if (response["Connection"] or "").lower() == "close":
            assert connection.at_eof()
        else:
            assert connection.request("GET", "/health").status == 200


@pytest.mark.parametrize("path", ["/mcp/", "/MCP", "/mcp/x", "/mcpx", "/nowhere", "/%6dcp",
                                  "/../mcp", "//mcp"])
def test_other_paths_are_not_found(connect, path):
    response = connect().request("POST", path, E_HEADERS, echo())
    assert response.status == 404
    assert "id" not in response.json()


def test_a_query_does_not_change_the_path(connect):
    assert connect().request("POST", "/mcp?x=1", E_HEADERS, echo()).status == 200


@pytest.mark.row(38)
def test_a_token_in_the_query_is_refused(connect):
    assert_refusal(connect().request("POST", "/mcp?access_token=x", E_HEADERS, echo()), 400)


def test_options(connect):
    response = connect().request("OPTIONS", "/mcp")
    assert response.status == 204


@pytest.mark.row(23, 112, 113)
def test_health_and_ready(connect):
    health = connect().request("GET", "/health")
    assert health.status == 200
    body = health.json()
    assert body["status"] == "ok" and body["version"] and body["uptime"] >= 0
    ready = connect().request("GET", "/ready")
    assert ready.status == 200 and ready.json()["status"] == "ready"
    assert connect().request("POST", "/health", [JSON], b"{}").status == 405


# ---- heads ----

def test_a_long_target(connect):
    connection = connect()
    connection.send(b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert_refusal(connection.read_response(), 414)


def test_too_many_headers(connect):
    fields = [(f"X-{number}", "x") for number in range(100)]
    assert_refusal(connect().request("GET", "/health", fields), 431)


def test_a_head_that_is_too_large(connect):
    fields = [(f"X-{number}", "x" * 1000) for number in range(20)]
    assert_refusal(connect().request("GET", "/health", fields), 431)


@pytest.mark.parametrize("version, status", [("HTTP/2.0", 505), ("HTTP/3.0", 505),
                                             ("HTTP/1.2", None), ("HTTP/x", 400),
                                             ("http/1.1", 400), ("", 400)])
def test_versions_of_http(connect, version, status):
    connection = connect()
    connection.send(f"GET /health {version}\r\nHost: localhost\r\n\r\n".encode())
    response = connection.read_response()
    assert response.status == (status or response.status) and response.status in (200, 400, 505)


@pytest.mark.parametrize("head", [
    "GET /health HTTP/1.1\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: local host\r\n\r\n",
    "GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: localhost\r\nX\0: y\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: localhost\r\nX: \x01\r\n\r\n",
    "GET /hea\x7flth HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
    "Transfer-Encoding: chunked\r\n\r\n",
    "\0\0\0\0\r\n\r\n",
    "{\"jsonrpc\":\"2.0\"}\r\n\r\n",
], ids=repr)
def test_malformed_heads(connect, head):
    connection = connect()
    connection.send(head.encode("latin-1"))
    assert_refusal(connection.read_response(), 400)
    assert connection.at_eof()


@pytest.mark.parametrize("coding, status", [("gzip, chunked", 501), ("gzip", 400),
                                            ("chunked, chunked", 400), ("identity", 400)])
def test_transfer_codings(connect, coding, status):
    connection = connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Transfer-Encoding", coding)])
    assert_refusal(connection.read_response(), status)


def test_a_post_without_length(connect):
    response = connect().request("POST", "/mcp", E_HEADERS)
    assert response.status in (400, 411)


def test_expectations(connect):
    connection = connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Expect", "100-continue"),
                                             ("Content-Length", len(echo()))])
    assert connection.read_response().status == 100
    connection.send(echo())
    assert text_of(connection.read_response()) == "hello"
    response = connect().request("POST", "/mcp", [*E_HEADERS, ("Expect", "miracles")], echo())
    assert_refusal(response, 417)


def test_no_continue_for_what_is_refused(connect):
    connection = connect()
    connection.send_request("POST", "/mcp", [*E_HEADERS, ("Expect", "100-continue"),
                                             ("Content-Length", 2 * LIMIT)])
    assert_refusal(connection.read_response(), 413)


# ---- request ids ----

@pytest.mark.row(104)
def test_request_ids(connect):
    connection = connect()
    first = connection.request("GET", "/health")["X-Request-Id"]
    second = connection.request("GET", "/health")["X-Request-Id"]
    assert first != second
    assert re.fullmatch(r"[\x21-\x7e]{1,128}", first)
    own = connection.request("GET", "/health", [("X-Request-Id", "my-id.42")])
    assert own["X-Request-Id"] == "my-id.42"
    for bad in ("x" * 129, "a b", "\u00e9"):
        made = connection.request("GET", "/health", [("X-Request-Id", bad)])["X-Request-Id"]
        assert made != bad and re.fullmatch(r"[\x21-\x7e]{1,128}", made)


def test_handlers_and_errors_know_the_request_id(modern, connect):
    reply = modern.tool("test_whoami", {}, extra=[("X-Request-Id", "trace-7")])
    assert json.loads(reply.result["content"][0]["text"])["requestId"] == "trace-7"
    response = connect().request("POST", "/mcp", [*E_HEADERS, ("X-Request-Id", "trace-8")], b"{")
    assert response["X-Request-Id"] == "trace-8"
    assert response.json()["error"]["data"]["requestId"] == "trace-8"


# ---- connections ----

def test_keep_alive(connect):
    connection = connect()
    for number in range(200):
        response = connection.request("POST", "/mcp", E_HEADERS, echo(str(number)))
        assert text_of(response) == str(number)


def test_pipelining_keeps_the_order(connect):
    connection = connect()
    count = 50
    connection.send(b"".join(
        connection.render("POST", "/mcp", E_HEADERS, echo(str(number), number))
        for number in range(count)))
    for number in range(count):
        response = connection.read_response()
        assert (response.json()["id"], text_of(response)) == (number, str(number))


def test_requests_behind_a_slow_one(connect):
    connection = connect()
    slow = compact({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": modern_params(
        {"name": "test_slow", "arguments": {"ms": 200}})})
    headers = [("Mcp-Name", "test_slow"), *E_HEADERS[:-1]]
    connection.send(connection.render("POST", "/mcp", headers, slow)
                    + connection.render("POST", "/mcp", E_HEADERS, echo("next"))
                    + connection.render("GET", "/health"))
    assert text_of(connection.read_response()) == "slept"
    assert text_of(connection.read_response()) == "next"
    assert connection.read_response().status == 200


def test_close_is_honoured(connect):
    connection = connect()
    response = connection.request("POST", "/mcp", [*E_HEADERS, ("Connection", "close")], echo())
    assert response.status == 200 and response["Connection"] == "close"
    assert connection.at_eof()


def test_clients_of_http_1_0(connect):
    connection = connect()
    response = connection.request("POST", "/mcp", E_HEADERS, echo(), version="HTTP/1.0")
    assert text_of(response) == "hello"
    assert connection.at_eof()


def test_keep_alive_of_http_1_0(connect):
    connection = connect()
    for _ in range(2):
        response = connection.request("POST", "/mcp", [*E_HEADERS, ("Connection", "keep-alive")],
                                      echo(), version="HTTP/1.0")
        assert response.status == 200 and response["Connection"].lower() == "keep-alive"


def test_an_event_stream_for_http_1_0_ends_with_the_connection(connect):
    body = compact({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": modern_params(
        {"name": "test_tool_with_progress"}, meta={"progressToken": 1})})
    headers = [("Mcp-Name", "test_tool_with_progress"), *E_HEADERS[:-1]]
    connection = connect()
    connection.send_request("POST", "/mcp", headers, body, version="HTTP/1.0")
    response = connection.read_head()
    assert response["Transfer-Encoding"] is None
    stream, events = EventStream(connection, response), []
    while (event := stream.next_event()) is not None:
        events.append(json.loads(event.data))
    assert [event.get("id") for event in events] == [None, None, None, 3]


def test_an_event_stream_leaves_the_connection_usable(modern):
    for _ in range(3):
        reply = modern.tool("test_tool_with_progress", {}, meta={"progressToken": 1})
        assert reply.streamed and reply.result["content"]
        assert (reply.response["Connection"] or "keep-alive").lower() == "keep-alive"
        assert reply.response["Cache-Control"] in ("no-cache", "no-store")


def test_an_empty_line_before_a_request(connect):
    connection = connect()
    connection.send(b"\r\n" + connection.render("GET", "/health"))
    assert connection.read_response().status == 200
