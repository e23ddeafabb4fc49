"""One file of handlers (tests/fixture/every_revision.cpp) for clients of every revision over every
transport that the revision has."""

import time

import pytest

from http_client import EventStream
from mcp_client import compact
from wire_schema import TASKS

pytestmark = pytest.mark.asan

SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "twelve"}}
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"city": "Turin"}},
    "sampling/createMessage": SAMPLED,
    "roots/list": {"roots": [{"uri": "file:///home/ada"}, {"uri": "file:///srv"}]},
}
ABLE = {"sampling": {}, "elicitation": {}, "roots": {}}
WITH_TASKS = {**ABLE, "extensions": {TASKS: {}}}
PLACES = [(way, rev) for way in ("http", "sse", "pipe") for rev in "ABCDE"
          if (way, rev) != ("sse", "E")]
DEADLINE_S = 20


class Player:
    """A client that calls a tool and answers whatever it is asked on the way."""

    def __init__(self, peer, way, rev):
        self.peer, self.way, self.rev = peer, way, rev
        self.asked, self.progress = [], []

    def _more(self, tasks):
        if self.rev != "E":
            return {}
        more = {"capabilities": WITH_TASKS if tasks else ABLE}
        return more if self.way == "http" else {**more, "rev": "E"}

    def _exchange(self, method, params, tasks=False, meta=None):
        """One request; answers requests of the server's until the response is here."""
        message = self.peer.compose(method, params, meta=meta, **self._more(tasks))
        if self.way != "http":
            self.peer.send(message)
            receive = self.peer.recv
        else:
            connection = self.peer.connect()
            connection.send_request("POST", self.peer.path, self.peer.headers(message),
                                    compact(message))
            response = connection.read_head()
            if response.media_type != "text/event-stream":
                return self.peer._read_body(connection, response).message
            stream = EventStream(connection, response)
            def receive():
                return self.peer.next_message(stream)
        while True:
            got = receive()
            assert got is not None, f"no answer to {message}"
            if "method" not in got:
                assert got["id"] == message["id"], got
                return got
            if "id" in got:
                self.asked.append(got["method"])
                self.peer.respond(got["id"], result=ANSWERS[got["method"]])
            elif got["method"] == "notifications/progress":
                self.progress.append(got["params"]["progress"])

    def call(self, tool, tasks=False, meta=None):
        """The result of a call: in rounds, or as a task, where the revision wants it so."""
        params = {"name": tool, "arguments": {}}
        if tasks and self.rev == "D":
            params["task"] = {}
        more = {}
        while True:
            result = self._exchange("tools/call", {**params, **more}, tasks, meta)["result"]
            if result.get("resultType") != "input_required":
                break
            questions = result["inputRequests"]
            self.asked += [one["method"] for one in questions.values()]
            more = {"inputResponses": {k: ANSWERS[q["method"]] for k, q in questions.items()},
                    "requestState": result["requestState"]}
        if "task" in result:
            return self._exchange("tasks/result", {"taskId": result["task"]["taskId"]})["result"]
        if result.get("resultType") == "task":
            return self._poll(result["taskId"])
        return result

    def _poll(self, task):
        end = time.monotonic() + DEADLINE_S
        while True:
            now = self._exchange("tasks/get", {"taskId": task}, True)["result"]
            if now["status"] == "completed":
                return now["result"]
            assert now["status"] in ("working", "input_required"), now
            questions = now.get("inputRequests", {})
            if questions:
                self.asked += [one["method"] for one in questions.values()]
                answers = {k: ANSWERS[q["method"]] for k, q in questions.items()}
                self._exchange("tasks/update", {"taskId": task, "inputResponses": answers}, True)
            assert time.monotonic() < end
            time.sleep(0.02)

    def begin(self, tool):
        """Sends a call and reads nothing: (connection or None, its id)."""
        params = {"name": tool, "arguments": {}}
        if self.way == "http":
            return self.peer.begin("tools/call", params, **self._more(False))
        message = self.peer.compose("tools/call", params, **self._more(False))
        self.peer.send(message)
        return None, message["id"]


@pytest.fixture(params=PLACES, ids=lambda place: "-".join(place))
def player(request, make_client, make_sse, stdio):
    way, rev = request.param
    if way == "http":
        peer = make_client(rev, capabilities=ABLE).open()
    else:
        # On a pipe a client of 2026-07-28 needs no handshake; ours opens a session beside it.
        make = make_sse if way == "sse" else stdio
        peer = make(rev="D" if rev == "E" else rev, capabilities=ABLE).open()
    return Player(peer, way, rev)


def text(result):
    return result["content"][0]["text"]


def test_asking_the_user(player):
    result = player.call("every_user")
    if player.rev in "AB":
        assert result["isError"] and "elicitation" in text(result) and player.asked == []
    else:
        assert text(result) == "city: Turin" and player.asked == ["elicitation/create"]


def test_asking_the_model(player):
    assert text(player.call("every_model")) == "said: twelve"
    assert player.asked == ["sampling/createMessage"]


def test_asking_for_roots(player):
    assert text(player.call("every_root")) == "roots: file:///home/ada file:///srv"
    assert player.asked == ["roots/list"]


def test_asking_twice(player):
    assert text(player.call("every_twice")) == "twelve and twelve"
    assert player.asked == ["sampling/createMessage"] * 2


def test_progress(player):
    assert text(player.call("every_step", meta={"progressToken": "p"})) == "3 steps"
    assert player.progress == [1, 2, 3]


def test_a_task(player):
    assert text(player.call("every_task", tasks=True)) == "3 steps"


def test_a_task_that_asks(player):
    result = player.call("every_task_user", tasks=True)
    if player.rev in "AB":
        assert result["isError"] and player.asked == []
    else:
        assert text(result) == "city: Turin" and player.asked == ["elicitation/create"]


def cancelled(player):
    return int(text(player.call("every_count")))


def wait_until(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_being_cancelled(player):
    before = cancelled(player)
    connection, identifier = player.begin("every_wait")
    if player.rev == "E" and player.way == "http":
        connection.close()  # the client that hangs up has cancelled
    else:
        # A pipe keeps the order; elsewhere a cancellation finds the call or comes again.
        deadline = time.monotonic() + DEADLINE_S
        while cancelled(player) == before and time.monotonic() < deadline:
            player.peer.notify("notifications/cancelled", {"requestId": identifier})
    wait_until(lambda: cancelled(player) == before + 1)


def test_a_task_being_cancelled(player):
    if player.rev not in "DE":
        assert "tasks" not in str(player._exchange("ping", {}))
        return
    before = cancelled(player)
    params = {"name": "every_wait", "arguments": {}, **({"task": {}} if player.rev == "D" else {})}
    result = player._exchange("tools/call", params, True)["result"]
    task = result["task"]["taskId"] if player.rev == "D" else result["taskId"]
    player._exchange("tasks/cancel", {"taskId": task}, True)
    assert player._exchange("tasks/get", {"taskId": task}, True)["result"]["status"] == "cancelled"
    wait_until(lambda: cancelled(player) == before + 1)
