"""X-API-Key: who is let in by a key, who is not, and what those hear (STANDARD rows 38, 45, 87)."""

import pytest

from http_client import Connection
from server_process import fixture_bin, run_program
from test_auth import ECHO, Issuer, ask, refused
from mcp_client import Client, LegacySse, compact, modern_params
from tokens import listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# programs\n" + listed("ci", KEY, "tools:call"), encoding="ascii")
    return path


@pytest.fixture
def guarded(start, keys, issuer):
    return start("--api-keys", keys, *issuer.flags, "--log-level", "debug")


def by_key(address, *values, headers=(), **more):
    return ask(address, headers=[*(("X-API-Key", value) for value in values), *headers], **more)


def listing(connection, key):
    return connection.request("POST", "/mcp", [
        ("Content-Type", "application/json"), ("X-API-Key", key),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")],
        compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                 "params": modern_params(None)}))


def replace(keys, text):
    fresh = keys.with_suffix(".new")
    fresh.write_text(text, encoding="ascii")
    fresh.rename(keys)


def test_a_key_lets_in(guarded):
    for _ in range(2):
        response = by_key(guarded.address, KEY, method="tools/call", params=ECHO)
        assert response.status == 200
    guarded.wait_for_log("principal=key:ci")
    assert ask(guarded.address, headers=[("x-api-KEY", f" {KEY}\t")]).status == 200


def test_a_key_beside_tokens(guarded, issuer):
    """On one connection, each request is whose credential it shows."""
    with Connection(guarded.address) as connection:
        def call(*headers):
            return connection.request("POST", "/mcp", [
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "echo"), *headers],
                compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                         "params": modern_params(ECHO)}))
        token = issuer.token("alice")
        for header, name in [(("X-API-Key", KEY), "key:ci"),
                             (("Authorization", f"Bearer {token}"), "|alice")] * 2:
            response = call(header)
            assert response.status == 200
            assert name in guarded.wait_for_log(f"request_id={response['X-Request-Id']}")
        # What was let in as a key is none as a token, and the other way round.
        refused(call(("Authorization", f"Bearer {KEY}")), "invalid_token")
        refused(call(("X-API-Key", token)), "invalid_token")
        assert call(("X-API-Key", KEY)).status == 200


def test_several_credentials_are_none(guarded, issuer):
    refused(by_key(guarded.address, KEY, KEY), "invalid_request", 400)
    refused(by_key(guarded.address, KEY, OTHER), "invalid_request", 400)
    for value in (f"Bearer {issuer.token()}", "Basic YTpi", ""):
        refused(by_key(guarded.address, KEY, headers=[("Authorization", value)]),
                "invalid_request", 400)


@pytest.mark.parametrize("value", [OTHER, KEY[:-1], KEY + "0", KEY.upper(), f"Bearer {KEY}", "x",
                                   "k" * 9000])
def test_keys_that_let_nobody_in(guarded, value):
    response = by_key(guarded.address, value)
    challenge = refused(response, "invalid_token")
    assert "on no list" in challenge["error_description"]
    line = guarded.wait_for_log(response["X-Request-Id"])
    assert "auth.refused" in line and "no list" in line


def test_without_a_key(guarded):
    refused(ask(guarded.address))
    refused(by_key(guarded.address, ""))


def test_keys_are_never_shown(guarded):
    for value in (KEY, OTHER):
        response = by_key(guarded.address, value, method="tools/call", params=ECHO)
        assert value not in str(response.headers) + response.body.decode()
    guarded.wait_for_log("auth.refused")
    guarded.wait_for_log("principal=key:ci")
    assert not [line for line in guarded.log if KEY in line or OTHER in line]


@pytest.mark.row(38)
@pytest.mark.parametrize("name", ["access_token", "api_key", "apikey", "token", "API_KEY",
                                  "Access_Token"])
def test_secrets_in_the_url(guarded, name):
    for query in (f"?{name}={KEY}", f"?a=b&{name}={KEY}", f"?{name}={KEY}&a=b"):
        with Connection(guarded.address) as connection:
            response = connection.request("POST", "/mcp" + query, [
                ("Content-Type", "application/json"), ("X-API-Key", KEY),
                ("Accept", "application/json, text/event-stream")], b"{}")
            assert response.status == 400


@pytest.mark.row(38)
@pytest.mark.parametrize("query", ["?tokens=1", "?my_token=1", "?a=token", "?token", "?key=1",
                                   "?sessionId=token=", "?a=api_key=1"])
def test_what_is_no_secret_in_the_url(guarded, query):
    with Connection(guarded.address) as connection:
        assert connection.request("GET", "/" + query, [("Accept", "text/html")]).status == 200


def test_the_header_means_nothing_elsewhere(start, issuer, server):
    assert by_key(server.address, OTHER, OTHER).status == 200
    tokens_only = start(*issuer.flags)
    assert by_key(tokens_only.address, OTHER, headers=[
        ("Authorization", f"Bearer {issuer.token()}")]).status == 200
    refused(by_key(tokens_only.address, KEY))


