"""Hostile and unlucky peers: after each the server is alive, and holds no more than before."""

import os
import random
import resource
import signal
import socket
import struct
import subprocess

import pytest

from http_client import Connection, HttpError
from mcp_client import Client
from server_process import Server, fixture_bin, wait_until
from test_framing_socket import CASES, IDS

GARBAGE = [
    b"", b"\0", b"\r\n" * 5000, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"{}\n" * 1000,
    b"GET " + b"/" * 100_000, b"A" * 100_000, b"\xff" * 70_000, b"GET / HTTP/1.1\r\n" * 1000,
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551616\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\nx",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 9000,
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
]


def alive(server):
    assert server.alive(), server.log[-20:]
    with Connection(server.address) as connection:
        assert connection.request("GET", "/health").status == 200


def throw(address, data, reset=False):
    """Sends `data` and leaves, by reset if wanted; the server may have left before."""
    connection = Connection(address)
    try:
        connection.send(data)
        if not reset:
            connection.sock.shutdown(socket.SHUT_WR)
            while connection.fill():
                pass
    except OSError:
        pass
    if reset:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.fixture
def unchanged(server):
    """Descriptors return to where they were."""
    alive(server)
    before = server.descriptors()
    yield
    alive(server)
    wait_until(lambda: server.descriptors() <= before + 1, what="descriptors")


@pytest.mark.asan
@pytest.mark.user
@pytest.mark.parametrize("reset", [False, True], ids=["close", "reset"])
@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:16]))
def test_garbage(server, unchanged, data, reset):
    throw(server.address, data, reset)


@pytest.mark.asan
def test_random_bytes(server, unchanged):
    dice = random.Random(20260728)
    for _ in range(100):
        throw(server.address, dice.randbytes(dice.randrange(1, 3000)), dice.random() < 0.5)


@pytest.mark.asan
@pytest.mark.parametrize("name, data, status", CASES, ids=IDS)
def test_requests_with_a_changed_byte(server, unchanged, name, data, status):
    dice = random.Random(name)
    for _ in range(60):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] = dice.randrange(256)
        throw(server.address, bytes(changed), dice.random() < 0.3)


@pytest.mark.parametrize("name, data, status", CASES, ids=IDS)
def test_requests_that_end_at_every_byte(server, unchanged, name, data, status):
    for at in range(len(data)):
        throw(server.address, data[:at], reset=at % 2 == 0)


@pytest.mark.asan
def test_clients_that_leave_before_the_answer(server, unchanged):
    request = dict((name, data) for name, data, _ in CASES)["call"]
    for _ in range(100):
        throw(server.address, request * 3, reset=True)


@pytest.mark.asan
def test_half_requests_do_not_hold_up_others(server):
    slow = [Connection(server.address) for _ in range(200)]
    for connection in slow:
        connection.send(b"POST /mcp HTTP/1.1\r\nHost: loc")
    alive(server)
    for connection in slow:
        connection.close()
    alive(server)


def test_a_thousand_connections(server, unchanged):
    many = [Connection(server.address) for _ in range(1000)]
    for connection in many:
        connection.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for connection in many:
        assert connection.read_response().status == 200
        connection.close()


@pytest.mark.asan
def test_connections_up_to_the_cap_and_beyond(start):
    running = start("--max-connections", 20)
    held = []
    for _ in range(20):
        held.append(Connection(running.address))
        assert held[-1].request("GET", "/health").status == 200
    for _ in range(5):
        with Connection(running.address) as one_more:
            try:
                one_more.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert one_more.read_response().status == 503
            except OSError:
                pass  # refused by closing before the request was read
    assert held[0].request("GET", "/health").status == 200
    for connection in held:
        connection.close()

    def served():
        try:
            with Connection(running.address) as connection:
                return connection.request("GET", "/health").status == 200
        except (OSError, HttpError):
            return False
    wait_until(served, what="service after the cap")


