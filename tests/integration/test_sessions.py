"""Sessions of the legacy revisions: their ids, their end, and that every thread knows both."""

import re
import time

import pytest

from http_client import Connection
from mcp_client import CLIENT_INFO
from server_process import wait_until
from wire_schema import VERSIONS

pytestmark = pytest.mark.asan

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.row(31)
def test_ids_are_visible_ascii_and_unique(make_client, legacy_rev):
    ids = set()
    for _ in range(20):
        client = make_client(legacy_rev)
        client.initialize()
        assert re.fullmatch(r"[\x21-\x7e]{16,128}", client.session)
        ids.add(client.session)
    assert len(ids) == 20


def test_only_the_answer_to_initialize_carries_the_id(legacy):
    reply = legacy.call("ping")
    assert reply.response["Mcp-Session-Id"] in (None, legacy.session)


def test_a_failed_initialize_opens_no_session(make_client):
    reply = make_client("D").call("initialize", {"protocolVersion": 1})
    assert reply.response["Mcp-Session-Id"] is None


@pytest.mark.row(31)
def test_a_request_without_session_is_refused(make_client, legacy_rev):
    client = make_client(legacy_rev)
    reply = client.call("tools/list")
    assert reply.status == 400
    assert reply.error.code == -32600


def test_a_notification_without_session_is_refused(make_client):
    reply = make_client("D").notify("notifications/initialized")
    assert reply.status == 400


@pytest.mark.row(31)
@pytest.mark.parametrize("session", ["unknown", "x" * 200, "0", "../../etc/passwd",
                                     "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_session_is_not_found(make_client, session):
    client = make_client("D")
    client.session = session
    for reply in (client.call("tools/list"), client.notify("notifications/initialized")):
        assert reply.status == 404
    assert client.delete().status == 404


def test_an_id_with_a_flipped_character_is_not_found(legacy):
    good = legacy.session
    for at in {0, 1, len(good) // 2, len(good) - 1}:
        legacy.session = good[:at] + ("A" if good[at] != "A" else "B") + good[at + 1:]
        assert legacy.call("ping").status == 404
    legacy.session = good.swapcase()
    assert good == good.swapcase() or legacy.call("ping").status == 404
    legacy.session = good
    assert legacy.request("ping") == {}


@pytest.mark.row(22)
def test_delete_ends_the_session(legacy):
    assert legacy.delete().status == 204
    assert legacy.call("tools/list").status == 404
    assert legacy.notify("notifications/initialized").status == 404
    assert legacy.delete().status == 404


def test_delete_without_session_is_refused(make_client):
    assert make_client("D").delete().status == 400


def test_delete_ends_the_stream_of_the_session(legacy):
    stream = legacy.open_stream()
    assert legacy.delete().status == 204
    assert legacy.next_message(stream) is None


def test_sessions_do_not_know_each_other(make_client):
    first, second = make_client("D").open(), make_client("C").open()
    assert first.delete().status == 204
    assert second.request("ping") == {}


def test_every_thread_knows_the_session_and_its_end(server, make_client, legacy_rev):
    client = make_client(legacy_rev).open()
    connections = [Connection(server.address) for _ in range(16)]
    try:
        for connection in connections:
            assert client.call("tools/list", connection=connection).result["tools"]
        assert client.delete(connection=connections[0]).status == 204
        for connection in connections * 2:
            assert client.call("tools/list", connection=connection).status == 404
    finally:
        for connection in connections:
            connection.close()


def test_requests_of_one_session_run_side_by_side(legacy):
    begun = [legacy.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 200}})
             for _ in range(4)]
    for connection, identifier in begun:
        reply = legacy.read_reply(connection, identifier)
        assert reply.result["content"][0]["text"] == "slept"


def test_a_second_call_with_the_same_id_is_served_after_the_first(legacy):
    message = legacy.compose("ping", identifier=7)
    for _ in range(3):
        assert legacy.post(message).result == {}


def test_ids_keep_their_type_and_text(client):
    for identifier in (0, -1, 2 ** 53, -(2 ** 63), "", "1", "\u00fc\U0001f600\"\\\n", "x" * 200):
        reply = client.call("tools/call", {"name": "test_simple_text"}, identifier=identifier)
        assert reply.result["content"]


@pytest.mark.row(30)
def test_the_version_of_the_session_counts_not_that_of_the_header(make_client):
    client = make_client("D").open()
    reply = client.call("tools/list", extra=[("MCP-Protocol-Version", VERSIONS["B"])])
    assert any("execution" in tool or "icons" in tool for tool in reply.result["tools"])


@pytest.mark.row(7)
def test_an_unsupported_version_header_is_refused(legacy):
    for version in ("1999-01-01", "banana", "2025-11-2"):
        reply = legacy.call("ping", extra=[("MCP-Protocol-Version", version)])
        assert reply.status == 400


@pytest.mark.row(30)
def test_no_version_header_is_needed(make_client, legacy_rev):
    client = make_client(legacy_rev).open()
    assert client.call("ping", extra=[("MCP-Protocol-Version", None)]).result == {}


def test_a_repeated_session_header_is_refused(legacy, connect):
    connection = connect()
    headers = legacy.headers() + [("Mcp-Session-Id", legacy.session)]
    reply = connection.request("POST", "/mcp", headers,
                               b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert reply.status in (400, 404)


def test_many_sessions_do_not_disturb_old_ones(make_client, connect):
    old = make_client("D").open()
    connection = connect()
    body = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}')
    ids = set()
    for _ in range(300):
        answer = connection.request("POST", "/mcp", [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream")], body)
        ids.add(answer["Mcp-Session-Id"])
    assert len(ids) == 300
    assert old.request("ping") == {}
    for session in ids:
        connection.send_request("DELETE", "/mcp", [("Mcp-Session-Id", session)])
        assert connection.read_response().status == 204


def test_a_client_that_vanishes_leaves_its_session(server, make_client):
    client = make_client("D").open()
    client.close()
    assert client.request("ping") == {}
    wait_until(server.alive, what="server alive")
    assert CLIENT_INFO["name"] in client.tool_text("test_whoami")


def test_an_idle_session_ends(start, make_client):
    client = make_client("D", of=start("--session-ttl", "300ms")).open()
    assert client.request("ping") == {}
    time.sleep(1.5)
    assert client.call("ping").status == 404


def test_a_session_in_use_goes_on(start, make_client):
    client = make_client("D", of=start("--session-ttl", "2s")).open()
    for _ in range(8):
        time.sleep(0.4)
        assert client.request("ping") == {}
