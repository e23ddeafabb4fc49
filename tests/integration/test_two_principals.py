"""Two callers with tokens of the same issuer: nothing of one is to be had, seen, stopped or
answered by the other, and what is somebody else's looks exactly like what is nobody's."""

import json
import time

import pytest

from bearer import client_of
from http_client import Connection, EventStream
from mcp_client import CAPABILITIES, LegacySse, RpcError, compact, modern_params
from server_process import Server, fixture_bin
from tokens import Issuer
from wire_schema import TASKS, VERSIONS

pytestmark = [pytest.mark.asan, pytest.mark.tls]

ABLE = {**CAPABILITIES, "elicitation": {"form": {}}, "extensions": {TASKS: {}}}
CONFIG = """
limits: {result: 64KiB, kept_results: 4MiB}
tools:
  echo: {scopes: [alices]}
  test_simple_text: {scopes: [alices]}
  test_image_content: {scopes: [alices]}
  greet: {scopes: [bobs]}
"""
NOBODYS_SESSION = "a" * 27
NOBODYS_TASK = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
SECRET = "what only alice may know"
LONG = {"name": "slow_compute", "arguments": {"seconds": 20, "label": SECRET}}
SHORT = {"name": "slow_compute", "arguments": {"seconds": 0.2, "label": SECRET}}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="module")
def shared(io, issuer, tmp_path_factory):
    config = tmp_path_factory.mktemp("shared") / "fixture.yaml"
    config.write_text(CONFIG, encoding="ascii")
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, *issuer.flags,
                     "--config", config)
    yield running
    running.stop()


@pytest.fixture
def people(shared, issuer):
    """Makes alice and bob, as clients of a revision."""
    tokens = {"alice": issuer.token("alice", scope="alices"),
              "bob": issuer.token("bob", scope="bobs")}
    made = []

    def run(rev):
        made.extend(client_of(shared, tokens[name], rev, capabilities=ABLE) for name in tokens)
        return made[-2:]

    run.tokens = tokens
    yield run
    for client in made:
        client.close()


def failure(client, method, params):
    with pytest.raises(RpcError) as caught:
        client.request(method, params)
    return caught.value


def same_failure(client, method, make, theirs, nobodys):
    """What belongs to somebody else fails as what does not exist."""
    one, other = (failure(client, method, make(name)) for name in (theirs, nobodys))
    differing = [json.dumps(e.data or {}).replace(name, "") for e, name in
                 ((one, theirs), (other, nobodys))]
    plain = [json.loads(text) for text in differing]
    for data in plain:
        data.pop("requestId", None)
    assert (one.code, one.message.replace(theirs, ""), plain[0]) == (
        other.code, other.message.replace(nobodys, ""), plain[1])
    return one


def working(client, task):
    return client.request("tasks/get", {"taskId": task})["status"] == "working"


# ---- sessions ----

@pytest.mark.parametrize("rev", "BCD")
def test_the_id_of_a_session_lets_nobody_in(people, rev):
    alice, bob = people(rev)
    mine = bob.session

    def tried(session):
        """Everything that can be sent into a session; the statuses and bodies."""
        bob.session, said = session, []
        replies = [bob.call("tools/list"), bob.call("resources/subscribe",
                                                    {"uri": "test://watched-resource"}),
                   bob.notify("notifications/cancelled", {"requestId": 1}),
                   bob.respond("x" * 20, result={})]
        said += [(r.status, r.message and r.message["error"]["message"]) for r in replies]
        if rev == "B":
            reply = bob.post(compact([bob.compose("tools/list")]))
            said.append((reply.status, reply.message["error"]["message"]))
        for method in ("GET", "DELETE"):
            response = bob.connect().request(method, "/mcp", bob.headers(
                extra=[("Accept", "text/event-stream"), ("Content-Type", None)]))
            said.append((response.status, response.json()["error"]["message"]))
        return said

    theirs = tried(alice.session)
    assert {status for status, _ in theirs} == {404} and theirs == tried(NOBODYS_SESSION)
    bob.session = mine
    assert alice.request("tools/list")["tools"] and bob.request("tools/list")["tools"]


