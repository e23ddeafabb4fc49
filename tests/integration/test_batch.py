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


@pytest.mark.parametrize("letter", "ACD")
def test_other_revisions_have_none_on_a_pipe(stdio, letter):
    pipe = stdio(rev=letter).open()
    pipe.write(compact([PING]) + b"\n")
    assert pipe.recv()["error"]["code"] == -32600
    assert pipe.request("ping") == {}
