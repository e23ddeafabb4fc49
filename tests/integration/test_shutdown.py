"""The end: SIGTERM finishes what is in flight, a second one does not wait."""

import os
import select
import signal
import threading
import time

import pytest

from http_client import Connection, HttpError
from mcp_client import Client
from server_process import wait_until

pytestmark = [pytest.mark.asan, pytest.mark.user]


def slow(client, ms, **more):
    return client.begin("tools/call", {"name": "test_slow", "arguments": {"ms": ms, **more}})


def gone(server):
    try:
        Connection(server.address, timeout=2).close()
    except OSError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_ends_at_once(start, number):
    running = start()
    running.process.send_signal(number)
    assert running.wait() == 0
    running.assert_nothing_left()


@pytest.mark.parametrize("letter", "DE")
def test_calls_in_flight_are_finished(start, make_client, letter):
    running = start("--threads", 2)
    client = make_client(letter, of=running).open()
    begun = [slow(client, 800) for _ in range(5)]
    time.sleep(0.3)
    running.process.terminate()
    for connection, identifier in begun:
        reply = client.read_reply(connection, identifier)
        assert reply.result["content"][0]["text"] == "slept"
    assert running.wait() == 0


# They came to the program's own thread, which did not block them, and killed it.
def test_signals_that_come_to_a_thread_of_the_program_s(start, make_client):
    running = start("--own-thread")
    for _ in range(2):
        running.process.send_signal(signal.SIGHUP)
    running.wait_for_log("config.nothing_to_reload")
    client = make_client("E", of=running).open()
    connection, identifier = slow(client, 500)
    running.process.terminate()
    running.wait_for_log("shutdown.begin")
    assert client.read_reply(connection, identifier).result["content"][0]["text"] == "slept"
    assert running.wait() == 0


def test_nobody_new_is_served_while_the_server_ends(start, make_client):
    running = start()
    client = make_client("E", of=running).open()
    connection, identifier = slow(client, 1000)
    time.sleep(0.2)
    running.process.terminate()
    wait_until(lambda: gone(running), what="listener closed")
    assert client.read_reply(connection, identifier).result


def test_the_answer_before_the_end_closes_the_connection(start, make_client):
    running = start()
    client = make_client("E", of=running).open()
    connection, identifier = slow(client, 500)
    time.sleep(0.2)
    running.process.terminate()
    reply = client.read_reply(connection, identifier)
    assert reply.response["Connection"].lower() == "close"
    assert connection.at_eof()


def test_idle_connections_are_closed(start):
    running = start("--drain-timeout", "1s")
    connections = [Connection(running.address) for _ in range(10)]
    assert connections[0].request("GET", "/health").status == 200
    connections[1].send(b"GET /health HT")
    running.process.terminate()
    for connection in connections[2:] + connections[:1]:
        assert connection.at_eof()
    assert running.wait() == 0
    for connection in connections:
        connection.close()


def test_streams_of_sessions_are_ended(start, make_client):
    running = start("--threads", 2)
    client = make_client("D", of=running).open()
    streams = [client.open_stream() for _ in range(3)]
    running.process.terminate()
    for stream in streams:
        assert client.next_message(stream) is None
    assert running.wait() == 0


def test_a_second_signal_does_not_wait(start, make_client, request):
    running = start()
    client = Client(running.address, "E")
    request.addfinalizer(client.close)
    connection, _ = slow(client.open(), 9_000)
    time.sleep(0.3)
    running.process.terminate()
    time.sleep(0.3)
    assert running.alive()
    before = time.monotonic()
    running.process.terminate()
    assert running.process.wait(20) >= 0
    assert time.monotonic() - before < 5
    connection.close()


def test_a_call_that_will_not_end_is_stopped(start, make_client):
    running = start("--drain-timeout", "1s")
    client = make_client("E", of=running).open()
    slow(client, 60_000)
    time.sleep(0.2)
    running.process.terminate()
    assert running.wait(25) == 0


def test_open_calls_of_clients_that_left_hold_nothing_up(start, make_client):
    running = start("--threads", 2)
    client = make_client("E", of=running).open()
    for _ in range(10):
        slow(client, 30_000)
    client.close()
    time.sleep(0.2)
    running.process.terminate()
    assert running.wait(25) == 0
    running.assert_nothing_left()


# A second signal was passed on to a thread that had ended: the server died of it.
def test_a_second_signal_finds_some_threads_gone_already(start):
    running = start("--threads", 4, "--drain-timeout", "2s")
    client = Client(running.address, "D").open()
    connection, _ = slow(client, 1500)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    running.process.send_signal(signal.SIGTERM)
    assert running.wait() == 0
    connection.close()
    client.close()


