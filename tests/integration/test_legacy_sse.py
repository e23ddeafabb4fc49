"""The HTTP+SSE transport of 2024-11-05: a stream from /sse, messages posted beside it."""

import json
import re
import select
import socket

import pytest

from http_client import Connection
from mcp_client import ACCEPT_BOTH, JSON_TYPE, LegacySse, RpcError, compact, modern_params
from server_process import wait_until
from wire_schema import JUDGE, VERSIONS

pytestmark = pytest.mark.asan

STREAM = ("Accept", "text/event-stream")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LONG = {"name": "test_slow", "arguments": {"ms": 20_000}}
WATCHED = "test://watched-resource"
EVIL = "http://evil.example.com"


@pytest.fixture
def sse(make_sse, legacy_rev):
    """An introduced client of each revision in turn."""
    return make_sse(legacy_rev).open()


@pytest.fixture
def plain(make_sse):
    """An introduced client of 2024-11-05."""
    return make_sse("A").open()


def counts(server):
    """The counters of stopped calls, read over another transport."""
    with Connection(server.address) as connection:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": modern_params({"name": "test_stop_counts"})}
        response = connection.request("POST", "/mcp", [
            JSON_TYPE, ACCEPT_BOTH, ("MCP-Protocol-Version", VERSIONS["E"]),
            ("Mcp-Method", "tools/call"), ("Mcp-Name", "test_stop_counts")], compact(message))
        return json.loads(response.json()["result"]["content"][0]["text"])


def tool_text(client, name, arguments=None, **more):
    result = client.request("tools/call", {"name": name, "arguments": arguments or {}}, **more)
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def silent(client, seconds=0.3):
    ready, _, _ = select.select([client.stream.connection.sock], [], [], seconds)
    return not ready and not client.stream.connection.buffer


def gone(client):
    """Whether the stream's address has vanished."""
    return client.post(compact(PING)).status == 404


def refused(response, status):
    assert response.status == status, response
    JUDGE.error("A", response.json())


# ---- the stream ----

def test_the_first_event_tells_where_to_post(make_sse):
    client = make_sse()
    assert re.fullmatch(r"/messages\?sessionId=[\x21-\x7e]{16,128}", client.target)


def test_addresses_are_unique(make_sse):
    targets = {make_sse().target for _ in range(20)}
    assert len(targets) == 20


def test_the_head_of_a_stream(make_sse):
    response = make_sse().stream.response
    assert response.media_type == "text/event-stream"
    assert "no-cache" in response["Cache-Control"] or "no-store" in response["Cache-Control"]
    assert response["Mcp-Session-Id"] is None


