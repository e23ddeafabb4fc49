"""Who may talk to the server from a browser: Origin, Host, and CORS."""

import pytest

from http_client import Connection
from mcp_client import ACCEPT_BOTH, JSON_TYPE, compact, modern_params
from server_process import Server, fixture_bin
from tokens import Issuer
from wire_schema import JUDGE, VERSIONS

pytestmark = pytest.mark.asan

DISCOVER = compact({"jsonrpc": "2.0", "id": 1, "method": "server/discover",
                    "params": modern_params({})})
HEADERS = [JSON_TYPE, ACCEPT_BOTH, ("MCP-Protocol-Version", VERSIONS["E"]),
           ("Mcp-Method", "server/discover")]


def discover(connection, *extra):
    return connection.request("POST", "/mcp", [*HEADERS, *extra], DISCOVER)


def refused(response):
    assert response.status == 403, response
    JUDGE.error("E", response.json())
    assert "id" not in response.json()


def test_no_origin_is_fine(connect):
    assert discover(connect()).status == 200


@pytest.mark.parametrize("origin", ["http://localhost:{port}", "http://127.0.0.1:{port}",
                                    "http://[::1]:{port}", "HTTP://LOCALHOST:{port}",
                                    "https://localhost:{port}"])
def test_local_origins_are_welcome(server, connect, origin):
    assert discover(connect(), ("Origin", origin.format(port=server.port))).status == 200


@pytest.mark.row(35)
@pytest.mark.parametrize("origin", [
    "http://evil.example.com", "https://evil.example.com:8080", "null", "file://", "localhost",
    "http://localhost:1", "https://localhost",
    "http://localhost.evil.example.com", "http://127.0.0.1.evil.example.com",
    "http://evil.example.com#localhost", "http://localhost@evil.example.com", "http://", "*",
    "http://127.0.0.2.nip.io", "http://localhost http://evil.example.com"])
def test_other_origins_are_refused(connect, origin):
    refused(discover(connect(), ("Origin", origin)))


@pytest.mark.row(35)
@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "POST"])
def test_origins_are_checked_on_every_method(connect, method):
    response = connect().request(method, "/mcp", [
        ("Origin", "http://evil.example.com"), ("Accept", "text/event-stream")])
    assert response.status == 403


def test_two_origins_are_refused(server, connect):
    good = f"http://localhost:{server.port}"
    response = discover(connect(), ("Origin", good), ("Origin", "http://evil.example.com"))
    assert response.status in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8080",
                                  "LOCALHOST", "127.0.0.1:65535"])
def test_local_hosts_are_welcome(connect, host):
    assert discover(connect(), ("Host", host)).status == 200


@pytest.mark.parametrize("host", ["evil.example.com", "evil.example.com:80", "127.0.0.1.nip.io",
                                  "localhost.evil.example.com", "192.168.0.1", "[::2]"])
def test_other_hosts_are_refused_on_loopback(connect, host):
    refused(discover(connect(), ("Host", host)))


def test_a_forged_pair_is_refused(connect):
    refused(discover(connect(), ("Host", "evil.example.com"),
                     ("Origin", "http://evil.example.com")))


def test_a_refused_origin_is_not_echoed(connect):
    response = discover(connect(), ("Origin", "http://evil.example.com"))
    assert response["Access-Control-Allow-Origin"] is None


def test_a_welcome_origin_is_echoed(server, connect):
    origin = f"http://localhost:{server.port}"
    response = discover(connect(), ("Origin", origin))
    assert response["Access-Control-Allow-Origin"] == origin
    assert "origin" in response["Vary"].lower()
    exposed = response["Access-Control-Expose-Headers"].lower()
    assert "mcp-session-id" in exposed and "x-request-id" in exposed


