"""Scopes: what the operator's file asks of callers, and who is let in without a token."""

import json
import os
import re
import signal
import sys

import jsonschema
import pytest

from bridged import SCRIPT
from http_client import Connection
from mcp_client import Client, LegacySse, RpcError, compact, modern_params
from server_process import fixture_bin, pillion_bin, run_program, wait_until
from test_auth import ECHO, OPAQUE, ask, client_of, metadata, refused
from tokens import Issuer, listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]

RULES = """
tools:
  echo: {scopes: "tools:echo"}
  test_simple_text: {scopes: [tools:add, tools:any], timeout: 3s}
prompts:
  test_simple_prompt: {scopes: prompts}
resources:
  test://static-text: {scopes: [texts]}
  "test://template/{id}/data": {scopes: [data]}
methods:
  completion/complete: {scopes: [complete]}
"""
ADD = {"name": "test_simple_text"}
OPEN = {"name": "test_image_content"}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def configured(start, issuer, tmp_path):
    def run(text=RULES, *more):
        path = tmp_path / "pillion.yaml"
        path.write_text(text, encoding="utf-8")
        return start("--config", path, *issuer.flags, "--log-level", "debug", *more)

    return run


def forbidden(response, *scopes):
    challenge = refused(response, "insufficient_scope", 403)
    assert challenge["scope"].split() == list(scopes)
    assert challenge["resource_metadata"].endswith("/.well-known/oauth-protected-resource/mcp")
    assert response.json()["error"]["data"]["scope"].split() == list(scopes)
    return challenge


def asked(server, token, method, params):
    """One request of 2026-07-28, with the name that its header mirrors."""
    client = client_of(server, token, "E")
    reply = client.call(method, params)
    client.close()
    return reply.response


# ---- rules of the operator ----

@pytest.mark.row(49)
@pytest.mark.row(51)
def test_rules_of_the_configuration(configured, issuer):
    server = configured()
    plain, able = issuer.token(), issuer.token(
        scope="tools:echo tools:add tools:any prompts texts data complete")
    for method, params, scopes in (
            ("tools/call", ECHO, ["tools:echo"]),
            ("tools/call", ADD, ["tools:add", "tools:any"]),
            ("prompts/get", {"name": "test_simple_prompt"}, ["prompts"]),
            ("resources/read", {"uri": "test://static-text"}, ["texts"]),
            ("resources/read", {"uri": "test://template/1/data"}, ["data"])):
        response = asked(server, plain, method, params)
        forbidden(response, *scopes)
        line = server.wait_for_log(f"auth.forbidden request_id={response['X-Request-Id']}")
        assert f"scope={scopes[0]}" in line or f'scope="{" ".join(scopes)}"' in line, line
        assert "|alice" in line and method in line
        assert asked(server, able, method, params).status == 200
    one = issuer.token(scope="tools:add")
    forbidden(asked(server, one, "tools/call", ADD), "tools:add", "tools:any")
    wide = issuer.token(scope="tools:*")
    assert asked(server, wide, "tools/call", ADD).status == 200
    # What no rule names is everybody's who is let in.
    assert asked(server, plain, "tools/call", OPEN).status == 200


def names(response, member):
    return {one.get("name") for one in response.json()["result"][member]}


def test_lists_are_the_callers_own(configured, issuer):
    server = configured()
    plain, able = issuer.token(), issuer.token(scope="tools:echo")
    hidden = names(ask(server.address, able), "tools") - names(ask(server.address, plain), "tools")
    assert hidden == {"echo"}
    for token in (plain, able):
        assert ask(server.address, token).json()["result"]["cacheScope"] == "private"
    assert "test_simple_prompt" not in names(ask(server.address, plain, method="prompts/list"),
                                             "prompts")


