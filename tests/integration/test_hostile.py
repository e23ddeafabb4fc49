"""Many hostile peers at once: who behaves is served meanwhile, afterwards all is as before."""

import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from http_client import Connection
from mcp_client import Client
from server_process import wait_until

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_BODY = (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             b"Accept: application/json, text/event-stream\r\nContent-Length: 1000000\r\n\r\n")


@pytest.fixture
def limits(tmp_path):
    """Arguments of a server with these limits."""
    def write(text):
        path = tmp_path / "limits.yaml"
        path.write_text(f"limits: {{{text}}}\n", encoding="utf-8")
        return "--config", path
    return write


@pytest.fixture
def descriptors():
    """As many descriptors as there may be, for this process too."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def alive(server):
    assert server.alive(), server.log[-20:]
    client = Client(server.address, "E")
    assert client.tool_text("echo", {"text": "alive"}) == "alive"
    client.close()


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@pytest.mark.asan
@pytest.mark.parametrize("start_of", [HALF_HEAD, HALF_BODY], ids=["heads", "bodies"])
def test_who_sends_byte_by_byte_is_told_408_and_nobody_waits_for_it(start, limits, start_of):
    server = start(*limits("head_timeout: 600ms, body_timeout: 600ms"))
    alive(server)
    before = server.descriptors()
    slow = [Connection(server.address) for _ in range(200)]
    for connection in slow:
        connection.send(start_of)
    end = time.monotonic() + 10
    told = []
    while len(told) < len(slow):
        assert time.monotonic() < end, f"{len(told)} of {len(slow)} were told"
        for connection in slow:
            connection.sock.setblocking(False)
            try:
                connection.send(b"x")
                if connection not in told and connection.fill():
                    told.append(connection)
            except BlockingIOError:
                pass
            except OSError:
                assert connection in told
        alive(server)
    for connection in told:
        assert connection.read_response().status == 408
        connection.close()
    wait_until(lambda: server.descriptors() <= before, what="descriptors")


def test_ten_thousand_connections_that_say_nothing_or_little(start, limits, descriptors):
    count = min(10_000, descriptors - 500)
    server = start("--max-connections", 20_000, *limits("head_timeout: 60s"))
    before = server.descriptors()
    alive(server)
    memory = server.resident_kb()
    silent = []
    for i in range(count):
        sock = socket.create_connection(server.address, 20)
        if i % 2:
            sock.send(HALF_HEAD)
        silent.append(sock)
    wait_until(lambda: server.descriptors() >= before + count, 30, "all are accepted")
    alive(server)
    assert (server.resident_kb() - memory) / count < 8  # KiB each
    for i, sock in enumerate(silent):
        if i % 3:
            sock.close()
        else:
            reset(sock)
    wait_until(lambda: server.descriptors() <= before, 30, "descriptors")
    alive(server)


# Sanitizers keep what was freed: memory is judged without them.
def test_connections_that_come_and_go(start):
    server = start("--threads", 2)

    def churn(rounds):
        for i in range(rounds):
            with socket.create_connection(server.address, 20) as sock:
                if i % 4 == 1:
                    sock.send(GET)
                elif i % 4 == 2:
                    sock.send(GET)
                    assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
                elif i % 4 == 3:
                    sock.send(HALF_BODY)
                    reset(sock)

    churn(400)
    alive(server)
    before, memory = server.descriptors(), server.resident_kb()
    churn(1600)
    alive(server)
    wait_until(lambda: server.descriptors() <= before + 1, what="descriptors")
    assert server.resident_kb() < memory + 8 * 1024


# Not under sanitizers: theirs need a descriptor to look at an object.
def test_who_is_connected_is_served_while_descriptors_are_out(start):
    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    server = start(preexec_fn=few_descriptors)
    client = Client(server.address, "E")
    assert client.tool_text("echo", {"text": "before"}) == "before"
    many = [socket.create_connection(server.address, 20) for _ in range(150)]
    wait_until(lambda: server.descriptors() >= 62, what="descriptors run out")
    for i in range(20):
        assert client.tool_text("echo", {"text": str(i)}) == str(i)
        time.sleep(0.01)
    for sock in many:
        sock.close()
    client.close()
    wait_until(lambda: server.descriptors() < 32, what="descriptors come back")
    alive(server)


# All of it is there when the loop wakes up: many times what its receive buffers hold.
@pytest.mark.asan
def test_more_data_at_once_than_there_are_buffers(start):
    server = start()
    texts = [str(i) * (30_000 // len(str(i))) for i in range(300)]
    clients = [Client(server.address, "E") for _ in texts]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        begun = [client.begin("tools/call", {"name": "echo", "arguments": {"text": text}})
                 for client, text in zip(clients, texts)]
    finally:
        os.kill(server.pid, signal.SIGCONT)
    for client, text, (connection, identifier) in zip(clients, texts, begun):
        reply = client.read_reply(connection, identifier)
        assert reply.result["content"][0]["text"] == text
        client.close()


# Twenty peers who sent requests without end and never read the answers took a gigabyte.
def test_a_flood_of_pipelined_requests(start):
    server = start()
    alive(server)
    memory = server.resident_kb()
    many = [socket.create_connection(server.address, 20) for _ in range(20)]
    for sock in many:
        sock.setblocking(False)
    sent = dict.fromkeys(many, 0)
    end = time.monotonic() + 1.5
    while time.monotonic() < end and min(sent.values()) < 40_000 * len(GET):
        for sock in list(sent):
            try:
                sent[sock] += sock.send(GET * 1000)
            except BlockingIOError:
                pass
            except OSError:
                sent[sock] = 1 << 30  # it was cut
        alive(server)
    assert server.resident_kb() < memory + 20 * 12 * 1024
    for sock in many:
        sock.close()
    alive(server)


def test_more_sessions_and_streams_than_there_may_be(start, limits):
    server = start("--threads", 2, *limits("sessions: 300"))
    clients = []
    for _ in range(300):
        clients.append(Client(server.address, "D").open())
    for client in clients[:100]:
        client.open_stream()
    for _ in range(20):
        refused = Client(server.address, "D")
        reply = refused.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                            "clientInfo": {"name": "one more", "version": "1"}})
        assert (reply.status, reply.error.code) == (503, -32006)
        refused.close()
    for client in clients[::2]:
        client.delete()
    again = Client(server.address, "D").open()
    assert again.tool_text("echo", {"text": "again"}) == "again"
    for client in [*clients, again]:
        client.close()
    alive(server)


# Sends requests of 900 kB over a few connections without ever waiting for an answer; says how many
# at the end of its input. A process of its own, so that it does not wait for the test's calls.
UPLOADS = """
import socket, sys, threading, time
count = [0] * int(sys.argv[2])
request = (b"POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
           b"Accept: application/json, text/event-stream\\r\\nContent-Length: 900000\\r\\n\\r\\n")
request += b'"' + 899_998 * b"x" + b'"'
def drain(connection):
    while connection.recv(65536):
        pass
def send(number):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=drain, args=(connection,), daemon=True).start()
    while True:
        connection.sendall(request)
        count[number] += 1
for number in range(len(count)):
    threading.Thread(target=send, args=(number,), daemon=True).start()
while min(count) < 2:
    time.sleep(0.01)
print("under way", flush=True)
sys.stdin.read()
print(*count, flush=True)
"""


def test_uploads_without_an_end_keep_nobody_waiting(start_pillion):
    """One that is always ready to be read took all buffers of each turn: a call of anybody else
    waited for three thousand of these requests."""
    server = start_pillion()
    calls = 30
    with subprocess.Popen([sys.executable, "-c", UPLOADS, str(server.port), "24"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as uploads:
        try:
            assert uploads.stdout.readline() == "under way\n"
            with Connection(server.address) as connection:
                for _ in range(calls):
                    assert connection.request("GET", "/health").status == 200
            uploads.stdin.close()
            sent = [int(word) for word in uploads.stdout.readline().split()]
        finally:
            uploads.kill()
    assert sum(sent) < 300 * calls, sent
