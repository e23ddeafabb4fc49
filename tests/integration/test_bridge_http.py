"""MCP servers behind URLs: clients of every revision with servers of every revision, and what
happens when such a server forgets, breaks off or goes away."""

import pytest

from bridged import ABLE, NAME, REVISIONS, Remote, called, failed, text_of
from mcp_client import RpcError
from server_process import wait_until
from test_asking import answer, begin, question

pytestmark = pytest.mark.asan


@pytest.fixture
def remote(start_pillion, tmp_path):
    made = []

    def make(revision, more=""):
        made.append(Remote(start_pillion, tmp_path, revision))
        return made[-1].serve(more)
    yield make
    for one in made:
        one.stop()


@pytest.fixture(params=REVISIONS)
def inner(request):
    return request.param


def test_what_it_offers_works(remote, make_client, rev, inner):
    behind = remote(inner)
    client = make_client(rev, behind.server).open()
    assert called(client, "inner__echo", {"a": [1, {"b": "ü"}]}) == '{"a": [1, {"b": "\\u00fc"}]}'
    prompt = client.request("prompts/get", {"name": "inner__poem", "arguments": {"about": "x"}})
    assert prompt["messages"][0]["content"]["text"] == "Write about x"
    for uri in ("memo://one", "memo://by/ada"):
        read = client.request("resources/read", {"uri": uri})
        assert read["contents"][0]["text"] == "memo " + uri
    reply = client.call("tools/call", {"name": "inner__count", "arguments": {"to": 3, "pause": .2}},
                        meta={"progressToken": "mine"})
    assert text_of(reply.result) == "counted"
    told = reply.notifications("notifications/progress")
    assert told[-1]["progress"] == 3 and len(told) >= 2
    meta = {"io.modelcontextprotocol/logLevel": "debug"} if rev == "E" else None
    reply = client.call("tools/call", {"name": "inner__tell", "arguments": {}}, meta=meta)
    [said] = reply.notifications("notifications/message")
    assert (text_of(reply.result), said["data"]) == ("told", "careful")
    assert not [one for one in behind.journal() if one.startswith("bad field")]


def test_questions_reach_the_user(remote, make_client, rev, inner):
    behind = remote(inner)
    client = make_client(rev, behind.server, capabilities=ABLE).open()
    if rev in "AB":
        assert called(client, "inner__ask").startswith("nobody")
        return
    if rev == "E":
        first = client.call("tools/call", {"name": "inner__ask", "arguments": {}}).result
        [key] = first["inputRequests"]
        again = client.call("tools/call", {
            "name": "inner__ask", "arguments": {}, "inputResponses": {key: NAME},
            "requestState": first["requestState"]})
        assert text_of(again.result) == "Hello, Ada"
        return
    call = begin(client, "inner__ask")
    answer(client, question(call, "elicitation/create"), result=NAME)
    assert text_of(call.result()) == "Hello, Ada"


def test_cancellation_reaches_it(remote, make_client, rev, inner):
    behind = remote(inner)
    client = make_client(rev, behind.server).open()
    connection, identifier = client.begin("tools/call", {"name": "inner__wait", "arguments": {}})
    behind.wait_for("called wait")
    if rev == "E":
        connection.close()
    else:
        client.notify("notifications/cancelled", {"requestId": identifier, "reason": "enough"})
    behind.wait_for("cancelled")
    assert called(client, "inner__echo", {"still": "there"}) == '{"still": "there"}'


def test_changes_are_told(remote, make_client, rev, inner):
    behind = remote(inner)
    client = make_client(rev, behind.server).open()
    uri = "memo://one"
    if rev == "E":
        stream, _, _ = client.listen(resourceSubscriptions=[uri], toolsListChanged=True)
    else:
        stream = client.open_stream()
        client.request("resources/subscribe", {"uri": uri})
    behind.wait_for("subscribed " + uri)
    if inner in "BCD":
        behind.wait_for("reads")
    other = make_client("D", behind.server).open()
    assert called(other, "inner__touch", {"uri": uri}) == "touched"
    message = client.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == uri
    assert called(other, "inner__change", {"name": "echo2"}) == "changed"
    assert client.next_message(stream)["method"] == "notifications/tools/list_changed"
    wait_until(lambda: "inner__echo2" in names(client))