def test_a_session_named_in_the_modern_form_is_not_had_either(people):
    """The version of an earlier revision in `_meta` leads to the session of the header
    (AMBIGUITIES G5), which once did not ask whose it is."""
    alice, bob = people("D")

    def tried(client, session):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                "params": modern_params(None, version=VERSIONS["D"])}
        with Connection(client.address) as connection:
            return connection.request("POST", "/mcp", [
                ("Content-Type", "application/json"), ("Mcp-Session-Id", session),
                ("Accept", "application/json, text/event-stream"),
                ("Authorization", f"Bearer {client.token}")], compact(body))

    assert tried(alice, alice.session).status == 200
    theirs, nobodys = tried(bob, alice.session), tried(bob, NOBODYS_SESSION)
    assert theirs.status == nobodys.status >= 400
    assert theirs.error_code() == nobodys.error_code()


def test_a_connection_that_both_use_remembers_for_neither(people):
    """As behind a proxy, which sends everybody's requests on the connections it has."""
    alice, bob = people("D")
    with Connection(alice.address) as connection:
        for client, session, status in ((alice, alice, 200), (bob, alice, 404), (bob, bob, 200),
                                        (alice, bob, 404), (alice, alice, 200)):
            headers = [pair for pair in client.headers() if pair[0] != "Mcp-Session-Id"]
            response = connection.request(
                "POST", "/mcp", [*headers, ("Mcp-Session-Id", session.session)],
                compact({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}))
            assert response.status == status, (client.token, response)


def test_a_stream_of_2024_11_05_takes_its_owner_s_messages_only(shared, people):
    header = {name: ("Authorization", f"Bearer {token}") for name, token in people.tokens.items()}
    stream = LegacySse(shared.address, extra=[header["alice"]])
    json_type = ("Content-Type", "application/json")
    body = b'{"jsonrpc":"2.0","id":77,"method":"ping"}'
    with Connection(shared.address) as other:
        theirs = stream.post(body, other, (json_type, header["bob"]))
        stream.target = stream.target[:-5] + "aaaaa"
        assert (theirs.status, theirs.error_code()) == (404, -32600)
        assert stream.post(body, other, (json_type, header["bob"])).status == 404
    stream.close()


# ---- tasks ----

def test_tasks_of_2026(people):
    alice, bob = people("E")
    task = alice.request("tools/call", LONG)["taskId"]
    for method, more in (("tasks/get", {}), ("tasks/cancel", {}),
                         ("tasks/update", {"inputResponses": {}})):
        same_failure(bob, method, lambda name, more=more: {"taskId": name, **more}, task,
                     NOBODYS_TASK)
    assert working(alice, task)
    assert alice.request("tasks/cancel", {"taskId": task}) is not None


