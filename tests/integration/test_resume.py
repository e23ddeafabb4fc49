"""Streams outlive their connections: event ids, Last-Event-ID, and what was missed meanwhile.

What a client sees of a stream is a list of (id, message); a message of None is the empty event
with which streams of 2025-11-25 begin. The server has two threads: those who come back may meet
the other one.
"""

import socket
import struct
import time

import pytest

from http_client import EventStream
from server_process import wait_until

pytestmark = pytest.mark.asan

PROGRESS = {"name": "test_tool_with_progress"}
QUESTION = {"name": "test_sampling", "arguments": {"prompt": "well?"}}
ANSWER = {"role": "assistant", "content": {"type": "text", "text": "so"}, "model": "m"}
LOUD = {"ms": 20_000, "announce": True}


@pytest.fixture(params="BCD")
def polling(make_client, request):
    """A client of each revision with event ids."""
    return make_client(request.param).open()


@pytest.fixture(params=["reset", "fin"])
def drop(request):
    """Ends a connection one way or the other."""
    def run(stream):
        sock = stream.connection.sock
        if request.param == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            sock.shutdown(socket.SHUT_WR)
        sock.close()
    return run


def reset(stream):
    stream.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
    stream.connection.close()


def begin(client, params, token="t"):
    connection, identifier = client.begin("tools/call", params, meta={"progressToken": token})
    return EventStream(connection, connection.read_head()), identifier


def resume(client, last):
    return client.open_stream(extra=(("Last-Event-ID", last),))


def take(client, stream, count=None):
    """The next `count` events, or all until the stream ends properly."""
    taken = []
    while count is None or len(taken) < count:
        event = stream.next_event()
        if event is None:
            assert count is None, f"ended after {taken}"
            break
        assert event.id, f"no id: {event.data}"
        taken.append((event.id, client.take_event(event)))
    return taken


def messages(events):
    return [message for _, message in events]


def refused(client, last):
    """The response to a GET that is answered without a stream."""
    connection = client.connect()
    connection.send_request("GET", client.path, client.headers(
        extra=(("Content-Type", None), ("Accept", "text/event-stream"),
               ("Last-Event-ID", last))))
    response = connection.read_response()
    connection.close()
    return response


def whole(client):
    """What the call with progress says when nothing goes wrong."""
    stream, _ = begin(client, PROGRESS)
    return messages(take(client, stream))


def without_id(message):
    if not message or "id" not in message:
        return message
    return {**message, "id": message["id"] and 0}


def alike(one, other):
    """Whether two calls said the same, but for the id of the request."""
    return [without_id(m) for m in one] == [without_id(m) for m in other]


# ---- ids ----

def test_a_stream_begins_with_an_empty_event_for_those_who_know_it(polling):
    stream, _ = begin(polling, PROGRESS)
    first = stream.next_event()
    assert first.id
    if polling.rev == "D":
        assert first.data == "" and first.retry > 0
        first = stream.next_event()
    assert polling.take_event(first)["method"] == "notifications/progress"
    assert first.retry is None
    assert [m["params"]["progress"] for m in messages(take(polling, stream)[:-1])] == [50, 100]


def test_a_get_stream_begins_likewise(make_client):
    client = make_client("D").open()
    first = client.open_stream().next_event()
    assert first.id and first.data == ""


def test_ids_are_unique_in_the_session(polling):
    begun = [begin(polling, PROGRESS, token) for token in range(4)]
    listening = [polling.open_stream() for _ in range(2)]
    events = [event for stream, _ in begun for event in take(polling, stream)]
    polling.tool("test_trigger_tool_change")
    events += take(polling, listening[1], 2 if polling.rev == "D" else 1)
    ids = [identifier for identifier, _ in events]
    assert len(ids) == len(set(ids)) == 4 * (5 if polling.rev == "D" else 4) + len(events[-2:]) - (
        0 if polling.rev == "D" else 1)


def test_a_stream_has_one_name(polling):
    stream, _ = begin(polling, PROGRESS)
    names = {identifier.rsplit("-", 1)[0] for identifier, _ in take(polling, stream)}
    assert len(names) == 1


# ---- calls ----