def names(client):
    found, cursor = [], {}
    while cursor is not None:
        page = client.request("tools/list", cursor)
        found += [one["name"] for one in page["tools"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    return found


# ---- what goes wrong ----

@pytest.mark.parametrize("inner", "BCD", indirect=True)
def test_a_session_that_it_has_forgotten_is_made_anew(remote, make_client, inner):
    behind = remote(inner)
    client = make_client("E", behind.server).open()
    for _ in range(3):
        assert called(client, "inner__forget") == "forgotten"
        # The call that meets it goes again, and its client hears nothing of that.
        assert called(client, "inner__echo", {"x": 1}) == '{"x": 1}'
    assert len([one for one in behind.journal() if one.startswith("initialized")]) == 4


# Its lists were those from before until the next change.
@pytest.mark.parametrize("inner", "BCD", indirect=True)
def test_what_changes_while_its_stream_is_away_is_seen(remote, make_client, inner):
    behind = remote(inner)
    client = make_client("E", behind.server).open()
    behind.wait_for("reads")
    assert called(client, "inner__cut", {"name": "echo2"}) == "cut"
    wait_until(lambda: "inner__echo2" in names(client))


@pytest.mark.parametrize("inner", "D", indirect=True)
def test_an_answer_is_taken_up_where_it_broke_off(remote, make_client, inner):
    behind = remote(inner)
    client = make_client("E", behind.server).open()
    assert called(client, "inner__polls") == "polled"
    assert any(one.startswith("reads ") for one in behind.journal())


@pytest.mark.parametrize("inner", "BCE", indirect=True)
def test_an_answer_that_breaks_off_is_an_error(remote, make_client, inner):
    client = make_client("E", remote(inner).server).open()
    error = failed(client, "inner__half")
    assert error.code == -32006 and "too early" in str(error)
    assert called(client, "inner__echo", {}) == "{}"


@pytest.mark.parametrize("inner", "BCDE", indirect=True)
def test_what_it_refuses_is_an_error(remote, make_client, inner):
    client = make_client("E", remote(inner).server).open()
    error = failed(client, "inner__refuse")
    assert error.code == -32006 and "503" in str(error)
    assert called(client, "inner__echo", {}) == "{}"


def test_one_that_goes_and_comes_back(remote, make_client, inner):
    behind = remote(inner)
    client = make_client("E", behind.server).open()
    assert called(client, "inner__echo", {}) == "{}"
    before = behind.server.descriptors()
    behind.stop()
    assert failed(client, "inner__echo").code == -32006
    # Its tools are still listed.
    assert "inner__echo" in names(client)
    behind.start_it(behind.port)

    def works():
        try:
            return called(client, "inner__echo", {}) == "{}"
        except RpcError as error:
            assert error.code == -32006
            return False
    wait_until(works, seconds=20)
    wait_until(lambda: behind.server.descriptors() <= before + 1)


@pytest.mark.parametrize("inner", "D", indirect=True)
def test_its_session_ends_with_us(remote, make_client, inner):
    behind = remote(inner)
    make_client("E", behind.server).open()
    behind.server.stop()
    assert "session ended" in behind.journal()


def test_one_that_is_not_there_harms_nobody(start_pillion, make_client, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("servers:\n  gone: {url: 'http://127.0.0.1:1/mcp'}\n"
                      "  odd: {url: 'http://no-such-host.invalid/', transport: sse}\n",
                      encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path)
    assert "it cannot be reached" in server.wait_for_log("bridge.down server=gone")
    assert "its host is not known" in server.wait_for_log("bridge.down server=odd")
    assert "echo" in names(make_client("E", server).open())
