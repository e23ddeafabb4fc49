"""Bearer tokens: who is let in, who is not, and what those hear."""

import time

import pytest

from bearer import ECHO, OPAQUE, ask, client_of, refused
from http_client import Connection
from mcp_client import CAPABILITIES, RpcError, compact, modern_params
from server_process import fixture_bin, run_program
from tokens import Issuer, SigningKey, listed
from wire_schema import TASKS

pytestmark = [pytest.mark.asan, pytest.mark.tls]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def guarded(start, issuer, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("# who may\n" + listed("ci", OPAQUE, "tools:call"), encoding="ascii")
    return start(*issuer.flags, "--auth-tokens", tokens, "--log-level", "debug")


# ---- those who are let in ----

@pytest.mark.parametrize("rev", "BCDE")
def test_a_token_lets_in_at_every_revision(guarded, issuer, rev):
    client = client_of(guarded, issuer.token("alice"), rev)
    for _ in range(3):
        assert client.request("tools/call", ECHO)["content"][0]["text"] == "hello"
    client.close()
    guarded.wait_for_log("principal=https://issuer.example|alice")


def test_kinds_of_tokens(guarded, issuer, start):
    assert ask(guarded.address, issuer.token()).status == 200
    assert ask(guarded.address, OPAQUE, method="tools/call", params=ECHO).status == 200
    guarded.wait_for_log("principal=token:ci")
    assert ask(guarded.address, headers=[("Authorization", f"bearer {OPAQUE}")]).status == 200
    rsa = SigningKey(issuer.folder, "rsa", "RS256")
    issuer.publish(issuer.key, rsa)
    server = start(*issuer.flags)
    for key in (issuer.key, rsa):
        assert ask(server.address, issuer.token(key=key)).status == 200
    issuer.publish(issuer.key)


def test_a_connection_may_change_hands(guarded, issuer):
    """One connection, several people: each request is its own."""
    tokens = {name: issuer.token(name) for name in ("ann", "ben", "cem")}
    with Connection(guarded.address) as connection:
        for name in ("ann", "ben", "ann", "cem", "ben"):
            body = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                            "params": modern_params(ECHO)})
            response = connection.request("POST", "/mcp", [
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "echo"), ("Authorization", f"Bearer {tokens[name]}")], body)
            assert response.status == 200
            guarded.wait_for_log(f"request_id={response['X-Request-Id']}")
            line = guarded.wait_for_log(response["X-Request-Id"])
            assert f"|{name}" in line, line


def test_what_needs_no_token(guarded):
    for path in ("/health", "/ready", "/"):
        with Connection(guarded.address) as connection:
            assert connection.request("GET", path).status == 200
    with Connection(guarded.address) as connection:
        preflight = connection.request("OPTIONS", "/mcp", [
            ("Origin", f"http://localhost:{guarded.port}"),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization")])
        assert preflight.status in (200, 204)


# ---- those who are not: see test_auth_refusals.py ----

def test_secrets_are_never_shown(guarded, issuer):
    token = issuer.token(aud="nobody")
    response = ask(guarded.address, token)
    assert token not in str(response.headers) + response.body.decode()
    ask(guarded.address, OPAQUE)
    guarded.wait_for_log("auth.refused")
    for line in guarded.log:
        assert OPAQUE not in line and token.split(".")[1] not in line


# ---- keys that change ----

def test_a_key_that_was_taken_away_opens_nothing(start, tmp_path):
    issuer = Issuer(tmp_path)
    server = start(*issuer.flags, "--threads", 2)
    old = issuer.token()
    with Connection(server.address) as kept:
        def again(token):
            body = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                            "params": modern_params(None)})
            return kept.request("POST", "/mcp", [
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"),
                ("Authorization", f"Bearer {token}")], body)
        assert again(old).status == 200
        second = SigningKey(tmp_path, "second")
        issuer.publish(issuer.key, second)
        server.wait_for_log("config.reloaded")
        end = time.monotonic() + 10
        while ask(server.address, issuer.token(key=second)).status != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert again(old).status == 200
        server.log.clear()
        issuer.publish(second)
        server.wait_for_log("config.reloaded")
        # Also where it has been let in before.
        end = time.monotonic() + 10
        while (response := again(old)).status == 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        refused(response, "invalid_token")
        line = server.wait_for_log(f"auth.refused request_id={response['X-Request-Id']}")
        assert "the key of the token is not known" in line and "status=401" in line
        assert again(issuer.token(key=second)).status == 200
        # A set that is none changes nothing.
        issuer.jwks.write_text("{}", encoding="ascii")
        server.wait_for_log("config.refused")
        assert again(issuer.token(key=second)).status == 200


# ---- two principals ----

def test_sessions_and_tasks_of_one_are_none_of_another(guarded, issuer):
    alice, bob = (client_of(guarded, issuer.token(name), "D") for name in ("alice", "bob"))
    own, bob.session = bob.session, alice.session
    assert bob.call("tools/list").status == 404
    bob.session = own
    assert alice.request("tools/list")["tools"]
    able = {**CAPABILITIES, "extensions": {TASKS: {}}}
    first, second = (client_of(guarded, issuer.token(name), "E", capabilities=able)
                     for name in ("alice", "bob"))
    task = first.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 0.2}})
    assert first.request("tasks/get", {"taskId": task["taskId"]})
    with pytest.raises(RpcError, match="-32602"):
        second.request("tasks/get", {"taskId": task["taskId"]})
    for client in (alice, bob, first, second):
        client.close()


