"""Rates, caps and overload: every refusal with its status, headers and body, and others unharmed.

One server for the module: each test is an address of its own (127.0.0.x), with budgets of its own.
"""

import itertools
import json
import threading
import time

import pytest

from http_client import Connection
from mcp_client import ACCEPT_BOTH, JSON_TYPE, Client, compact, modern_params
from server_process import Server, fixture_bin, wait_until

pytestmark = pytest.mark.asan

CONFIG = """
limits:
  connections_per_address: 12
  in_flight_per_address: 3
  requests: 12
  head: 2KiB
  headers: 20
  uri: 256
  json_depth: 20
  head_rate: 1000
  body_rate: 10000
rates:
  address: 1
  address_burst: 40
  handshakes: 1
  handshakes_burst: 3
"""
BURST = 40
HANDSHAKES = 3

addresses = itertools.count(2)


@pytest.fixture(scope="module")
def limited(io, tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "pillion.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, "--config", path)
    yield running
    running.stop()


@pytest.fixture
def source():
    return f"127.0.0.{next(addresses)}"


class From(Client):
    """A client with an address of its own."""

    def __init__(self, server, rev, source):
        super().__init__(server.address, rev)
        self.source = source

    def connect(self):
        self._others.append(Connection(self.address, source=self.source))
        return self._others[-1]

    @property
    def connection(self):
        if self._connection is None:
            self._connection = Connection(self.address, source=self.source)
        return self._connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def expect_refused(response, status, code, retry=None):
    """All that a client needs to come back at the right time."""
    assert response.status == status, response
    error = response.json()["error"]
    assert error["code"] == code
    assert response["Retry-After"] == str(error["data"]["retryAfter"])
    assert int(response["Retry-After"]) >= 1
    assert error["data"]["requestId"] == response["X-Request-Id"]
    assert retry is None or int(response["Retry-After"]) == retry
    assert "/" not in error["message"]


def echo(identifier=1):
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call",
            "params": modern_params({"name": "echo", "arguments": {"text": "x"}})}


def call_head(length):
    return [JSON_TYPE, ACCEPT_BOTH, ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo"), ("Content-Length", str(length))]


@pytest.mark.row(100)
def test_a_rate_over_all_threads(limited, source):
    """Several connections, which the threads share: one budget."""
    taken, refusals = [], []

    def run():
        with From(limited, "E", source) as client:
            for _ in range(BURST):
                reply = client.call("tools/call", {"name": "echo", "arguments": {"text": "x"}})
                if reply.status == 429:
                    refusals.append(reply.response)
                else:
                    assert reply.status == 200
                    taken.append(time.monotonic())

    before = time.monotonic()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    took = time.monotonic() - before
    # One a second more, and what the clocks of two threads may differ by.
    assert BURST <= len(taken) <= BURST + took + 1
    assert refusals
    for response in refusals:
        expect_refused(response, 429, -32003, retry=1)
    with From(limited, "E", f"127.0.1.{source.rsplit('.')[-1]}") as other:
        assert other.tool_text("echo", {"text": "untouched"}) == "untouched"


def test_a_refusal_comes_before_the_body(limited, source):
    body = compact(echo())
    with Connection(limited.address, source=source) as spender:
        for _ in range(2 * BURST):
            spender.send_request("POST", "/mcp", call_head(len(body)), body)
            if spender.read_response().status == 429:
                break
        else:
            pytest.fail("never refused")
        # The body has come along: the connection is good for more.
        assert spender.request("GET", "/health").status == 200
    with Connection(limited.address, source=source) as waits:
        waits.send_request("POST", "/mcp", call_head(500_000), None)
        response = waits.read_response()
        expect_refused(response, 429, -32003)
        assert response["Connection"] == "close"
        # The answer is not lost to a reset, although the body comes nevertheless.
        waits.send(b"x" * 500_000)
        assert waits.at_eof()


def test_expect_continue_is_refused_too(limited, source):
    body = compact(echo())
    with Connection(limited.address, source=source) as connection:
        for _ in range(2 * BURST):
            connection.send_request("POST", "/mcp", call_head(len(body)), body)
            if connection.read_response().status == 429:
                break
        connection.send_request("POST", "/mcp",
                                [*call_head(len(body)), ("Expect", "100-continue")], None)
        expect_refused(connection.read_response(), 429, -32003)


def test_handshakes(limited, source):
    with From(limited, "D", source) as client:
        client.initialize()
        hello = {"jsonrpc": "2.0", "id": 9, "method": "initialize",
                 "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                            "clientInfo": {"name": "x", "version": "1"}}}
        with Connection(limited.address, source=source) as connection:
            statuses = []
            for _ in range(3 * HANDSHAKES):
                connection.send_request("POST", "/mcp", [JSON_TYPE, ACCEPT_BOTH], compact(hello))
                response = connection.read_response()
                statuses.append(response.status)
            assert statuses[:HANDSHAKES - 1] == [200] * (HANDSHAKES - 1)
            assert 429 in statuses
            expect_refused(response, 429, -32003)
            assert response.json()["id"] == 9
        # Whoever is in goes on.
        assert client.tool_text("echo", {"text": "in"}) == "in"
    with From(limited, "E", source) as modern:
        reply = modern.call("subscriptions/listen", {"notifications": {}})
        assert (reply.status, reply.error.code) == (429, -32003)


def test_connections_of_an_address(limited, source):
    """Exactly as many as allowed, whichever threads they meet; the others hear why."""
    opened = [Connection(limited.address, source=source) for _ in range(16)]
    statuses = []
    for connection in opened:
        connection.send_request("GET", "/health")
        response = connection.read_response()
        statuses.append(response.status)
        if response.status == 429:
            expect_refused(response, 429, -32003, retry=30)
            assert response["Connection"] == "close"
    assert statuses.count(200) == 12 and statuses.count(429) == 4
    for connection in opened:
        connection.close()

    def admitted():
        with Connection(limited.address, source=source) as connection:
            return connection.request("GET", "/health").status == 200
    wait_until(admitted, what="room for another connection")


@pytest.mark.row(101)
def test_requests_under_way_of_an_address(limited, source):
    with From(limited, "E", source) as client:
        begun = [client.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 1500}})
                 for _ in range(3)]
        time.sleep(0.2)
        reply = client.call("tools/call", {"name": "echo", "arguments": {"text": "x"}})
        expect_refused_reply(reply, 429, -32003)
        for connection, identifier in begun:
            assert client.read_reply(connection, identifier).status == 200
        assert client.tool_text("echo", {"text": "again"}) == "again"
        # Clients that leave give back what they had.
        for connection, _ in [client.begin("tools/call", {"name": "test_slow",
                                                          "arguments": {"ms": 20_000}})
                              for _ in range(3)]:
            connection.close()
        wait_until(lambda: client.call("tools/call", {"name": "echo", "arguments": {"text": "x"}})
                   .status == 200, what="places given back")


