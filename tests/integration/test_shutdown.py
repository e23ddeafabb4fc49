"""The end: SIGTERM finishes what is in flight, a second one does not wait."""

import signal
import time

import pytest

from http_client import Connection
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
