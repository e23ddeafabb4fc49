"""pillion-bench: servers that end connections and send other things than answers, as they may."""

import queue

import pytest

from bench_program import LEGACY, MODERN, brief
from scripted_server import CLOSE, chunked, http, message

CLOSES = "Connection: close\r\n"


def sessions(delete, headers=""):
    """The script of a server with sessions; `delete` writes the answers to DELETE."""
    def script(request):
        if request.method == "DELETE":
            return delete(request)
        if request.rpc_method == "initialize":
            return http(message(request), headers=f"Mcp-Session-Id: s{request.serial}\r\n{headers}")
        if "id" not in request.message:
            return http("", "202 Accepted", headers=headers)
        return http(message(request), headers=headers)
    return script


def told(server):
    return [request.rpc_method or request.method for request in server.requests]


HANDSHAKE = ["initialize", "notifications/initialized"]


def test_sessions_with_a_connection_for_each_answer(bench, scripted):
    """The end of the first session ended its connection: on the next one a session was tried
    again, and so for ever. Of those that were measured none was ended."""
    server = scripted(sessions(lambda r: http("", "204 No Content", headers=CLOSES), CLOSES))
    code, report = bench(server.url, "session-churn", "-r", "2025-11-25", *brief(4))
    assert code == 0 and report["ok"] == 4, report
    assert told(server) == [*HANDSHAKE, "DELETE"] + 4 * [*HANDSHAKE, "ping", "DELETE"]
    ended = {request.headers["mcp-session-id"] for request in server.requests
             if request.method == "DELETE"}
    assert len(ended) == 5


def test_a_session_whose_end_is_not_answered(bench, scripted):
    """The whole exchange was repeated as fast as it went, until its time was up."""
    server = scripted(sessions(lambda r: http("", "204 No Content") if r.serial == 2 else CLOSE))
    code, report = bench(server.url, "session-churn", "-r", "2025-11-25", *brief(3))
    assert code == 3 and report["errors"]["by_class"] == {"closed": 3}, report
    assert told(server).count("ping") == 3


def test_the_first_session_is_tried_once(bench, scripted):
    """Its end may fail: that is a courtesy."""
    server = scripted(sessions(lambda r: CLOSE if r.serial == 2 else http("", "204 No Content")))
    code, report = bench(server.url, "session-churn", "-r", "2025-11-25", *brief(2))
    assert code == 0 and report["ok"] == 2, report
    assert told(server) == [*HANDSHAKE, "DELETE"] + 2 * [*HANDSHAKE, "ping", "DELETE"]


def test_connection_churn_of_a_server_that_closes(bench, scripted):
    """A connection was made behind each answer, only to be closed before the next request."""
    server = scripted(lambda r: http(message(r), headers=CLOSES))
    code, report = bench(server.url, "connection-churn", *brief(7))
    assert code == 0 and report["ok"] == 7 and report["reconnects"] == 0, report
    assert server.connections == 8 and len(server.requests) == 7


# ---- event streams ----

def left_open(request, times=1):
    """An answer in a stream that has no end."""
    return chunked(times * f"data: {message(request)}\n\n",
                   kind="text/event-stream").removesuffix(b"0\r\n\r\n")


@pytest.mark.asan
@pytest.mark.parametrize("revision", (MODERN, *LEGACY))
def test_a_stream_that_is_left_open_behind_its_answer(bench, scripted, revision):
    """The answer had come, and was reported as a time-out."""
    server = scripted(lambda r: left_open(r) if "id" in r.message else http("", "202 Accepted"))
    code, report = bench(server.url, "tools/list", "-r", revision, *brief(8))
    assert code == 0 and report["ok"] == 8, report
    assert report["reconnects"] >= 7 and told(server).count("tools/list") == 8


def test_a_stream_whose_end_comes_later(bench, scripted):
    """It is waited for, so that the connection can be asked again."""
    server = scripted(lambda r: (left_open(r), b"0\r\n\r\n"))
    code, report = bench(server.url, "tools/list", *brief(20, 2))
    assert code == 0 and report["ok"] == 20 and report["reconnects"] == 0, report


def test_a_second_answer_in_a_stream_that_is_left_open(bench, scripted):
    """What comes behind the answer is still judged."""
    server = scripted(lambda r: left_open(r, times=2))
    code, report = bench(server.url, "tools/list", *brief(3))
    assert code == 3 and report["errors"]["by_class"] == {"wrong_id": 3}, report


PING = "event: ping\ndata: 2026-07-28T12:00:00Z\n\n"


@pytest.mark.parametrize("named", ("", "event: message\n"), ids=("untyped", "typed"))
def test_events_that_are_no_messages(bench, scripted, named):
    """Signs of life of a server's own kind were judged as answers, and were malformed."""
    server = scripted(lambda r: chunked(
        f"{PING}{named}data: {message(r)}\n\n{PING}event: endpoint\ndata: /x\n\n",
        kind="text/event-stream"))
    code, report = bench(server.url, "tools/list", *brief(5))
    assert code == 0 and report["ok"] == 5 and report["reconnects"] == 0, report


def test_events_that_are_no_messages_on_http_sse(bench, scripted):
    """As above."""
    said = queue.Queue()

    def stream():
        yield f"{PING}event: endpoint\ndata: /messages\n\n"
        while (text := said.get(timeout=10)) is not None:
            yield f"{PING}event: message\ndata: {text}\n\n{PING}"

    def script(request):
        if request.method == "GET":
            return stream()
        if "id" in request.message:
            said.put(message(request))
        return http("", "202 Accepted")
    code, report = bench(scripted(script).url, "tools/list", "-r", "2024-11-05", *brief(5))
    said.put(None)
    assert code == 0 and report["ok"] == 5, report