def expect_refused_reply(reply, status, code):
    assert (reply.status, reply.error.code) == (status, code)
    assert reply.response["Retry-After"] == str(reply.error.data["retryAfter"])
    assert reply.error.data["requestId"] == reply.response["X-Request-Id"]


def test_a_tool_with_a_rate(limited, source):
    with From(limited, "E", source) as client:
        replies = [client.call("tools/call", {"name": "test_rated"}) for _ in range(6)]
        refused = [reply for reply in replies if reply.status == 429]
        assert 1 <= len(refused) <= 4
        for reply in refused:
            expect_refused_reply(reply, 429, -32003)
            assert reply.error.data["retryAfter"] <= 2
        assert client.tool_text("echo", {"text": "other tools go on"}) == "other tools go on"


def test_a_tool_with_a_cap_and_a_queue(limited):
    """Two run, four wait, on both threads together; more are refused. The order is kept."""
    clients = [From(limited, "E", f"127.0.2.{number}") for number in range(1, 9)]
    begun = [client.begin("tools/call", {"name": "test_capped", "arguments": {"ms": 700}})
             for client in clients]
    replies = [client.read_reply(connection, identifier)
               for client, (connection, identifier) in zip(clients, begun)]
    statuses = [reply.status for reply in replies]
    assert statuses.count(200) == 6 and statuses.count(503) == 2, statuses
    for reply in replies:
        if reply.status == 503:
            expect_refused_reply(reply, 503, -32006)
        else:
            # The most that ever ran at a time.
            assert int(reply.result["content"][0]["text"]) == 2
    # All places are free again.
    assert clients[0].tool("test_capped", {"ms": 0}).status == 200
    for client in clients:
        client.close()


def test_the_operator_limits_single_tools(start, tmp_path):
    """The configuration wins over the code, key by key, and without code of its own."""
    path = tmp_path / "pillion.yaml"
    path.write_text("tools:\n"
                    "  test_capped: {concurrent: 1, queue: 0}\n"
                    "  test_rated: {rate: 0}\n"
                    "  echo: {rate: 1, rate_burst: 3}\n"
                    "  test_slow: {timeout: 200ms}\n"
                    "  nobody: {queue: 1}\n"
                    "  greet: {queue: 1, rate_burst: 1}\n", encoding="utf-8")
    running = start("--config", path)
    with From(running, "E", None) as client:
        begun = [client.begin("tools/call", {"name": "test_capped", "arguments": {"ms": 700}})
                 for _ in range(3)]
        replies = [client.read_reply(connection, identifier) for connection, identifier in begun]
        assert sorted(reply.status for reply in replies) == [200, 503, 503]
        rated = [client.call("tools/call", {"name": "test_rated"}).status for _ in range(8)]
        assert rated == [200] * 8
        echoed = [client.call("tools/call", {"name": "echo", "arguments": {"text": "x"}})
                  for _ in range(8)]
        assert [reply.status for reply in echoed[:3]] == [200] * 3
        expect_refused_reply(next(reply for reply in echoed if reply.status != 200), 429, -32003)
        late = client.call("tools/call", {"name": "test_slow", "arguments": {"ms": 5000}})
        assert (late.status, late.error.code) == (504, -32004)
    log = "\n".join(running.log)
    assert "tools.nobody: there is no such tool" in log
    assert "tools.greet.queue means nothing without concurrent" in log
    assert "tools.greet.rate_burst means nothing without rate" in log