# They were accepted by the system, in the queue of the listener: closing that reset them.
@pytest.mark.parametrize("threads", [1, 2])
def test_who_connected_before_the_end_is_answered(start, threads):
    running = start("--threads", threads)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        waiting = [Connection(running.address) for _ in range(60)]
        for connection in waiting:
            connection.send_request("GET", "/health")
        running.process.terminate()
    finally:
        os.kill(running.pid, signal.SIGCONT)
    for connection in waiting:
        assert connection.read_response().status == 200
        connection.close()
    assert running.wait() == 0


def test_who_connected_to_a_unix_socket_before_the_end_is_answered(start, tmp_path):
    path = str(tmp_path / "s")
    running = start("--listen", f"unix:{path}")
    os.kill(running.pid, signal.SIGSTOP)
    try:
        waiting = [Connection(path) for _ in range(60)]
        for connection in waiting:
            connection.send_request("GET", "/health")
        running.process.terminate()
    finally:
        os.kill(running.pid, signal.SIGCONT)
    for connection in waiting:
        assert connection.read_response().status == 200
        connection.close()
    assert running.wait() == 0


def test_not_ready_as_soon_as_the_end_begins(start):
    running = start()
    with Connection(running.address) as connection:
        # A request that began before the signal and ends after it.
        connection.send(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n.")
        time.sleep(0.1)
        running.process.terminate()
        running.wait_for_log("shutdown.begin")
        connection.send(b".")
        reply = connection.read_response()
        assert (reply.status, reply.json()["status"]) == (503, "not_ready")
        assert reply["Connection"] == "close"
    assert running.wait() == 0


def test_pipelined_requests_are_all_answered(start, make_client):
    running = start()
    client = make_client("E", of=running).open()
    connection, identifier = slow(client, 500)
    connection.send_request("GET", "/health")
    connection.send_request("GET", "/healthz")
    time.sleep(0.2)
    running.process.terminate()
    reply = client.read_reply(connection, identifier)
    assert reply.result["content"][0]["text"] == "slept"
    first, second = connection.read_response(), connection.read_response()
    assert (first.status, second.status) == (200, 200)
    assert second["Connection"] == "close"
    assert connection.at_eof()


class Caller(threading.Thread):
    """Calls without a pause, and connects again as long as it can."""

    def __init__(self, address):
        super().__init__()
        self.address = address
        self.answered = 0
        self.unanswered = []
        self.quiet_since = 0  # the server heard of this connection then, or later

    def run(self):
        while True:
            self.quiet_since = time.monotonic()
            try:
                connection = Connection(self.address, timeout=0.5)
            except OSError:
                return  # nobody listens any more
            connection.sock.settimeout(20)
            on_this = 0
            with connection:
                while self.call(connection, on_this):
                    on_this += 1

    def call(self, connection, on_this):
        if select.select([connection.sock], [], [], 0)[0]:
            return False  # closed between two requests
        sent = None
        begun = time.monotonic()
        try:
            connection.send_request("GET", "/health")
            sent = time.monotonic()
            reply = connection.read_response()
        except (OSError, HttpError) as fault:
            # Where this thread was held up, its connection was idle.
            if sent is not None and sent - self.quiet_since < 0.05:
                own = connection.sock.getsockname()
                self.unanswered.append(
                    f"{fault!r}: request {on_this} of {own}, sent at {sent:.6f}, "
                    f"{sent - self.quiet_since:.6f} s after the one before, "
                    f"fault at {time.monotonic():.6f}"
                )
            return False
        assert reply.status == 200
        self.answered += 1
        self.quiet_since = begun
        return reply["Connection"] != "close"


def end_under_load(start):
    """What was sent and not answered when a server was told to end under load."""
    running = start("--threads", 2)
    callers = [Caller(running.address) for _ in range(16)]
    for caller in callers:
        caller.start()
    wait_until(lambda: all(caller.answered > 5 for caller in callers), what="load")
    told = time.monotonic()
    running.process.terminate()
    for caller in callers:
        caller.join(20)
    assert running.wait() == 0
    unanswered = [fault for caller in callers for fault in caller.unanswered]
    return [*unanswered, f"the end was asked for at {told:.6f}"] if unanswered else []


def test_under_load_nothing_that_was_sent_is_left_unanswered(start):
    # A thread that was held up in the turn in which it was told to end closed at once what should
    # have had a while: one connection of some thousand was reset, on a busy machine.
    for _ in range(3):
        assert end_under_load(start) == []