@pytest.mark.parametrize("late", [False, True], ids=["at-once", "late"])
def test_a_connection_lost_behind_any_event(polling, drop, late):
    expected = whole(polling)
    assert len(expected) == (5 if polling.rev == "D" else 4)
    for seen in range(1, len(expected) + 1):
        stream, identifier = begin(polling, PROGRESS)
        events = take(polling, stream, seen)
        drop(stream)
        if late:
            time.sleep(0.3)
        events += take(polling, resume(polling, events[-1][0]))
        assert alike(messages(events), expected), seen
        assert len(set(events_id for events_id, _ in events)) == len(expected)
        assert events[-1][1]["id"] == identifier
    assert polling.request("ping") == {}


@pytest.mark.row(32)
def test_every_event_can_be_asked_for_again(polling):
    stream, _ = begin(polling, PROGRESS)
    events = take(polling, stream)
    for seen in range(1, len(events) + 1):
        for _ in range(2):
            assert take(polling, resume(polling, events[seen - 1][0])) == events[seen:]


def test_a_connection_lost_again_and_again(polling, drop):
    expected = whole(polling)
    stream, _ = begin(polling, PROGRESS)
    events = take(polling, stream, 1)
    while len(events) < len(expected):
        drop(stream)
        stream = resume(polling, events[-1][0])
        events += take(polling, stream, 1)
    assert alike(messages(events), expected)
    assert stream.next_event() is None


def test_an_answer_that_was_sent_but_not_read(polling, drop):
    stream, identifier = begin(polling, PROGRESS)
    events = take(polling, stream, 1)
    while b"\r\n0\r\n\r\n" not in stream.connection.buffer:
        assert stream.connection.fill()
    drop(stream)
    events += take(polling, resume(polling, events[-1][0]))
    assert events[-1][1]["id"] == identifier and events[-1][1]["result"]


def test_half_closing_loses_nothing(polling):
    expected = whole(polling)
    stream, _ = begin(polling, PROGRESS)
    stream.connection.sock.shutdown(socket.SHUT_WR)
    assert alike(messages(take(polling, stream)), expected)


def asked(client):
    """A call that waits until its question is answered: the stream, last id, what to answer."""
    stream, identifier = begin(client, QUESTION)
    events = take(client, stream, 2 if client.rev == "D" else 1)
    assert events[-1][1]["method"] == "sampling/createMessage"
    return stream, identifier, events[-1][0], events[-1][1]["id"]


def answer(client, question):
    assert client.respond(question, result=ANSWER).status == 202


def test_a_question_can_be_answered_while_away(polling, drop):
    stream, identifier, last, question = asked(polling)
    drop(stream)
    answer(polling, question)
    [(_, message)] = take(polling, resume(polling, last))
    assert message["id"] == identifier and "so" in message["result"]["content"][0]["text"]


def test_who_returns_last_gets_the_rest(polling):
    stream, identifier, last, question = asked(polling)
    followers = [resume(polling, last) for _ in range(4)]
    answer(polling, question)
    [(_, message)] = take(polling, followers[-1])
    assert message["id"] == identifier
    for older in [stream, *followers[:-1]]:
        assert take(polling, older) == []


def test_a_question_is_replayed(polling, drop):
    stream, identifier, _, question = asked(polling)
    events = take(polling, resume(polling, "1-0"), 1)
    assert events[0][1]["id"] == question
    drop(stream)
    answer(polling, question)
    assert messages(take(polling, resume(polling, events[0][0])))[0]["id"] == identifier


def test_interleaved_calls_are_resumed_separately(polling, drop):
    begun = [begin(polling, PROGRESS, token) for token in ("a", "b", "c")]
    events = [take(polling, stream, 2) for stream, _ in begun]
    for stream, _ in begun:
        drop(stream)
    for at in (2, 0, 1):
        events[at] += take(polling, resume(polling, events[at][-1][0]))
    for (_, identifier), token, got in zip(begun, "abc", events):
        said = [m for m in messages(got) if m is not None]
        assert [m["params"]["progress"] for m in said[:-1]] == [0, 50, 100]
        assert {m["params"]["progressToken"] for m in said[:-1]} == {token}
        assert said[-1]["id"] == identifier


@pytest.mark.parametrize("back", [False, True], ids=["away", "back"])
def test_a_cancelled_call_ends_without_a_response(polling, drop, back):
    stream, identifier = begin(polling, {"name": "test_slow", "arguments": LOUD})
    last = take(polling, stream, 2 if polling.rev == "D" else 1)[-1][0]
    drop(stream)
    follower = resume(polling, last) if back else None
    reply = polling.notify("notifications/cancelled", {"requestId": identifier})
    assert reply.status == 202
    assert take(polling, follower or resume(polling, last)) == []


