"""Deadlines of tools: -32004 and 504 while nothing was sent, an error event afterwards."""

import json
import time

import pytest

from server_process import Server, fixture_bin, wait_until

pytestmark = pytest.mark.asan

LIMIT_S = 0.3


@pytest.mark.row(94, 99)
def test_a_call_that_takes_too_long(client):
    before = time.monotonic()
    reply = client.tool("test_deadline", {"ms": 20_000})
    assert LIMIT_S * 0.9 <= time.monotonic() - before < 15
    assert (reply.error.code, reply.status) == (-32004, 504)
    assert client.tool_text("echo", {"text": "alive"}) == "alive"


def test_a_call_in_time(client):
    assert client.tool_text("test_deadline", {"ms": 10}) == "slept"


@pytest.mark.row(94, 99)
def test_a_stream_that_takes_too_long_ends_with_an_error(client):
    reply = client.tool("test_deadline", {"ms": 20_000, "announce": True},
                        meta={"progressToken": 1})
    assert reply.streamed and reply.status == 200
    assert reply.error.code == -32004
    assert len(reply.before) == 1


def test_many_at_once(modern):
    begun = [modern.begin("tools/call", {"name": "test_deadline", "arguments": {"ms": 20_000}})
             for _ in range(30)]
    for connection, identifier in begun:
        assert modern.read_reply(connection, identifier).error.code == -32004


def test_a_handler_hears_of_its_deadline(modern):
    def count():
        return json.loads(modern.tool_text("test_stop_counts"))["deadline"]
    before = count()
    modern.tool("test_deadline", {"ms": 20_000})
    wait_until(lambda: count() == before + 1, what="deadline counted")


def test_a_handler_that_ignores_its_deadline(modern):
    reply = modern.tool("test_deadline", {"ms": 900, "ignore_stop": True})
    assert reply.error.code == -32004
    assert modern.tool_text("echo", {"text": "alive"}) == "alive"


def test_on_a_pipe(stdio, rev):
    pipe = stdio(rev=rev)
    if rev != "E":
        pipe.open()
    answer, _ = pipe.call("tools/call", {"name": "test_deadline", "arguments": {"ms": 20_000}},
                          rev=rev)
    assert answer["error"]["code"] == -32004
    assert pipe.close() == []


def test_the_deadline_of_the_server(start, make_client, rev):
    client = make_client(rev, of=start("--request-timeout", "300ms")).open()
    reply = client.tool("test_slow", {"ms": 20_000})
    assert (reply.error.code, reply.status) == (-32004, 504)


# ---- what the client grants ----

GRANTED = {"pillion/timeoutMs": 200}


@pytest.mark.row(99)
def test_a_client_may_shorten_it(client):
    before = time.monotonic()
    reply = client.tool("test_slow", {"ms": 20_000}, meta=GRANTED)
    assert 0.18 <= time.monotonic() - before < 15
    assert (reply.error.code, reply.status) == (-32004, 504)
    reply = client.tool("test_slow", {"ms": 1}, meta={"pillion/timeoutMs": "200"})
    assert (reply.error.code, reply.error.data["field"]) == (-32602, "pillion/timeoutMs")


def test_a_client_may_shorten_it_on_a_pipe(stdio, rev):
    pipe = stdio(rev=rev)
    if rev != "E":
        pipe.open()
    answer, _ = pipe.call("tools/call", {"name": "test_slow", "arguments": {"ms": 20_000}},
                          rev=rev, meta=GRANTED)
    assert answer["error"]["code"] == -32004
    assert pipe.close() == []


def test_a_client_may_shorten_it_on_an_old_stream(make_sse):
    stream = make_sse().open()
    answer, _ = stream.call("tools/call", {"name": "test_slow", "arguments": {"ms": 20_000}},
                            meta=GRANTED)
    assert answer["error"]["code"] == -32004


def test_progress_extends_it_up_to_its_end(client):
    before = time.monotonic()
    reply = client.tool("test_patience", {"steps": 6}, meta={"progressToken": 1})
    assert reply.result["content"][0]["text"] == "patient"
    assert time.monotonic() - before > 0.8  # its own limit is 600 ms
    reply = client.tool("test_patience", {"steps": 100}, meta={"progressToken": 1})
    assert reply.error.code == -32004
    reply = client.tool("test_patience", {"steps": 6})
    assert (reply.error.code, reply.status) == (-32004, 504)


@pytest.fixture(scope="module")
def strict(io, tmp_path_factory):
    """A server with the header, little grace and few stragglers."""
    path = tmp_path_factory.mktemp("strict") / "fixture.yaml"
    path.write_text("http: {timeout_header: true}\nlimits: {grace: 50ms, stragglers: 2}\n")
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--config", path)
    yield running
    running.stop()


def test_the_header(strict, make_client, rev):
    client = make_client(rev, of=strict).open()
    header = [("X-Request-Timeout-Ms", "200")]
    reply = client.tool("test_slow", {"ms": 20_000}, extra=header)
    assert (reply.error.code, reply.status) == (-32004, 504)
    reply = client.tool("echo", {"text": "x"}, extra=[("X-Request-Timeout-Ms", "0")])
    assert (reply.error.code, reply.status) == (-32602, 400)


def test_the_header_counts_only_where_it_is_allowed(client):
    reply = client.tool("echo", {"text": "x"}, extra=[("X-Request-Timeout-Ms", "0")])
    assert reply.result["content"][0]["text"] == "x"


def test_a_handler_with_too_many_stragglers_is_refused(strict, make_client):
    client = make_client("E", of=strict).open()
    stubborn = {"ms": 3000, "ignore_stop": True}
    seen = len(strict.log)
    for _ in range(2):
        assert client.tool("test_deadline", stubborn).error.code == -32004
    wait_until(lambda: sum("mcp.straggler" in line for line in strict.log[seen:]) == 2,
               what="two lines of stragglers")
    reply = client.tool("test_deadline", stubborn)
    assert (reply.error.code, reply.status) == (-32006, 503)
    assert client.tool_text("echo", {"text": "alive"}) == "alive"
    wait_until(lambda: client.tool("test_deadline", {"ms": 1}).message.get("result"),
               what="the handlers to end")
