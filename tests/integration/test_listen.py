"""What servers tell unasked: listen streams of 2026-07-28, GET streams of sessions, pipes."""

import select

import pytest

from http_client import EventStream, HttpError
from mcp_client import RpcError, compact
from server_process import wait_until
from wire_schema import SUBSCRIPTION_ID

pytestmark = pytest.mark.asan

WATCHED = "test://watched-resource"
TRIGGERS = {
    "toolsListChanged": ("test_trigger_tool_change", "notifications/tools/list_changed"),
    "promptsListChanged": ("test_trigger_prompt_change", "notifications/prompts/list_changed"),
    "resourcesListChanged": ("test_trigger_resource_change",
                             "notifications/resources/list_changed"),
}
ALL_KINDS = {**dict.fromkeys(TRIGGERS, True), "resourceSubscriptions": [WATCHED]}


def touch(client, uri=WATCHED):
    client.tool_text("test_touch_resource", {"uri": uri})


def primed(client):
    """The stream of a session, behind its priming event where the revision has one."""
    stream = client.open_stream()
    if client.rev == "D":
        event = stream.next_event()
        assert event.id and event.data == "", event
    return stream


def silent(stream, seconds=0.3):
    """Whether nothing but comments arrives for a while."""
    ready, _, _ = select.select([stream.connection.sock], [], [], seconds)
    return not ready and not stream.connection.buffer and b"\n\n" not in stream._text


# ---- 2026-07-28 ----

@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_change_reaches_who_asked_for_it(modern, kind):
    stream, identifier, acknowledged = modern.listen(**{kind: True})
    assert acknowledged["notifications"] == {kind: True}
    assert acknowledged["_meta"][SUBSCRIPTION_ID] == identifier
    tool, method = TRIGGERS[kind]
    modern.tool_text(tool)
    message = modern.next_message(stream)
    assert message["method"] == method
    assert message["params"]["_meta"][SUBSCRIPTION_ID] == identifier
    for other, (other_tool, _) in TRIGGERS.items():
        if other != kind:
            modern.tool_text(other_tool)
    touch(modern)
    assert silent(stream)


def test_an_update_reaches_who_subscribed(modern):
    stream, identifier, acknowledged = modern.listen(resourceSubscriptions=[WATCHED])
    assert acknowledged["notifications"] == {"resourceSubscriptions": [WATCHED]}
    touch(modern, "test://static-text")
    touch(modern)
    message = modern.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == WATCHED
    assert message["params"]["_meta"][SUBSCRIPTION_ID] == identifier


@pytest.mark.parametrize("identifier", ["listen-1", "1", 77, 0])
def test_the_subscription_id_keeps_its_type(modern, identifier):
    message = modern.compose("subscriptions/listen", {"notifications": ALL_KINDS},
                             identifier=identifier)
    connection = modern.connect()
    connection.send_request("POST", "/mcp", modern.headers(message), compact(message))
    stream = EventStream(connection, connection.read_head())
    found = modern.next_message(stream)["params"]["_meta"][SUBSCRIPTION_ID]
    assert found == identifier and type(found) is type(identifier)


def test_every_stream_gets_its_own_copy(modern, make_client):
    streams = [make_client("E").open().listen(toolsListChanged=True) for _ in range(6)]
    modern.tool_text("test_trigger_tool_change")
    for stream, identifier, _ in streams:
        event = stream.next_event()
        assert f'"{SUBSCRIPTION_ID}":{identifier}' in event.data.replace(" ", "")


def test_nothing_asked_nothing_told(modern):
    stream, _, acknowledged = modern.listen()
    assert acknowledged["notifications"] == {}
    for tool, _ in TRIGGERS.values():
        modern.tool_text(tool)
    assert silent(stream)


def test_kinds_that_are_not_wanted_are_left_out(modern):
    _, _, acknowledged = modern.listen(toolsListChanged=False, promptsListChanged=True,
                                       unknownKind=True)
    assert acknowledged["notifications"] == {"promptsListChanged": True}


@pytest.mark.parametrize("notifications", [..., None, [], "x", {"toolsListChanged": "yes"},
                                           {"resourceSubscriptions": "x"},
                                           {"resourceSubscriptions": [1]}], ids=str)
def test_a_malformed_listen_is_refused(modern, notifications):
    params = {} if notifications is ... else {"notifications": notifications}
    reply = modern.call("subscriptions/listen", params)
    assert reply.error.code == -32602


def test_no_logs_and_no_progress_on_listen_streams(modern):
    meta = {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}
    message = modern.compose("subscriptions/listen", {"notifications": ALL_KINDS}, meta=meta)
    connection = modern.connect()
    connection.send_request("POST", "/mcp", modern.headers(message), compact(message))
    stream = EventStream(connection, connection.read_head())
    modern.next_message(stream)
    modern.tool("test_log_all", {})
    assert silent(stream)