@pytest.mark.parametrize("back", [False, True], ids=["away", "back"])
def test_a_deadline_that_passes_while_away(polling, drop, back):
    stream, identifier = begin(polling, {"name": "test_deadline", "arguments": LOUD})
    last = take(polling, stream, 2 if polling.rev == "D" else 1)[-1][0]
    drop(stream)
    if not back:
        time.sleep(0.5)
    [(_, message)] = take(polling, resume(polling, last))
    assert message["id"] == identifier and message["error"]["code"] == -32004


def test_disconnecting_is_not_cancelling(polling, drop):
    stream, identifier = begin(polling, {"name": "test_slow",
                                         "arguments": {"ms": 300, "announce": True}})
    last = take(polling, stream, 2 if polling.rev == "D" else 1)[-1][0]
    drop(stream)
    [(_, message)] = take(polling, resume(polling, last))
    assert message["result"]["content"][0]["text"] == "slept"


def test_what_was_dropped_is_told(polling, drop):
    steps = 3000
    stream, identifier = begin(polling, {"name": "test_many_logs", "arguments": {"n": steps}})
    first = take(polling, stream, 1)[0][0]
    name = first.rsplit("-", 1)[0]
    drop(stream)
    # The end of the stream is known to be there when the answer can be asked for.
    tail = f"{name}-{steps}"
    wait_until(lambda: refused_or_open(polling, tail), what="the last step")
    [(last, message)] = take(polling, resume(polling, tail))
    assert message["id"] == identifier and last == f"{name}-{steps + 1}"
    response = refused(polling, f"{name}-1")
    assert (response.status, response.error_code()) == (400, -32600)
    assert len(take(polling, resume(polling, f"{name}-{steps - 500}"))) == 501


def refused_or_open(client, last):
    """Whether that id is known."""
    connection = client.connect()
    connection.send_request("GET", client.path, client.headers(
        extra=(("Content-Type", None), ("Accept", "text/event-stream"),
               ("Last-Event-ID", last))))
    known = connection.read_head().status == 200
    connection.close()
    return known


# ---- the server lets go ----

def test_the_server_closes_first(make_client):
    client = make_client("D").open()
    stream, identifier = begin(client, {"name": "test_reconnection"})
    events = []
    while (event := stream.next_event()) is not None:
        assert event.data == "" and event.id
        events.append(event)
    assert events[-1].retry == 500
    [(_, message)] = take(client, resume(client, events[-1].id))
    assert message["id"] == identifier
    assert message["result"]["content"][0]["text"] == "Reconnection test completed"


@pytest.mark.parametrize("letter", "ABCE")
def test_others_are_not_sent_away(make_client, letter):
    client = make_client(letter).open()
    assert client.tool_text("test_reconnection") == "Reconnection test completed"


# ---- ids that name nothing ----

@pytest.mark.row(32)
@pytest.mark.parametrize("last", ["x", "-", "1", "1-", "-1", "0-0", "01-1", "1-01", "1-1-1", "+1-1",
                                  "1-+1", "1 -1", "1-99", "99-0", "4294967296-0", "1-0x0",
                                  "1-18446744073709551616", "9" * 4000, "\"1-1\"", "1-1, 1-1", ""])
def test_an_id_that_names_nothing_is_refused(polling, last):
    stream, _ = begin(polling, PROGRESS)
    take(polling, stream)
    response = refused(polling, last)
    assert (response.status, response.error_code()) == (400, -32600)
    assert polling.request("ping") == {}


@pytest.mark.parametrize("rev", ["B", "C", "D"])
def test_an_id_of_another_session_is_refused(make_client, rev):
    owner, other = make_client(rev).open(), make_client(rev).open()
    stream, _ = begin(owner, PROGRESS)
    for identifier, _ in take(owner, stream):
        response = refused(other, identifier)
        assert (response.status, response.error_code()) == (400, -32600)


def test_the_same_id_in_two_sessions_names_two_streams(make_client):
    clients = [make_client("D").open() for _ in range(2)]
    streams = [begin(c, PROGRESS, f"token-{at}")[0] for at, c in enumerate(clients)]
    events = [take(c, s) for c, s in zip(clients, streams)]
    for at, client in enumerate(clients):
        again = take(client, resume(client, events[1 - at][0][0]))
        assert again == events[at][1:]


