"""Batches: 2025-03-26 has them, nobody else."""

import pytest

from http_client import EventStream
from mcp_client import CLIENT_INFO, compact

pytestmark = pytest.mark.asan

PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}
RESPONSE = {"jsonrpc": "2.0", "id": 99, "result": {}}


@pytest.fixture
def b(make_client):
    return make_client("B").open()


def send(client, members):
    for member in members:
        if isinstance(member, dict) and "method" in member and "id" in member:
            client.asked[member["id"]] = member["method"]
    return send_bytes(client, compact(members))


def send_bytes(client, body):
    connection = client.connect()
    connection.send_request("POST", "/mcp", client.headers(), body)
    response = connection.read_head()
    if response.media_type == "text/event-stream":
        found = []
        for message in client.messages(EventStream(connection, response)):
            found += message if isinstance(message, list) else [message]
        return response, found
    reply = client._read_body(connection, response)
    return response, reply.message


def by_id(found):
    return {message.get("id"): message for message in found}


@pytest.mark.row(18, 26)
def test_requests_are_all_answered(b):
    members = [b.compose("ping"), b.compose("tools/list"),
               b.compose("tools/call", {"name": "echo", "arguments": {"text": "x"}}),
               b.compose("unknown/method")]
    response, found = send(b, members)
    assert response.status == 200 and len(found) == 4
    answers = by_id(found)
    assert answers[members[0]["id"]]["result"] == {}
    assert answers[members[1]["id"]]["result"]["tools"]
    assert answers[members[2]["id"]]["result"]["content"][0]["text"] == "x"
    assert answers[members[3]["id"]]["error"]["code"] == -32601


def test_a_batch_of_one(b):
    _, found = send(b, [PING])
    assert by_id(found)["p"]["result"] == {}


def test_slow_and_quick_members(b):
    slow = b.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 100}})
    _, found = send(b, [slow, PING, NOTE])
    assert set(by_id(found)) == {slow["id"], "p"}


def test_progress_of_a_member(b):
    slow = b.compose("tools/call", {"name": "test_tool_with_progress"},
                     meta={"progressToken": "t"})
    response, found = send(b, [slow, PING])
    assert response.status == 200
    assert {slow["id"], "p"} <= {m.get("id") for m in found}


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_large_answers_beside_one_that_streams(b, first):
    """What had been gathered was sent at once, and the next message found so much unread output
    that the connection was cut before its head."""
    large = [b.compose("tools/call", {"name": "test_big", "arguments": {"bytes": 3_000_000}})
             for _ in range(8)]
    speaks = b.compose("tools/call", {"name": "test_tool_with_progress"},
                       meta={"progressToken": "t"})
    members = [speaks, *large] if first else [*large, speaks]
    response, found = send(b, members)
    assert response.status == 200
    answers = by_id(m for m in found if "id" in m)
    assert set(answers) == {m["id"] for m in members}
    for member in large:
        text = answers[member["id"]]["result"]["content"][0]["text"]
        assert len(text) == 3_000_000
    assert [m["params"]["progress"] for m in found if "params" in m][-1] == 100


def test_answers_of_a_batch_are_bounded(start, make_client, tmp_path):
    """They were gathered without any bound: a small request took as much memory as it liked, and
    the server ended where there was none left."""
    config = tmp_path / "small.yaml"
    config.write_text("limits: {request_memory: 8MiB, result: 1MiB, body: 512KiB}\n")
    client = make_client("B", of=start("--config", config)).open()
    members = [client.compose("tools/call", {"name": "test_big", "arguments": {"bytes": 900_000}})
               for _ in range(20)]
    _, found = send(client, members)
    answers = by_id(found)
    assert set(answers) == {m["id"] for m in members}
    refused = [m["error"] for m in found if "error" in m]
    assert len(refused) == 11
    assert {(e["code"], e["data"]["reason"]) for e in refused} == {(-32603, "too_large")}


@pytest.mark.parametrize("members", [[NOTE], [NOTE, NOTE], [RESPONSE], [RESPONSE, RESPONSE]],
                         ids=len)
def test_nothing_to_answer(b, members):
    response, found = send(b, members)
    assert response.status == 202 and found is None


def test_an_empty_batch_is_refused(b):
    response, found = send_bytes(b, b"[]")
    assert response.status == 400
    assert found["error"]["code"] == -32600


def test_bad_members_get_an_error_each(b):
    b.asked["p"] = "ping"
    response, found = send_bytes(b, b'[1, {"jsonrpc":"2.0","id":"p","method":"ping"}, {}, []]')
    assert response.status == 200
    codes = [m["error"]["code"] for m in found if "error" in m]
    assert codes == [-32600] * 3


def test_initialize_is_not_for_batches(b):
    hello = b.compose("initialize", {"protocolVersion": "2025-03-26", "capabilities": {},
                                     "clientInfo": CLIENT_INFO})
    response, found = send(b, [hello, PING])
    answers = by_id(found)
    assert answers[hello["id"]]["error"]["code"] == -32600
    assert response["Mcp-Session-Id"] in (None, b.session)


def test_a_batch_needs_its_session(make_client):
    client = make_client("B")
    response, found = send(client, [PING])
    assert response.status == 400 and found["error"]["code"] == -32600


def test_half_a_batch_is_a_parse_error(b):
    response, found = send_bytes(b, b'[{"jsonrpc":"2.0","id":1,"method":"ping"},')
    assert response.status == 400 and found["error"]["code"] == -32700


def test_batches_are_limited(b):
    members = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(100)]
    _, found = send(b, members)
    assert len(found) == 100
    response, found = send(b, members + [PING])
    assert response.status in (400, 413) and found["error"]["code"] in (-32600, -32005)


@pytest.mark.row(18, 26)
@pytest.mark.parametrize("letter", "ACDE")
def test_other_revisions_have_none(make_client, letter):
    client = make_client(letter).open()
    member = client.compose("tools/list")
    response, found = send(client, [member])
    assert response.status == 400 and found["error"]["code"] == -32600


def test_batches_on_a_pipe(stdio):
    pipe = stdio(rev="B").open()
    members = [pipe.compose("ping"), pipe.compose("tools/list")]
    for member in members:
        pipe.asked[member["id"]] = (member["method"], "B")
    pipe.write(compact(members) + b"\n")
    answer = pipe.recv(rev="B")
    found = answer if isinstance(answer, list) else [answer, pipe.recv(rev="B")]
    assert {message["id"] for message in found} == {member["id"] for member in members}
    pipe.write(compact([NOTE]) + b"\n")
    assert pipe.request("ping") == {}


@pytest.mark.parametrize("count, what", [(0, "empty"), (101, "many")])
def test_a_pipe_says_what_is_wrong_with_a_batch(stdio, count, what):
    """It said that the revision has none."""
    pipe = stdio(rev="B").open()
    pipe.write(compact([PING] * count) + b"\n")
    error = pipe.recv()["error"]
    assert error["code"] == -32600 and what in error["message"]


@pytest.mark.parametrize("letter", "ACD")
def test_other_revisions_have_none_on_a_pipe(stdio, letter):
    pipe = stdio(rev=letter).open()
    pipe.write(compact([PING]) + b"\n")
    assert pipe.recv()["error"]["code"] == -32600
    assert pipe.request("ping") == {}