@pytest.mark.row(94, 96)
@pytest.mark.parametrize("how,code,retry", [("rate_limited", -32003, 7),
                                            ("unavailable", -32006, 12),
                                            ("conflict", -32007, None)])
def test_codes_that_handlers_raise(limited, source, how, code, retry):
    with From(limited, "E", source) as client:
        reply = client.call("tools/call", {"name": "test_refuse", "arguments": {"how": how}})
        assert (reply.status, reply.error.code) == (200, code)
        assert reply.error.data.get("retryAfter") == retry
        assert reply.response["Retry-After"] is None


def test_a_server_with_too_much_to_do(start, tmp_path):
    """Heads are refused, health is not, and those inside are answered."""
    path = tmp_path / "pillion.yaml"
    path.write_text("limits: {requests: 3}\n", encoding="utf-8")
    running = start("--config", path)
    with From(running, "E", None) as client:
        begun = [client.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 1500}})
                 for _ in range(3)]
        time.sleep(0.3)
        with Connection(running.address) as connection:
            # No body follows, and none is waited for.
            connection.send_request("POST", "/mcp", call_head(100_000), None)
            response = connection.read_response()
            expect_refused(response, 503, -32006)
            assert response["Connection"] == "close"
        with Connection(running.address) as connection:
            # With the body the connection goes on.
            body = compact(echo())
            for _ in range(3):
                connection.send_request("POST", "/mcp", call_head(len(body)), body)
                expect_refused(connection.read_response(), 503, -32006)
            for target in ("/health", "/ready"):
                assert connection.request("GET", target).status == 200
        for connection, identifier in begun:
            assert client.read_reply(connection, identifier).status == 200
        assert client.tool_text("echo", {"text": "back"}) == "back"


def test_heads_and_messages_have_limits(limited, source):
    def status(target="/health", headers=()):
        with Connection(limited.address, source=source) as connection:
            return connection.request("GET", target, headers).status
    assert status() == 200
    assert status("/health?" + "x" * 300) == 414
    assert status(headers=[(f"X-{number}", "1") for number in range(18)]) == 200
    assert status(headers=[(f"X-{number}", "1") for number in range(21)]) == 431
    assert status(headers=[("X-Long", "x" * 2048)]) == 431
    deep = json.loads("[" * 20 + "]" * 20)
    with From(limited, "E", source) as client:
        reply = client.call("tools/call", {"name": "echo", "arguments": {"text": "x", "d": deep}})
        assert (reply.status, reply.error.code) == (400, -32700)


def test_peers_that_drip(limited, source):
    """One byte at a time, in a head and in a body: both are cut long before their timeouts."""
    with Connection(limited.address, source=source) as head, \
            Connection(limited.address, source=source) as body:
        head.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Pad: ")
        body.send_request("POST", "/mcp", call_head(100_000), None)
        before = time.monotonic()
        dripping = {head, body}
        while dripping and time.monotonic() - before < 9:
            for connection in list(dripping):
                connection.sock.settimeout(0.05)
                try:
                    connection.fill()
                    dripping.discard(connection)
                except TimeoutError:
                    connection.send(b"x")
        assert not dripping, "the timeouts are 10 and 30 s"
        for connection in (head, body):
            connection.sock.settimeout(10)
            assert connection.read_response().status == 408


def test_on_a_pipe(stdio, tmp_path):
    """The same codes; nobody's status."""
    path = tmp_path / "pillion.yaml"
    path.write_text("rates: {address: 1, address_burst: 6}\nlimits: {requests: 3}\n",
                    encoding="utf-8")
    pipe = stdio("--config", path, rev="E")
    assert pipe.call("tools/call", {"name": "test_refuse",
                                    "arguments": {"how": "conflict"}})[0]["error"]["code"] == -32007
    codes = [pipe.call("tools/call", {"name": "test_rated"})[0].get("error", {}).get("code")
             for _ in range(3)]
    assert codes == [None, None, -32003]
    for _ in range(6):
        answer, _ = pipe.call("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    assert answer["error"]["code"] == -32003
    assert answer["error"]["data"]["retryAfter"] == 1
    assert pipe.close() == []


def test_nothing_leaks(limited, source):
    """After all of that: whoever comes is served, and the server ends cleanly (its exit code)."""
    with From(limited, "E", source) as client:
        for _ in range(10):
            assert client.tool_text("echo", {"text": "fine"}) == "fine"
