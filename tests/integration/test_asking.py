"""Questions to the client: sampling, elicitation, roots. Who may answer, when, and how often."""

import re
import time

import pytest

from http_client import EventStream
from mcp_client import Client, compact
from wire_schema import LEGACY

pytestmark = pytest.mark.asan

PROMPT = {"prompt": "What is a pillion?"}
MESSAGE = {"message": "Who are you?"}
SAMPLED = {"role": "assistant", "model": "test-model", "stopReason": "endTurn",
           "content": {"type": "text", "text": "A seat for two."}}
FORM = {"username": "ada", "email": "ada@example.com"}
ACCEPTED = {"action": "accept", "content": FORM}
ROOTS = {"roots": [{"uri": "file:///home/ada", "name": "Home"}, {"uri": "file:///srv"}]}
URL_MODE = {"elicitation": {"url": {}}}
# Tool, arguments, method, answer: one of each kind of question.
KINDS = {
    "sampling": ("test_sampling", PROMPT, "sampling/createMessage", SAMPLED),
    "elicitation": ("test_elicitation", MESSAGE, "elicitation/create", ACCEPTED),
    "roots": ("test_roots", {}, "roots/list", ROOTS),
}
TOOLS = ["test_sampling", "test_elicitation", "test_elicitation_sep1034_defaults",
         "test_elicitation_sep1330_enums", "test_visit_page", "test_roots", "test_ask_briefly"]
ARGUMENTS = {"test_sampling": PROMPT, "test_elicitation": MESSAGE}


class HttpCall:
    """A call whose messages come on an event stream of its own."""

    def __init__(self, client, tool, arguments):
        self.client = client
        self.connection, self.id = client.begin(
            "tools/call", {"name": tool, "arguments": arguments})
        self.stream = None

    def message(self):
        if self.stream is None:
            response = self.connection.read_head()
            assert response.media_type == "text/event-stream", response
            self.stream = EventStream(self.connection, response)
        return self.client.next_message(self.stream)

    def result(self):
        message = self.message()
        assert message["id"] == self.id, message
        assert self.message() is None
        return message["result"]


class PipeCall:
    """A call whose messages come among others; only one at a time is looked at."""

    def __init__(self, pipe, tool, arguments):
        self.pipe = pipe
        message = pipe.compose("tools/call", {"name": tool, "arguments": arguments})
        self.id = message["id"]
        pipe.send(message)

    def message(self):
        return self.pipe.recv()

    def result(self):
        message = self.message()
        assert message["id"] == self.id and "result" in message, message
        return message["result"]


def begin(peer, tool, arguments=None):
    kind = HttpCall if isinstance(peer, Client) else PipeCall
    return kind(peer, tool, arguments or ARGUMENTS.get(tool, {}))


def question(call, method):
    """The next message, which asks for `method`."""
    message = call.message()
    assert message.get("method") == method and "id" in message, message
    assert isinstance(message["id"], str) and len(message["id"]) >= 16
    return message


def answer(peer, asked, connection=None, **outcome):
    """Answers; over HTTP that is always accepted, whether or not anybody waits."""
    if isinstance(peer, Client):
        reply = peer.respond(asked["id"], connection=connection, **outcome)
        assert (reply.status, reply.message) == (202, None), reply.response
    else:
        peer.respond(asked["id"], **outcome)


def text_of(result):
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def failure_of(result):
    """What the tool told of a question that failed."""
    assert result.get("isError") is True, result
    return result["content"][0]["text"]


def refused_at_once(peer, tool):
    """The tool fails, and the client is asked nothing."""
    params = {"name": tool, "arguments": ARGUMENTS.get(tool, {})}
    if isinstance(peer, Client):
        reply = peer.call("tools/call", params)
        assert reply.before == []
        return failure_of(reply.result)
    reply, before = peer.call("tools/call", params)
    assert before == []
    return failure_of(reply["result"])


def rev_has(kind, rev):
    return rev in "CD" if kind == "elicitation" else rev in LEGACY