def test_tasks_of_2025(people):
    alice, bob = people("D")
    tasks = [alice.request("tools/call", {**LONG, "task": {}})["task"]["taskId"]
             for _ in range(3)]
    own = bob.request("tools/call", {**LONG, "task": {}})["task"]["taskId"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        same_failure(bob, method, lambda name: {"taskId": name}, tasks[0], NOBODYS_TASK)
    assert [one["taskId"] for one in bob.request("tasks/list")["tasks"]] == [own]
    assert all(working(alice, task) for task in tasks)
    for client, name in ((alice, task) for task in tasks):
        client.request("tasks/cancel", {"taskId": name})
    bob.request("tasks/cancel", {"taskId": own})


def test_nobody_is_told_of_another_s_task(people):
    alice, bob = people("E")
    task = alice.request("tools/call", SHORT)["taskId"]
    stream, _, acknowledged = bob.listen(taskIds=[task])
    assert acknowledged["notifications"].get("taskIds") in (None, [])
    own, _, acknowledged = alice.listen(taskIds=[task])
    assert acknowledged["notifications"]["taskIds"] == [task]
    while alice.request("tasks/get", {"taskId": task})["status"] == "working":
        time.sleep(0.02)
    assert alice.next_message(own)["params"]["taskId"] == task
    # What bob hears next is what everybody hears.
    other, _, _ = bob.listen(toolsListChanged=True)
    alice.tool_text("test_trigger_tool_change")
    assert bob.next_message(other)["method"] == "notifications/tools/list_changed"
    stream.connection.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        stream.next_event()


# ---- subscriptions, progress, cancellation, questions ----

def test_a_subscription_is_of_one_session(people):
    alice, bob = people("D")
    alice.request("resources/subscribe", {"uri": "test://watched-resource"})
    streams = {client: client.open_stream() for client in (alice, bob)}
    for client, stream in streams.items():
        client.take_event(stream.next_event())  # an id to come back with
    bob.tool_text("test_touch_resource", {"uri": "test://watched-resource"})
    alice.tool_text("test_trigger_tool_change")
    heard = [alice.next_message(streams[alice])["method"] for _ in range(2)]
    assert heard == ["notifications/resources/updated", "notifications/tools/list_changed"]
    assert bob.next_message(streams[bob])["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("rev", "BCDE")
def test_nobody_cancels_another_s_call(people, rev):
    alice, bob = people(rev)
    params = {"name": "test_tool_with_progress", "arguments": {}}
    connection, identifier = alice.begin("tools/call", params, meta={"progressToken": "t"})
    stream = EventStream(connection, connection.read_head())
    for reason in (identifier, str(identifier)):
        assert bob.notify("notifications/cancelled", {"requestId": reason}).status == 202
    messages = list(alice.messages(stream))
    assert messages[-1]["id"] == identifier and "result" in messages[-1]


def test_nobody_answers_another_s_question(people):
    alice, bob = people("D")
    connection, identifier = alice.begin("tools/call", {
        "name": "test_elicitation", "arguments": {"message": "Who?"}})
    stream = EventStream(connection, connection.read_head())
    asked = alice.next_message(stream)
    while asked is None or "method" not in asked:
        asked = alice.next_message(stream)
    forged = {"action": "accept", "content": {"username": "mallory", "email": "m@example.com"}}
    assert bob.respond(asked["id"], result=forged).status == 202  # nobody waits for it there
    mine, bob.session = bob.session, alice.session
    assert bob.respond(asked["id"], result=forged).status == 404
    bob.session = mine
    answer = {"action": "accept", "content": {"username": "ada", "email": "a@example.com"}}
    assert alice.respond(asked["id"], result=answer).status == 202
    last = list(alice.messages(stream))[-1]
    assert "ada" in json.dumps(last) and "mallory" not in json.dumps(last)


@pytest.mark.parametrize("rev", "BCD")
def test_an_event_id_gives_nothing_of_another_s_stream(people, rev):
    alice, bob = people(rev)
    params = {"name": "test_tool_with_progress", "arguments": {}}
    connection, _ = alice.begin("tools/call", params, meta={"progressToken": SECRET})
    stream = EventStream(connection, connection.read_head())
    ids = []
    while (event := stream.next_event()) is not None:
        ids.append(event.id)
    assert len(ids) >= 3
    for last in ids:
        response = bob.connect()
        response.send_request("GET", "/mcp", bob.headers(extra=[
            ("Content-Type", None), ("Accept", "text/event-stream"), ("Last-Event-ID", last)]))
        head = response.read_head()
        # His own session has no such event; were there one, it would be his.
        assert head.status == 400, head


# ---- what the server hands out and takes back ----

def test_the_state_of_a_round_is_good_for_whom_it_was_sealed(people):
    alice, bob = people("E")
    call = {"name": "test_input_required_result_elicitation", "arguments": {}}
    first = alice.request("tools/call", call)
    answers = {"user_name": {"action": "accept", "content": {"name": "Mallory"}}}
    again = {**call, "inputResponses": answers, "requestState": first["requestState"]}
    refused = failure(bob, "tools/call", again)
    assert refused.code == -32602 and refused.data["field"] == "requestState"
    own = bob.request("tools/call", call)
    assert own["requestState"] != first["requestState"]
    refused = failure(alice, "tools/call", {**again, "requestState": own["requestState"]})
    assert refused.code == -32602
    assert "Mallory" in alice.request("tools/call", again)["content"][0]["text"]


def test_a_result_that_was_kept_is_read_by_whom_it_was_for(people):
    for rev in "DE":
        alice, bob = people(rev)
        result = alice.request("tools/call", {"name": "test_big",
                                              "arguments": {"bytes": 200_000}})
        link = next(one["uri"] for one in result["content"] if one["type"] == "resource_link")
        nobodys = link[:-5] + "AAAAA"
        same_failure(bob, "resources/read", lambda uri: {"uri": uri}, link, nobodys)
        same_failure(bob, "resources/read", lambda uri: {"uri": uri + "?part=2"}, link, nobodys)
        assert alice.request("resources/read", {"uri": link})["contents"]


def pages(client, params=None):
    """Every page of the list of tools, as names, and the cursors between."""
    params, names, cursors = dict(params or {}), [], []
    while True:
        result = client.request("tools/list", params)
        if client.rev == "E":
            assert result["cacheScope"] == "private"
        names.append([tool["name"] for tool in result["tools"]])
        if "nextCursor" not in result:
            return names, cursors
        cursors.append(result["nextCursor"])
        params["cursor"] = result["nextCursor"]


@pytest.mark.parametrize("rev", "DE")
def test_a_cursor_shows_nobody_another_s_list(people, rev):
    alice, bob = people(rev)
    (hers, cursors), (his, others) = pages(alice), pages(bob)
    all_hers, all_his = sum(hers, []), sum(his, [])
    assert {"echo", "test_simple_text", "test_image_content"} <= set(all_hers) - set(all_his)
    assert "greet" in set(all_his) - set(all_hers)
    assert cursors and others
    for cursor in cursors:
        assert set(sum(pages(bob, {"cursor": cursor})[0], [])) <= set(all_his)
    for cursor in others:
        assert set(sum(pages(alice, {"cursor": cursor})[0], [])) <= set(all_hers)


def test_a_cursor_in_a_list_of_tasks(people):
    alice, bob = people("D")
    tasks = {client: [client.request("tools/call", {**LONG, "task": {}})["task"]["taskId"]
                      for _ in range(2)] for client in (alice, bob)}
    for client, own in tasks.items():
        for name in own:
            client.request("tasks/cancel", {"taskId": name})
    page = alice.request("tasks/list")
    seen = {one["taskId"] for one in page["tasks"]}
    assert seen == set(tasks[alice])
    if "nextCursor" in page:
        result = bob.request("tasks/list", {"cursor": page["nextCursor"]})
        assert {one["taskId"] for one in result["tasks"]} <= set(tasks[bob])


def test_what_a_principal_is_called_is_not_confused(shared, issuer):
    """Names that would be the same if they were joined carelessly."""
    clients = [client_of(shared, issuer.token(name), "E", capabilities=ABLE)
               for name in ("alice", "alice ", "Alice", "alice|x", "alice\x00", "al\u0131ce")]
    task = clients[0].request("tools/call", SHORT)["taskId"]
    for other in clients[1:]:
        assert failure(other, "tasks/get", {"taskId": task}).code == -32602
    assert clients[0].request("tasks/get", {"taskId": task})
    for client in clients:
        client.close()


def test_the_same_person_with_another_token_is_the_same(shared, issuer):
    """Or else nobody's task would outlive a token."""
    first, second = (client_of(shared, issuer.token("alice", jti=str(n)), "E", capabilities=ABLE)
                     for n in range(2))
    task = first.request("tools/call", SHORT)["taskId"]
    assert second.request("tasks/get", {"taskId": task})["taskId"] == task
    first.close()
    second.close()