@pytest.mark.row(34)
def test_preflight(server, connect):
    origin = f"http://localhost:{server.port}"
    response = connect().request("OPTIONS", "/mcp", [
        ("Origin", origin), ("Access-Control-Request-Method", "POST")])
    assert response.status == 204
    assert response["Access-Control-Allow-Origin"] == origin
    methods = response["Access-Control-Allow-Methods"]
    assert all(method in methods for method in ("POST", "GET", "DELETE"))
    allowed = response["Access-Control-Allow-Headers"].lower()
    for name in ("content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method",
                 "mcp-name", "last-event-id", "authorization", "x-request-id"):
        assert name in allowed
    response = connect().request("OPTIONS", "/mcp", [
        ("Origin", origin), ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,mcp-param-region")])
    assert response.status == 204
    assert "mcp-param-region" in response["Access-Control-Allow-Headers"].lower()


@pytest.mark.row(33)
def test_listed_origins_are_welcome(start):
    running = start("--allowed-origins", "https://app.example.com,http://other.example.com:81")
    for origin, status in (("https://app.example.com", 200), ("https://APP.example.com:443", 200),
                           ("http://other.example.com:81", 200), ("http://app.example.com", 403),
                           ("http://other.example.com", 403), ("https://example.com", 403)):
        with Connection(running.address) as connection:
            assert discover(connection, ("Origin", origin)).status == status


STREAM = ("Accept", "text/event-stream")
METADATA = "/.well-known/oauth-protected-resource"
PAGE = "https://app.example"


@pytest.fixture(scope="module")
def guarded(io, tmp_path_factory):
    """Wants a token, and lets pages of PAGE ask."""
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    running = Server(fixture_bin(), "--io", io, "--port", 0, *issuer.flags, "--allowed-origins",
                     PAGE)
    yield running
    running.stop()


@pytest.mark.row(34)
@pytest.mark.parametrize("status,header,method,path,headers", [
    (401, "WWW-Authenticate", "POST", "/mcp", HEADERS),
    (401, "WWW-Authenticate", "GET", "/mcp", [STREAM]),
    (401, "WWW-Authenticate", "GET", "/sse", [STREAM]),
    (400, "WWW-Authenticate", "POST", "/mcp?access_token=x", HEADERS),
    (404, None, "POST", "/elsewhere", HEADERS),
    (405, "Allow", "GET", "/mcp", [STREAM, HEADERS[2]]),
    (405, "Allow", "POST", METADATA, HEADERS),
    (406, None, "GET", "/mcp", [("Accept", "text/html")]),
    (413, None, "POST", "/mcp", [*HEADERS, ("Content-Length", 1 << 40)]),
    (415, None, "POST", "/mcp", HEADERS[1:])])
def test_a_welcome_page_reads_why_it_was_refused(guarded, status, header, method, path, headers):
    """A browser shows a page no answer without these headers, so it could not even log in."""
    for origin, wanted in ((PAGE, PAGE), ("https://evil.example", None), (None, None)):
        with Connection(guarded.address) as connection:
            response = connection.request(method, path, [
                *headers, *([("Origin", origin)] if origin else [])],
                DISCOVER if method == "POST" else None)
        assert response["Access-Control-Allow-Origin"] == wanted, response
        if wanted:
            assert response.status == status and "origin" in response["Vary"].lower()
            exposed = response["Access-Control-Expose-Headers"].lower().split(", ")
            assert {"www-authenticate", "retry-after", "x-request-id"} <= set(exposed)
            assert header is None or response[header]


@pytest.mark.row(34)
def test_a_welcome_page_reads_when_to_come_back(start, tmp_path):
    path = tmp_path / "pillion.yaml"
    path.write_text("rates: {address: 1, address_burst: 1}\n"
                    f"http: {{allowed_origins: '{PAGE}'}}\n", encoding="ascii")
    server = start("--config", path)
    with Connection(server.address) as connection:
        answers = (discover(connection, ("Origin", PAGE)) for _ in range(100))
        refusal = next(answer for answer in answers if answer.status != 200)
    assert refusal.status == 429 and refusal["Retry-After"]
    assert refusal["Access-Control-Allow-Origin"] == PAGE


@pytest.mark.row(34)
def test_metadata_of_the_resource_may_be_asked_for_with_headers(guarded):
    """The SDK for browsers sends MCP-Protocol-Version with it, so that a preflight comes first."""
    for path in (METADATA, METADATA + "/mcp"):
        with Connection(guarded.address) as connection:
            response = connection.request("OPTIONS", path, [
                ("Origin", PAGE), ("Access-Control-Request-Method", "GET"),
                ("Access-Control-Request-Headers", "mcp-protocol-version")])
            assert response.status == 204
            assert response["Access-Control-Allow-Origin"] == PAGE
            assert response["Access-Control-Allow-Headers"] == "mcp-protocol-version"
            assert response["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
            refused(connection.request("OPTIONS", path, [("Origin", "https://evil.example")]))