@pytest.fixture
def make_peer(make_client, make_sse, stdio):
    """An introduced client over any transport."""
    def run(way, rev, capabilities=None):
        if way == "http":
            return make_client(rev, capabilities=capabilities).open()
        make = make_sse if way == "sse" else stdio
        return make(rev=rev, capabilities=capabilities).open()
    return run


@pytest.fixture(params=["http", "stdio", "sse"])
def way(request):
    return request.param


@pytest.fixture
def asker(make_client):
    return make_client("D").open()


def pairs():
    return [(kind, rev) for kind in KINDS for rev in LEGACY if rev_has(kind, rev)]


# ---- round trips ----

@pytest.mark.parametrize("rev", LEGACY)
def test_sampling(make_peer, way, rev):
    peer = make_peer(way, rev)
    call = begin(peer, "test_sampling")
    asked = question(call, "sampling/createMessage")
    assert asked["params"] == {"maxTokens": 100, "messages": [
        {"role": "user", "content": {"type": "text", "text": PROMPT["prompt"]}}]}
    answer(peer, asked, result=SAMPLED)
    assert text_of(call.result()) == "LLM response: A seat for two."


@pytest.mark.parametrize("rev", "CD")
def test_a_form(make_peer, way, rev):
    peer = make_peer(way, rev)
    call = begin(peer, "test_elicitation")
    asked = question(call, "elicitation/create")
    params = asked["params"]
    assert params["message"] == MESSAGE["message"]
    assert params.get("mode") == ("form" if rev == "D" else None)
    assert params["requestedSchema"]["required"] == ["username", "email"]
    assert set(params["requestedSchema"]["properties"]) == {"username", "email"}
    answer(peer, asked, result=ACCEPTED)
    text = text_of(call.result())
    assert text.startswith("User response: action=accept") and "ada@example.com" in text


@pytest.mark.parametrize("rev", LEGACY)
def test_roots(make_peer, way, rev):
    peer = make_peer(way, rev)
    call = begin(peer, "test_roots")
    answer(peer, question(call, "roots/list"), result=ROOTS)
    text = text_of(call.result())
    assert "file:///home/ada" in text and "file:///srv" in text


def test_a_page(make_peer, way):
    peer = make_peer(way, "D", URL_MODE)
    call = begin(peer, "test_visit_page")
    asked = question(call, "elicitation/create")
    params = asked["params"]
    assert (params["mode"], params["url"]) == ("url", "https://example.com/sign-in")
    assert params["elicitationId"] and "requestedSchema" not in params
    answer(peer, asked, result={"action": "accept"})
    assert text_of(call.result()).startswith("Page: action=accept")


def test_defaults_reach_the_client(asker):
    call = begin(asker, "test_elicitation_sep1034_defaults")
    asked = question(call, "elicitation/create")
    fields = asked["params"]["requestedSchema"]["properties"]
    assert {name: field["default"] for name, field in fields.items()} == {
        "name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True}
    answer(asker, asked, result={"action": "accept", "content": {"age": 31, "verified": False}})
    assert "31" in text_of(call.result())


def test_choices_of_every_form(asker):
    call = begin(asker, "test_elicitation_sep1330_enums")
    content = {"untitledSingle": "option2", "titledSingle": "value3", "legacyEnum": "opt1",
               "untitledMulti": ["option1", "option3"], "titledMulti": []}
    answer(asker, question(call, "elicitation/create"),
           result={"action": "accept", "content": content})
    assert "option3" in text_of(call.result())


def test_a_big_answer(make_peer, way):
    peer = make_peer(way, "D")
    call = begin(peer, "test_sampling")
    text = "\u00e9\U0001f98a\\\"\n" * 40_000
    answer(peer, question(call, "sampling/createMessage"),
           result={**SAMPLED, "content": {"type": "text", "text": text}})
    assert text_of(call.result()) == "LLM response: " + text


def test_an_answer_of_several_blocks(asker):
    call = begin(asker, "test_sampling")
    blocks = [{"type": "image", "data": "AAAA", "mimeType": "image/png"},
              {"type": "text", "text": "found"}]
    answer(asker, question(call, "sampling/createMessage"),
           result={**SAMPLED, "content": blocks})
    assert text_of(call.result()) == "LLM response: found"


# ---- what the client cannot do is not asked of it ----

@pytest.mark.row(59)
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("rev", LEGACY)
def test_without_the_capability_nothing_is_sent(make_peer, way, rev, tool):
    assert refused_at_once(make_peer(way, rev, {}), tool)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS
                                  if tool not in ("test_sampling", "test_roots")])
