"""pillion-bench: servers that end connections and send other things than answers, as they may."""

import json
import queue
import ssl

import pytest

from bench_program import LEGACY, MODERN, brief
from scripted_server import CLOSE, NEVER, chunked, http, message

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


# ---- servers that ask ----

class Asking:
    """Asks the client twice before each answer, and waits until it has been answered."""

    def __init__(self):
        self.heard = []
        self.answers = queue.Queue()

    def events(self, answer):
        for method in ("ping", "roots/list"):
            yield f'data: {json.dumps({"jsonrpc": "2.0", "id": method, "method": method})}\n\n'
            self.heard.append(self.answers.get(timeout=10))
        yield f"data: {answer}\n\n"

    def take(self, request):
        """Whether this is an answer, and not a question of the client."""
        is_answer = request.method == "POST" and "method" not in request.message
        if is_answer:
            self.answers.put(request)
        return is_answer

    def was_answered(self, times):
        told = [request.message for request in self.heard]
        assert [one["id"] for one in told] == times * ["ping", "roots/list"], told
        assert all(one["result"] == {} for one in told[::2]), told
        assert all(one["error"]["code"] == -32601 for one in told[1::2]), told


@pytest.mark.asan
@pytest.mark.parametrize("revision", LEGACY)
def test_a_server_that_asks_in_its_streams_is_answered(bench, scripted, revision):
    """Pings were passed over, and a server that waited for that answered nothing any more."""
    asking = Asking()

    def script(request):
        if asking.take(request):
            return http("", "202 Accepted")
        if request.method == "DELETE" or "id" not in request.message:
            return http("", "202 Accepted")
        if request.rpc_method == "initialize":
            return http(message(request), headers="Mcp-Session-Id: one\r\n")
        return asking.events(message(request))
    server = scripted(script)
    code, report = bench(server.url, "tools/list", "-r", revision, "-H", "X-Own: 1", *brief(3))
    assert code == 0 and report["ok"] == 3, report
    asking.was_answered(3)
    for request in asking.heard:
        assert request.path == "/mcp" and request.headers["mcp-session-id"] == "one"
        assert request.headers["x-own"] == "1"
        assert request.headers.get("mcp-protocol-version", "2025-03-26") == revision
    # Those through which it asked, each of one answer, and one for all answers to it.
    assert server.connections <= 3 + 2, server.connections


def test_answers_through_connections_that_are_closed(bench, scripted):
    """Each is sent again where the server has ended the connection meanwhile, or ends it then."""
    asking = Asking()

    def script(request):
        if asking.take(request):
            return http("", "202 Accepted", headers=CLOSES)
        return asking.events(message(request)) if "id" in request.message else \
            http("", "202 Accepted")
    code, report = bench(scripted(script).url, "tools/list", "-r", "2025-11-25", *brief(3))
    assert code == 0 and report["ok"] == 3, report
    # Before the answer to initialize as well.
    asking.was_answered(4)


@pytest.mark.asan
@pytest.mark.parametrize("replies", (NEVER, CLOSE, http("", "404 Not Found"), b"SSH-2.0-x\r\n"),
                         ids=("never", "closed", "refused", "no HTTP"))
@pytest.mark.parametrize("secure", (False, True), ids=("http", "https"))
def test_answers_that_are_not_taken(bench, scripted, authority, secure, replies):
    """What becomes of them is no part of what is measured, and ends with the run. There are more
    than are kept."""
    pings = "".join(f'data: {{"jsonrpc":"2.0","id":{i},"method":"ping"}}\n\n' for i in range(40))

    def script(request):
        if "method" not in request.message:
            return replies
        return chunked(f"{pings}data: {message(request)}\n\n", kind="text/event-stream")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if secure else None
    if secure:
        context.load_cert_chain(authority.cert, authority.key)
    server = scripted(script, context=context)
    code, report = bench(server.base + "/mcp", "tools/list", "-r", "2025-11-25", *brief(5),
                         *(("--cacert", authority.ca) if secure else ()))
    assert code == 0 and report["ok"] == 5 and report["reconnects"] == 0, report


@pytest.mark.asan
def test_a_server_of_http_sse_that_asks_is_answered(bench, scripted):
    """As above; there the stream is one for all."""
    asking = Asking()
    said = queue.Queue()

    def stream():
        yield "event: endpoint\ndata: /messages\n\n"
        while (text := said.get(timeout=10)) is not None:
            yield from asking.events(text)

    def script(request):
        if request.method == "GET":
            return stream()
        if not asking.take(request) and "id" in request.message:
            said.put(message(request))
        return http("", "202 Accepted")
    code, report = bench(scripted(script).url, "tools/list", "-r", "2024-11-05", *brief(3))
    said.put(None)
    assert code == 0 and report["ok"] == 3 and report["reconnects"] == 0, report
    asking.was_answered(4)
    assert {request.path for request in asking.heard} == {"/messages"}