def test_what_a_client_should_ask_for(configured, issuer):
    server = configured()
    every = ["tools:echo", "tools:add", "tools:any", "prompts", "texts", "data", "complete"]
    document = metadata(server.address, "/.well-known/oauth-protected-resource").json()
    assert sorted(document["scopes_supported"]) == sorted(every)
    assert sorted(refused(ask(server.address))["scope"].split()) == sorted(every)
    server = configured(RULES, "--oidc-scopes", "openid", "--oidc-scopes", "tools:echo")
    assert refused(ask(server.address))["scope"] == "openid tools:echo"


@pytest.mark.parametrize("rev", "BCD")
def test_in_sessions(configured, issuer, rev):
    server = configured()
    client = client_of(server, issuer.token(scope="tools:echo"), rev)
    assert client.request("tools/call", ECHO)["content"][0]["text"] == "hello"
    response = client.post(client.compose("tools/call", ADD)).response
    forbidden(response, "tools:add", "tools:any")
    client.close()


@pytest.mark.parametrize("scopes, good", [("tools:echo", True), ("", False)])
def test_over_sse(configured, issuer, scopes, good):
    """The stream of 2024-11-05 was its address's and not its caller's: messages got a 404."""
    server = configured()
    token = [("Authorization", f"Bearer {issuer.token(scope=scopes)}")]
    client = LegacySse(server.address, extra=token)
    plain = client.post
    client.post = lambda body, connection=None, extra=(): plain(
        body, connection, [("Content-Type", "application/json"), *token])
    client.open()
    if good:
        assert client.request("tools/call", ECHO)["content"][0]["text"] == "hello"
        server.wait_for_log("principal=https://issuer.example|alice")
        # Each message has the rights of its own token.
        token[0] = ("Authorization", f"Bearer {issuer.token()}")
        with pytest.raises(RpcError, match="-32600: Insufficient scope"):
            client.request("tools/call", ECHO)
    else:
        with pytest.raises(RpcError, match="-32600: Insufficient scope"):
            client.request("tools/call", ECHO)
    # Somebody else's token opens nobody's stream.
    token[0] = ("Authorization", f"Bearer {issuer.token('mallory', scope='tools:echo')}")
    assert client.post(b'{"jsonrpc":"2.0","id":9,"method":"ping"}').status == 404
    client.close()


@pytest.mark.row(52)
def test_clients_are_told_what_counts(start_pillion, issuer, tmp_path):
    def told(rules):
        path = tmp_path / "pillion.yaml"
        path.write_text(rules, encoding="utf-8")
        server = start_pillion("--config", path, "--root", tmp_path, *issuer.flags)
        client = client_of(server, issuer.token(), "E")
        text = client.request("resources/read", {"uri": "use://auth"})["contents"][0]["text"]
        client.close()
        return text

    text = told("tools: {echo: {scopes: [say]}}\nprincipals: {'uid:0': {}}")
    assert "Rights: scopes." in text and "a list: who is not on it" in text
    text = told("{}")
    assert "Rights: whoever is let in may use everything" in text and "a list" not in text


# ---- those for whom somebody vouches ----