@pytest.mark.parametrize("rev", "AB")
def test_early_revisions_know_no_elicitation(make_peer, way, rev, tool):
    capabilities = {"elicitation": {"form": {}, "url": {}}}
    assert refused_at_once(make_peer(way, rev, capabilities), tool)


@pytest.mark.parametrize("rev,declared", [("C", {}), ("C", {"url": {}}), ("D", {}),
                                          ("D", {"form": {}})])
def test_pages_are_for_who_declares_them(make_peer, way, rev, declared):
    assert refused_at_once(make_peer(way, rev, {"elicitation": declared}), "test_visit_page")


@pytest.mark.parametrize("declared", [{}, {"form": {}}, {"form": {}, "url": {}}], ids=str)
def test_an_empty_declaration_means_forms(make_peer, declared):
    peer = make_peer("http", "D", {"elicitation": declared})
    call = begin(peer, "test_elicitation")
    answer(peer, question(call, "elicitation/create"), result={"action": "decline"})
    assert "decline" in text_of(call.result())


def test_pages_alone_mean_no_forms(make_peer, way):
    assert refused_at_once(make_peer(way, "D", URL_MODE), "test_elicitation")


@pytest.mark.parametrize("tool", TOOLS)
def test_modern_clients_get_no_requests(make_client, stdio, tool):
    """They are asked by way of the answer (test_rounds.py), or not at all."""
    capabilities = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}
    params = {"name": tool, "arguments": ARGUMENTS.get(tool, {})}
    client = make_client("E")
    asked = client.call("tools/call", params, capabilities=capabilities)
    assert asked.result["resultType"] == "input_required" and not asked.before
    refused = make_client("E").call("tools/call", params, capabilities={})
    assert (refused.status, refused.error.code) == (400, -32021) and not refused.before
    pipe = stdio(rev="E", capabilities=capabilities)
    reply, before = pipe.call("tools/call", params, capabilities=capabilities)
    assert before == [] and reply["result"]["resultType"] == "input_required"


# ---- what a client may answer ----

@pytest.mark.parametrize("action,read", [("decline", "decline"), ("reject", "decline"),
                                         ("cancel", "cancel")])
@pytest.mark.parametrize("tool", ["test_elicitation", "test_visit_page"])
def test_a_user_who_does_not_accept(make_peer, tool, action, read):
    peer = make_peer("http", "D", {"elicitation": {"form": {}, "url": {}}})
    call = begin(peer, tool)
    answer(peer, question(call, "elicitation/create"), result={"action": action})
    assert f"action={read}," in text_of(call.result())


@pytest.mark.parametrize("content", [
    ..., None, [], "ada", {}, {"username": "ada"}, {"username": "ada", "email": 7},
    {"username": None, "email": "x"}, {"username": ["ada"], "email": "x"}], ids=str)
def test_content_that_does_not_fit_the_form(make_peer, way, content):
    peer = make_peer(way, "D")
    call = begin(peer, "test_elicitation")
    result = {"action": "accept", **({} if content is ... else {"content": content})}
    answer(peer, question(call, "elicitation/create"), result=result)
    assert "fit" in failure_of(call.result())


@pytest.mark.parametrize("content", [
    {"age": "30"}, {"age": 30.5}, {"score": True}, {"verified": "yes"}, {"status": "unknown"}],
    ids=str)
def test_values_of_the_wrong_kind(asker, content):
    call = begin(asker, "test_elicitation_sep1034_defaults")
    answer(asker, question(call, "elicitation/create"),
           result={"action": "accept", "content": content})
    assert failure_of(call.result())


@pytest.mark.parametrize("content", [
    {"untitledSingle": "option4"}, {"titledSingle": "First Option"}, {"legacyEnum": "Option One"},
    {"untitledMulti": "option1"}, {"untitledMulti": ["option4"]}, {"titledMulti": ["x"]}],
    ids=str)