def test_a_dead_session_is_not_found(polling):
    stream, _, last, _ = asked(polling)
    followers = [stream, resume(polling, last), polling.open_stream()]
    assert polling.delete().status == 204
    assert take(polling, followers[1]) == []
    assert [m for m in messages(take(polling, followers[2])) if m] == []
    assert refused(polling, last).status == 404


def test_the_modern_era_has_no_streams_to_resume(make_client):
    client = make_client("E").open()
    connection = client.connect()
    for last in ("1-1", "x", ""):
        response = connection.request("GET", client.path, client.headers(
            extra=(("Content-Type", None), ("Accept", "text/event-stream"),
                   ("Last-Event-ID", last))))
        assert response.status == 405 and "POST" in response["Allow"]


def test_the_modern_era_ignores_the_header_of_a_call(make_client):
    client = make_client("E").open()
    reply = client.tool("test_tool_with_progress", meta={"progressToken": 1},
                        extra=(("Last-Event-ID", "1-1"),))
    assert len(reply.before) == 3 and reply.result


# ---- the stream without a call ----

URI = "test://static-text"
CHANGES = {"test_trigger_tool_change": "notifications/tools/list_changed",
           "test_trigger_prompt_change": "notifications/prompts/list_changed",
           "test_trigger_resource_change": "notifications/resources/list_changed"}


def methods(events):
    return [m["method"].removeprefix("notifications/") for m in messages(events) if m is not None]


def open_with_id(client, stream=None):
    """A GET stream and an id to come back with."""
    stream = stream or client.open_stream()
    if client.rev == "D":
        take(client, stream, 1)
    client.tool("test_trigger_tool_change")
    return stream, take(client, stream, 1)[0][0]


@pytest.mark.parametrize("rev", ["B", "C", "D"])
def test_changes_while_away_are_replayed(start, make_client, rev, drop):
    client = make_client(rev, of=start("--threads", 2)).open()
    client.request("resources/subscribe", {"uri": URI})
    stream, last = open_with_id(client)
    drop(stream)
    time.sleep(0.2)
    client.tool("test_trigger_prompt_change")
    client.tool("test_touch_resource", {"uri": URI})
    client.tool("test_touch_resource", {"uri": "test://other"})
    client.tool("test_trigger_tool_change")
    time.sleep(0.2)
    stream = resume(client, last)
    events = take(client, stream, 3)
    assert methods(events) == ["prompts/list_changed", "resources/updated", "tools/list_changed"]
    assert events[1][1]["params"]["uri"] == URI
    client.tool("test_trigger_resource_change")
    events += take(client, stream, 1)
    assert methods(events[3:]) == ["resources/list_changed"]
    # Once more from the middle: the same again, and then it goes on.
    drop(stream)
    stream = resume(client, events[1][0])
    assert take(client, stream, 2) == events[2:]
    client.tool("test_trigger_prompt_change")
    assert methods(take(client, stream, 1)) == ["prompts/list_changed"]


def test_who_returns_without_an_id_hears_what_is_new(start, make_client, drop):
    client = make_client("D", of=start("--threads", 2)).open()
    stream, last = open_with_id(client)
    drop(stream)
    time.sleep(0.2)
    client.tool("test_trigger_prompt_change")
    time.sleep(0.2)
    stream = client.open_stream()
    take(client, stream, 1)
    client.tool("test_trigger_resource_change")
    assert methods(take(client, stream, 1)) == ["resources/list_changed"]
    # What the first stream collected can still be had.
    time.sleep(0.2)
    assert methods(take(client, resume(client, last), 1)) == ["prompts/list_changed"]


def test_the_newest_stream_gets_the_messages(start, make_client):
    client = make_client("C", of=start("--threads", 2)).open()
    older = client.open_stream()
    newer = client.open_stream()
    for tool, method in CHANGES.items():
        client.tool(tool)
        assert messages(take(client, newer, 1))[0]["method"] == method
    reset(newer)
    time.sleep(0.2)
    client.tool("test_trigger_prompt_change")
    assert methods(take(client, older, 1)) == ["prompts/list_changed"]


