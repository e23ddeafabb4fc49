"""HTTPS: the same server behind TLS, for clients of every kind."""

import json
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from http_client import Connection, TlsAddress
from mcp_client import CAPABILITIES, Client, RpcError
from server_process import fixture_bin, run_program
from tls_authority import Authority
from wire_schema import TASKS

pytestmark = [pytest.mark.asan, pytest.mark.tls]

MODERN_CALL = ("-H", "Content-Type: application/json",
               "-H", "Accept: application/json, text/event-stream",
               "-H", "MCP-Protocol-Version: 2026-07-28", "-H", "Mcp-Method: tools/list",
               "-d", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":'
               '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
               '"io.modelcontextprotocol/clientCapabilities":{}}}}')


@pytest.fixture
def secure(start, authority):
    return start(*authority.flags, "--log-level", "debug", "--metrics-listen", "127.0.0.1:0")


def metrics_address(server, authority):
    address = server.wait_for_log("metrics.listening").split("address=")[1].split()[0]
    host, port = address.rsplit(":", 1)
    return TlsAddress((host, int(port)), authority.trust())


def metric(address, name):
    with Connection(address) as connection:
        response = connection.request("GET", "/metrics")
    return next(float(line.rsplit(" ", 1)[1]) for line in response.body.decode().splitlines()
                if line.startswith(name + " "))


def refused(address):
    """Why the handshake, or the first request after it, came to nothing."""
    with pytest.raises(OSError) as why:
        with Connection(address) as connection:
            connection.request("GET", "/health")
            raise AssertionError("the server let the client in")
    return why.value


@pytest.mark.parametrize("rev", "BCDE")
def test_every_revision_over_tls(secure, authority, rev):
    client = Client(authority.address(secure), rev).open()
    assert client.request("tools/call", {"name": "echo", "arguments": {"text": "x" * 300}})
    assert client.request("tools/list")["tools"]
    client.close()


def test_the_transport_of_2024_11_05(secure, authority, make_sse):
    class At:
        address = authority.address(secure)
    client = make_sse("A", of=At).open()
    assert client.request("tools/list")["tools"]


@pytest.mark.parametrize("size", [1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 900_000])
def test_bodies_of_any_size(secure, authority, size):
    client = Client(authority.address(secure), "E")
    text = "".join(chr(ord("a") + i % 26) for i in range(size))
    answer = client.request("tools/call", {"name": "echo", "arguments": {"text": text}})
    assert answer["content"][0]["text"] == text
    client.close()


def test_a_large_answer_to_a_client_that_reads_late(secure, authority):
    """It was cut where 4 MiB of it waited: its records counted one by one."""
    client = Client(authority.address(secure), "E")
    arguments = {"name": "test_big", "arguments": {"bytes": 9 << 20}}
    connection, identifier = client.begin("tools/call", arguments)
    # The answer has been written.
    secure.wait_for_log("mcp.call")
    result = client.read_reply(connection, identifier).result
    assert len(result["content"][0]["text"]) == 9 << 20
    client.close()


def test_a_large_answer_on_an_event_stream(secure, authority):
    """Its end, written in the same turn, was one write too many."""
    client = Client(authority.address(secure), "E")
    arguments = {"name": "test_slow", "arguments": {"ms": 0, "announce": True, "bytes": 9 << 20}}
    connection, identifier = client.begin("tools/call", arguments, meta={"progressToken": "t"})
    secure.wait_for_log("mcp.call")
    reply = client.read_reply(connection, identifier)
    assert reply.streamed and len(reply.result["content"][0]["text"]) == (9 << 20) + 5
    client.close()


def test_requests_of_one_record_or_of_many(secure, authority):
    with Connection(authority.address(secure)) as connection:
        request = connection.render("GET", "/health")
        connection.send(request * 3)  # one record
        for _ in range(3):
            assert connection.read_response().json()["status"] == "ok"
        for at in range(len(request)):  # one a byte
            connection.send(request[at:at + 1])
        assert connection.read_response().status == 200


def test_versions_and_protocols(secure, authority):
    with Connection(authority.address(secure)) as connection:
        assert connection.sock.version() in ("TLSv1.2", "TLSv1.3")
        assert connection.sock.selected_alpn_protocol() == "http/1.1"
        name, _, bits = connection.sock.cipher()
        assert bits >= 128 and ("GCM" in name or "CHACHA20" in name), name
    old = authority.trust()
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    assert "alert" in str(refused(TlsAddress(secure.address, old))).lower()
    cbc = authority.trust(version=ssl.TLSVersion.TLSv1_2)
    cbc.set_ciphers("ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA:AES128-GCM-SHA256")
    refused(TlsAddress(secure.address, cbc))
    other = authority.trust()
    other.set_alpn_protocols(["h2"])
    refused(TlsAddress(secure.address, other))