def test_choices_that_were_not_offered(asker, content):
    call = begin(asker, "test_elicitation_sep1330_enums")
    answer(asker, question(call, "elicitation/create"),
           result={"action": "accept", "content": content})
    assert failure_of(call.result())


@pytest.mark.parametrize("kind,result", [
    ("sampling", {}), ("sampling", {"content": "text"}), ("sampling", {"content": None}),
    ("elicitation", {}), ("elicitation", {"action": "agree", "content": FORM}),
    ("elicitation", {"action": None}), ("elicitation", {"action": ["accept"]}),
    ("roots", {}), ("roots", {"roots": None}), ("roots", {"roots": {}})], ids=str)
def test_a_malformed_result(asker, kind, result):
    tool, _, method, _ = KINDS[kind]
    call = begin(asker, tool)
    answer(asker, question(call, method), result=result)
    assert "malformed" in failure_of(call.result())


@pytest.mark.parametrize("code", [-1, -32601, -32602, -32603, 7])
@pytest.mark.parametrize("kind,rev", pairs())
def test_an_error_for_an_answer(make_client, kind, rev, code):
    client = make_client(rev).open()
    tool, _, method, _ = KINDS[kind]
    call = begin(client, tool)
    answer(client, question(call, method), error={"code": code, "message": "User rejected"})
    assert failure_of(call.result())


# ---- who may answer, and when ----

@pytest.mark.parametrize("identifier", [
    "unknown", "", "q-", "q-00", "q-zz" + "0" * 24, "q-00" + "0" * 24, "q-ff" + "0" * 24,
    "q-00" + "0" * 25, "Q-00" + "0" * 24, "q-01" + "g" * 24, "x" * 200, 0, 1, -1, 2**53], ids=str)
def test_an_answer_to_nothing_is_dropped(legacy, identifier):
    reply = legacy.respond(identifier, result={})
    assert (reply.status, reply.message) == (202, None)
    assert legacy.request("ping") == {}


@pytest.mark.parametrize("member", [
    {"id": None, "result": {}}, {"id": 1.5, "result": {}}, {"id": [], "result": {}},
    {"id": {}, "result": {}}, {"id": True, "result": {}}, {"result": {}}], ids=str)
def test_an_answer_with_a_malformed_id(asker, member):
    call = begin(asker, "test_roots")
    asked = question(call, "roots/list")
    reply = asker.post(compact({"jsonrpc": "2.0", **member}))
    assert reply.status in (202, 400)
    answer(asker, asked, result=ROOTS)
    assert text_of(call.result())


@pytest.mark.parametrize("change", [
    lambda i: i[:-1], lambda i: i + "0", lambda i: i.upper(), lambda i: i[::-1],
    lambda i: i[:-1] + ("0" if i[-1] != "0" else "1"), lambda i: " " + i])
def test_nearly_the_right_id(asker, change):
    call = begin(asker, "test_roots")
    asked = question(call, "roots/list")
    asker.respond(change(asked["id"]), result={"roots": []})
    answer(asker, asked, result=ROOTS)
    assert "file:///srv" in text_of(call.result())


def test_a_session_cannot_answer_for_another(make_client):
    owner, other = make_client("D").open(), make_client("D").open()
    call = begin(owner, "test_roots")
    asked = question(call, "roots/list")
    for _ in range(8):
        answer(other, asked, connection=other.connect(), result={"roots": []})
    answer(owner, asked, result=ROOTS)
    assert "file:///srv" in text_of(call.result())


def test_a_stranger_cannot_answer(asker, make_client, make_sse):
    call = begin(asker, "test_roots")
    asked = question(call, "roots/list")
    assert make_client("D").respond(asked["id"], result={"roots": []}).status == 400
    unknown = make_client("D")
    unknown.session = "0" * 32
    assert unknown.respond(asked["id"], result={"roots": []}).status == 404
    assert make_client("E").respond(asked["id"], result={"roots": []}).status == 400
    make_sse("D").respond(asked["id"], result={"roots": []})  # before its initialize
    make_sse("D").open().respond(asked["id"], result={"roots": []})
    answer(asker, asked, result=ROOTS)
    assert "file:///srv" in text_of(call.result())


