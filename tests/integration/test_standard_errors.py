"""The corporate standard, errors: which code has which status, what they may say (rows 91-96)."""

import json
import re

import pytest

from http_client import Connection
from mcp_client import ACCEPT_BOTH, JSON_TYPE, META, LegacySse, Stdio, compact
from server_process import fixture_bin

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

# code of the handler, status in the corporate profile
RAISED = [(-32603, 500), (-32000, 500), (-32003, 429), (-32004, 504), (-32005, 413), (-32006, 503),
          (-32007, 409), (1234, 200)]


@pytest.mark.row(94)
@pytest.mark.parametrize("letter", "ABCDE")
def test_statuses_in_the_corporate_profile(corporate, make_client, letter):
    client = make_client(letter, of=corporate).open()
    unknown = client.call("no/such")
    assert (unknown.error.code, unknown.status) == (-32601, 404)
    for reply in (client.tool("no_such"), client.call("prompts/get", {"name": "none"}),
                  client.call("tools/list", {"cursor": "made-up"})):
        assert (reply.error.code, reply.status) == (-32602, 400)
    missing = client.call("resources/read", {"uri": "test://none"})
    assert (missing.error.code, missing.status) == (-32602 if letter == "E" else -32002, 404)
    thrown = client.tool("leak_text", {"how": "throw"})
    assert (thrown.error.code, thrown.status) == (-32603, 500)
    for code, status in RAISED:
        reply = client.tool("raise_code", {"code": code})
        assert (reply.error.code, reply.status) == (code, status)
    # A failure of the tool is none of the protocol.
    failed = client.tool("leak_text", {"how": "tool", "plain": "not today"})
    assert failed.status == 200 and failed.result["isError"] is True


@pytest.mark.row(11, 94)
@pytest.mark.parametrize("letter", "ABCDE")
def test_statuses_in_the_generic_profile(leaking, make_client, letter):
    client = make_client(letter, of=leaking).open()
    unknown = client.call("no/such")
    assert (unknown.error.code, unknown.status) == (-32601, 404 if letter == "E" else 200)
    assert client.tool("no_such").status == 200
    missing = client.call("resources/read", {"uri": "test://none"})
    assert (missing.error.code, missing.status) == (-32602 if letter == "E" else -32002, 200)
    for code, _ in RAISED:
        reply = client.tool("raise_code", {"code": code})
        assert (reply.error.code, reply.status) == (code, 200)


@pytest.mark.row(94)
def test_envelopes_that_cannot_be_used_are_400_in_both_profiles(corporate, leaking):
    for server in (corporate, leaking):
        with Connection(server.address) as connection:
            for body, code in ((b"{", -32700), (b'{"jsonrpc":"1.0","method":"ping"}', -32600),
                               (b"[]", -32600), (b"7", -32600)):
                response = connection.request(
                    "POST", "/mcp", [JSON_TYPE, ACCEPT_BOTH,
                                     ("MCP-Protocol-Version", "2026-07-28")], body)
                assert (response.status, response.error_code()) == (400, code), body
                assert "id" not in response.json()


@pytest.mark.row(94)
def test_a_session_of_the_corporate_profile_outlives_a_404(corporate, make_client):
    client = make_client("D", of=corporate).open()
    assert client.call("no/such").status == 404
    assert client.call("tools/list").status == 200


# ---- what errors say ----

# What a handler says; what of it may not leave in an error of the protocol. `secret`: not in a
# result of the tool and not in the log either.
LEAKS = [
    ("cannot open /home/ada/.config/app.yaml for reading", ["/home", "app.yaml"], False),
    ("cannot open C:\\Users\\ada\\app.ini for reading", ["Users", "app.ini"], False),
    ("SELECT name, hash FROM users WHERE id = 7 failed", ["users", "hash", "WHERE"], False),
    ("syntax error near 'x': insert into audit values (1)", ["audit", "insert"], False),
    ("connect to db01.corp.internal:5432 refused", ["db01", "5432"], False),
    ("connect to 10.1.2.3 refused", ["10.1.2.3"], False),
    ("see http://wiki.intranet/page for help", ["wiki", "intranet"], False),
    ("login failed: password=hunter2 for ada", ["hunter2"], True),
    ("upstream said 401 to Authorization: Bearer abcdef0123456789abcdef", ["abcdef01"], True),
    ("dsn postgres://app:hunter2@db/orders is down", ["hunter2", "orders"], True),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln has expired", ["eyJ"], True),
    ("key AKIAIOSFODNN7EXAMPLE is not active", ["AKIA"], True),
    ("boom\n    at Module.run (app.js:3:7)\n    at main (app.js:9:1)", ["Module", "app.js"], True),
    ("boom\n#0  run () at engine.cpp:42\n#1  main ()", ["engine.cpp", "main"], True),
    ("Traceback (most recent call last):\n  File \"x.py\", line 3, in f\nKeyError: 1",
     ["x.py", "Traceback"], True),
]


def leak(client, how, text, **more):
    return client.tool("leak_text", {"how": how, "backwards": text[::-1]}, **more)