def test_curl_and_openssl(secure, authority):
    done = subprocess.run(["curl", "-sS", "--cacert", authority.ca,
                           f"https://localhost:{secure.port}/mcp", *MODERN_CALL],
                          capture_output=True, timeout=30, check=True)
    assert json.loads(done.stdout)["result"]["tools"]
    untrusting = subprocess.run(["curl", "-sS", f"https://localhost:{secure.port}/health"],
                                capture_output=True, timeout=30, check=False)
    assert untrusting.returncode == 60
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    done = subprocess.run(["openssl", "s_client", "-connect", f"localhost:{secure.port}",
                           "-CAfile", authority.ca, "-verify_return_error", "-quiet", "-ign_eof"],
                          input=request, capture_output=True, timeout=30, check=True)
    assert done.stdout.startswith(b"HTTP/1.1 200 OK\r\n") and b'"status":"ok"' in done.stdout


def test_a_session_is_resumed(secure, authority):
    context = authority.trust(version=ssl.TLSVersion.TLSv1_2)
    address = TlsAddress(secure.address, context)
    with Connection(address) as first:
        assert first.request("GET", "/health").status == 200
        session = first.sock.session
        assert not first.sock.session_reused
    with socket.create_connection(secure.address) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as again:
            assert again.session_reused
    at = metrics_address(secure, authority)
    assert metric(at, 'pillion_tls_handshakes_total{kind="resumed"}') == 1
    assert metric(at, 'pillion_tls_handshakes_total{kind="full"}') == 3


def test_plain_http_is_answered_and_rubbish_is_not(secure, authority):
    with Connection(secure.address) as plain:
        response = plain.request("POST", "/mcp", [("Content-Type", "application/json")],
                                 b"{}" * 999)
        assert response.status == 400 and response.error_code() == -32600
        assert "https://" in response.json()["error"]["message"]
        assert plain.at_eof()
    for rubbish in (b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x00" * 100, b"\xff" * 20_000,
                    b"\x16\x03\x03\x40\x01" + b"\x01" * 0x4001):
        with Connection(secure.address) as broken:
            broken.send(rubbish)
            broken.sock.shutdown(socket.SHUT_WR)
            while broken.sock.recv(4096):
                pass
    secure.wait_for_log("plain HTTP on a port of TLS")
    with Connection(authority.address(secure)) as alive:
        assert alive.request("GET", "/health").status == 200


def test_a_close_notify_ends_the_connection_and_is_answered(secure, authority):
    with Connection(authority.address(secure)) as connection:
        assert connection.request("GET", "/health", [("Connection", "close")]).status == 200
        # An end without close_notify would be an ssl.SSLEOFError.
        connection.sock.suppress_ragged_eofs = False
        assert connection.sock.recv(1) == b""


def test_cut_off_handshakes_leave_nothing(secure, authority):
    with Connection(authority.address(secure)) as first:
        assert first.request("GET", "/health").status == 200
    before = secure.descriptors()
    hello = ssl.MemoryBIO()
    client = authority.trust().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    text = hello.read()
    for size in [*range(0, len(text), 37), len(text)]:
        with socket.create_connection(secure.address) as half:
            half.sendall(text[:size])
    end = time.monotonic() + 10
    while secure.descriptors() > before and time.monotonic() < end:
        time.sleep(0.02)
    assert secure.descriptors() <= before


# ---- client certificates ----

@pytest.fixture
def mutual(start, authority):
    return start(*authority.flags, "--tls-client-ca", authority.ca, "--log-level", "debug")


def test_client_certificates_are_principals(mutual, authority):
    for name, subject, alternatives, principal in (
            ("alice", "/CN=alice", None, "cert:cn:alice"),
            ("service", "/CN=x", "URI:spiffe://example.org/s", "cert:uri:spiffe://example.org/s"),
            ("host", "/CN=x", "DNS:a.example.org,DNS:b.example.org", "cert:dns:a.example.org")):
        identity = authority.issue(name, subject, alternatives)
        client = Client(authority.address(mutual, identity=identity), "E")
        assert client.request("tools/call", {"name": "echo", "arguments": {"text": name}})
        client.close()
        mutual.wait_for_log(f"principal={principal}")


