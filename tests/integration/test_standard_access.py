"""Rows 40 to 54 of the corporate standard: what is asked of callers, and by which tokens."""

import hashlib
import os
import re
import signal
import time

import pytest

from bearer import ECHO, OPAQUE, ask, client_of, refused
from http_client import Connection
from mcp_client import CAPABILITIES, Client, compact, modern_params
from server_process import fixture_bin, run_program
from tokens import Issuer, SigningKey, listed
from wire_schema import TASKS

pytestmark = [pytest.mark.asan, pytest.mark.tls]

TASK = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
# Everything that a client of 2026-07-28 can ask for, with params that would do.
MODERN = {
    "server/discover": None, "tools/list": None, "prompts/list": None, "resources/list": None,
    "resources/templates/list": None, "tools/call": ECHO,
    "prompts/get": {"name": "test_simple_prompt"}, "resources/read": {"uri": "test://static-text"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "x"},
                            "argument": {"name": "a", "value": ""}},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
    "tasks/get": {"taskId": TASK}, "tasks/cancel": {"taskId": TASK},
    "tasks/update": {"taskId": TASK, "inputResponses": {}}, "nonsense": None,
}
# … and those of sessions besides.
LEGACY = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {},
                   "clientInfo": {"name": "x", "version": "1"}},
    "ping": None, "logging/setLevel": {"level": "info"},
    "resources/subscribe": {"uri": "test://watched-resource"},
    "resources/unsubscribe": {"uri": "test://watched-resource"},
    "tasks/list": None, "tasks/result": {"taskId": TASK},
    "notifications/initialized": None, "notifications/cancelled": {"requestId": 1},
}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def guarded(start, issuer):
    return start(*issuer.flags)


@pytest.mark.row(40)
def test_nobody_sees_the_lists_without_saying_who_it_is(guarded, issuer):
    for method in ("tools/list", "prompts/list"):
        refused(ask(guarded.address, method=method))
        result = ask(guarded.address, issuer.token(), method=method).json()["result"]
        assert result[method.split("/")[0]]


@pytest.mark.row(41)
def test_everything_else_asks_for_a_token_too(guarded):
    """Before anything is looked at: what is refused tells nothing of what exists."""
    for method, params in {**MODERN, **LEGACY}.items():
        for given in (params, {"name": "no such thing"}):
            message = {"jsonrpc": "2.0", "id": 1, "method": method}
            refused(post(guarded, message, given, [("MCP-Protocol-Version", "2026-07-28"),
                                                   ("Mcp-Method", method)]))
            refused(post(guarded, message, given, [("Mcp-Session-Id", "x" * 27)]))
    refused(post(guarded, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], None, []))