def text_of(reply):
    """The message without request ids: drawn at random, one may spell "ada" or "5432" (it did)."""
    return UUID.sub("", json.dumps(reply.message))


@pytest.mark.row(79, 95)
@pytest.mark.parametrize("how", ["rpc", "throw"])
def test_errors_of_the_protocol_give_nothing_away(leaking, make_client, how):
    for letter in "AE":
        client = make_client(letter, of=leaking).open()
        for text, needles, _ in LEAKS:
            reply = leak(client, how, text)
            said = text_of(reply)
            assert not [needle for needle in needles if needle in said], said
            assert "\\n" not in reply.error.message and len(reply.error.message) <= 300
            if how == "throw":
                assert (reply.error.code, reply.error.message) == (-32603, "Internal error")


@pytest.mark.row(95)
def test_prompts_and_resources_give_nothing_away(leaking, corporate, make_client):
    for server in (leaking, corporate):
        client = make_client("D", of=server).open()
        for text, needles, _ in LEAKS:
            prompt = client.call("prompts/get", {"name": "leak_prompt",
                                                 "arguments": {"backwards": text[::-1]}})
            assert not [n for n in needles if n in text_of(prompt)], prompt.message
            assert prompt.error.code == -32602
        path = "/home/ada/secret"
        read = client.call("resources/read",
                           {"uri": "test://leak/" + path[::-1].replace("/", "%2F")})
        assert read.error.code == -32603 and "ada" not in text_of(read)


@pytest.mark.row(78, 95)
@pytest.mark.parametrize("how", ["tool", "failed", "library"])
def test_results_for_the_model_lose_secrets_and_in_the_corporate_profile_more(
        leaking, corporate, make_client, how):
    for server, all_goes in ((leaking, False), (corporate, True)):
        client = make_client("E", of=server).open()
        for text, needles, secret in LEAKS:
            reply = leak(client, how, text)
            assert reply.result["isError"] is True
            said = text_of(reply)
            if secret or all_goes:
                # The last lines of a trace may say what went wrong; its places may not stay.
                found = [n for n in needles if n in said and n not in ("orders",)]
                assert not found, said
            else:
                assert text in reply.result["content"][-1]["text"]
    # What it can act upon stays, in both.
    text = "docs/setup.md: not found; try list_files"
    for server in (leaking, corporate):
        reply = leak(make_client("E", of=server).open(), how, text)
        assert reply.result["content"][-1]["text"] == text


@pytest.mark.row(92)
def test_a_long_failure_is_cut_and_says_so(leaking, make_client):
    client = make_client("E", of=leaking).open()
    for said, told in (("ä" * 20000, "ä" * 8192 + " [truncated]"), ("b" * 16384, "b" * 16384)):
        reply = client.tool("leak_text", {"how": "tool", "plain": said})
        assert reply.result["content"][0]["text"] == told


@pytest.mark.row(39, 95, 109)
def test_the_log_has_the_rest_but_no_secrets(start, make_client):
    server = start("--conforming")
    client = make_client("E", of=server).open()
    for number, (text, needles, secret) in enumerate(LEAKS):
        for how in ("rpc", "throw", "data"):
            name = f"leak-{how}-{number}"
            leak(client, how, text, extra=[("X-Request-Id", name)])
            lines = [line for line in (server.wait_for_log(f"request_id={name}"),)
                     if line] + [line for line in server.log if f"request_id={name}" in line]
            whole = "\n".join(lines)
            if secret:
                assert "hunter2" not in whole and "abcdef0123" not in whole and "eyJ" not in whole
            elif how == "rpc":
                assert needles[0].split("\\")[-1] in whole, whole


@pytest.mark.row(95)
def test_what_the_client_said_is_not_repeated(leaking, make_client):
    client = make_client("E", of=leaking).open()
    said = "<script>alert(1)</script>"
    for reply in (client.tool("leak_text", {"how": "rpc", "plain": "no city named " + said}),
                  client.tool(said), client.call("prompts/get", {"name": said}),
                  client.tool("leak_text", {"how": "rpc", said: 1}),
                  client.call("completion/complete", {
                      "ref": {"type": "ref/prompt", "name": said},
                      "argument": {"name": said, "value": said}}),
                  client.call(said)):
        assert "script" not in json.dumps(reply.message), reply.message
    old = make_client("A", of=leaking).open().tool("leak_text", {"how": "rpc", said: 1})
    assert old.error.code == -32602 and "script" not in json.dumps(old.message)
    assert old.error.data["field"] == "/*"


@pytest.mark.row(77)
def test_an_unknown_tool_is_not_named(leaking, make_client):
    error = make_client("D", of=leaking).open().tool("no_such_tool").error
    assert (error.code, error.message, error.data["field"]) == (-32602, "Unknown tool", "name")