def test_nobody_enters_without_a_good_certificate(mutual, authority, tmp_path):
    stranger = Authority(tmp_path, "Stranger")
    for identity in (None, stranger.issue("bob", "/CN=bob"),
                     authority.issue("old", "/CN=old", days=-1)):
        refused(authority.address(mutual, identity=identity))
    mutual.wait_for_log("tls.refused")
    curl = subprocess.run(["curl", "-sS", "--cacert", authority.ca,
                           f"https://localhost:{mutual.port}/health"],
                          capture_output=True, timeout=30, check=False)
    assert curl.returncode in (35, 56) and curl.stdout == b""


def test_a_session_of_one_certificate_is_none_of_another(mutual, authority):
    """The id of a session is no proof of who sends it."""
    alice, bob = (Client(authority.address(mutual, identity=authority.issue(n, f"/CN={n}")),
                         "D").open() for n in ("erin", "frank"))
    own, bob.session = bob.session, alice.session
    for ask in (lambda: bob.call("tools/list"),
                lambda: bob.call("resources/subscribe", {"uri": "test://static-text"})):
        assert ask().status == 404
    for method in ("GET", "DELETE"):
        headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", alice.session),
                   ("MCP-Protocol-Version", "2025-11-25")]
        assert bob.connect().request(method, "/mcp", headers).status == 404
    assert alice.request("tools/list")["tools"]
    bob.session = own
    assert bob.request("tools/list")["tools"]
    alice.close()
    bob.close()


def test_a_stream_of_2024_11_05_takes_messages_of_its_own_principal(mutual, authority, make_sse):
    alice, mallory = (authority.address(mutual, identity=authority.issue(n, f"/CN={n}"))
                      for n in ("grace", "mallory"))
    stream = make_sse("A", of=type("At", (), {"address": alice})).open()
    body = b'{"jsonrpc":"2.0","id":77,"method":"ping"}'
    with Connection(mallory) as other:
        assert stream.post(body, other).status == 404
    with Connection(alice) as own:
        assert stream.post(body, own).status == 202


def test_a_task_of_one_certificate_is_none_of_another(mutual, authority):
    able = {**CAPABILITIES, "extensions": {TASKS: {}}}
    alice, bob = (Client(authority.address(mutual, identity=authority.issue(n, f"/CN={n}")), "E",
                         capabilities=able) for n in ("carol", "dave"))
    task = alice.request("tools/call", {"name": "slow_compute",
                                        "arguments": {"seconds": 0.2}})["taskId"]
    assert alice.request("tasks/get", {"taskId": task})["taskId"] == task
    with pytest.raises(RpcError, match="-32602"):
        bob.request("tasks/get", {"taskId": task})
    alice.close()
    bob.close()


def test_other_machines_may_be_served_with_certificates_only(authority):
    def check(*arguments):
        return run_program(fixture_bin(), "check", "--listen", "0.0.0.0:0", *arguments)
    for arguments in ((), authority.flags):
        done = check(*arguments)
        assert done.returncode == 2 and b"without authentication" in done.stderr
    mutual = (*authority.flags, "--tls-client-ca", authority.ca)
    assert check(*mutual).returncode == 0
    done = check(*mutual, "--listen", "http://0.0.0.0:0")
    assert done.returncode == 2 and b"without authentication" in done.stderr
    assert check(*mutual, "--profile", "corporate").returncode in (0, 2)