def test_principals_by_their_certificates(start, authority, tmp_path):
    path = tmp_path / "pillion.yaml"
    path.write_text(RULES + """
principals:
  "cert:cn:all": {}
  "cert:cn:some": {scopes: [tools:echo]}
  "cert:cn:none": {scopes: []}
""", encoding="utf-8")
    server = start("--config", path, *authority.flags, "--tls-client-ca", authority.ca)

    def call(name, params):
        identity = authority.issue(name, f"/CN={name}")
        client = Client(authority.address(server, identity=identity), "E")
        reply = client.call("tools/call", params)
        client.close()
        return reply

    assert [call("all", p).status for p in (ECHO, ADD)] == [200, 200]
    assert [call("some", p).status for p in (ECHO, ADD)] == [200, 403]
    assert [call("none", p).status for p in (ECHO, ADD)] == [403, 403]
    stranger = call("stranger", OPEN)
    assert stranger.status == 403 and "WWW-Authenticate" not in stranger.response.headers
    server.wait_for_log("auth.refused")
    # The list is read again at a reload.
    path.write_text(RULES + 'principals: {"cert:cn:stranger": {}}\n', encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log("config.reloaded")
    assert call("stranger", OPEN).status == 200
    assert call("all", OPEN).status == 403


def test_principals_by_the_kernel(start, tmp_path):
    path, where = tmp_path / "pillion.yaml", str(tmp_path / "s")
    path.write_text(RULES + f'principals: {{"uid:{os.getuid()}": {{scopes: [tools:echo]}}}}\n',
                    encoding="utf-8")
    start("--config", path, "--listen", f"unix:{where}").wait_until_ready()
    assert ask(where, method="tools/call", params=ECHO).status == 200
    assert ask(where, method="tools/call", params=ADD).status == 403


LONG = "tools:a-name-that-has-memory-of-its-own-wherever-it-is-kept"


@pytest.fixture
def kept(start, tmp_path):
    """A server at a unix socket, a connection to it, and how its principals change."""
    path, where = tmp_path / "pillion.yaml", str(tmp_path / "s")

    def write(scopes):
        mine = f'principals: {{"uid:{os.getuid()}": {{scopes: {scopes}}}}}\n'
        tools = f"tools: {{echo: {{scopes: ['{LONG}']}}, {ADD['name']}: {{scopes: [no]}}}}\n"
        path.write_text(tools + (mine if scopes is not None else ""), encoding="utf-8")

    def change(scopes, judge):
        write(scopes)
        server.process.send_signal(signal.SIGHUP)
        # The loop takes the new settings in one of the turns after it says so.
        server.wait_for_log("config.reloaded")
        wait_until(judge, what="the new rules")

    write(f"['{LONG}']")
    server = start("--config", path, "--threads", 1, "--listen", f"unix:{where}")
    with Connection(where) as connection:
        yield where, connection, change


def rendered(connection, params):
    return connection.render("POST", "/mcp", [
        ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
        ("Mcp-Name", params["name"])], compact({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern_params(params)}))


def test_rules_are_replaced_while_a_body_comes(kept):
    """It had the rights of its head, which were read where the old rules had been."""
    where, connection, change = kept
    whole = rendered(connection, {"name": "echo", "arguments": {"text": "x" * 2000}})
    connection.send(whole[:-1500])
    with Connection(where) as other:  # whose turn comes later
        other.send(rendered(other, ECHO))
        assert other.read_response().status == 200
    change([], lambda: ask(where, method="tools/call", params=ECHO).status == 403)
    connection.send(whole[-1500:])
    assert connection.read_response().status == 200


def test_rules_are_taken_away_from_a_connection_that_is_kept(kept):
    """It kept its old rights, which were nowhere any more."""
    where, connection, change = kept

    def statuses():
        made = []
        for params in (ECHO, ADD):
            connection.send(rendered(connection, params))
            made.append(connection.read_response().status)
        return made

    assert statuses() == [200, 403]
    change(None, lambda: ask(where, method="tools/call", params=ADD).status == 200)
    assert statuses() == [200, 200]


def test_a_stream_ends_with_the_rule_that_let_it_in(kept):
    """It went on for as long as its connection."""
    where, _, change = kept
    client = Client(where, "E")
    stream, identifier, _ = client.listen(toolsListChanged=True)
    change([], lambda: ask(where, method="tools/call", params=ECHO).status == 403)
    assert client.next_message(stream)["id"] == identifier
    assert client.next_message(stream) is None and stream.ended
    client.close()


# ---- faults ----

@pytest.mark.parametrize("text, said", [
    ("tools: {ecco: {scopes: [a]}}", "tools.ecco.scopes: there is nothing of that name"),
    ("prompts: {absent: {scopes: [a]}}", "prompts.absent.scopes"),
    ("resources: {'test://absent': {scopes: [a]}}", "resources.test://absent.scopes"),
    ("methods: {tools/cal: {scopes: [a]}}", "methods.tools/cal.scopes"),
    ("tools: {echo: {scopes: ['a b']}}", "is not a scope"),
    ("tools: {echo: {scopes: ['']}}", "is not a scope"),
    ("tools: {echo: {scopes: {a: b}}}", "found a mapping"),
    ("prompts: {x: {timeout: 3s}}", 'unknown key "timeout"'),
    ("prompts: [a]", "must be a mapping of prompts"),
    ("principals: {x: {scope: a}}", 'unknown key "scope"'),
])
def test_rules_that_are_none(tmp_path, text, said):
    path = tmp_path / "pillion.yaml"
    path.write_text(text, encoding="utf-8")
    done = run_program(fixture_bin(), "check", path, text=True)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_the_schema_knows_them():
    schema = json.loads(run_program(fixture_bin(), "check", "--schema", text=True).stdout)
    good = {"tools": {"x": {"scopes": ["a"]}}, "prompts": {"x": {"scopes": "a"}},
            "principals": {"cert:cn:x": None, "uid:1": {"scopes": []}}}
    jsonschema.validate(good, schema)
    for bad in ({"methods": {"x": {"rate": 1}}}, {"tools": {"x": {"scopes": ["a b"]}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_rules_wait_for_a_restart_and_say_so(configured, tmp_path):
    server = configured()
    (tmp_path / "pillion.yaml").write_text(re.sub("tools:echo", "other", RULES), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    assert "tools" in server.wait_for_log("config.reloaded") + "".join(server.log)


GUARDED = """
tools:
  search_files: {{scopes: [{}]}}
  one: {{description: x, command: {{argv: [echo, "{}"]}}}}
"""
SEARCH = {"name": "search_files", "arguments": {"pattern": "x"}}


@pytest.mark.parametrize("more, said", [
    ("methods: {tools/call: {scopes: files:read}}\n", "config.needs_restart"),
    ("  two: {description: x, command: {argv: [echo]}, input: {type: object, properties: "
     "{a: {pattern: '(?=x)'}}}}\n", "config.refused"),
], ids=["taken", "refused"])
def test_rules_wait_beside_tools_that_change(start_pillion, tmp_path, more, said):
    """They counted at once where a tool of the file changed as well, even if it was refused."""
    tokens, path = tmp_path / "tokens", tmp_path / "pillion.yaml"
    tokens.write_text(listed("reader", OPAQUE, "files:read") + listed("all", OPAQUE[::-1],
                                                                      "files:search"))
    path.write_text(GUARDED.format("files:search", 1), encoding="ascii")
    server = start_pillion("--config", path, "--auth-tokens", tokens)
    path.write_text(GUARDED.format("files:read", 2) + more, encoding="ascii")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log(said)
    response = ask(server.address, OPAQUE, method="tools/call", params=SEARCH)
    assert response.status == 403 and 'scope="files:search"' in response["WWW-Authenticate"]
    assert ask(server.address, OPAQUE[::-1], method="tools/call", params=SEARCH).status == 200


# ---- tools of servers behind this one ----

READER, ALL = OPAQUE, OPAQUE[::-1]
TOUCH = {"name": "inner__touch", "arguments": {"uri": "memo://one"}}
RULED = {"tools": {"inner__touch": {"scopes": ["touch"]}},
         "prompts": {"inner__poem": {"scopes": ["poems"]}}}


@pytest.fixture
def behind(start_pillion, tmp_path):
    """Starts a server with others behind it, and exchanges its configuration."""
    tokens, path, root = tmp_path / "tokens", tmp_path / "pillion.yaml", tmp_path / "root"
    tokens.write_text(listed("reader", READER, "other") + listed("all", ALL, "touch", "poems"),
                      encoding="ascii")
    root.mkdir()

    def write(servers, more):
        path.write_text(json.dumps({"servers": servers, **more}), encoding="utf-8")

    def run(servers, more):
        write(servers, more)
        return start_pillion("--config", path, "--root", root, "--auth-tokens", tokens)
    run.write = write
    return run


def program(*before):
    words = [*before, sys.executable, str(SCRIPT), "D"]
    return {"command": words[0], "args": words[1:]}


def outcome(server, token, method="tools/call", **params):
    """200, 403, or the code of another error."""
    response = ask(server.address, token, method=method, params=params or TOUCH)
    error = response.json().get("error", {"code": 200})
    return 403 if response.status == 403 else error["code"]


POEM = {"method": "prompts/get", "name": "inner__poem", "arguments": {"about": "x"}}


# The next start refused what a reload had taken.
def test_a_start_takes_rules_about_tools_of_servers(behind):
    server = behind({"inner": program()}, RULED)
    assert [outcome(server, one) for one in (READER, ALL)] == [403, 200]
    assert [outcome(server, one, **POEM) for one in (READER, ALL)] == [403, 200]
    assert outcome(server, READER, name="inner__echo") == 200
    assert not [line for line in server.log if "registry.warning" in line]


def test_a_rule_is_there_before_its_tool(behind, tmp_path):
    late = program("sh", "-c", f"test -e '{tmp_path}/now' && exec \"$0\" \"$@\"")
    server = behind({"inner": late}, RULED)
    # Of a wrong name nobody would know otherwise.
    for line in ("tools.inner__touch: there is no such tool", "prompts.inner__poem.scopes: there"):
        server.wait_for_log(line)
    (tmp_path / "now").touch()

    def judged():
        reader = outcome(server, READER)
        assert reader != 200
        return reader == 403
    wait_until(judged, what="the tool")
    assert outcome(server, ALL) == 200


# Where no tool of the file's own had changed as well, the new rule was forgotten: anybody could
# call what it was about.
def test_a_reload_brings_a_server_and_the_rules_about_it(behind):
    server = behind({"first": program()}, {})
    behind.write({"first": program(), "inner": program()}, RULED)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: outcome(server, ALL) == 200, what="the server")
    assert outcome(server, READER) == 403
    assert outcome(server, READER, name="inner__echo") == 200


@pytest.mark.parametrize("server, rule", [
    ({}, {"tools": {"innertouch": {"scopes": ["a"]}}}),
    ({}, {"tools": {"inner__": {"scopes": ["a"]}}}),
    ({"deny": ["touch"]}, RULED),
    ({"allow": ["echo"]}, RULED),
    ({"prefix": "other__"}, RULED),
    ({"rename": {"touch": "hit"}}, RULED),
    ({}, {"resources": {"inner__touch": {"scopes": ["a"]}}}),
], ids=["other", "prefix", "denied", "not allowed", "moved", "renamed", "resource"])
def test_rules_about_what_no_server_can_have_are_none(tmp_path, server, rule):
    path = tmp_path / "pillion.yaml"
    path.write_text(json.dumps({"servers": {"inner": {**program(), **server}}, **rule}),
                    encoding="utf-8")
    done = run_program(pillion_bin(), "check", path, text=True)
    assert done.returncode == 2 and "scopes: there is nothing of that name" in done.stderr


@pytest.mark.parametrize("server", [
    {}, {"prefix": "", "rename": {"any": "inner__touch"}}, {"allow": ["touch", "poem"]}],
    ids=["prefix", "renamed", "allowed"])
def test_rules_about_what_a_server_may_have_are_taken(tmp_path, server):
    path = tmp_path / "pillion.yaml"
    path.write_text(json.dumps({"servers": {"inner": {**program(), **server}}, **RULED}),
                    encoding="utf-8")
    done = run_program(pillion_bin(), "check", path, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