def test_preflights_may_ask_for_it(guarded):
    with Connection(guarded.address) as connection:
        response = connection.request("OPTIONS", "/mcp", [
            ("Origin", f"http://localhost:{guarded.port}"),
            ("Access-Control-Request-Method", "POST")])
        assert "X-API-Key" in response["Access-Control-Allow-Headers"]


def test_a_key_that_was_taken_away(start, keys):
    server = start("--api-keys", keys)
    with Connection(server.address) as kept:
        assert listing(kept, KEY).status == 200
        replace(keys, listed("ci", OTHER))
        server.wait_for_log("config.reloaded")
        # The loop takes the new settings in its next turn.
        answers = iter(lambda: listing(kept, KEY).status, 401)
        assert sum(1 for _ in answers) < 1000
        assert by_key(server.address, OTHER).status == 200


def test_strangers_are_charged(start, keys, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("rates: {address: 1, address_burst: 5}\n", encoding="ascii")
    good = [f"{i:032x}" for i in range(20)]
    keys.write_text("".join(listed("ci", one) for one in good), encoding="ascii")
    server = start("--config", config, "--api-keys", keys)
    strangers = (by_key(server.address, OTHER).status for _ in range(1000))
    assert [next(strangers) for _ in range(5)] == [401] * 5 and 429 in strangers
    # Nobody knows who it is before.
    assert any(429 in strangers and by_key(server.address, one).status == 429 for one in good)


def test_who_is_known_is_not_charged_to_the_address(start, keys, tmp_path):
    """On a new connection it was refused with the strangers of its address; so was, later, one of
    two whose hashes put them into one place (tests/unit/auth/identity_cache_test.cpp)."""
    config = tmp_path / "config.yaml"
    config.write_text("rates: {address: 1, address_burst: 5, principal: 100000}\n",
                      encoding="ascii")
    keys.write_text(listed("ci", KEY) + listed("cd", OTHER), encoding="ascii")
    server = start("--config", config, "--api-keys", keys, "--threads", 1)
    assert [by_key(server.address, key).status for key in (KEY, OTHER)] == [200, 200]
    strangers = (by_key(server.address, "x" * 32).status for _ in range(1000))
    assert 429 in strangers
    assert [by_key(server.address, KEY).status for _ in range(20)] == [200] * 20
    with Connection(server.address) as connection:
        in_turn = [listing(connection, (KEY, OTHER)[i % 2]).status for i in range(20)]
    assert in_turn == [200] * 20


def client_by(server, key, rev):
    made = Client(server.address, rev)
    plain = made.headers
    made.headers = lambda message=None, extra=(): plain(message, [("X-API-Key", key), *extra])
    return made.open() if rev != "E" else made


def stream_by(server, key, kind):
    """A stream that listens, opened with a key: (its client, the stream)."""
    if kind == "sse":
        client = LegacySse(server.address, extra=[("X-API-Key", key)])
        return client, client.stream
    client = client_by(server, key, "E" if kind == "subscription" else "D")
    if kind == "subscription":
        return client, client.listen(toolsListChanged=True)[0]
    stream = client.open_stream()
    stream.next_event()
    return client, stream


@pytest.mark.parametrize("kind", ["subscription", "session", "sse"])
def test_a_key_that_was_taken_away_listens_no_more(start, keys, kind):
    """Its streams went on for as long as their connections, and heard of everything."""
    keys.write_text(listed("gone", KEY) + listed("stays", OTHER), encoding="ascii")
    server = start("--api-keys", keys, "--threads", 2)
    gone, stream = stream_by(server, KEY, kind)
    stays, kept = stream_by(server, OTHER, "subscription")
    replace(keys, listed("more", "0" * 32) + listed("stays", OTHER))
    server.wait_for_log("auth.stream_ended")
    while stream.next_event() is not None:
        pass
    assert stream.ended
    stays.tool_text("test_trigger_tool_change")
    assert stays.next_message(kept)["method"] == "notifications/tools/list_changed"
    assert sum("auth.stream_ended" in line for line in server.log) == 1
    for one in (gone, stays):
        one.close()


@pytest.mark.parametrize("text", ["", "# nobody\n", "ci\n", "ci 12\n", "ci " + "g" * 64 + "\n"])
def test_a_list_that_is_none(tmp_path, text):
    path = tmp_path / "keys"
    path.write_text(text, encoding="ascii")
    done = run_program(fixture_bin(), "serve", "--port", "0", "--api-keys", path)
    assert done.returncode == 2 and b"--api-keys: " in done.stderr, done


def test_keys_go_over_plain_http_on_loopback_only(keys):
    done = run_program(fixture_bin(), "serve", "--listen", "0.0.0.0:0", "--api-keys", keys)
    assert done.returncode == 2 and b"--insecure-plain-tokens" in done.stderr, done
