"""The connections of tools that are requests: one for many, over TLS, and their ends."""

import pathlib
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit

import pytest

from bridged import ABLE, called, failed
from scripted_server import CLOSE, http
from server_process import wait_until

pytestmark = pytest.mark.asan

TOOLS = """
tools:
  look: {http: {upstream: up, path: /look}}
  change: {http: {upstream: up, method: POST, path: /change}}
  note:
    input: {type: object, properties: {text: {type: string}}}
    http: {upstream: up, method: POST, path: /note, send: rest}
"""


@pytest.fixture
def serve(start_pillion, make_client, tmp_path):
    def make(url, more=""):
        config = tmp_path / "c.yaml"
        config.write_text(f"{TOOLS}upstreams: {{up: {{url: '{url}', {more}}}}}\n",
                          encoding="utf-8")
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        server = start_pillion("--config", config, "--root", root)
        return server, make_client("E", server).open()
    return make


def context_of(authority, identity=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*(identity or (authority.cert, authority.key)))
    return made


def test_calls_share_a_connection(serve, scripted):
    service = scripted(lambda request: http('{"ok":true}'))
    _, client = serve(service.base)
    # A service that has answered twice on a connection keeps it.
    called(client, "look")
    called(client, "look")
    for _ in range(10):
        called(client, "change")
        called(client, "look")
    assert (service.connections, len(service.requests)) == (1, 22)


def test_they_share_one_over_tls(serve, scripted, authority):
    service = scripted(lambda request: http('{"ok":true}'), context=context_of(authority))
    _, client = serve(service.base, f"ca: '{authority.ca}'")
    for _ in range(10):
        called(client, "look")
    assert (service.connections, len(service.requests)) == (1, 10)
    assert service.requests[0].headers["host"].startswith("localhost:")


@pytest.mark.parametrize("how", ["another name", "another authority", "run out", "plain"])
def test_who_is_not_trusted_is_not_asked(serve, scripted, authority, how):
    identity = {"another name": lambda: authority.issue("x", "/CN=x", "DNS:x.example"),
                "run out": lambda: authority.issue("o", "/CN=localhost", "DNS:localhost", -1),
                }.get(how, lambda: None)()
    context = None if how == "plain" else context_of(authority, identity)
    service = scripted(lambda request: http("{}"), context=context)
    ca = "" if how == "another authority" else f"ca: '{authority.ca}', "
    # Who speaks plain HTTP waits for the end of a line.
    _, client = serve(service.base.replace("http://", "https://"), ca + "answer_timeout: 1s")
    assert failed(client, "look").code == -32006
    assert service.requests == []


def test_one_that_was_closed_meanwhile_is_not_noticed(serve, scripted):
    """A service that ends its connections after each answer, at once or a little later."""
    pause = [0]

    def answer(request):
        if request.serial % 2 == 0:
            return http('{"ok":true}')
        time.sleep(pause[0])
        return CLOSE
    service = scripted(answer)
    _, client = serve(service.base)
    for i in range(6):
        # The request that meets the end of its connection goes again over another one.
        called(client, "look")
        pause[0] = 0.01 * i
    assert service.connections == 6


def test_a_post_is_never_sent_twice(serve, scripted):
    answers = iter([http("{}"), http("{}"), http("{}"), CLOSE, http("{}")])
    service = scripted(lambda request: next(answers))
    _, client = serve(service.base)
    called(client, "look")
    called(client, "look")
    called(client, "change")
    # Nobody knows what became of it.
    assert failed(client, "change").code == -32006
    assert [one.method for one in service.requests] == ["GET", "GET", "POST", "POST"]
    called(client, "change")


def sockets_to(base):
    """How many somebody has open to a service (proc_net_tcp of the kernel's documentation)."""
    remote = f":{urlsplit(base).port:04X}"
    rows = [row.split() for name in ("tcp", "tcp6")
            for row in pathlib.Path(f"/proc/net/{name}").read_text("ascii").splitlines()[1:]]
    return sum(1 for row in rows if row[2].endswith(remote) and row[9] != "0")


def test_an_idle_one_ends(serve, scripted):
    """Nothing is left of a service that nobody asks any more. Counting all descriptors failed once:
    a connection of the client before was not closed yet when they were counted first."""
    service = scripted(lambda request: http("{}"))
    _, client = serve(service.base)
    for _ in range(3):
        called(client, "look")
    assert service.connections == 1
    assert sockets_to(service.base) == 1
    wait_until(lambda: sockets_to(service.base) == 0, seconds=20)
    called(client, "look")
    assert service.connections == 2


def test_one_whose_service_reads_no_more_ends(serve, authority):
    """A late call said goodbye to its service behind the rest of the request, which nobody read:
    connection and request stayed for ever, and with them the server when it was to end."""
    context = context_of(authority)
    with socket.socket() as listener:
        # Else the system takes all of the request.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(20)
        base = f"https://localhost:{listener.getsockname()[1]}"
        accepted = []

        def accept():
            accepted.append(context.wrap_socket(listener.accept()[0], server_side=True))
        thread = threading.Thread(target=accept)
        thread.start()
        server, client = serve(base, f"ca: '{authority.ca}', answer_timeout: 4s")
        assert failed(client, "note", {"text": "x" * 900_000}).code == -32006
        thread.join()
        assert accepted
        wait_until(lambda: sockets_to(base) == 0, seconds=20)
        accepted[0].close()
    server.stop()


def test_a_server_over_https(start, start_pillion, make_client, authority, tmp_path):
    behind = start("--tls-cert", authority.cert, "--tls-key", authority.key)
    config = tmp_path / "c.yaml"
    config.write_text(
        f"servers:\n  good: {{url: 'https://localhost:{behind.port}/mcp', ca: '{authority.ca}'}}\n"
        f"  bad: {{url: 'https://localhost:{behind.port}/mcp'}}\n", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    server = start_pillion("--config", config, "--root", root)
    assert "certificate is not trusted" in server.wait_for_log("bridge.down server=bad")
    client = make_client("E", server, capabilities=ABLE).open()
    assert called(client, "good__echo", {"text": "safe"}) == "safe"