@pytest.mark.row(29)
def test_calls_and_changes_stay_apart(start, make_client):
    client = make_client("D", of=start("--threads", 2)).open()
    listening, at = open_with_id(client)
    stream, identifier, last, question = asked(client)
    reset(stream)
    reset(listening)
    time.sleep(0.2)
    client.tool("test_trigger_prompt_change")
    answer(client, question)
    time.sleep(0.2)
    assert messages(take(client, resume(client, last)))[0]["id"] == identifier
    assert methods(take(client, resume(client, at), 1)) == ["prompts/list_changed"]


# ---- what it costs, and the end ----

def test_many_returns_leave_nothing_behind(start, make_client):
    running = start("--threads", 2)
    client = make_client("D", of=running).open()
    stream, identifier, last, question = asked(client)
    listening, at = open_with_id(client)

    def returns(count):
        nonlocal stream, listening
        for _ in range(count):
            reset(stream)
            stream = resume(client, last)
            reset(listening)
            listening = resume(client, at)
    returns(20)
    before, memory = running.descriptors(), running.resident_kb()
    returns(200)
    wait_until(lambda: running.descriptors() <= before + 2, what="descriptors closed")
    assert running.resident_kb() < memory + 16 * 1024
    answer(client, question)
    assert messages(take(client, stream))[0]["id"] == identifier
    client.tool("test_trigger_prompt_change")
    assert methods(take(client, listening, 1)) == ["prompts/list_changed"]


def test_many_calls_do_not_displace_the_stream_without_a_call(start, make_client):
    client = make_client("D", of=start("--threads", 2)).open()
    listening, last = open_with_id(client)
    for _ in range(300):
        client.tool("test_many_progress", {"n": 1}, meta={"progressToken": 1})
    client.tool("test_trigger_prompt_change")
    [(identifier, _)] = take(client, listening, 1)
    assert identifier.rsplit("-", 1)[0] == last.rsplit("-", 1)[0]
    assert methods(take(client, resume(client, last), 1)) == ["prompts/list_changed"]


def test_many_streams_without_a_call_do_not_displace_an_answer(make_client, drop):
    """GET streams that had ended kept all places of a session, and the next one pushed out the
    call whose answer its client was about to fetch."""
    client = make_client("D").open()
    for _ in range(300):
        drop(client.open_stream())
    stream, identifier = begin(client, {"name": "test_slow",
                                        "arguments": {"ms": 100, "announce": True}})
    last = take(client, stream, 2)[-1][0]
    drop(stream)
    client.open_stream()
    [answered] = take(client, resume(client, last))
    assert answered[1]["id"] == identifier
    client.open_stream()
    [answered] = take(client, resume(client, last))
    assert answered[1]["id"] == identifier


def test_the_end_with_clients_who_returned(start, make_client, drop):
    running = start("--threads", 2, "--drain-timeout", "1s")
    client = make_client("D", of=running).open()
    followers = []
    for _ in range(6):
        stream, _, last, _ = asked(client)
        drop(stream)
        followers.append(resume(client, last))
    listening, at = open_with_id(client)
    drop(listening)
    followers.append(resume(client, at))
    running.process.terminate()
    for stream in followers:
        take(client, stream)
        assert stream.ended
    running.stop()


def test_who_returned_is_answered_at_the_end(start, make_client, drop):
    """Its stream was closed at once, while the call went on and was answered to nobody."""
    running = start("--threads", 2, "--drain-timeout", "20s")
    client = make_client("D", of=running).open()
    calls = []
    for _ in range(4):
        stream, identifier = begin(client, {"name": "test_slow",
                                            "arguments": {"ms": 2000, "announce": True}})
        last = take(client, stream, 2)[-1][0]
        drop(stream)
        calls.append((resume(client, last), identifier))
    running.process.terminate()
    for stream, identifier in calls:
        assert [m.get("id") for m in messages(take(client, stream))] == [identifier]
        assert stream.ended
    running.stop()


def test_the_end_with_clients_away(start, make_client, drop):
    running = start("--threads", 2, "--drain-timeout", "1s")
    for letter in "BCD":
        client = make_client(letter, of=running).open()
        for _ in range(3):
            drop(asked(client)[0])
        finished, _ = begin(client, PROGRESS)
        take(client, finished)
        drop(open_with_id(client)[0])
        drop(begin(client, {"name": "test_slow", "arguments": LOUD})[0])
    running.stop()
