"""Tokens that are judged by what other servers say: keys that issuers publish."""

import json
import ssl
import threading

import pytest

from http_client import Connection
from mcp_client import compact, modern_params
from scripted_server import CLOSE, NEVER, chunked, http
from server_process import fixture_bin, run_program, wait_until
from test_auth import ask, refused
from tls_authority import Authority
from tokens import Issuer, SigningKey

pytestmark = [pytest.mark.asan, pytest.mark.tls]

AUDIENCE = "https://pillion.example/mcp"
LIST_BODY = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                     "params": modern_params(None)})


def serving(authority, name="server"):
    """How a server of that authority speaks https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / f"{name}.pem", authority.folder / f"{name}.key")
    return context


class Publisher:
    """An issuer that publishes its keys by HTTP. `answer`, if it is set, is sent instead."""

    def __init__(self, scripted, folder, context=None):
        self.answer = None
        self.server = scripted(self.script, context=context)
        self.issuer = Issuer(folder, self.server.base, AUDIENCE)
        self.keys = [self.issuer.key]
        self.metadata = {"issuer": self.server.base, "jwks_uri": f"{self.server.base}/jwks"}
        self.places = ["/.well-known/openid-configuration"]

    def script(self, request):
        if self.answer is not None:
            return self.answer(request) if callable(self.answer) else self.answer
        if request.path in self.places:
            return http(json.dumps(self.metadata))
        if request.path == "/jwks":
            return http(json.dumps({"keys": [key.jwk() for key in self.keys]}))
        return http("", "404 Not Found")

    def fetches(self, path="/jwks"):
        return sum(request.path == path for request in self.server.requests)

    def flags(self, where=None):
        return ("--oidc-issuer", self.server.base, "--oidc-jwks",
                where or f"{self.server.base}/jwks", "--oidc-audience", AUDIENCE)


@pytest.fixture
def publisher(scripted, tmp_path):
    return Publisher(scripted, tmp_path)


def ready(server):
    with Connection(server.address) as connection:
        return connection.request("GET", "/ready")


def wait_until_ready(server):
    wait_until(lambda: ready(server).status == 200, what="/ready")


def again(connection, token):
    return connection.request("POST", "/mcp", [
        ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"),
        ("Authorization", f"Bearer {token}")], LIST_BODY)


def refused_for_now(response, text):
    assert response.status == 503, response
    assert int(response["Retry-After"]) >= 1 and response["WWW-Authenticate"] is None
    assert text in response.json()["error"]["message"], response
    return response


# ---- keys that are fetched ----

@pytest.mark.parametrize("how", ["http", "https", "discover", "rfc 8414"])
def test_keys_are_fetched(start, scripted, tmp_path, authority, how):
    secure = how != "http"
    made = Publisher(scripted, tmp_path, serving(authority) if secure else None)
    if how == "rfc 8414":
        made.places = ["/.well-known/oauth-authorization-server"]
    more = ("--auth-ca", authority.ca) if secure else ()
    where = "discover" if how in ("discover", "rfc 8414") else None
    server = start(*made.flags(where), *more, "--threads", 2)
    server.wait_for_log("auth.keys_fetched")
    wait_until_ready(server)
    assert ready(server).json()["checks"]["issuer_keys"] == "ok"
    for _ in range(6):
        assert ask(server.address, made.issuer.token()).status == 200
    assert made.fetches() == 1
    asked = made.server.requests[-1]
    assert "authorization" not in asked.headers and "connection" not in asked.headers
    refused(ask(server.address, made.issuer.token(aud="nobody")), "invalid_token")


def test_before_the_first_fetch_nobody_is_told_no(start, publisher):
    gate = threading.Event()

    def slow(request):
        gate.wait(20)
        publisher.answer = None
        return publisher.script(request)
    publisher.answer = slow
    server = start(*publisher.flags())
    response = ready(server)
    assert response.status == 503 and response.json()["checks"]["issuer_keys"] == "fail"
    token = publisher.issuer.token()
    answer = refused_for_now(ask(server.address, token), "keys of the token's issuer")
    line = server.wait_for_log(answer["X-Request-Id"])
    assert "auth.refused" in line and "status=503" in line
    # What needs no key is known as such.
    refused(ask(server.address), None)
    refused(ask(server.address, "rubbish" * 5), "invalid_token")
    gate.set()
    server.wait_for_log("auth.keys_fetched")
    wait_until_ready(server)
    assert ask(server.address, token).status == 200


def test_an_unknown_key_is_fetched_while_its_token_waits(start, publisher):
    server = start(*publisher.flags(), "--threads", 2)
    wait_until_ready(server)
    old = publisher.issuer.token()
    second, third = (SigningKey(publisher.issuer.folder, name) for name in ("second", "third"))
    with Connection(server.address) as kept:
        assert again(kept, old).status == 200
        publisher.keys = [publisher.issuer.key, second]
        assert ask(server.address, publisher.issuer.token(key=second)).status == 200
        assert publisher.fetches() == 2
        assert again(kept, old).status == 200
        # The next one has to wait for its time, and hears so at once.
        publisher.keys = [third]
        refused(ask(server.address, publisher.issuer.token(key=third)), "invalid_token")
        assert publisher.fetches() == 2


def test_a_key_that_was_taken_away_opens_nothing(start, publisher):
    server = start(*publisher.flags(), "--threads", 2)
    wait_until_ready(server)
    old = publisher.issuer.token()
    connections = [Connection(server.address) for _ in range(4)]
    for kept in connections:
        assert again(kept, old).status == 200
    second = SigningKey(publisher.issuer.folder, "second")
    publisher.keys = [second]
    assert ask(server.address, publisher.issuer.token(key=second)).status == 200

    def gone(kept):
        """Other threads hear of it a moment later."""
        response = again(kept, old)
        return response if response.status != 200 else None
    for kept in connections:
        refused(wait_until(lambda: gone(kept)), "invalid_token")
        kept.close()


def hold(publisher):
    """The next fetch is answered when the first event is set; the second says that it has come."""
    gate, came = threading.Event(), threading.Event()

    def held(request):
        came.set()
        gate.wait(20)
        publisher.answer = None
        return publisher.script(request)
    publisher.answer = held
    return gate, came


def test_many_wait_for_one_fetch(start, publisher):
    server = start(*publisher.flags(), "--threads", 2)
    wait_until_ready(server)
    second = SigningKey(publisher.issuer.folder, "second")
    publisher.keys.append(second)
    gate, came = hold(publisher)
    tokens = [publisher.issuer.token(f"user{i}", key=second) for i in range(12)]
    waiting = [Connection(server.address) for _ in tokens]
    for connection, token in zip(waiting, tokens):
        connection.send_request("POST", "/mcp", [
            ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"),
            ("Authorization", f"Bearer {token}")], LIST_BODY)
    assert came.wait(10)
    # The loops are not held up: others are served, and some give up waiting.
    assert ask(server.address, publisher.issuer.token()).status == 200
    for connection in waiting[:3]:
        connection.close()
    gate.set()
    for connection in waiting[3:]:
        assert connection.read_response().status == 200
        connection.close()
    assert publisher.fetches() == 2


def test_a_body_may_come_while_its_token_waits(start, publisher):
    server = start(*publisher.flags())
    wait_until_ready(server)
    second = SigningKey(publisher.issuer.folder, "second")
    publisher.keys.append(second)
    gate, came = hold(publisher)
    text = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern_params(
        {"name": "echo", "arguments": {"text": "x" * 200_000}})})
    token = publisher.issuer.token(key=second)
    with Connection(server.address) as connection:
        whole = connection.render("POST", "/mcp", [
            ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "echo"), ("Authorization", f"Bearer {token}")], text)
        connection.send(whole[:len(whole) - 150_000])
        assert came.wait(10)
        sender = threading.Thread(target=connection.send, args=(whole[-150_000:],))
        sender.start()
        gate.set()
        response = connection.read_response()
        sender.join()
        assert response.status == 200 and len(response.body) > 200_000
        assert again(connection, token).status == 200


@pytest.mark.parametrize("how", ["drain", "hurry", "reload"])
def test_the_end_while_a_token_waits(start, publisher, tmp_path, how):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ci {'0' * 64}\n", encoding="ascii")
    server = start(*publisher.flags(), "--auth-tokens", tokens, "--threads", 2)
    wait_until_ready(server)
    second = SigningKey(publisher.issuer.folder, "second")
    came = threading.Event()

    def never(_):
        came.set()
        return NEVER
    publisher.answer = never
    token = publisher.issuer.token(key=second)
    connections = [Connection(server.address) for _ in range(4)]
    for connection in connections:
        connection.send_request("POST", "/mcp", [
            ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"),
            ("Authorization", f"Bearer {token}")], LIST_BODY)
    assert came.wait(10)
    if how == "reload":
        fresh = tmp_path / "tokens.new"
        fresh.write_text(f"cd {'1' * 64}\n", encoding="ascii")
        fresh.rename(tokens)
        server.wait_for_log("config.reloaded")
        # The fetch goes on, and so does the wait, until that gives up.
        for connection in connections:
            refused(connection.read_response(), "invalid_token")
        server.wait_for_log("it took too long")
    else:
        server.process.terminate()
        if how == "hurry":
            server.wait_for_log("shutdown")
            server.process.terminate()
    for connection in connections:
        connection.close()


# ---- issuers that fail ----

BAD_ANSWERS = {
    "nothing": (CLOSE, "closed the connection"),
    "an error": (http("", "500 Internal Server Error"), "keys are not there"),
    "a redirect": (http("", "302 Found", headers="Location: /jwks2\r\n"), "keys are not there"),
    "no json": (http("<html>"), "no JSON Web Key Set"),
    "no keys": (http('{"keys":[]}'), "no key for RS256 or ES256"),
    "no set": (http('{"issuer":"x"}'), "no JSON Web Key Set"),
    "no http": (b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP"),
    "much": (http('{"keys":[],"x":"' + "x" * 300_000 + '"}'), "too large"),
    "much in pieces": (chunked(*["x" * 30_000] * 12), "too large"),
    "half": (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n{",
             "closed the connection"),
    "an endless head": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 9000, "no HTTP"),
}


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_answers_that_are_no_keys(start, publisher, name):
    publisher.answer, said = BAD_ANSWERS[name]
    server = start(*publisher.flags())
    line = server.wait_for_log("auth.keys_failed")
    assert said in line and "its tokens are refused" in line, line
    assert ready(server).status == 503
    refused_for_now(ask(server.address, publisher.issuer.token()), "keys of the token's issuer")
    # It is tried again.
    publisher.answer = None
    server.wait_for_log("auth.keys_fetched")
    wait_until_ready(server)  # the line comes before the threads that serve know them
    assert ask(server.address, publisher.issuer.token()).status == 200


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_a_failed_fetch_keeps_the_old_keys(start, publisher, name):
    server = start(*publisher.flags())
    wait_until_ready(server)
    fetched = server.log.index(server.wait_for_log("auth.keys_fetched"))

    def failures():  # one before the first success is another story
        return [line for line in server.log[fetched:] if "auth.keys_failed" in line]

    publisher.answer, said = BAD_ANSWERS[name]
    token = publisher.issuer.token(header={"kid": "other"})
    refused(ask(server.address, token), "invalid_token")
    wait_until(failures, what="auth.keys_failed")
    line = failures()[-1]
    assert said in line and "the old keys count" in line, server.log
    assert ask(server.address, publisher.issuer.token()).status == 200
    assert ready(server).status == 200


def test_an_issuer_that_is_not_there(start, publisher):
    flags = publisher.flags()
    publisher.server.stop()
    server = start(*flags)
    assert "cannot be reached" in server.wait_for_log("auth.keys_failed")
    assert ready(server).status == 503
    publisher.server.stop = lambda: None


@pytest.mark.parametrize("how", ["unknown authority", "expired", "other name"])
def test_certificates_that_are_not_believed(start, scripted, tmp_path, authority, how):
    folder = tmp_path / "authority"
    folder.mkdir()
    other = Authority(folder, "Another")
    other.issue("old", "/CN=localhost", "DNS:localhost", days=-1)
    other.issue("name", "/CN=elsewhere", "DNS:elsewhere.example")
    context = {"expired": serving(other, "old"),
               "other name": serving(other, "name")}.get(how, serving(other))
    made = Publisher(scripted, tmp_path, context)
    ca = authority.ca if how == "unknown authority" else other.ca
    server = start(*made.flags(), "--auth-ca", ca)
    assert "certificate is not trusted" in server.wait_for_log("auth.keys_failed")
    assert made.fetches() == 0
    refused_for_now(ask(server.address, made.issuer.token()), "keys of the token's issuer")


@pytest.mark.parametrize("change, said", [
    ({"issuer": "https://other.example"}, "not its own"),
    ({"jwks_uri": None}, "not its own"),
    ({"jwks_uri": "http://192.0.2.1/jwks"}, "jwks_uri is not safe"),
    ({"jwks_uri": "file:///etc/passwd"}, "jwks_uri is not safe"),
    ({"jwks_uri": "http://user@localhost/"}, "jwks_uri is not safe")])
def test_metadata_that_is_not_believed(start, publisher, change, said):
    publisher.metadata = {**publisher.metadata, **change}
    server = start(*publisher.flags("discover"))
    assert said in server.wait_for_log("auth.keys_failed")
    assert publisher.fetches() == 0 and ready(server).status == 503


@pytest.mark.parametrize("answer, said", [
    (CLOSE, "it closed the connection"),
    (http("", "503 Service Unavailable"), "status=503"),
    (http("{}"), "status=200")], ids=["closed", "503", "no metadata"])
def test_the_first_place_of_metadata_is_what_is_told_of(start, publisher, answer, said):
    """What the first place did was lost: the log told of the 404 of the second one, which few
    issuers have."""
    def script(request):
        return answer if request.path == publisher.places[0] else http("", "404 Not Found")
    publisher.answer = script
    server = start(*publisher.flags("discover"))
    line = server.wait_for_log("auth.keys_failed")
    assert said in line and "status=404" not in line


def test_an_issuer_over_https_does_not_send_us_to_this_machine(start, scripted, tmp_path,
                                                               authority):
    inner = Publisher(scripted, tmp_path)
    folder = tmp_path / "outer"
    folder.mkdir()
    outer = Publisher(scripted, folder, serving(authority))
    outer.metadata["jwks_uri"] = f"{inner.server.base}/jwks"
    server = start(*outer.flags("discover"), "--auth-ca", authority.ca)
    assert "jwks_uri is not safe" in server.wait_for_log("auth.keys_failed")
    assert inner.fetches() == 0


# ---- the configuration ----

def test_faults_of_the_configuration(tmp_path, authority):
    empty = tmp_path / "empty"
    empty.touch()
    issuer = ("--oidc-issuer", "https://issuer.example", "--oidc-audience", "us")
    for arguments, said in (
            ((*issuer, "--oidc-jwks", "http://issuer.example/jwks"), "use https://"),
            ((*issuer, "--oidc-jwks", "http://127.0.0.1.example/jwks"), "use https://"),
            ((*issuer, "--oidc-jwks", "https://me:secret@issuer.example/"), "user or a password"),
            ((*issuer, "--oidc-jwks", "https://issuer.example/#keys"), "no fragment"),
            ((*issuer, "--oidc-jwks", "https:///jwks"), "no host"),
            (("--oidc-issuer", "http://issuer.example", "--oidc-audience", "us", "--oidc-jwks",
              "discover"), "use https://"),
            ((*issuer, "--oidc-jwks", "discover", "--auth-ca", "/no/such"), "/no/such"),
            ((*issuer, "--oidc-jwks", "discover", "--auth-ca", empty), "--auth-ca")):
        done = run_program(fixture_bin(), "check", *arguments)
        assert done.returncode == 2 and said in done.stderr.decode(), (arguments, done)
        assert b"secret" not in done.stderr
    for good in ((*issuer, "--oidc-jwks", "http://[::1]:1/jwks"),
                 (*issuer, "--oidc-jwks", "http://127.0.0.9/jwks"),
                 (*issuer, "--oidc-jwks", "discover", "--auth-ca", authority.ca)):
        assert run_program(fixture_bin(), "check", *good).returncode == 0, good