def post(server, message, params, headers):
    if isinstance(message, dict):
        message = {**message, "params": modern_params(params)}
    with Connection(server.address) as connection:
        return connection.request("POST", "/mcp", [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"), *headers], compact(message))


@pytest.mark.row(41, 42)
@pytest.mark.parametrize("rev", "BCDE")
def test_with_a_token_everything_is_there(guarded, issuer, rev):
    client = client_of(guarded, issuer.token(), rev, capabilities={
        **CAPABILITIES, "extensions": {TASKS: {}}})
    assert client.request("tools/list")["tools"] and client.request("prompts/list")["prompts"]
    assert client.request("tools/call", ECHO)["content"]
    assert client.request("prompts/get", MODERN["prompts/get"])["messages"]
    assert client.request("resources/read", MODERN["resources/read"])["contents"]
    client.close()


@pytest.mark.row(42, 53)
def test_a_jwt_by_either_algorithm_and_for_one_of_several_audiences(start, tmp_path):
    issuer = Issuer(tmp_path)
    rsa = SigningKey(tmp_path, "rsa", "RS256")
    issuer.publish(issuer.key, rsa)
    server = start(*issuer.flags, "--oidc-audience", "pillion")
    for key in (issuer.key, rsa):
        for audience in (issuer.audience, "pillion", ["other", "pillion"]):
            assert ask(server.address, issuer.token(key=key, aud=audience)).status == 200
    refused(ask(server.address, issuer.token(aud=["other", "another"])), "invalid_token")


@pytest.mark.row(53)
def test_clocks_may_differ_by_a_minute_and_no_more(guarded, issuer):
    now = int(time.time())
    for claims in ({"exp": now - 30}, {"nbf": now + 30}, {"iat": now + 30}):
        assert ask(guarded.address, issuer.token(**claims)).status == 200, claims
    for claims in ({"exp": now - 90}, {"nbf": now + 120}, {"iat": now + 120}):
        refused(ask(guarded.address, issuer.token(**claims)), "invalid_token")


@pytest.mark.row(54)
def test_claims_of_the_types_that_are_required(guarded, issuer):
    """A number may be a fraction (RFC 7519 §2), a claim that nobody knows may be there."""
    now = time.time()
    for claims in ({"exp": now + 60.5, "iat": now - 0.5, "nbf": now - 0.5}, {"scope": ""},
                   {"scope": "a b  c"}, {"azp": "x", "groups": ["a"], "nested": {"a": [1]}}):
        assert ask(guarded.address, issuer.token(**claims)).status == 200, claims
    for name in ("iss", "sub", "aud", "exp", "iat"):
        refused(ask(guarded.address, issuer.token(**{name: None})), "invalid_token")
        wrong = "soon" if name in ("exp", "iat") else 7
        refused(ask(guarded.address, issuer.token(**{name: wrong})), "invalid_token")


@pytest.mark.row(43)
def test_opaque_tokens_are_kept_as_hashes_and_rotated(start, tmp_path):
    path = tmp_path / "tokens"
    other = OPAQUE[::-1]
    path.write_text(listed("old", OPAQUE), encoding="ascii")
    server = start("--auth-tokens", path)
    assert ask(server.address, OPAQUE).status == 200
    # Both for a while, then the new one only, and nothing was started anew.
    for text, statuses in ((listed("old", OPAQUE) + listed("new", other), (200, 200)),
                           (listed("new", other), (401, 200))):
        server.log.clear()
        path.write_text(text, encoding="ascii")
        os.kill(server.pid, signal.SIGHUP)
        server.wait_for_log("config.reloaded")
        end = time.monotonic() + 10
        while tuple(ask(server.address, one).status for one in (OPAQUE, other)) != statuses:
            assert time.monotonic() < end
            time.sleep(0.02)
    refused(ask(server.address, OPAQUE), "invalid_token")
    assert not any(OPAQUE in line or other in line for line in server.log)


@pytest.mark.row(43)
def test_an_opaque_token_is_never_kept_as_it_is(tmp_path):
    """Who reads the list can let nobody in; a list with a token in clear is refused, unread."""
    path = tmp_path / "tokens"
    digest = hashlib.sha256(OPAQUE.encode()).hexdigest()
    for line in (OPAQUE, f"ci {OPAQUE}", f"ci {digest[:-1]}", f"ci {digest}0", f"ci{digest}"):
        path.write_text(line + "\n", encoding="ascii")
        done = run_program(fixture_bin(), "check", "--auth-tokens", path)
        assert done.returncode == 2 and b"line 1" in done.stderr, done
        assert OPAQUE.encode() not in done.stderr + done.stdout


@pytest.mark.row(46)
def test_a_client_finds_out_where_to_get_a_token(guarded, issuer):
    """From the 401 alone: the metadata of RFC 9728, at the address that it names."""
    challenge = refused(ask(guarded.address))
    where = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", challenge["resource_metadata"])
    assert int(where[1]) == guarded.port
    for path in (where[2], "/.well-known/oauth-protected-resource"):
        with Connection(guarded.address) as connection:
            response = connection.request("GET", path)
        document = response.json()
        assert document["resource"] == f"http://127.0.0.1:{guarded.port}/mcp"
        assert document["authorization_servers"] == [issuer.url]
        assert "offline_access" not in document.get("scopes_supported", [])


@pytest.mark.row(46)
def test_a_token_for_others_is_not_taken_and_ours_is_not_passed_on(guarded, issuer):
    """A client that passes on what it was given for another service (confused deputy)."""
    for audience in ("https://api.upstream.example", issuer.url, "https://pillion.example"):
        refused(ask(guarded.address, issuer.token(aud=audience)), "invalid_token")
    token = issuer.token()
    client = client_of(guarded, token, "D")
    told = client.tool_text("test_whoami", {})
    everything = str(client.request("resources/list")) + told
    assert token not in everything and token.split(".")[2] not in everything
    client.close()


@pytest.mark.row(47, 48)
def test_one_challenge_says_all(guarded, issuer):
    """Realm and metadata together; an error only where there was a token."""
    for token, names in ((None, {"realm", "resource_metadata"}),
                         (issuer.token(exp=1),
                          {"realm", "error", "error_description", "resource_metadata"})):
        response = ask(guarded.address, token)
        assert response.status == 401
        value = response["WWW-Authenticate"]
        assert value.startswith('Bearer realm="test"') and "\r" not in value
        assert {name for name, _ in re.findall(r'(\w+)="([^"]*)"', value)} == names


@pytest.mark.row(50)
def test_the_body_of_a_refusal_is_the_same_at_every_revision(guarded):
    """No id, no new code: whoever asks which way."""
    said = set()
    for rev in "BCDE":
        client = Client(guarded.address, rev)
        reply = client.call("tools/list") if rev == "E" else client.call("initialize", LEGACY[
            "initialize"])
        assert reply.status == 401
        error = {key: value for key, value in reply.message["error"].items() if key != "data"}
        said.add((tuple(sorted(error.items())), tuple(sorted(reply.message))))
        client.close()
    assert said == {((("code", -32600), ("message", "Unauthorized")), ("error", "jsonrpc"))}
