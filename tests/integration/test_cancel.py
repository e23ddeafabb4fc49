"""Cancellation. What became of a stopped call is read from the server's own counters."""

import json
import socket

import pytest

from http_client import EventStream
from server_process import wait_until

pytestmark = pytest.mark.asan

LONG = {"name": "test_slow", "arguments": {"ms": 20_000}}
LOUD = {"name": "test_slow", "arguments": {"ms": 20_000, "announce": True}}


class Counts:
    """How many calls started and ended, by cause, since construction."""

    def __init__(self, client):
        self.client = client
        self.before = self.read()

    def read(self):
        return json.loads(self.client.tool_text("test_stop_counts"))

    def since(self, cause):
        return self.read()[cause] - self.before[cause]

    def wait(self, cause, count=1):
        wait_until(lambda: self.since(cause) >= count, what=f"{count} {cause}: {self.read()}")
        assert self.since(cause) == count


@pytest.fixture
def counts(make_client):
    return Counts(make_client("E").open())


def cancel(client, identifier, **more):
    reply = client.notify("notifications/cancelled", {"requestId": identifier, **more})
    assert reply.status == 202


@pytest.mark.row(64)
def test_a_notification_stops_a_legacy_call(legacy, counts):
    connection, identifier = legacy.begin("tools/call", LONG)
    counts.wait("started")
    cancel(legacy, identifier, reason="no longer needed")
    counts.wait("client")
    connection.close()


def test_a_stopped_stream_ends_without_an_answer(legacy, counts):
    connection, identifier = legacy.begin("tools/call", LOUD, meta={"progressToken": 1})
    stream = EventStream(connection, connection.read_head())
    assert legacy.next_message(stream)["method"] == "notifications/progress"
    cancel(legacy, identifier)
    assert legacy.next_message(stream) is None
    counts.wait("client")


def test_a_stopped_call_may_run_on_another_thread(legacy, counts):
    begun = [legacy.begin("tools/call", LONG) for _ in range(8)]
    counts.wait("started", 8)
    for _, identifier in begun:
        cancel(legacy, identifier)
    counts.wait("client", 8)


@pytest.mark.parametrize("params", [
    {"requestId": 12345}, {"requestId": "no such"}, {"requestId": None}, {"requestId": {}}, {},
    {"requestId": 1.5}, {"requestId": True}, {"requestId": 1, "reason": 7}, None,
], ids=str)
def test_what_cannot_be_stopped_is_ignored(legacy, params):
    assert legacy.notify("notifications/cancelled", params).status == 202
    assert legacy.request("ping") == {}


def test_a_finished_call_cannot_be_stopped(legacy):
    reply = legacy.tool("test_simple_text")
    cancel(legacy, reply.message["id"])
    assert legacy.request("ping") == {}


def test_ids_of_another_type_stop_nothing(legacy, counts):
    connection, identifier = legacy.begin("tools/call", {
        "name": "test_slow", "arguments": {"ms": 700}})
    counts.wait("started")
    cancel(legacy, str(identifier))
    assert legacy.read_reply(connection, identifier).result["content"][0]["text"] == "slept"


def test_a_session_cannot_stop_calls_of_another(make_client, counts):
    owner, other = make_client("D").open(), make_client("D").open()
    connection, identifier = owner.begin("tools/call", {
        "name": "test_slow", "arguments": {"ms": 700}})
    counts.wait("started")
    cancel(other, identifier)
    assert owner.read_reply(connection, identifier).result["content"][0]["text"] == "slept"


def test_a_legacy_disconnect_stops_nothing(legacy, counts):
    connection, _ = legacy.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 300}})
    counts.wait("started")
    connection.close()
    counts.wait("finished")


@pytest.mark.row(64)
@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_modern_disconnect_stops_the_call(modern, counts, how):
    connection, _ = modern.begin("tools/call", LONG)
    counts.wait("started")
    if how == "reset":
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    wait_until(lambda: counts.since("disconnected") + counts.since("client") == 1, what="stop")


def test_a_modern_disconnect_stops_a_streaming_call(modern, counts):
    connection, _ = modern.begin("tools/call", LOUD, meta={"progressToken": 1})
    stream = EventStream(connection, connection.read_head())
    assert modern.next_message(stream)["method"] == "notifications/progress"
    connection.close()
    wait_until(lambda: counts.since("disconnected") + counts.since("client") == 1, what="stop")


def test_a_half_closed_legacy_client_gets_its_answer(legacy, counts):
    connection, identifier = legacy.begin("tools/call", {
        "name": "test_slow", "arguments": {"ms": 300}})
    connection.sock.shutdown(socket.SHUT_WR)
    reply = legacy.read_reply(connection, identifier)
    assert reply.result["content"][0]["text"] == "slept"


def test_a_notification_stops_nothing_of_modern_clients(modern, counts):
    connection, identifier = modern.begin("tools/call", {
        "name": "test_slow", "arguments": {"ms": 500}})
    counts.wait("started")
    assert modern.notify("notifications/cancelled", {"requestId": identifier}).status == 202
    assert modern.read_reply(connection, identifier).result["content"][0]["text"] == "slept"


def test_a_handler_that_ignores_the_stop_is_waited_for(modern, counts):
    connection, _ = modern.begin("tools/call", {
        "name": "test_slow", "arguments": {"ms": 400, "ignore_stop": True}})
    counts.wait("started")
    connection.close()
    wait_until(lambda: counts.since("disconnected") + counts.since("client") == 1, what="stop")
    assert modern.tool_text("echo", {"text": "alive"}) == "alive"


def pipe_counts(pipe, rev):
    result = pipe.request("tools/call", {"name": "test_stop_counts"}, rev=rev)
    return json.loads(result["content"][0]["text"])


def test_a_notification_stops_a_call_on_a_pipe(stdio, rev):
    pipe = stdio(rev=rev)
    if rev != "E":
        pipe.open()
    message = pipe.compose("tools/call", LONG, rev=rev)
    pipe.send(message)
    wait_until(lambda: pipe_counts(pipe, rev)["started"] == 1, what="start")
    pipe.notify("notifications/cancelled", {"requestId": message["id"]})
    wait_until(lambda: pipe_counts(pipe, rev)["client"] == 1, what="stop")
    assert pipe.close() == []  # no answer came


def test_the_end_of_the_input_stops_what_runs(stdio):
    pipe = stdio(rev="E")
    pipe.send(pipe.compose("tools/call", LONG))
    wait_until(lambda: pipe_counts(pipe, "E")["started"] == 1, what="start")
    pipe.close(timeout=15)


@pytest.mark.row(65)
def test_initialize_is_not_cancelled(stdio):
    pipe = stdio()
    message = pipe.compose("initialize", {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "n", "version": "1"}}, rev="D")
    pipe.send(message)
    pipe.notify("notifications/cancelled", {"requestId": message["id"]})
    assert pipe.recv()["id"] == message["id"]
