"""Tokens over TLS, with and without client certificates, as curl and openssl send them."""

import json
import subprocess

import pytest

from mcp_client import compact, modern_params
from tls_authority import Authority
from tokens import Issuer

pytestmark = [pytest.mark.asan, pytest.mark.tls]

BODY = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern_params(None)})
HEADERS = ("Content-Type: application/json", "Accept: application/json, text/event-stream",
           "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list")


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def guarded(start, authority, issuer):
    """TLS and tokens."""
    return start(*authority.flags, *issuer.flags)


@pytest.fixture
def mutual(start, authority, issuer):
    """TLS, where either a certificate alone or one with a token lets in."""
    return start(*authority.flags, *issuer.flags, "--tls-client-ca", authority.ca)


class Curl:
    """What curl says: its exit code, the status and the body."""

    def __init__(self, server, authority, token=None, identity=None, trusted=True):
        headers = [*HEADERS, *([f"Authorization: Bearer {token}"] if token else [])]
        certificate = ["--cert", identity[0], "--key", identity[1]] if identity else []
        done = subprocess.run(
            ["curl", "-sS", *(["--cacert", authority.ca] if trusted else []), *certificate,
             *(word for line in headers for word in ("-H", line)), "--data-binary", "@-",
             "-D", "/dev/stderr", f"https://localhost:{server.port}/mcp"],
            input=BODY, capture_output=True, timeout=30, check=False)
        self.code, self.head, self.body = done.returncode, done.stderr.decode(), done.stdout

    @property
    def status(self):
        assert self.code == 0, self.head
        return int(self.head.split()[1])

    def let_in(self):
        assert self.status == 200 and json.loads(self.body)["result"]["tools"]
        return True


class OpenSsl:
    """A request by openssl s_client, which is plain bytes over TLS."""

    def __init__(self, server, authority, token=None, identity=None):
        lines = ["POST /mcp HTTP/1.1", f"Host: localhost:{server.port}", "Connection: close",
                 *HEADERS, f"Content-Length: {len(BODY)}",
                 *([f"Authorization: Bearer {token}"] if token else [])]
        certificate = ["-cert", identity[0], "-key", identity[1]] if identity else []
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"localhost:{server.port}", "-CAfile", authority.ca,
             "-verify_return_error", "-verify_hostname", "localhost", "-quiet", "-ign_eof",
             *certificate],
            input="\r\n".join(lines).encode() + b"\r\n\r\n" + BODY, capture_output=True,
            timeout=30, check=False)
        self.head, _, self.body = done.stdout.partition(b"\r\n\r\n")

    @property
    def status(self):
        assert self.head.startswith(b"HTTP/1.1 "), self.head
        return int(self.head.split()[1])

    def let_in(self):
        assert self.status == 200 and json.loads(self.body)["result"]["tools"]
        return True


@pytest.fixture(params=[Curl, OpenSsl])
def client(request):
    return request.param


@pytest.mark.row(42)
def test_a_token_over_tls(guarded, authority, issuer, client):
    assert client(guarded, authority, issuer.token()).let_in()
    for token in (None, "x", issuer.token(aud="https://other.example")):
        refused = client(guarded, authority, token)
        assert refused.status == 401
        assert json.loads(refused.body)["error"]["code"] == -32600
        head = refused.head if isinstance(refused.head, str) else refused.head.decode()
        where = f"https://localhost:{guarded.port}/.well-known/oauth-protected-resource/mcp"
        assert where in head, head


def test_a_certificate_and_a_token(mutual, authority, issuer, client):
    identity = authority.issue("cert-and-token", "/CN=robot")
    assert client(mutual, authority, identity=identity).let_in()
    assert client(mutual, authority, issuer.token("alice"), identity).let_in()
    # A certificate does not make up for a token that is none.
    assert client(mutual, authority, "rubbish", identity).status == 401


def test_a_token_does_not_make_up_for_a_certificate(mutual, authority, issuer, tmp_path):
    stranger = Authority(tmp_path, "Stranger").issue("stranger", "/CN=stranger")
    for identity in (None, stranger):
        curl = Curl(mutual, authority, issuer.token(), identity)
        assert curl.code in (35, 52, 55, 56) and not curl.body, curl.head
        assert not OpenSsl(mutual, authority, issuer.token(), identity).head


def test_who_does_not_know_the_server_sends_no_token(guarded, authority, issuer):
    curl = Curl(guarded, authority, issuer.token(), trusted=False)
    assert curl.code == 60 and not curl.body
