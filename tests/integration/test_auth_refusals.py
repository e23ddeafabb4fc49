"""Who is not let in, as attackers try it: each with the status, the challenge and the line of the
log that it must get.

A case is a function from the `trade` (who can sign, and what was signed for whom) to the bytes of a
request, the status, the `error` of the challenge (NO_CHALLENGE: none), and the event and the words
of the log. What is asserted for all of them is in test_refused().
"""

import hashlib
import hmac
import json
import re
import subprocess
import time

import pytest

from bearer import OPAQUE, ask, client_of
from http_client import Connection
from mcp_client import JSON_TYPE, LegacySse, compact, modern_params
from server_process import Server, fixture_bin
from test_config import config, reload  # pylint: disable=unused-import
from tokens import Issuer, SigningKey, b64url, listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]

NOW = time.time
NO_CHALLENGE = object()
BODY = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern_params(None)})
PLAIN = (b"Content-Type: application/json", b"Accept: application/json, text/event-stream",
         b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: tools/list")


class Trade:
    """An issuer with keys of both kinds, a server that trusts it, and a thief."""

    def __init__(self, folder):
        self.issuer = Issuer(folder)
        self.rsa = SigningKey(folder, "rsa", "RS256")
        self.issuer.publish(self.issuer.key, self.rsa)
        self.thief = SigningKey(folder, "stolen")
        self.token = self.issuer.token
        self.list = folder / "tokens"
        self.list.write_text(listed("ci", OPAQUE), encoding="ascii")


def request(*lines, method=b"POST", target=b"/mcp", host=b"localhost", length=True, body=BODY):
    head = [method + b" " + target + b" HTTP/1.1", *([b"Host: " + host] if host else []), *PLAIN,
            *([b"Content-Length: %d" % len(body)] if length else []), *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def bearer(token):
    return b"Authorization: Bearer " + (token if isinstance(token, bytes) else token.encode())


def changed(token, part, change):
    parts = token.split(".")
    parts[part] = change(parts[part])
    return ".".join(parts)


CASES = {}


def case(name, make, status, error, event, words):
    assert name not in CASES
    CASES[name] = (make, status, error, event, words)


# ---- no token, or nothing that is one ----

def without(name, *lines, **more):
    case(name, lambda t: request(*lines, **more), 401, None, "auth.refused", "no token")


without("nothing")
for way, method, target in (("GET", b"GET", b"/mcp"), ("DELETE", b"DELETE", b"/mcp"),
                            ("an SSE stream", b"GET", b"/sse")):
    case(f"nothing on {way}", lambda t, method=method, target=target: (
        method + b" " + target +
        b" HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"),
         401, None, "auth.refused", "no token")
without("nothing to a stream's address", target=b"/messages?sessionId=x")
for value in (b"Bearer", b"Bearer ", b"Basic YTpi", b"Digest x", OPAQUE.encode(), b"Bearer a b",
              b'Bearer "x"', b"Token " + OPAQUE.encode(), b"Bearer" + OPAQUE.encode(),
              b"Bearer," + OPAQUE.encode(), b"Bearer\t" + OPAQUE.encode(),
              b"Bearer \xc3\xa9", b"Bearer " + OPAQUE.encode() + b", Bearer x"):
    without(f"as {value.decode('latin-1')!r}", b"Authorization: " + value)
without("a token of a proxy", b"Proxy-Authorization: Bearer " + OPAQUE.encode())
without("a token in a cookie", b"Cookie: access_token=" + OPAQUE.encode())
without("a name from a proxy", b"X-Forwarded-User: alice", b"Forwarded: for=127.0.0.1",
        b"X-Real-Ip: 127.0.0.1")
without("a token in the body", body=BODY[:-1] + b',"access_token":"' + OPAQUE.encode() + b'"}')


# ---- claims that let nobody in ----

def claims(name, words, error="invalid_token", **parts):
    case(name, lambda t: request(bearer(t.token(**{
        key: value() if callable(value) else value for key, value in parts.items()}))),
         401, error, "auth.refused", words)


claims("expired", "expired", exp=lambda: NOW() - 61)
claims("long expired", "expired", exp=1)
claims("not yet", "not valid yet", nbf=lambda: NOW() + 120)
claims("from the future", "not valid yet", iat=lambda: NOW() + 120)
claims("other audience", "audience", aud="https://other.example/mcp")
claims("audience of a longer name", "audience", aud="https://pillion.example/mcp/x")
claims("audience of a shorter name", "audience", aud="https://pillion.example")
claims("audience with a slash", "audience", aud="https://pillion.example/mcp/")
claims("audience in capitals", "audience", aud="https://PILLION.example/mcp")
claims("no audience", "audience", aud=None)
claims("empty audience", "audience", aud=[])
claims("audience within an object", "audience", aud={"aud": "https://pillion.example/mcp"})
claims("audience within a list of lists", "audience", aud=[["https://pillion.example/mcp"]])
claims("other issuer", "issuer", iss="https://evil.example")
claims("issuer with a slash", "issuer", iss="https://issuer.example/")
claims("issuer with more behind", "issuer", iss="https://issuer.example|alice")
claims("no issuer", "issuer", iss=None)
claims("list of issuers", "issuer", iss=["https://issuer.example"])
claims("no subject", "claim", sub=None)
claims("empty subject", "claim", subject="")
claims("number as subject", "claim", sub=7)
claims("long subject", "claim", sub="a" * 300)
claims("no expiry", "claim", exp=None)
claims("text as expiry", "claim", exp="2099-01-01")
claims("endless expiry", "claim", exp=1e300)
claims("text as not before", "claim", nbf="soon")
claims("no time of issue", "claim", iat=None)
claims("list as scope", "claim", scope=["a"])
# Passed through by a client: meant for whom we might call, for the client, for the issuer itself.
claims("token for an upstream", "audience", aud="https://api.upstream.example")
claims("ID token", "audience", aud="client-1", nonce="n", typ="ID")
claims("token for the issuer", "audience", aud="https://issuer.example")


# ---- headers, keys and algorithms ----

def signed(name, words, header, key=lambda t: None):
    case(name, lambda t: request(bearer(t.token(header=header, key=key(t)))), 401, "invalid_token",
         "auth.refused", words)


def unsigned(header, claims_of):
    return b64url(json.dumps(header).encode()) + "." + claims_of.split(".")[1] + "."


signed("alg none, signed", "algorithm", {"alg": "none"})
signed("alg None", "algorithm", {"alg": "None"})
signed("alg nOnE", "algorithm", {"alg": "nOnE"})
signed("no alg", "algorithm", {"alg": None})
signed("alg is a list", "algorithm", {"alg": ["ES256"]})
signed("HS256", "algorithm", {"alg": "HS256"})
signed("ES384", "algorithm", {"alg": "ES384"})
signed("es256", "algorithm", {"alg": "es256"})
signed("RS256 by a key of EC", "signature", {"alg": "RS256"})
signed("ES256 by a key of RSA", "signature", {"alg": "ES256"}, lambda t: t.rsa)
signed("jku", "header", {"jku": "https://evil.example/jwks"})
signed("x5u", "header", {"x5u": "https://evil.example/x"})
signed("x5c", "header", {"x5c": ["MIIB"]})
signed("jwk", "header", {"jwk": {"kty": "EC"}})
signed("crit", "header", {"crit": ["exp"]})
signed("empty crit", "header", {"crit": []})
signed("b64", "header", {"b64": False})
signed("zip", "header", {"zip": "DEF"})
signed("enc", "header", {"enc": "A256GCM"})
signed("unknown kid", "key", {"kid": "gone"})
signed("empty kid", "key", {"kid": ""})
signed("kid of another type", "header", {"kid": 7})
signed("kid as a path", "key", {"kid": "../../etc/passwd"})
signed("kid as a question of SQL", "key", {"kid": "x' UNION SELECT 'k"})
signed("kid of the other kind", "signature", {"kid": "rsa"})
signed("DPoP proof", "header", {"typ": "dpop+jwt"})
signed("logout token", "header", {"typ": "logout+jwt"})
signed("a key of one's own under a name that is known", "signature", {"kid": "first"},
       lambda t: t.thief)
signed("a key of one's own", "key", {}, lambda t: t.thief)
case("a key of one's own that comes along", lambda t: request(bearer(
    t.token(key=t.thief, header={"kid": "first", "jwk": t.thief.jwk()}))),
     401, "invalid_token", "auth.refused", "header")
case("alg none without signature", lambda t: request(bearer(
    unsigned({"alg": "none", "typ": "JWT"}, t.token()))),
     401, "invalid_token", "auth.refused", "algorithm")


def confused(key_bytes):
    """HS256 with a public key, which everybody has, as the secret."""
    def make(t):
        head = b64url(json.dumps({"alg": "HS256", "kid": "rsa", "typ": "JWT"}).encode())
        text = head + "." + t.token().split(".")[1]
        mac = hmac.new(key_bytes(t), text.encode(), hashlib.sha256).digest()
        return request(bearer(text + "." + b64url(mac)))
    return make


def public(t, form):
    return subprocess.run(["openssl", "rsa", "-in", t.rsa.path, "-pubout", "-outform", form],
                          check=True, capture_output=True).stdout


for form in ("PEM", "DER"):
    case(f"the public key ({form}) as a secret", confused(lambda t, form=form: public(t, form)),
         401, "invalid_token", "auth.refused", "algorithm")
case("the modulus as a secret", confused(lambda t: t.rsa.jwk()["n"].encode()),
     401, "invalid_token", "auth.refused", "algorithm")


# ---- tokens that were changed ----

def mangled(name, words, change):
    case(name, lambda t: request(bearer(change(t.token(), t))), 401, "invalid_token",
         "auth.refused", words)


def nested(depth):
    return b64url(b'{"a":' * depth + b"1" + b"}" * depth)


def other_signature(token, _):
    return changed(token, 2, lambda s: s[:5] + ("A" if s[5] != "A" else "B") + s[6:])


def twins(token, t):
    """`sub` twice: others may read the first, and we the last."""
    text = token.split(".")[0] + "." + b64url(
        b'{"sub":"root",' + json.dumps({"iss": t.issuer.url, "aud": t.issuer.audience, "iat": 1,
                                        "exp": 4102444800, "sub": "alice"}).encode()[1:])
    return text + "." + b64url(t.issuer.key.sign(text.encode()))


mangled("truncated", "signature", lambda s, t: s[:-2])
mangled("cut within the claims", "malformed", lambda s, t: s[:len(s) // 3])
mangled("no signature", "signature", lambda s, t: s.rsplit(".", 1)[0] + ".")
mangled("flipped", "signature", other_signature)
mangled("signature of zeros", "signature", lambda s, t: changed(
    s, 2, lambda _: b64url(bytes(64))))  # CVE-2022-21449
mangled("signature as DER", "signature", lambda s, t: changed(
    s, 2, lambda _: b64url(b"\x30\x06\x02\x01\x01\x02\x01\x01")))
mangled("padded", "malformed", lambda s, t: s + "==")
mangled("base64 of the other alphabet", "malformed", lambda s, t: changed(
    s, 1, lambda p: "+/" + p[2:]))
mangled("four parts", "malformed", lambda s, t: s + ".x")
mangled("five parts, as encrypted ones have", "malformed", lambda s, t: "a.b.c.d.e")
mangled("two parts", "malformed", lambda s, t: s.rsplit(".", 1)[0])
mangled("only dots", "malformed", lambda s, t: "..")
mangled("other claims", "signature", lambda s, t: changed(
    s, 1, lambda _: t.token("bob").split(".")[1]))
mangled("huge", "malformed", lambda s, t: changed(s, 1, lambda p: p * 20))
mangled("8 KiB of nothing", "malformed", lambda s, t: "a" * 8300)
mangled("nested", "malformed", lambda s, t: changed(s, 1, lambda _: nested(200)))
mangled("nested header", "malformed", lambda s, t: changed(s, 0, lambda _: nested(200)))
mangled("a list as claims", "malformed", lambda s, t: changed(s, 1, lambda _: b64url(b"[]")))
mangled("claims that are not UTF-8", "malformed", lambda s, t: changed(
    s, 1, lambda _: b64url(b'{"sub":"\xff"}')))
mangled("twins", "malformed", twins)
mangled("a token within a token", "malformed", lambda s, t: b64url(s.encode()))
mangled("opaque, of nobody", "malformed", lambda s, t: "0" * 32)
mangled("opaque, a letter short", "malformed", lambda s, t: OPAQUE[:-1])
mangled("opaque, in capitals", "malformed", lambda s, t: OPAQUE.upper())
mangled("the digest of an opaque one", "malformed", lambda s, t: hashlib.sha256(
    OPAQUE.encode()).hexdigest())


# ---- a token that is good, in a request that is not ----

def wire(name, words, *lines, status=400, **more):
    case(name, lambda t: request(bearer(t.token()), *lines, **more), status, NO_CHALLENGE,
         "http.malformed", words)


def replaced(name, words, make):
    """`make` has the place of the header Authorization of a token that is good."""
    case(name, lambda t: request(make(bearer(t.token()))), 400, NO_CHALLENGE, "http.malformed",
         words)


case("two tokens", lambda t: request(bearer(t.token()), bearer(t.token())), 400, "invalid_request",
     "auth.refused", "more than one credential")
case("two tokens, one of them good", lambda t: request(bearer(OPAQUE), bearer("x")), 400,
     "invalid_request", "auth.refused", "more than one credential")
case("Basic beside a token", lambda t: request(bearer(OPAQUE), b"Authorization: Basic YTpi"), 400,
     "invalid_request", "auth.refused", "more than one credential")
for target in (b"/mcp?access_token=%s", b"/mcp?a=1&access_token=%s", b"/sse?access_token=%s",
               b"/messages?sessionId=x&access_token=%s"):
    case(f"in the query: {target.decode()}", lambda t, target=target: request(
        target=target % OPAQUE.encode()), 400, "invalid_request", "auth.refused",
         "a token in the query")
    case(f"in the query as well: {target.decode()}", lambda t, target=target: request(
        bearer(OPAQUE), target=target % OPAQUE.encode()), 400, "invalid_request", "auth.refused",
         "a token in the query")
replaced("folded", "folded header line", lambda line: line.replace(b"Bearer ", b"Bearer\r\n "))
replaced("a blank before the name", "folded header line", lambda line: b" " + line)
replaced("a blank before the colon", "blank before the colon",
         lambda line: line.replace(b":", b" :"))
replaced("NUL behind the token", "control character", lambda line: line + b"\0")
replaced("NUL in the name", "control character", lambda line: line.replace(b"Auth", b"Au\0th"))
replaced("a CR within", "bare CR", lambda line: line + b"\rX-Admin: 1")
replaced("an LF within", "bare LF", lambda line: line + b"\nX-Admin: 1")
wire("length and chunks", "Content-Length beside Transfer-Encoding", b"Transfer-Encoding: chunked")
wire("two lengths", "Content-Length", b"Content-Length: 5")
wire("a length with a sign", "Content-Length", b"Content-Length: +2", length=False)
wire("a length that overflows", "Content-Length", b"Content-Length: 99999999999999999999",
     length=False)
wire("a coding nobody knows", "Transfer-Encoding", b"Transfer-Encoding: xchunked", length=False)
wire("chunked twice", "Transfer-Encoding", b"Transfer-Encoding: chunked, chunked", length=False)
wire("chunks that are none", "chunk size", b"Transfer-Encoding: chunked", length=False,
     body=b"zz\r\n")
wire("no Host", "missing Host", host=None)
wire("two Hosts", "repeated Host", b"Host: localhost")
wire("a head of 70 KB", "head too large", b"X-Fill: " + b"a" * 70000, status=431)


# ---- other people's pages ----

def foreign(name, *lines, **more):
    case(name, lambda t: request(bearer(t.token()), *lines, **more), 403, NO_CHALLENGE,
         "http.refused", "Origin or Host is not allowed")


for origin in (b"https://evil.example", b"null", b"file://", b"http://localhost.evil.example",
               b"http://localhost@evil.example", b"http://evil.example#localhost", b"*", b"http://",
               b"http://localhost:1", b"http://localhost http://evil.example"):
    foreign(f"Origin: {origin.decode()}", b"Origin: " + origin)
foreign("two Origins", b"Origin: http://localhost", b"Origin: https://evil.example")
for other in (b"evil.example", b"evil.example:80", b"localhost.evil.example", b"127.0.0.1.nip.io",
              b"192.168.0.1", b"[::2]", b"localhost@evil.example"):
    # What is no host at all is refused as such.
    if b"@" not in other:
        foreign(f"Host: {other.decode()}", host=other)
foreign("absolute target", target=b"http://evil.example/mcp")


@pytest.fixture(scope="module")
def trade(tmp_path_factory):
    return Trade(tmp_path_factory.mktemp("trade"))


@pytest.fixture(scope="module")
def guarded(io, trade):
    running = Server(fixture_bin(), "--io", io, "--port", 0, *trade.issuer.flags, "--auth-tokens",
                     trade.list, "--log-level", "debug")
    yield running
    running.stop()


def challenge_of(response):
    """The fields of a challenge, which must be well-formed and of one scheme."""
    scheme, _, rest = response["WWW-Authenticate"].partition(" ")
    assert scheme == "Bearer"
    fields = [part.partition("=") for part in rest.split(", ")]
    assert all(value.startswith('"') and value.endswith('"') for _, _, value in fields), rest
    assert len({name for name, _, _ in fields}) == len(fields)
    return {name: value[1:-1] for name, _, value in fields}


@pytest.mark.row(47, 48, 50, 53, 54)
@pytest.mark.parametrize("name", CASES)
def test_refused(guarded, trade, name):
    make, status, error, event, words = CASES[name]
    data = make(trade)
    with Connection(guarded.address) as connection:
        connection.send(data)
        response = connection.read_response()
    assert response.status == status, response
    body = response.json()
    # No id, as no request was looked at; no code of a new meaning (row 50).
    assert "id" not in body and "result" not in body and body["error"]["code"] == -32600
    assert body["error"]["data"]["requestId"] == response["X-Request-Id"]
    if error is NO_CHALLENGE:
        assert response["WWW-Authenticate"] is None
    else:
        fields = challenge_of(response)
        assert fields["realm"] == "test" and fields.get("error") == error, fields
        assert fields["resource_metadata"].endswith("/.well-known/oauth-protected-resource/mcp")
        assert error is None or words in fields["error_description"], fields
    line = guarded.wait_for_log(f"{event} request_id={response['X-Request-Id']}")
    assert f" info {event} " in line and f"status={status}" in line and words in line, line
    assert "peer=127.0.0.1:" in line
    # Nobody gets to see a secret, not even the operator.
    sent = re.search(rb"[\w.-]{40,}", data[data.find(b"Authorization"):])
    for secret in (OPAQUE, sent[0].decode()[-30:] if sent else OPAQUE):
        assert secret not in str(response.headers) + response.body.decode() + line
    assert "mcp.call request_id=" + response["X-Request-Id"] not in "".join(guarded.log)


def test_there_are_many(trade):
    assert len(CASES) >= 60
    assert trade.issuer.token().count(".") == 2


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("as a secret")])
def test_a_public_key_is_no_secret_where_secrets_count_either(start, trade, name):
    """HS256 is for keys that are secrets, also in development."""
    server = start(*trade.issuer.flags, "--insecure-hs256")
    with Connection(server.address) as connection:
        connection.send(CASES[name][0](trade))
        response = connection.read_response()
    fields = challenge_of(response)
    assert response.status == 401 and fields["error"] == "invalid_token"
    assert "signature" in fields["error_description"]
    assert "signature" in server.wait_for_log(f"auth.refused request_id={response['X-Request-Id']}")


def test_what_was_refused_leaves_nothing_behind(guarded, trade):
    """A refusal on a connection says nothing of the next request, nor the other way round."""
    with Connection(guarded.address) as connection:
        for token, status in ((trade.token(), 200), (trade.token(aud="x"), 401), (OPAQUE, 200),
                              (OPAQUE[::-1], 401), (trade.token(), 200)):
            connection.send(request(bearer(token)))
            assert connection.read_response().status == status
        connection.send(request())
        assert connection.read_response().status == 401


@pytest.mark.parametrize("rest,status", [(b"zz\r\n", 400), (b"7fffffff\r\n", 413)])
def test_a_refusal_is_not_told_to_somebody_else(start, trade, rest, status):
    """A body is refused long after its head was let in. Whatever head was refused in between is
    somebody else's, and so is its challenge, which names a Host of their choice."""
    server = start("--threads", 1, *trade.issuer.flags)
    with Connection(server.address) as known, Connection(server.address) as other:
        known.send(request(bearer(trade.token()), b"Transfer-Encoding: chunked",
                           b"Expect: 100-continue", length=False, body=b""))
        assert known.read_response().status == 100  # its head has been let in
        other.send(request(bearer("x"), host=b"localhost:666"))
        told = challenge_of(other.read_response())
        assert told["resource_metadata"].startswith("http://localhost:666/")
        known.send(rest)
        response = known.read_response()
    assert response.status == status and response["WWW-Authenticate"] is None, response


# ---- tokens that end while a stream is open ----

def soon(trade):
    """A token that is good for some seconds more, which is within the minute that clocks may
    differ by."""
    return trade.token(exp=int(time.time()) - 57)


@pytest.mark.row(53)
def test_a_subscription_ends_with_its_token(guarded, trade):
    client = client_of(guarded, soon(trade))
    stream, identifier, _ = client.listen(toolsListChanged=True)
    last = client.next_message(stream)
    assert last["id"] == identifier and last["result"]["resultType"] == "complete", last
    assert client.next_message(stream) is None and stream.ended
    guarded.wait_for_log("auth.stream_ended")
    assert client.call("tools/list").status == 401
    client.close()


@pytest.mark.row(53)
def test_the_stream_of_a_session_ends_with_its_token(guarded, trade):
    client = client_of(guarded, trade.token(), "D")
    fresh, client.token = client.token, soon(trade)
    stream = client.open_stream()
    begun = stream.next_event()
    assert begun.id and not begun.data
    assert stream.next_event() is None and stream.ended
    # The session is still there for whoever has a token, and what was missed as well.
    client.token = fresh
    again = client.open_stream([("Last-Event-ID", begun.id)])
    assert again.response.status == 200
    again.close()
    client.close()


@pytest.mark.row(53)
def test_a_call_that_was_allowed_is_not_cut(guarded, trade):
    client = client_of(guarded, soon(trade), "E")
    connection, identifier = client.begin("tools/call", {
        "name": "slow_compute", "arguments": {"seconds": 5}})
    reply = client.read_reply(connection, identifier)
    assert reply.result["content"][0]["text"].startswith("computed")
    assert client.call("tools/list").status == 401
    client.close()


@pytest.mark.row(53)
def test_a_stream_of_a_token_that_lasts_goes_on(guarded, trade):
    """Beside one that ends: each by its own token."""
    lasting_one, ending = client_of(guarded, trade.token()), client_of(guarded, soon(trade))
    kept, identifier, _ = lasting_one.listen(toolsListChanged=True)
    ended, _, _ = ending.listen(toolsListChanged=True)
    ending.next_message(ended)
    lasting_one.tool_text("test_trigger_tool_change")
    assert lasting_one.next_message(kept)["method"] == "notifications/tools/list_changed"
    lasting_one.close()
    ending.close()


@pytest.mark.parametrize("rev", ["D", "E"])
def test_a_stream_ends_when_its_issuer_is_not_trusted_any_more(start, config, tmp_path, rev):
    """After a reload it went on, and heard of everything, until its token was over."""
    issuers = []
    for name in ("gone", "stays"):
        folder = tmp_path / name
        folder.mkdir()
        issuers.append(Issuer(folder, url=f"https://{name}.example"))
    gone, stays = issuers

    def trusting(*those):
        return config(f"auth: {{issuer: [{', '.join(one.url for one in those)}], "
                      f"jwks: [{', '.join(str(one.jwks) for one in those)}], "
                      f"audience: '{gone.audience}'}}\n")

    server = start("--config", trusting(gone, stays), "--threads", 2)
    leaving, staying = (client_of(server, one.token(), rev) for one in issuers)
    streams = []
    for client in (leaving, staying):
        if rev == "E":
            streams.append(client.listen(toolsListChanged=True)[0])
        else:
            streams.append(client.open_stream())
            streams[-1].next_event()
    trusting(stays)
    reload(server, "config.reloaded")
    while streams[0].next_event() is not None:
        pass
    assert streams[0].ended
    assert ask(server.address, gone.token()).status == 401
    staying.tool_text("test_trigger_tool_change")
    told = staying.next_message(streams[1])
    assert told["method"] == "notifications/tools/list_changed"
    for client in (leaving, staying):
        client.close()


@pytest.mark.row(53)
def test_an_old_stream_of_http_and_sse_ends_with_its_last_token(guarded, trade):
    old, fresh = soon(trade), trade.token()
    ending, renewed = (LegacySse(guarded.address, extra=[("Authorization", f"Bearer {old}")])
                       for _ in range(2))
    renewed.post = lambda body, connection=None, plain=renewed.post: plain(
        body, connection, (JSON_TYPE, ("Authorization", f"Bearer {fresh}")))
    renewed.open()
    assert ending.recv() is None
    # Its session belongs to whoever still says who it is.
    assert renewed.request("tools/list")["tools"]
    ending.close()
    renewed.close()