# It would be served plain, and so counted as authenticated by certificates that nobody asks for.
def test_an_inherited_unix_socket_is_not_authenticated_by_certificates(authority, tmp_path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        done = subprocess.run([fixture_bin(), "check", "--conforming", "--profile", "corporate",
                               *map(str, authority.flags), "--tls-client-ca", str(authority.ca),
                               "--listen", f"fd:{listening.fileno()}"],
                              pass_fds=[listening.fileno()], capture_output=True, timeout=30,
                              check=False)
    assert done.returncode == 2 and b"without authentication" in done.stderr, done


# ---- several listeners, several certificates, other files ----

def test_plain_and_tls_side_by_side(start, authority, tmp_path):
    path = tmp_path / "s"
    server = start(*authority.flags, "--listen", "127.0.0.1:0", "--listen", "http://127.0.0.1:0",
                   "--listen", f"unix:{path}", "--listen", "https://127.0.0.1:0")
    server.wait_until_ready(4)
    schemes = [url.split(":")[0] for url in server.urls]
    assert schemes == ["https", "http", "unix", "https"]
    for url in server.urls:
        if url.startswith("unix"):
            address = str(path)
        else:
            address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
            if url.startswith("https"):
                address = TlsAddress(address, authority.trust())
        with Connection(address) as connection:
            assert connection.request("GET", "/health").status == 200


def test_the_name_chooses_among_certificates(start, authority):
    other, rsa = (authority.issue(name, f"/CN={name}", alternatives, kind=kind)
                  for name, alternatives, kind in (
                      ("other", "DNS:*.example.org", "ec"), ("rsa", "DNS:rsa.test", "rsa")))
    server = start(*authority.flags, "--tls-cert", other[0], "--tls-key", other[1],
                   "--tls-cert", rsa[0], "--tls-key", rsa[1])
    for name in ("localhost", "a.example.org", "b.example.org", "rsa.test"):
        with Connection(TlsAddress(server.address, authority.trust(), name)) as connection:
            assert connection.request("GET", "/health").status == 200
    for name in ("example.org", "a.b.example.org", "nobody.test"):
        with pytest.raises(ssl.SSLCertVerificationError):
            Connection(TlsAddress(server.address, authority.trust(), name))


def test_a_certificate_is_renewed_without_dropping_anybody(start, authority, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    shutil.copy(authority.cert, cert)
    shutil.copy(authority.key, key)
    server = start("--tls-cert", cert, "--tls-key", key, "--threads", 2)
    address = authority.address(server)

    def serial():
        with Connection(address) as connection:
            return connection.sock.getpeercert()["serialNumber"]

    with Connection(address) as stays:
        first = serial()
        # A renewal that is none: the old one goes on, and the log says why.
        cert.write_text("rubbish", encoding="ascii")
        server.wait_for_log("config.refused")
        assert serial() == first
        new_cert, new_key = authority.issue("renewed", "/CN=localhost", "DNS:localhost")
        # By renaming, as tools of ACME do.
        shutil.copy(new_key, tmp_path / "next.key")
        shutil.copy(new_cert, tmp_path / "next.pem")
        (tmp_path / "next.key").rename(key)
        (tmp_path / "next.pem").rename(cert)
        server.wait_for_log("config.reloaded")
        # Once that is said, each of the threads has it.
        assert all(serial() != first for _ in range(8))
        assert stays.request("GET", "/health").status == 200


def test_files_that_are_no_good_are_named_and_not_shown(authority, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.touch()
    other = authority.issue("unrelated", "/CN=localhost")
    for arguments, said in (
            (("--tls-cert", authority.cert), "as many keys as certificates"),
            (("--tls-key", authority.key), "as many keys as certificates"),
            (("--tls-client-ca", authority.ca), "needs --tls-cert"),
            (("--tls-cert", "/no/such.pem", "--tls-key", authority.key), "/no/such.pem"),
            (("--tls-cert", authority.key, "--tls-key", authority.key), "no certificate"),
            (("--tls-cert", authority.cert, "--tls-key", authority.cert), "no private key"),
            (("--tls-cert", authority.cert, "--tls-key", other[1]), "does not belong"),
            ((*authority.flags, "--tls-client-ca", empty), "empty"),
            ((*authority.flags, "--tls-client-ca", authority.key), "no certificate"),
            (("--listen", "https://127.0.0.1:0"), "https needs a certificate")):
        done = run_program(fixture_bin(), "check", *arguments)
        assert done.returncode == 2, (arguments, done)
        assert said in done.stderr.decode(), done.stderr
        assert b"PRIVATE" not in done.stderr
        assert authority.key.read_text(encoding="ascii").splitlines()[1] not in done.stderr.decode()


def test_the_configuration_file_names_files_beside_it(start, authority, tmp_path):
    shutil.copy(authority.cert, tmp_path / "c.pem")
    shutil.copy(authority.key, tmp_path / "k.pem")
    path = tmp_path / "pillion.yaml"
    path.write_text("http: {listen: 'https://127.0.0.1:0'}\n"
                    "tls: {cert: c.pem, key: [k.pem]}\n"
                    "metrics: {listen: 'http://127.0.0.1:0'}\n", encoding="ascii")
    server = start("--config", path, "--listen", "https://127.0.0.1:0")
    assert server.urls[0].startswith("https://")
    with Connection(authority.address(server)) as connection:
        assert connection.request("GET", "/health").status == 200


def test_metrics_speak_tls_as_well(start, authority):
    server = start(*authority.flags, "--metrics-listen", "127.0.0.1:0")
    at = metrics_address(server, authority)
    assert metric(at, "pillion_tls_certificate_expires_seconds") > time.time()


def test_a_server_that_ends_says_goodbye(start, authority):
    server = start(*authority.flags)
    with Connection(authority.address(server)) as idle:
        assert idle.request("GET", "/health").status == 200
        with Connection(authority.address(server)) as other:
            assert other.request("GET", "/health").status == 200
        server.stop()
        assert idle.sock.recv(1) == b""