def test_a_stream_for_a_client_of_http_1_0(server, connect):
    connection = connect()
    connection.send_request("GET", "/sse", [STREAM], version="HTTP/1.0")
    response = connection.read_head()
    assert response.status == 200 and response["Transfer-Encoding"] is None
    while b"\n\n" not in connection.buffer:
        assert connection.fill()
    assert connection.buffer.startswith(b"event: endpoint\ndata: /messages?sessionId=")


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*", "text/*",
                                    "application/json, text/event-stream"])
def test_streams_may_be_accepted_in_many_words(connect, accept):
    connection = connect()
    connection.send_request("GET", "/sse", [("Accept", accept)])
    assert connection.read_head().status == 200


# ---- what is said on it ----

def test_each_revision_is_negotiated(make_sse, legacy_rev):
    client = make_sse(legacy_rev)
    result = client.initialize()
    assert result["protocolVersion"] == VERSIONS[legacy_rev]
    assert result["serverInfo"]["name"] == "test"


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", "", "x"])
def test_unknown_versions_are_countered(make_sse, version):
    result = make_sse("D").request("initialize", {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "n", "version": "1"}})
    assert result["protocolVersion"] == VERSIONS["D"]


def test_ping_before_anything_else(make_sse):
    assert make_sse().request("ping") == {}


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "resources/list"])
def test_initialize_comes_first(make_sse, method):
    with pytest.raises(RpcError) as caught:
        make_sse().request(method, {"name": "echo"})
    assert caught.value.code == -32600


def test_initialize_comes_once(sse):
    with pytest.raises(RpcError) as caught:
        sse.initialize()
    assert caught.value.code == -32600
    assert sse.request("ping") == {}


@pytest.mark.row(13, 15)
def test_lists_and_calls(sse):
    assert any(tool["name"] == "echo" for tool in sse.request("tools/list")["tools"])
    assert sse.request("prompts/list")["prompts"]
    assert sse.request("resources/list")["resources"]
    assert tool_text(sse, "echo", {"text": "h\u00e9"}) == "h\u00e9"
    with pytest.raises(RpcError) as caught:
        sse.request("no/such")
    assert caught.value.code == -32601


@pytest.mark.parametrize("identifier", [0, 1, -7, 2**53, "", "a", "1", "\u00e9\n"])
def test_ids_come_back_as_they_were(plain, identifier):
    plain.send({"jsonrpc": "2.0", "id": identifier, "method": "ping"})
    found = plain.recv()["id"]
    assert found == identifier and type(found) is type(identifier)


def test_progress(sse):
    answer, before = sse.call("tools/call", {"name": "test_tool_with_progress"},
                              meta={"progressToken": "p"})
    assert answer["result"]
    assert [m["params"]["progress"] for m in before] == [0, 50, 100]
    assert all(m["params"]["progressToken"] == "p" for m in before)


def test_logging(sse):
    sse.request("logging/setLevel", {"level": "error"})
    _, before = sse.call("tools/call", {"name": "test_log_all"})
    assert [m["params"]["level"] for m in before] == ["error", "critical", "alert", "emergency"]


def test_cancellation(sse, server):
    before = counts(server)
    message = sse.compose("tools/call", LONG)
    sse.send(message)
    wait_until(lambda: counts(server)["started"] > before["started"], what="start")
    sse.notify("notifications/cancelled", {"requestId": message["id"]})
    wait_until(lambda: counts(server)["client"] > before["client"], what="stop")
    assert sse.call("ping")[1] == []


def test_a_stream_cannot_cancel_for_another(make_sse, server):
    owner, other = make_sse().open(), make_sse().open()
    before = counts(server)
    message = owner.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 500}})
    owner.send(message)
    wait_until(lambda: counts(server)["started"] > before["started"], what="start")
    other.notify("notifications/cancelled", {"requestId": message["id"]})
    assert owner.recv()["result"]["content"][0]["text"] == "slept"


def test_answers_may_overtake_one_another(plain):
    slow = plain.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 300}})
    plain.send(slow)
    assert plain.call("ping")[1] == []
    assert plain.recv()["id"] == slow["id"]


def test_large_answers_side_by_side(plain):
    """The second one found so much unread output that the stream was cut, though the client
    read."""
    calls = [plain.compose("tools/call", {"name": "test_big", "arguments": {"bytes": 3_000_000}})
             for _ in range(12)]
    for call in calls:
        plain.send(call)
    answers = [plain.recv() for _ in calls]
    assert {m["id"] for m in answers} == {m["id"] for m in calls}
    assert {len(m["result"]["content"][0]["text"]) for m in answers} == {3_000_000}
    assert plain.call("ping")[1] == []


def test_answers_that_nobody_reads_are_bounded(start, tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text("limits: {request_memory: 8MiB, result: 1MiB, body: 512KiB}\n")
    running = start("--config", config)
    client = LegacySse(running.address).open()
    for _ in range(100):
        call = client.compose("tools/call", {"name": "test_big", "arguments": {"bytes": 900_000}})
        if client.post(compact(call)).status == 404:
            break
    wait_until(lambda: gone(client), what="end of the stream")
    client.close()
    running.stop()


def test_an_id_that_is_still_in_use(plain):
    slow = plain.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 300}})
    plain.send(slow)
    plain.send(slow)
    assert plain.recv()["error"]["code"] == -32600
    assert plain.recv()["result"]


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
def test_changed_lists_are_told(sse, kind):
    sse.send(sse.compose("tools/call", {"name": f"test_trigger_{kind}_change"}))
    found = [sse.recv(), sse.recv()]
    methods = [m["method"] for m in found if "method" in m]
    assert methods == [f"notifications/{kind}s/list_changed"]


def test_updates_are_told_to_subscribers(sse, make_sse):
    other = make_sse().open()
    assert sse.request("resources/subscribe", {"uri": WATCHED}) == {}
    tool_text(other, "test_touch_resource", {"uri": WATCHED})
    message = sse.recv()
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == WATCHED
    assert sse.request("resources/unsubscribe", {"uri": WATCHED}) == {}
    tool_text(other, "test_touch_resource", {"uri": WATCHED})
    assert silent(sse)
    assert other.call("ping")[1] == []


def test_nothing_is_told_before_initialize(make_sse):
    early, other = make_sse(), make_sse().open()
    other.call("tools/call", {"name": "test_trigger_tool_change"})
    assert silent(early)


def test_a_question_and_its_answer(sse):
    call = sse.compose("tools/call", {"name": "test_sampling", "arguments": {"prompt": "?"}})
    sse.send(call)
    asked = sse.recv()
    assert asked["method"] == "sampling/createMessage"
    sse.respond(asked["id"], result={"role": "assistant", "model": "m",
                                     "content": {"type": "text", "text": "!"}})
    answer = sse.recv()
    assert answer["id"] == call["id"]
    assert answer["result"]["content"][0]["text"] == "LLM response: !"


def test_pages_to_visit_have_ids_of_their_own(make_sse):
    ids = []
    for _ in range(3):
        client = make_sse("D", capabilities={"elicitation": {"url": {}}}).open()
        client.send(client.compose("tools/call", {"name": "test_visit_page"}))
        asked = client.recv()
        ids.append(asked["params"]["elicitationId"])
        client.respond(asked["id"], result={"action": "cancel"})
        assert client.recv()["result"]
    assert len(set(ids)) == 3, ids


def test_a_batch(make_sse):
    client = make_sse("B").open()
    members = [client.compose("ping"), client.compose("tools/list"),
               {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    client.send(members)
    answer = client.recv()
    found = answer if isinstance(answer, list) else [answer, client.recv()]
    assert {m["id"] for m in found} == {members[0]["id"], members[1]["id"]}
    client.send([members[2]])
    assert client.call("ping")[1] == []


@pytest.mark.parametrize("letter", "ACD")
def test_batches_are_for_one_revision(make_sse, letter):
    client = make_sse(letter).open()
    client.send([PING])
    assert client.recv()["error"]["code"] == -32600


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "subscriptions/listen"])
def test_modern_messages_are_refused(sse, method):
    message = sse.compose(method, {}, rev="E")
    sse.note(message)
    assert sse.post(compact(message)).status == 202
    error = sse.recv(rev=sse.rev)
    assert error["id"] == message["id"] and error["error"]["code"] == -32600
    assert sse.request("ping") == {}


@pytest.mark.parametrize("body", [b"5", b'"x"', b"null", b"{}", b'{"jsonrpc":"2.0"}',
                                  b'{"jsonrpc":"1.0","id":1,"method":"ping"}'])
def test_json_that_is_no_message(sse, body):
    response = sse.post(body)
    assert response.status in (202, 400)
    if response.status == 202:
        assert sse.recv()["error"]["code"] == -32600
    assert sse.call("ping")[1] == []


# ---- the messages' address ----

def test_a_message_is_taken_without_a_word(plain):
    response = plain.post(compact({**PING, "id": 77}))
    assert response.status == 202 and response.body == b""
    assert plain.asked.setdefault(77, ("ping", "A")) and plain.recv()["id"] == 77


def test_one_connection_carries_many_messages(plain):
    with Connection(plain.address) as connection:
        for i in range(100):
            plain.send({"jsonrpc": "2.0", "id": 1000 + i, "method": "ping"}, connection)
        assert [plain.recv()["id"] for _ in range(100)] == list(range(1000, 1100))


def test_messages_sent_before_the_answers_are_read(plain):
    requests = []
    for i in range(20):
        message = {"jsonrpc": "2.0", "id": i, "method": "ping"}
        plain.note(message)
        requests.append(plain.connection.render("POST", plain.target, [JSON_TYPE],
                                                compact(message)))
    plain.connection.send(b"".join(requests))
    for _ in requests:
        assert plain.connection.read_response().status == 202
    assert [plain.recv()["id"] for _ in requests] == list(range(20))


def test_every_thread_takes_messages(plain):
    for i in range(24):
        with Connection(plain.address) as connection:
            plain.send({"jsonrpc": "2.0", "id": i, "method": "ping"}, connection)
            assert plain.recv()["id"] == i


def test_a_chunked_message(plain):
    body = compact(PING)
    response = plain.post(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
                          extra=[JSON_TYPE, ("Transfer-Encoding", "chunked")])
    assert response.status == 202
    plain.note(PING)
    assert plain.recv()["result"] == {}


def test_a_big_message(plain):
    text = "x" * 500_000
    assert tool_text(plain, "echo", {"text": text}) == text


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b'{"a":1}x', b"\xff", b"[1,"])
def test_bad_json(plain, body):
    refused(plain.post(body), 400)
    assert plain.call("ping")[1] == []


@pytest.mark.parametrize("target", [
    "/messages", "/messages?", "/messages?sessionId=", "/messages?sessionId=unknown",
    "/messages?sessionId=" + "0" * 34, "/messages?sessionId=" + "x" * 999,
    "/messages?session_id=x"])
def test_unknown_streams_are_not_found(connect, target):
    connection = connect()
    for _ in range(2):
        refused(connection.request("POST", target, [JSON_TYPE], compact(PING)), 404)


def test_neighbours_of_an_id_are_not_found(plain):
    good = plain.target
    for bad in (good[:-1], good + "0", good[:-1] + ("0" if good[-1] != "0" else "1")):
        response = plain.connection.request("POST", bad, [JSON_TYPE], compact(PING))
        refused(response, 404)
    assert silent(plain)


def test_a_session_of_streamable_http_is_no_stream(make_client, connect):
    client = make_client("D").open()
    target = "/messages?sessionId=" + client.session
    refused(connect().request("POST", target, [JSON_TYPE], compact(PING)), 404)


def test_a_stream_is_no_session_of_streamable_http(plain, make_client):
    client = make_client("D")
    client.session = plain.target.partition("=")[2]
    assert client.call("tools/list").status == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", None])
def test_other_content_types_are_refused(plain, kind):
    extra = [] if kind is None else [("Content-Type", kind)]
    refused(plain.post(compact(PING), extra=extra), 415)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_spellings_of_the_content_type(plain, kind):
    assert plain.post(compact(PING), extra=[("Content-Type", kind)]).status == 202


def test_codings_of_the_content(plain):
    for coding, status in (("identity", 202), ("gzip", 415)):
        extra = [JSON_TYPE, ("Content-Encoding", coding)]
        assert plain.post(compact(PING), extra=extra).status == status


@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/event-stream;q=0"])
def test_a_stream_must_be_accepted(connect, accept):
    refused(connect().request("GET", "/sse", [("Accept", accept)]), 406)


@pytest.mark.parametrize("path,allowed,methods", [
    ("/sse", {"GET", "OPTIONS"}, ["POST", "PUT", "DELETE"]),
    ("/messages", {"POST", "OPTIONS"}, ["GET", "PUT", "DELETE"])])
def test_other_methods_are_refused(connect, path, allowed, methods):
    for method in methods:
        body = None if method in ("GET", "DELETE") else b"{}"
        response = connect().request(method, path, [JSON_TYPE, STREAM], body)
        assert response.status in (405, 501), response
        if response.status == 405:
            assert set(re.split(r",\s*", response["Allow"])) == allowed


# ---- browsers ----

@pytest.mark.parametrize("header", [("Origin", EVIL), ("Host", "evil.example.com"),
                                    ("Origin", "null")])
def test_strangers_are_refused(plain, connect, header):
    for method, path in (("GET", "/sse"), ("OPTIONS", "/sse"), ("OPTIONS", "/messages")):
        response = connect().request(method, path, [STREAM, header])
        assert response.status == 403
        assert response["Access-Control-Allow-Origin"] is None
    assert plain.post(compact(PING), extra=[JSON_TYPE, header]).status == 403
    assert silent(plain)


def test_local_pages_are_welcome(server, make_sse, connect):
    origin = ("Origin", f"http://localhost:{server.port}")
    client = make_sse(extra=[origin])
    assert client.stream.response["Access-Control-Allow-Origin"] == origin[1]
    response = client.post(compact(PING), extra=[JSON_TYPE, origin])
    assert response.status == 202
    assert response["Access-Control-Allow-Origin"] == origin[1]
    for path, method in (("/sse", "GET"), ("/messages", "POST")):
        response = connect().request("OPTIONS", path, [
            origin, ("Access-Control-Request-Method", method)])
        assert response.status == 204
        assert response["Access-Control-Allow-Origin"] == origin[1]
        assert method in response["Access-Control-Allow-Methods"]


# ---- the end ----

@pytest.mark.parametrize("how", ["close", "reset", "shutdown"])
def test_a_closed_stream_is_not_found(make_sse, how):
    client = make_sse().open()
    sock = client.stream.connection.sock
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if how == "shutdown":
        sock.shutdown(socket.SHUT_WR)
    else:
        sock.close()
    wait_until(lambda: gone(client), what="end of the stream")
    refused(client.post(compact(PING)), 404)


def test_the_end_of_the_stream_stops_its_calls(start):
    running = start("--threads", 2)
    clients = [LegacySse(running.address).open() for _ in range(4)]
    for client in clients:
        client.send(client.compose("tools/call", LONG))
        client.send(client.compose("tools/call", {"name": "test_roots"}))
    wait_until(lambda: counts(running)["started"] == 4, what="start")
    for client in clients:
        client.close()
    wait_until(lambda: counts(running)["disconnected"] == 4, what="stop")


def test_a_call_that_ignores_the_end(start):
    running = start()
    client = LegacySse(running.address).open()
    client.send(client.compose("tools/call", {
        "name": "test_slow", "arguments": {"ms": 500, "ignore_stop": True}}))
    wait_until(lambda: counts(running)["started"] == 1, what="start")
    client.close()
    wait_until(lambda: counts(running)["disconnected"] == 1, what="end")


def test_who_says_no_more_still_reads_what_was_answered(start):
    """What waited for a slow reader was dropped, and the stream ended as if that were all."""
    running = start()
    client = LegacySse(running.address).open()
    for _ in range(60):
        client.send(client.compose("tools/call", {
            "name": "test_slow", "arguments": {"ms": 1, "bytes": 400_000}}))
    wait_until(lambda: sum("mcp.call" in line for line in running.log) == 60, what="answers")
    client.stream.connection.sock.shutdown(socket.SHUT_WR)
    assert len(list(iter(client.recv, None))) == 60 and client.stream.ended
    client.close()


def test_a_batch_that_is_left_behind(start):
    running = start()
    client = LegacySse(running.address, "B").open()
    client.send([client.compose("tools/call", LONG) for _ in range(3)] + [client.compose("ping")])
    wait_until(lambda: counts(running)["started"] == 3, what="start")
    client.close()
    wait_until(lambda: counts(running)["disconnected"] == 3, what="end")


def test_many_streams_come_and_go(start):
    running = start("--threads", 2)
    idle = running.descriptors()
    for _ in range(3):
        clients = [LegacySse(running.address) for _ in range(50)]
        for client in clients[::2]:
            client.open()
        clients[0].call("tools/call", {"name": "test_trigger_tool_change"})
        for client in clients:
            client.close()
        wait_until(lambda: running.descriptors() <= idle, what="descriptors closed")


def test_the_end_of_the_server_ends_streams(start):
    running = start("--threads", 2, "--drain-timeout", "5s")
    clients = [LegacySse(running.address).open() for _ in range(4)] + [LegacySse(running.address)]
    running.process.terminate()
    for client in clients:
        assert client.recv() is None and client.stream.ended
        client.close()
    running.stop()


def test_calls_at_the_end_of_the_server(start):
    running = start("--threads", 2, "--drain-timeout", "1s")
    client = LegacySse(running.address).open()
    client.send(client.compose("tools/call", LONG))
    wait_until(lambda: counts(running)["started"] == 1, what="start")
    running.process.terminate()
    rest = list(iter(client.recv, None))
    assert len(rest) <= 1 and client.stream.ended
    client.close()
    running.stop()


@pytest.mark.row(15)
def test_it_can_be_turned_off(start):
    running = start("--no-legacy-sse")
    for method, path, body in (("GET", "/sse", None), ("POST", "/messages?sessionId=x", b"{}"),
                               ("OPTIONS", "/sse", None), ("POST", "/sse", b"{}")):
        with Connection(running.address) as connection:
            response = connection.request(method, path, [STREAM, JSON_TYPE], body)
            assert response.status == 404, (method, path, response)
