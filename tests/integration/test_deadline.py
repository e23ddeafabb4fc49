"""Deadlines of tools: -32004 and 504 while nothing was sent, an error event afterwards."""

import json
import time

import pytest

from server_process import wait_until

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