def test_streams_that_vanish_are_forgotten(server, modern):
    modern.tool_text("test_simple_text")  # its connection stays
    before = server.descriptors()
    for _ in range(20):
        modern.listen(**ALL_KINDS)[0].close()
    for tool, _ in TRIGGERS.values():
        modern.tool_text(tool)
    touch(modern)
    wait_until(lambda: server.descriptors() <= before, what="descriptors closed")


def test_an_answer_ends_the_stream_when_the_server_stops(start, make_client):
    running = start("--threads", 2)
    client = make_client("E", of=running).open()
    stream, identifier, _ = client.listen(toolsListChanged=True)
    running.process.terminate()
    last = client.next_message(stream)
    assert last["id"] == identifier
    assert last["result"]["_meta"][SUBSCRIPTION_ID] == identifier
    assert client.next_message(stream) is None


# ---- sessions ----

@pytest.mark.row(19, 21, 90)
@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_change_reaches_the_stream_of_a_session(legacy, modern, kind):
    stream = primed(legacy)
    tool, method = TRIGGERS[kind]
    modern.tool_text(tool)
    message = legacy.next_message(stream)
    assert message["method"] == method
    assert SUBSCRIPTION_ID not in message.get("params", {}).get("_meta", {})


@pytest.mark.row(90)
def test_updates_only_for_subscribed_resources(legacy, modern):
    stream = primed(legacy)
    touch(modern)
    assert silent(stream, 0.1)  # what one thread tells reaches the others a moment later
    legacy.request("resources/subscribe", {"uri": WATCHED})
    touch(modern, "test://static-text")
    touch(modern)
    message = legacy.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == WATCHED
    legacy.request("resources/unsubscribe", {"uri": WATCHED})
    touch(modern)
    assert silent(stream)


def test_a_message_goes_to_one_stream_of_a_session(legacy, modern):
    streams = [primed(legacy) for _ in range(3)]
    modern.tool_text("test_trigger_tool_change")
    ready, _, _ = select.select([s.connection.sock for s in streams], [], [], 5)
    assert len(ready) == 1
    told = next(s for s in streams if s.connection.sock is ready[0])
    assert legacy.next_message(told)["method"] == "notifications/tools/list_changed"
    assert all(silent(s, 0.1) for s in streams if s is not told)


def test_every_session_is_told_once(make_client, modern):
    clients = [make_client(letter).open() for letter in "ABCDDD"]
    streams = [primed(client) for client in clients]
    modern.tool_text("test_trigger_tool_change")
    for client, stream in zip(clients, streams):
        assert client.next_message(stream)["method"] == "notifications/tools/list_changed"
        assert silent(stream, 0.05)


def test_a_stream_needs_its_session(make_client):
    client = make_client("D")
    for session, status in ((None, 400), ("unknown", 404)):
        client.session = session
        with pytest.raises(HttpError, match=str(status)):
            client.open_stream()


@pytest.mark.row(25)
def test_a_stream_needs_the_right_accept(legacy):
    for accept in ("application/json", "text/plain"):
        connection = legacy.connect()
        headers = legacy.headers(extra=[("Accept", accept), ("Content-Type", None)])
        assert connection.request("GET", "/mcp", headers).status == 406


# ---- pipes ----

def test_changes_on_a_pipe_of_a_session(stdio, legacy_rev):
    pipe = stdio(rev=legacy_rev).open()
    message = pipe.compose("tools/call", {"name": "test_trigger_tool_change"})
    pipe.send(message)
    first, second = pipe.recv(), pipe.recv()
    assert {first.get("method"), second.get("method")} == {
        None, "notifications/tools/list_changed"}


def test_listening_on_a_pipe(stdio):
    pipe = stdio(rev="E")
    listen = pipe.compose("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    pipe.send(listen)
    assert pipe.recv()["method"] == "notifications/subscriptions/acknowledged"
    answer, before = pipe.call("tools/call", {"name": "test_trigger_tool_change"})
    assert answer["result"]
    told = before[0] if before else pipe.recv()
    assert told["params"]["_meta"][SUBSCRIPTION_ID] == listen["id"]
    pipe.notify("notifications/cancelled", {"requestId": listen["id"]})
    _, before = pipe.call("tools/call", {"name": "test_trigger_tool_change"})
    assert before == []
    assert pipe.close() == []


def test_listening_on_a_pipe_that_ends(stdio):
    pipe = stdio(rev="E")
    listen = pipe.compose("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    pipe.send(listen)
    pipe.recv()
    pipe.process.terminate()
    rest = []
    while (message := pipe.recv()) is not None:
        rest.append(message)
    assert [m.get("method", m.get("id")) for m in rest] in (
        ["notifications/cancelled", listen["id"]], [listen["id"]])


def test_listening_needs_its_era(stdio):
    pipe = stdio().open()
    with pytest.raises(RpcError) as refusal:
        pipe.request("subscriptions/listen", {"notifications": {}})
    assert refusal.value.code == -32601