def test_a_session_ends_for_whom_the_token_ends(start, tmp_path):
    issuer = Issuer(tmp_path)
    server = start(*issuer.flags)
    late = client_of(server, issuer.token(exp=int(time.time()) - 100))
    assert late.call("tools/list").status == 401
    late.close()
    token = issuer.token()
    client = client_of(server, token, "D")
    session = client.session
    with Connection(server.address) as connection:
        response = connection.request("POST", "/mcp", [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", session)],
            compact({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}))
        refused(response)
    client.close()


# ---- metadata ----

def metadata(address, path, headers=()):
    with Connection(address) as connection:
        return connection.request("GET", path, headers)


def test_the_metadata_of_the_resource(guarded, issuer):
    for path in ("/.well-known/oauth-protected-resource",
                 "/.well-known/oauth-protected-resource/mcp"):
        document = metadata(guarded.address, path).json()
        assert document["resource"] == f"http://127.0.0.1:{guarded.port}/mcp"
        assert document["authorization_servers"] == [issuer.url]
        assert document["bearer_methods_supported"] == ["header"]
    for path in ("/.well-known/oauth-protected-resource/other",
                 "/.well-known/oauth-protected-resourcemcp", "/.well-known/openid-configuration"):
        assert metadata(guarded.address, path).status == 404
    with Connection(guarded.address) as connection:
        assert connection.request("POST", "/.well-known/oauth-protected-resource",
                                  body=b"").status == 405


def test_an_external_url_is_what_clients_see(start, issuer):
    server = start("--oidc-issuer", issuer.url, "--oidc-jwks", issuer.jwks, "--external-url",
                   "https://pillion.example")
    challenge = refused(ask(server.address))
    assert challenge["resource_metadata"] == (
        "https://pillion.example/.well-known/oauth-protected-resource/mcp")
    document = metadata(server.address, "/.well-known/oauth-protected-resource").json()
    assert document["resource"] == "https://pillion.example/mcp"
    # It is an audience as well.
    assert ask(server.address, issuer.token()).status == 200


def test_without_an_issuer_there_is_no_metadata(start, tmp_path, server):
    tokens = tmp_path / "tokens"
    tokens.write_text(listed("ci", OPAQUE), encoding="ascii")
    guarded = start("--auth-tokens", tokens)
    assert "resource_metadata" not in refused(ask(guarded.address))
    for one in (guarded, server):
        assert metadata(one.address, "/.well-known/oauth-protected-resource").status == 404
    # Nobody needs a token where none is asked for.
    assert ask(server.address, "whatever").status == 200


# ---- other ways in ----

def test_whom_the_kernel_vouches_for_needs_no_token(start, issuer, tmp_path):
    path = str(tmp_path / "s")
    server = start(*issuer.flags, "--listen", f"unix:{path}", "--listen", "127.0.0.1:0")
    server.wait_until_ready(2)
    assert ask(path).status == 200
    address = ("127.0.0.1", int(server.urls[1].split(":")[2].split("/")[0]))
    refused(ask(address))
    refused(ask(path, "rubbish"), "invalid_token")


def test_a_certificate_or_a_token(start, issuer, authority):
    server = start(*issuer.flags, *authority.flags)
    address = authority.address(server)
    challenge = refused(ask(address))
    assert challenge["resource_metadata"].startswith(f"https://127.0.0.1:{server.port}/")
    assert ask(address, issuer.token()).status == 200
    mutual = start(*issuer.flags, *authority.flags, "--tls-client-ca", authority.ca)
    identity = authority.issue("holder", "/CN=holder")
    assert ask(authority.address(mutual, identity=identity)).status == 200
    refused(ask(authority.address(mutual, identity=identity), "rubbish"), "invalid_token")


# ---- the configuration ----

def test_faults_of_the_configuration(issuer, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    audience = ("--oidc-audience", "us")
    pair = ("--oidc-issuer", issuer.url, "--oidc-jwks", issuer.jwks)
    for arguments, said in (
            (("--oidc-issuer", issuer.url, *audience), "as many key sets as issuers"),
            (("--oidc-jwks", issuer.jwks), "as many key sets as issuers"),
            (pair, "needs --oidc-audience"),
            (("--oidc-issuer", "issuer", "--oidc-jwks", issuer.jwks, *audience), "not the URL"),
            (("--oidc-issuer", issuer.url, "--oidc-jwks", "/no/such", *audience), "/no/such"),
            (("--oidc-issuer", issuer.url, "--oidc-jwks", empty, *audience), "no JSON Web Key Set"),
            (("--auth-tokens", empty), "no token in it"),
            (("--external-url", "pillion.example", *pair), "not https://"),
            ((*pair, *audience, "--listen", "0.0.0.0:0"), "plain HTTP")):
        done = run_program(fixture_bin(), "check", *arguments)
        assert done.returncode == 2 and said in done.stderr.decode(), (arguments, done)
    for good in ((*pair, *audience, "--listen", "0.0.0.0:0", "--insecure-plain-tokens"),
                 (*pair, "--external-url", "https://pillion.example"),
                 (*pair, *audience, "--profile", "generic")):
        assert run_program(fixture_bin(), "check", *good).returncode == 0, good


def test_what_the_server_says_of_it(start_pillion, issuer):
    server = start_pillion(*issuer.flags)
    client = client_of(server, issuer.token(), "D")
    text = client.request("resources/read", {"uri": "use://auth"})["contents"][0]["text"]
    assert "Active: bearer tokens" in text
    client.close()