def test_the_first_answer_counts(make_peer, way):
    peer = make_peer(way, "D")
    call = begin(peer, "test_roots")
    asked = question(call, "roots/list")
    answer(peer, asked, result=ROOTS)
    answer(peer, asked, result={"roots": []})
    answer(peer, asked, error={"code": -1, "message": "no"})
    assert "file:///srv" in text_of(call.result())
    assert peer.request("ping") == {}


@pytest.mark.row(102)
@pytest.mark.parametrize("rev", "CD")
def test_a_late_answer_is_dropped(make_peer, way, rev):
    peer = make_peer(way, rev)
    call = begin(peer, "test_ask_briefly", {"ms": 100})
    asked = question(call, "elicitation/create")
    note = call.message()
    assert note["method"] == "notifications/cancelled"
    assert note["params"]["requestId"] == asked["id"]
    assert failure_of(call.result())
    answer(peer, asked, result={"action": "accept", "content": {}})
    assert peer.request("ping") == {}


def test_any_connection_may_carry_the_answer(asker):
    for _ in range(24):
        call = begin(asker, "test_sampling")
        asked = question(call, "sampling/createMessage")
        connection = asker.connect()
        answer(asker, asked, connection=connection, result=SAMPLED)
        assert text_of(call.result()) == "LLM response: A seat for two."
        call.connection.close()
        connection.close()


def test_parallel_questions_are_answered_in_reverse(make_client, legacy_rev):
    client = make_client(legacy_rev).open()
    calls = [begin(client, "test_sampling", {"prompt": str(i)}) for i in range(20)]
    asked = [question(call, "sampling/createMessage") for call in calls]
    ids = [message["id"] for message in asked]
    assert len(set(ids)) == len(ids)
    for i, message in enumerate(asked):
        assert message["params"]["messages"][0]["content"]["text"] == str(i)
    for i, message in reversed(list(enumerate(asked))):
        content = {"type": "text", "text": f"to {i}"}
        answer(client, message, result={**SAMPLED, "content": content})
    for i, call in enumerate(calls):
        assert text_of(call.result()) == f"LLM response: to {i}"


@pytest.mark.parametrize("way", ["stdio", "sse"])
def test_parallel_questions_on_one_pipe(make_peer, way):
    pipe = make_peer(way, "D")
    calls = {begin(pipe, "test_sampling", {"prompt": str(i)}).id: str(i) for i in range(10)}
    asked = [pipe.recv() for _ in calls]
    for message in reversed(asked):
        text = message["params"]["messages"][0]["content"]["text"]
        pipe.respond(message["id"], result={**SAMPLED, "content": {"type": "text", "text": text}})
    for _ in asked:
        message = pipe.recv()
        wanted = calls.pop(message["id"])
        assert text_of(message["result"]) == "LLM response: " + wanted
    assert not calls


@pytest.mark.parametrize("way", ["stdio", "sse"])
def test_a_pipe_full_of_questions_still_takes_answers(make_peer, way):
    pipe = make_peer(way, "D")
    calls = {begin(pipe, "test_roots").id for _ in range(128)}
    for message in [pipe.recv() for _ in calls]:
        pipe.respond(message["id"], result=ROOTS)
    assert {pipe.recv()["id"] for _ in calls} == calls


def test_ids_cannot_be_guessed(asker):
    ids = []
    for _ in range(30):
        call = begin(asker, "test_roots")
        asked = question(call, "roots/list")
        ids.append(asked["id"])
        answer(asker, asked, result=ROOTS)
        text_of(call.result())
    assert all(re.fullmatch(r"[\x21-\x7e]{16,128}", one) for one in ids)
    tails = [one[4:] for one in ids]
    for at in range(len(tails[0])):  # no place of the random part stays the same
        assert len({tail[at] for tail in tails}) > 1, ids