@pytest.mark.row(96)
def test_data_holds_only_what_is_defined_or_declared(leaking, make_client):
    client = make_client("E", of=leaking).open()
    data = leak(client, "data", "read /etc/passwd", extra=[("X-Request-Id", "mine")]).error.data
    assert set(data) == {"requestId", "reason", "field", "why", "retryAfter"}
    assert data["requestId"] == "mine" and data["retryAfter"] == 7
    assert data["reason"] == data["why"] == "read [removed]" and data["field"] == "*"


@pytest.mark.row(96)
def test_members_of_the_specification_stand_beside_ours(leaking, make_client):
    client = make_client("D", of=leaking).open()
    data = client.call("resources/read", {"uri": "test://none"}).error.data
    assert data["uri"] == "test://none" and data["requestId"]
    modern = make_client("E", of=leaking)
    message = modern.compose("tools/list")
    message["params"]["_meta"][META + "protocolVersion"] = "2999-01-01"
    error = modern.post(message, [("MCP-Protocol-Version", "2999-01-01")]).error
    assert error.data["requested"] == "2999-01-01" and len(error.data["supported"]) == 5
    assert error.data["requestId"]


@pytest.mark.row(28, 96)
@pytest.mark.parametrize("request_text, status", [
    (b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Accept: text/html\r\nContent-Length: 2\r\n\r\n{}", 406),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
     b"Accept: */*\r\nContent-Length: 2\r\n\r\n{}", 415),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Accept: */*\r\nContent-Length: 99999999\r\n\r\n", 413),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Accept: */*\r\n\r\n", 411),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Accept: */*\r\nContent-Length: 1\r\n\r\n{", 400),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
     b"Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{}", 403),
    (b"GET /mcp?access_token=x HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
     400),
    (b"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: none\r\n\r\n", 404),
    (b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n", 431),
    (b"\x00\x01\x02\r\n\r\n", 400),
    (b"GET / HTTP/3.7\r\n\r\n", 505),
])
def test_every_refusal_over_http_is_a_json_rpc_error_with_its_id(server, request_text, status):
    with Connection(server.address) as connection:
        connection.send(request_text)
        response = connection.read_response()
        assert response.status == status
        body = response.json()
        assert body["jsonrpc"] == "2.0" and "id" not in body and body["error"]["message"]
        assert body["error"]["data"]["requestId"] == response["X-Request-Id"]
        assert UUID.fullmatch(response["X-Request-Id"])


@pytest.mark.row(96, 107)
def test_every_error_on_a_pipe_has_its_id(io):
    pipe = Stdio(fixture_bin(), "--io", io, "--conforming", rev="D")
    seen = set()
    pipe.open()
    for line in (b"{", b"[]", b"7", b'{"jsonrpc":"2.0","id":5}', b"x" * (1 << 20) + b"x"):
        pipe.write(line + b"\n")
        seen.add(pipe.recv()["error"]["data"]["requestId"])
    answer, _ = pipe.call("no/such")
    seen.add(answer["error"]["data"]["requestId"])
    assert len(seen) == 6 and all(re.fullmatch(r"stdio-\d+", one) for one in seen), seen
    pipe.close()


@pytest.mark.row(96)
def test_every_error_of_the_legacy_transport_has_its_id(server):
    sse = LegacySse(server.address)
    sse.open()
    answer, _ = sse.call("no/such")
    assert answer["error"]["data"]["requestId"]
    answer, _ = sse.call("tools/call", {"name": "no_such"})
    assert answer["error"]["data"]["requestId"]
    sse.close()


@pytest.mark.row(96)
def test_members_of_a_batch_have_their_ids(server, make_client):
    client = make_client("B").open()
    reply = client.post(compact([{"jsonrpc": "2.0", "id": 1, "method": "no/such"}, 7]))
    assert all(one["error"]["data"]["requestId"] for one in reply.message)


@pytest.mark.row(91)
def test_results_are_the_same_every_time(shipped, make_client):
    client = make_client("D", of=shipped).open()
    first, second = (client.tool("list_files", {}).result for _ in range(2))
    assert first == second
    assert first["structuredContent"] == json.loads(first["content"][0]["text"])


@pytest.mark.row(93)
def test_binaries_are_blobs_with_their_type(shipped, make_client):
    client = make_client("D", of=shipped).open()
    content = client.request("resources/read", {"uri": "pillion://files/bytes.bin"})["contents"][0]
    assert content["blob"] and content["mimeType"] == "application/octet-stream"
    embedded = client.tool("read_file", {"path": "bytes.bin"}).result["content"]
    blobs = [one["resource"] for one in embedded if one["type"] == "resource"]
    assert blobs and blobs[0]["blob"] and blobs[0]["mimeType"]


@pytest.mark.row(94)
def test_a_rate_limit_may_be_told_without_a_code_of_ours(start, make_client, tmp_path):
    config = tmp_path / "strict.yaml"
    config.write_text("server: {strict_e_codes: true}\n", encoding="utf-8")
    server = start("--conforming", "--config", config)
    for letter, code in (("D", -32003), ("E", -32603)):
        reply = make_client(letter, of=server).open().tool("raise_code", {"code": -32003})
        assert reply.error.code == code
