"""A selection of requests thrown at the real socket, cut in two at every byte, and truncated."""

import time

import pytest

from http_client import Connection
from mcp_client import compact, modern_params
from wire_schema import VERSIONS

PAUSE_S = 0.0005  # enough for the halves to arrive as two reads


def requests():
    """(name, bytes, status)."""
    head = ("Host: localhost\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n")
    modern = (f"MCP-Protocol-Version: {VERSIONS['E']}\r\nMcp-Method: tools/call\r\n"
              "Mcp-Name: echo\r\n")
    call = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern_params(
        {"name": "echo", "arguments": {"text": "\u00e9\U0001f600"}}, capabilities={})})
    hello = compact({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": VERSIONS["D"], "capabilities": {},
        "clientInfo": {"name": "n", "version": "1"}}})
    half = len(call) // 2

    def post(extra, body, framing=None):
        framing = framing or f"Content-Length: {len(body)}\r\n"
        return f"POST /mcp HTTP/1.1\r\n{head}{extra}{framing}\r\n".encode() + body

    chunks = (f"{half:x}\r\n".encode() + call[:half] + f"\r\n{len(call) - half:X};x=\"y\"\r\n"
              .encode() + call[half:] + b"\r\n0\r\nT: v\r\n\r\n")
    return [
        ("health", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("http_1_0", b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
        ("not_found", b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("options", b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 204),
        ("call", post(modern, call), 200),
        ("chunked", post(modern, chunks, "Transfer-Encoding: chunked\r\n"), 200),
        ("initialize", post("", hello), 200),
        ("no_json", post(modern, b"{]"), 400),
        ("no_session", post("", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), 400),
        ("bad_type", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                     b"Content-Length: 2\r\n\r\n{}", 415),
    ]


CASES = requests()
IDS = [name for name, _, _ in CASES]


@pytest.mark.parametrize("name, data, status", CASES, ids=IDS)
def test_split_at_every_byte(server, name, data, status):
    connection = Connection(server.address)
    for at in range(1, len(data)):
        connection.send(data[:at])
        time.sleep(PAUSE_S)
        connection.send(data[at:])
        response = connection.read_response()
        assert response.status == status, (at, data[:at], response)
        if status >= 400 or b"HTTP/1.0" in data:  # the server may close behind those
            connection.close()
            connection = Connection(server.address)
    connection.close()


@pytest.mark.parametrize("name, data, status", CASES, ids=IDS)
def test_one_byte_at_a_time(server, name, data, status):
    with Connection(server.address) as connection:
        for at in range(len(data)):
            connection.send(data[at:at + 1])
            time.sleep(PAUSE_S / 5)
        assert connection.read_response().status == status


def test_everything_in_one_write(server):
    reusable = [(data, status) for name, data, status in CASES
                if status < 300 and name != "http_1_0"]
    with Connection(server.address) as connection:
        connection.send(b"".join(data for data, _ in reusable * 3))
        for _, status in reusable * 3:
            assert connection.read_response().status == status