def test_members_of_a_batch_ask(make_client):
    client = make_client("B").open()
    members = [client.compose("tools/call", {"name": "test_roots"}) for _ in range(3)]
    connection = client.connect()
    connection.send_request("POST", "/mcp", client.headers(), compact(members))
    stream = EventStream(connection, connection.read_head())
    asked = [client.next_message(stream) for _ in members]
    assert {message["method"] for message in asked} == {"roots/list"}
    reply = client.post(compact([{"jsonrpc": "2.0", "id": message["id"], "result": ROOTS}
                                 for message in asked]))
    assert (reply.status, reply.message) == (202, None)
    found = []
    for message in client.messages(stream):
        found += message if isinstance(message, list) else [message]
    assert {m["id"] for m in found} == {member["id"] for member in members}
    assert all("file:///srv" in text_of(m["result"]) for m in found)


# ---- time, and ends that come early ----

@pytest.mark.parametrize("rev", "AD")
def test_the_time_of_a_question_is_not_the_call_s(start, make_client, rev):
    client = make_client(rev, of=start("--request-timeout", "1s", "--threads", 2)).open()
    call = begin(client, "test_sampling")
    asked = question(call, "sampling/createMessage")
    time.sleep(1.5)
    answer(client, asked, result=SAMPLED)
    assert text_of(call.result()) == "LLM response: A seat for two."


def test_the_deadline_counts_again_after_a_question(start, make_client):
    client = make_client("D", of=start("--request-timeout", "500ms")).open()
    call = begin(client, "test_roots")
    answer(client, question(call, "roots/list"), result=ROOTS)
    assert text_of(call.result())
    assert client.tool("test_slow", {"ms": 20_000}).error.code == -32004


def test_a_cancelled_call_asks_no_more(make_peer, way):
    peer = make_peer(way, "D")
    call = begin(peer, "test_roots")
    asked = question(call, "roots/list")
    peer.notify("notifications/cancelled", {"requestId": call.id})
    if way == "http":
        rest = list(iter(call.message, None))
    else:
        _, rest = peer.call("ping")
    for message in rest:  # at most: the question is taken back
        assert message["method"] == "notifications/cancelled"
        assert message["params"]["requestId"] == asked["id"]
    answer(peer, asked, result=ROOTS)
    assert peer.request("ping") == {}


def test_the_end_of_the_session_ends_the_question(start, make_client):
    running = start("--threads", 2)
    for _ in range(6):
        client = make_client("D", of=running).open()
        call = begin(client, "test_roots")
        asked = question(call, "roots/list")
        assert client.delete().status == 204
        for message in iter(call.message, None):
            assert message.get("id") == call.id or \
                message["params"]["requestId"] == asked["id"], message
        assert client.respond(asked["id"], result=ROOTS).status == 404


def test_an_answer_after_the_caller_has_left(start, make_client):
    running = start("--threads", 2)
    client = make_client("D", of=running).open()
    for _ in range(6):
        call = begin(client, "test_roots")
        asked = question(call, "roots/list")
        call.connection.close()
        answer(client, asked, connection=client.connect(), result=ROOTS)
    assert client.request("ping") == {}


def test_a_question_survives_its_connection(make_client):
    client = make_client("D").open()
    call = begin(client, "test_roots")
    stream = EventStream(call.connection, call.connection.read_head())
    first = stream.next_event()
    assert first.id and not first.data
    call.connection.close()
    again = client.open_stream(extra=(("Last-Event-ID", first.id),))
    asked = client.next_message(again)
    assert asked["method"] == "roots/list"
    answer(client, asked, result=ROOTS)
    message = client.next_message(again)
    assert message["id"] == call.id and "file:///srv" in text_of(message["result"])


def test_open_questions_do_not_hold_up_the_end(start, make_client, make_sse):
    running = start("--threads", 2, "--drain-timeout", "1s")
    client = make_client("D", of=running).open()
    calls = [begin(client, "test_roots") for _ in range(4)]
    for call in calls:
        question(call, "roots/list")
    stream = make_sse("D", of=running).open()
    question(begin(stream, "test_roots"), "roots/list")
    left = begin(client, "test_sampling")
    question(left, "sampling/createMessage")
    left.connection.close()
    running.stop()


def test_the_end_of_the_input_ends_the_question(stdio):
    pipe = stdio().open()
    question(begin(pipe, "test_roots"), "roots/list")
    pipe.close()