# Not under sanitizers: theirs need a descriptor to look at an object, and call it bad without one.
def test_when_descriptors_run_out(start):
    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    running = start("--threads", 2, preexec_fn=few_descriptors)
    many = []
    for _ in range(300):
        sock = socket.socket()
        sock.settimeout(5)
        sock.connect(running.address)
        many.append(sock)
    assert running.alive()
    for sock in many:
        sock.close()

    def served():
        try:
            with Connection(running.address, timeout=3) as connection:
                return connection.request("GET", "/health").status == 200
        except (OSError, HttpError):
            return False
    wait_until(served, 20, "service after the flood")


def starts_with_few_descriptors(start):
    """Starts with more of them each time until one succeeds; returns what the others said."""
    said = []
    for count in range(5, 60):
        code, log = start(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)))
        if code == 0:
            return said
        assert code == 1, log
        said += log
    raise AssertionError(said)


# One that had none for its second thread waited for ever, and one that had none for its signals
# served until it was killed.
def test_a_start_with_too_few_descriptors_ends(io):
    def start(preexec):
        server = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, wait=False,
                        preexec_fn=preexec)
        try:
            wait_until(lambda: server.urls or server.log[-1:] == [""], what=str(server.log))
            server.process.terminate()
            return server.wait(), server.log
        finally:
            server.process.kill()
    said = starts_with_few_descriptors(start)
    for event in ("shard.failed", "signals.failed"):
        assert any(event in line for line in said), said


def test_a_pipe_with_too_few_descriptors_ends(io):
    def start(preexec):
        with subprocess.Popen([fixture_bin(), "stdio", "--io", io], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                              preexec_fn=preexec) as process:
            try:
                process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                process.stdout.readline()  # nothing if it has ended
                process.send_signal(signal.SIGTERM)
                code = process.wait(20)
            except BrokenPipeError:
                code = process.wait(20)
            finally:
                process.kill()
            return code, process.stderr.read().decode().splitlines()
    said = starts_with_few_descriptors(start)
    assert any("signals.failed" in line for line in said), said


@pytest.mark.asan
def test_readers_that_do_not_read(server):
    clients = [Client(server.address, "E") for _ in range(4)]
    for client in clients:
        client.begin("tools/call", {"name": "test_big", "arguments": {"bytes": 8_000_000}})
        client.begin("tools/call", {"name": "test_many_logs", "arguments": {"n": 100_000}},
                     meta={"io.modelcontextprotocol/logLevel": "info"})
    alive(server)
    for client in clients:
        client.close()
    alive(server)


def test_memory_stays_bounded(start):
    running = start("--threads", 2)
    client = Client(running.address, "E")
    large = "x" * 900_000

    def churn():
        for _ in range(30):
            assert client.tool_text("echo", {"text": large}) == large
        for _ in range(300):
            throw(running.address, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900"
                                   b"\r\n\r\n" + b"x" * 500, reset=True)
        for _ in range(100):
            other = Client(running.address, "D").open()
            other.delete()
            other.close()

    churn()
    before = running.resident_kb()
    for _ in range(4):
        churn()
    client.close()
    assert running.resident_kb() < before + 32 * 1024


@pytest.mark.asan
def test_a_deep_message_does_not_overflow_anything(server, make_client):
    client = make_client("D").open()
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 50_000 + b"1" + (
        b"}" * 50_000) + b"}"
    reply = client.post(deep)
    assert (reply.error.code, reply.status) == (-32700, 400)
    wide = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"1," * 200_000 + b"1]}}"
    client.asked[1] = "ping"
    assert client.post(wide).status in (200, 400)
    alive(server)


@pytest.mark.asan
def test_descriptors_are_closed_behind_every_kind_of_request(server, unchanged, make_client):
    for letter in "ABCDE":
        client = make_client(letter).open()
        client.tool("test_tool_with_progress", {}, meta={"progressToken": 1})
        client.tool("test_blocking", {"ms": 1})
        if letter == "E":
            client.listen(toolsListChanged=True)
        else:
            client.open_stream()
        client.close()


@pytest.mark.row(110)
@pytest.mark.asan
def test_the_log_holds_no_contents(server, make_client):
    make_client("E").open().tool("echo", {"text": "correct horse battery staple"})
    make_client("E").open().tool("test_throw", {})
    assert not any("battery staple" in line for line in server.log)
    assert os.path.exists(f"/proc/{server.pid}")
