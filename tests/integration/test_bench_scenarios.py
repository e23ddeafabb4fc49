"""pillion-bench: other transports than HTTP, and what is more than a question and its answer."""

import contextlib
import itertools
import json
import os
import queue
import socket
import ssl
import sys
import threading
import time

import pytest

from bench_program import LEGACY, MODERN, bench_bin, brief, fails
from http_client import Connection
from scripted_server import http, message, result_of
from server_process import fixture_bin, run_program

ECHO = ("--tool", "echo", "--arguments", '{"text":"hello"}')
OLDEST = "2024-11-05"
REVISIONS = (MODERN, *LEGACY, OLDEST)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def noted(tmp_path):
    """A command that notes its process before it becomes another; and those noted, by a call."""
    notes = tmp_path / "pids"

    def command(*words):
        return ("--", "stdio", "sh", "-c", f'echo $$ >> {notes}; exec "$@"', "sh", *words)

    def pids():
        return [int(line) for line in notes.read_text(encoding="ascii").split()]
    return command, pids


def taken(of):
    """What comes next in a queue; None at the end of the test."""
    try:
        return of.get(timeout=10)
    except queue.Empty:
        return None


# ---- https ----

@pytest.fixture
def secure(start, authority):
    server = start(*authority.flags)
    return server, f"https://localhost:{server.port}/mcp", ("--cacert", authority.ca)


@pytest.mark.asan
@pytest.mark.tls
@pytest.mark.parametrize("revision", (MODERN, *LEGACY))
def test_https(bench, secure, revision):
    _, url, trust = secure
    code, report = bench(url, "tools/call", *ECHO, "--expect", "hello", "-r", revision, *trust,
                         *brief(100, 4))
    assert code == 0 and report["ok"] == 100 and report["reconnects"] == 0, report
    assert report["target"] == url


@pytest.mark.asan
@pytest.mark.tls
def test_https_with_event_streams(bench, secure):
    server, _, trust = secure
    code, report = bench(f"https://localhost:{server.port}/sse", "tools/call", *ECHO, "-r", OLDEST,
                         *trust, *brief(50, 2))
    assert code == 0 and report["ok"] == 50, report


@pytest.mark.asan
@pytest.mark.tls
@pytest.mark.parametrize("scenario", ("tls-full", "tls-resumed", "connection-churn"))
def test_handshakes(bench, start, authority, scenario):
    server = start(*authority.flags, "--metrics-listen", "http://127.0.0.1:0")
    address = server.wait_for_log("metrics.listening").split("address=")[1].split()[0]
    code, report = bench(f"https://localhost:{server.port}/mcp", scenario, "--cacert", authority.ca,
                         *brief(40, 2))
    assert code == 0 and report["ok"] == 40, report
    host, port = address.rsplit(":", 1)
    with Connection((host, int(port))) as connection:
        page = connection.request("GET", "/metrics").body.decode()
    full, resumed = (float(next(line for line in page.splitlines() if f'kind="{kind}"' in line
                                and "handshakes" in line).rsplit(" ", 1)[1])
                     for kind in ("full", "resumed"))
    # Two more begin the run.
    if scenario == "tls-full":
        assert (full, resumed) == (42, 0)
    else:
        # TLS 1.3 has its ticket read with the first answer.
        assert full <= 4 and resumed >= 38


@pytest.mark.tls
def test_servers_that_are_not_to_be_trusted(bench, secure, authority, tmp_path):
    server, url, trust = secure
    assert "tls" in fails(1, url, *brief(1))
    assert "tls" in fails(1, url.replace("/mcp", "/sse"), "-r", OLDEST, *brief(1))
    assert "CN" in fails(1, url, *trust, "--server-name", "example.org", *brief(1))
    assert "cannot read" in fails(1, url, "--cacert", tmp_path / "none", *brief(1))
    assert bench(url, "-k", *brief(1))[0] == 0
    assert bench(f"https://127.0.0.1:{server.port}/mcp", *trust, *brief(1))[0] == 0


def context_of(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.cert, authority.key)
    return context


@pytest.fixture
def large(tmp_path):
    """Arguments that no buffer of the system holds."""
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"text": "x" * 16_000_000}), encoding="utf-8")
    return ("--tool", "echo", "--arguments", f"@{path}")


@pytest.mark.tls
def test_large_requests_over_https(bench, scripted, authority, large):
    """All records of a request are written in one turn: that passed the mark at which a peer that
    does not read is cut off."""
    server = scripted(lambda r: http(message(r)), context=context_of(authority))
    code, report = bench(server.base + "/mcp", "tools/call", *large, "--cacert", authority.ca,
                         "-n", 2, "-c", 1, "--warm-up", "0s", "--timeout", "60s")
    assert code == 0 and report["ok"] == 2 and report["bytes_out"] > 32_000_000, report


@pytest.mark.asan
@pytest.mark.tls
def test_an_https_server_that_never_reads(bench, authority, large):
    """The goodbye of TLS waited behind the request, and the report was lost in an assertion."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept = []

        def shake_hands():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    kept.append(context_of(authority).wrap_socket(client, server_side=True))
        thread = threading.Thread(target=shake_hands, daemon=True)
        thread.start()
        code, report = bench(f"https://localhost:{listener.getsockname()[1]}/mcp", "tools/call",
                             *large, "--cacert", authority.ca, "-n", 2, "-c", 1, "--warm-up", "0s",
                             "--timeout", "3s")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in kept:
            one.close()
    assert code == 3 and report["errors"]["by_class"] == {"timeout": 2}, report


@pytest.mark.tls
def test_a_certificate_of_the_client(bench, start, authority):
    server = start(*authority.flags, "--tls-client-ca", authority.ca)
    url = f"https://localhost:{server.port}/mcp"
    cert, key = authority.issue("bencher", "/CN=bencher")
    code, report = bench(url, "tools/call", *ECHO, "--cacert", authority.ca, "--cert", cert,
                         "--key", key, *brief(20, 2))
    assert code == 0 and report["ok"] == 20, report
    # In TLS 1.3 the client's part of the handshake is over when the server refuses.
    done = run_program(bench_bin(), url, "--cacert", authority.ca, *brief(1))
    assert done.returncode in (1, 3) and b"tls" in done.stdout + done.stderr, done


@pytest.mark.tls
def test_plain_http_to_a_server_of_https(bench, secure):
    server, _, _ = secure
    code, report = bench(f"http://localhost:{server.port}/mcp", *brief(1))
    assert code == 3 and report["errors"]["by_class"] == {"http_4xx": 1}, report


# ---- stdio ----

@pytest.mark.asan
@pytest.mark.parametrize("revision", REVISIONS)
def test_stdio(bench, noted, revision):
    command, pids = noted
    code, report = bench("tools/call", *ECHO, "--expect", "hello", "-r", revision, *brief(100, 2),
                         *command(fixture_bin(), "stdio"))
    assert code == 0 and report["ok"] == 100 and report["reconnects"] == 0, report
    assert report["revision"] == revision and report["target"].startswith("stdio sh -c")
    assert len(pids()) == 2 and not any(is_alive(pid) for pid in pids())


def test_children_are_watched(bench, noted):
    """Also those that have ended meanwhile."""
    command, pids = noted
    code, report = bench("--pid", "auto", *brief(500, 2), *command(fixture_bin(), "stdio"))
    assert code == 0 and report["server"]["pids"] == sorted(pids())
    assert 0 < report["server"]["cpu_us_per_request"] < 1e6
    assert report["server"]["rss_bytes"] > 1 << 20
    code, report = bench("connection-churn", "--pid", "auto", *brief(3),
                         *command(fixture_bin(), "stdio"))
    assert code == 0 and report["server"]["cpu_us_per_request"] > 100, report


def test_a_child_that_will_not_go_is_killed(noted):
    """It hears neither the end of its input nor SIGTERM, and answers nothing."""
    command, pids = noted
    words = command("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    fails(1, "-r", "2025-11-25", "-c", "2", "--timeout", "200ms", *words)
    assert len(pids()) >= 2 and not any(is_alive(pid) for pid in pids())


def test_a_command_that_is_none():
    assert "No such file" in fails(1, *brief(1), "--", "stdio", "/no/such/program")


@pytest.mark.parametrize("words, why", [
    (("sh", "-c", "exit 7"), "the command ended with exit code 7"),
    (("sh", "-c", "kill -9 $$"), "the command was ended by signal 9 (Killed)"),
    (("sh", "-c", "exec >&-; sleep 60"), "the command closed its input or output"),
], ids=["exit code", "signal", "closed"])
def test_how_a_command_ends_is_told(bench, words, why):
    """All that was said of one that cannot start, for a wrong option say, was "closed"."""
    code, report = bench(*brief(2), "--", "stdio", *words)
    assert code == 3 and report["errors"]["by_class"] == {"closed": 2}, report
    assert report["errors"]["examples"] == {"closed": why}, report
    assert f"closed ({why})" in fails(1, "-r", "2025-11-25", *brief(1), "--", "stdio", *words)


def test_how_a_command_ends_is_told_by_its_input_as_well(bench, tmp_path):
    """Who asks a server that reads no more has a broken pipe before the end of its output."""
    how = """
    import os, time
    os.close(0)
    print(json.dumps(answer), flush=True)
    time.sleep(0.1)
    os._exit(7)
"""
    code, report = bench("tools/list", *brief(2), *stdio_script(tmp_path, how))
    assert code == 3 and report["ok"] == 1 and report["errors"]["by_class"] == {"closed": 1}, report
    assert report["errors"]["examples"] == {"closed": "the command ended with exit code 7"}, report


STDIO_SERVER = """
import json, sys
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"tools": [], "protocolVersion": asked["params"].get("protocolVersion")}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    HOW
"""


def stdio_script(tmp_path, how):
    path = tmp_path / "server.py"
    path.write_text(STDIO_SERVER.replace("HOW", how), encoding="utf-8")
    return ("--", "stdio", sys.executable, path)


@pytest.mark.parametrize("how", [
    "print(json.dumps(answer) + chr(13), flush=True)",
    "print(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/message'}) + chr(10) * 2"
    " + json.dumps(answer), flush=True)",
    "[print(piece, end='', flush=True) for piece in json.dumps(answer) + chr(10)]",
    "print(json.dumps({**answer, 'filler': 'x' * 300000}), flush=True)",
], ids=["CRLF", "a message beside it", "byte by byte", "long lines"])
def test_manners_of_lines(bench, tmp_path, how):
    code, report = bench("tools/list", *brief(20), *stdio_script(tmp_path, how))
    assert code == 0 and report["ok"] == 20, report


@pytest.mark.parametrize("revision", (*LEGACY, OLDEST))
def test_a_server_that_asks_is_answered(bench, tmp_path, revision):
    """A ping may come at any time, and must be answered: it was passed over, and a server that
    waited for that gave the client up."""
    how = """
    for method, member in (("ping", "result"), ("roots/list", "error")):
        print(json.dumps({"jsonrpc": "2.0", "id": "?", "method": method}), flush=True)
        told = json.loads(sys.stdin.readline())
        if told.get("method") == "notifications/initialized":
            told = json.loads(sys.stdin.readline())
        assert told["id"] == "?" and member in told, told
    print(json.dumps(answer), flush=True)
"""
    code, report = bench("tools/list", "-r", revision, *brief(5), *stdio_script(tmp_path, how))
    assert code == 0 and report["ok"] == 5 and report["reconnects"] == 0, report


@pytest.mark.parametrize("name, how", [
    ("wrong_id", "print(json.dumps({**answer, 'id': 5}), flush=True)"),
    ("malformed", "print('hello', flush=True)"),
    ("closed", "break"),
])
def test_wrong_lines(bench, tmp_path, name, how):
    """Each costs a child: what came after it would be taken for the next answer."""
    code, report = bench("tools/list", *brief(3), *stdio_script(tmp_path, how))
    assert code == 3 and report["errors"]["by_class"] == {name: 3}, report


def test_answers_that_nobody_asked_for_in_open_loop(bench, tmp_path):
    """Between two requests nobody looked at them; in closed loop they spoil the next one."""
    for second in ("{**answer, 'id': 5}", "answer"):
        how = ("print(chr(10).join(map(json.dumps, (answer, " + second + "))) + chr(10), end='',"
               " flush=True)")  # in one piece
        code, report = bench("tools/list", "--rate", 100, *brief(5),
                             *stdio_script(tmp_path, how))
        assert code == 3 and report["ok"] == 5 and not report["passed"], report
        assert list(report["errors"]["by_class"]) == ["wrong_id"], report


def test_connection_churn_starts_a_child_for_each_request(bench, noted):
    command, pids = noted
    code, report = bench("connection-churn", *ECHO, *brief(5), *command(fixture_bin(), "stdio"))
    assert code == 0 and report["ok"] == 5, report
    # One more than requests: the first shows whether there is a server at all.
    assert len(pids()) == 6 and not any(is_alive(pid) for pid in pids())


# ---- HTTP+SSE ----

@pytest.mark.asan
@pytest.mark.parametrize("scenario", (("ping",), ("tools/list",), ("tools/call", *ECHO)))
def test_legacy_sse(bench, server, scenario):
    url = server.urls[0].replace("/mcp", "/sse")
    code, report = bench(url, *scenario, "-r", OLDEST, *brief(100, 3))
    assert code == 0 and report["ok"] == 100 and report["reconnects"] == 0, report


def sse_server(scripted, endpoint="/messages?id=1", post=None):
    """A server whose stream answers what was posted; `post` writes the replies to that."""
    said = queue.Queue()

    def stream():
        yield f"event: endpoint\ndata: {endpoint}\n\n"
        while (text := taken(said)) is not None:
            yield f"data: {text}\n\n"

    def script(request):
        if request.method == "GET":
            return stream()
        reply = post(request) if post else http("", "202 Accepted")
        if "id" in request.message and b" 202 " in reply.split(b"\r\n")[0]:
            said.put(message(request))  # who is refused is told nothing more
        return reply
    return scripted(script)


@pytest.mark.parametrize("endpoint", ["/messages?id=1", "messages?id=1"])
def test_endpoints(bench, scripted, endpoint):
    server = sse_server(scripted, endpoint)
    code, report = bench(server.url, "tools/list", "-r", OLDEST, *brief(20))
    assert code == 0 and report["ok"] == 20, report
    assert {request.path for request in server.requests} == {"/mcp", "/messages?id=1"}


def test_an_endpoint_of_another_server_is_refused(scripted):
    server = sse_server(scripted, "http://192.0.2.1/messages")
    assert ("unreachable (its endpoint event names no path of this server)"
            in fails(1, server.url, "-r", OLDEST, *brief(1)))


@pytest.mark.parametrize("reply, why", [
    (http("", "405 Method Not Allowed"), "GET was answered 405, not with a stream of events; "
                                         "mostly that is at /sse"),
    (http("", "401 Unauthorized"), "GET was answered 401, not with a stream of events"),
    (http("{}"), "its answer to GET has no endpoint event"),
    (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "its answer to GET is not HTTP, or was cut off"),
], ids=["405", "401", "JSON", "no HTTP"])
def test_an_endpoint_that_is_no_stream(scripted, reply, why):
    """Mostly the one of later revisions: "Protocol error" did not say so."""
    server = scripted(lambda request: reply)
    assert f"unreachable ({why})" in fails(1, server.url, "-r", OLDEST, *brief(1))


def test_posts_that_are_closed_and_refused(bench, scripted):
    server = sse_server(scripted, post=lambda r: http("", "202 Accepted",
                                                      headers="Connection: close\r\n"))
    code, report = bench(server.url, "tools/list", "-r", OLDEST, *brief(10))
    assert code == 0 and report["ok"] == 10 and report["reconnects"] == 0, report
    server = sse_server(scripted, post=lambda r: http("", "202 Accepted") if r.serial < 3
                        else http("", "404 Not Found"))
    code, report = bench(server.url, "tools/list", "-r", OLDEST, *brief(1))
    assert code == 3 and report["errors"]["by_class"] == {"http_4xx": 1}, report


# ---- the revision that is found ----

def test_a_server_that_is_older_than_the_default(scripted):
    """Whoever says no revision asks for the newest, and was not told what to do about refusals."""
    def lines_for(reply):
        done = run_program(bench_bin(), scripted(reply).url, "tools/list", *brief(2))
        return done.returncode, done.stdout.decode().splitlines()
    advice = "  if the server is older than 2026-07-28: -r auto finds what it speaks"
    code, lines = lines_for(lambda r: http("not initialized", "400 Bad Request"))
    assert code == 3 and lines.count(advice) == 1, lines
    for reply in (lambda r: http(message(r)), lambda r: http("", "503 Full"),
                  lambda r: http("", "401 Unauthorized")):
        assert advice not in lines_for(reply)[1]
    code, lines = lines_for(lambda r: http(message(r)) if r.serial % 2 else http("", "404 No"))
    assert code == 3 and advice not in lines, lines


def test_the_revision_is_found(bench, server):
    code, report = bench(server.urls[0], "tools/list", "-r", "auto", *brief(5))
    assert code == 0 and report["revision"] == MODERN
    url = server.urls[0].replace("/mcp", "/sse")
    code, report = bench(url, "tools/list", "-r", "auto", *brief(5))
    assert code == 0 and report["revision"] == OLDEST, report
    code, report = bench("-r", "auto", *brief(5), "--", "stdio", fixture_bin(), "stdio")
    assert code == 0 and report["revision"] == MODERN


@pytest.mark.parametrize("revision", LEGACY)
def test_a_server_that_names_another_revision(bench, scripted, revision):
    def script(request):
        if request.rpc_method == "initialize":
            return http(message(request, {**result_of(request), "protocolVersion": revision}))
        if request.rpc_method == "server/discover":
            return http(message(request, result=..., error={"code": -32601, "message": "?"}),
                        "404 Not Found")
        return http(message(request)) if "id" in request.message else http("", "202 Accepted")
    server = scripted(script)
    code, report = bench(server.url, "tools/list", "-r", "auto", *brief(5))
    assert code == 0 and report["revision"] == revision, report


def test_no_revision_at_all(scripted):
    server = scripted(lambda r: http("{}", "404 Not Found"))
    assert "no revision" in fails(1, server.url, "-r", "auto", *brief(1))
    server = scripted(lambda r: http(message(r)))
    assert "session-churn" in fails(1, server.url, "session-churn", "-r", "auto", *brief(1))


# ---- sessions and connections for each request ----

def test_session_churn(bench, scripted):
    def script(request):
        if request.method == "DELETE":
            return http("", "204 No Content")
        if request.rpc_method == "initialize":
            return http(message(request), headers=f"Mcp-Session-Id: s{request.serial}\r\n")
        return http(message(request)) if "id" in request.message else http("", "202 Accepted")
    server = scripted(script)
    code, report = bench(server.url, "session-churn", *ECHO, "-r", "2025-11-25", *brief(4))
    assert code == 0 and report["ok"] == 4, report
    told = [request.rpc_method or request.method for request in server.requests]
    # The first session only shows that there are any.
    assert told == ["initialize", "notifications/initialized", "DELETE"] + 4 * [
        "initialize", "notifications/initialized", "tools/call", "DELETE"]
    assert server.connections == 1
    ended = [request.headers["mcp-session-id"] for request in server.requests
             if request.method == "DELETE"]
    assert len(set(ended)) == 5


@pytest.mark.asan
@pytest.mark.parametrize("revision", LEGACY)
def test_churn_on_a_real_server(bench, server, revision):
    for scenario in ("session-churn", "connection-churn"):
        code, report = bench(server.urls[0], scenario, *ECHO, "-r", revision, *brief(50, 3))
        assert code == 0 and report["ok"] == 50 and report["reconnects"] == 0, report


def test_a_session_whose_end_is_refused(bench, scripted):
    """405 is a server's right; 500 is an error."""
    def answer(status):
        def script(request):
            if request.method == "DELETE":
                return http("", status)
            if request.rpc_method == "initialize":
                return http(message(request), headers=f"Mcp-Session-Id: s{request.serial}\r\n")
            return http(message(request)) if "id" in request.message else http("", "202 Accepted")
        return script
    words = ("session-churn", "-r", "2025-06-18", *brief(3))
    code, report = bench(scripted(answer("405 Method Not Allowed")).url, *words)
    assert code == 0 and report["ok"] == 3, report
    code, report = bench(scripted(answer("500 Internal Server Error")).url, *words)
    assert code == 3 and report["errors"]["by_class"] == {"http_5xx": 3}, report


def test_connection_churn(bench, scripted):
    server = scripted(lambda r: http(message(r)))
    code, report = bench(server.url, "connection-churn", *brief(7))
    assert code == 0 and report["ok"] == 7 and report["reconnects"] == 0, report
    assert server.connections == 8 and len(server.requests) == 7


# ---- calls that are more than one answer ----

@pytest.mark.asan
@pytest.mark.parametrize("revision", REVISIONS)
def test_progress(bench, server, revision):
    url = server.urls[0].replace("/mcp", "/sse" if revision == OLDEST else "/mcp")
    code, report = bench(url, "progress", "--tool", "test_tool_with_progress", "-r", revision,
                         *brief(4, 2))
    assert code == 0 and report["ok"] == 4 and report["progress"] == 12, report


def test_a_call_without_progress_is_incomplete(bench, server):
    code, report = bench(server.urls[0], "progress", *ECHO, *brief(3))
    assert code == 3 and report["errors"]["by_class"] == {"incomplete": 3}, report


@pytest.mark.asan
@pytest.mark.parametrize("revision", (MODERN, "2025-11-25"))
def test_tasks(bench, server, revision):
    words = ("-r", revision, "--poll", "10ms", *brief(6, 3))
    computed = ("tasks", "--tool", "slow_compute", "--arguments", '{"seconds":0.05}')
    # The first answers, in which that is not, were wrong.
    code, report = bench(server.urls[0], *computed, "--expect", '"content"', *words)
    assert code == 0 and report["ok"] == 6 and report["polls"] >= 6, report
    code, report = bench(server.urls[0], *computed, "--expect", "no such text", *words)
    assert code == 3 and report["errors"]["by_class"] == {"unexpected": 6}, report
    code, report = bench(server.urls[0], "tasks", "--tool", "protocol_error_job", *words)
    assert code == 3 and report["errors"]["rpc_codes"] == {"-32603": 6}, report
    code, report = bench(server.urls[0], "tasks", *ECHO, *words)
    assert code == 3 and report["ok"] == 0, report


@pytest.mark.asan
def test_rounds(bench, server):
    for tool, arguments, questions in (("test_many_rounds", '{"n":5}', 5),
                                       ("test_input_required_result_multiple_inputs", "{}", 3)):
        code, report = bench(server.urls[0], "rounds", "--tool", tool, "--arguments", arguments,
                             "--expect", '"content"', *brief(20, 2))
        assert code == 0 and report["ok"] == 20, report
        assert report["questions"] == 20 * questions
    code, report = bench(server.urls[0], "rounds", *ECHO, *brief(3))
    assert code == 3 and report["errors"]["by_class"] == {"incomplete": 3}, report


@pytest.mark.asan
@pytest.mark.parametrize("revision", REVISIONS)
def test_mixed(bench, server, revision):
    url = server.urls[0].replace("/mcp", "/sse" if revision == OLDEST else "/mcp")
    code, report = bench(url, "mixed", "--tool", "echo", "--arguments", "auto", "-r", revision,
                         *brief(100, 2))
    assert code == 0 and report["ok"] == 100, report


def test_what_a_mix_holds(bench, scripted):
    lists = {"resources/list": {"resources": [{"uri": "x:/1", "name": "n"}]},
             "resources/read": {"contents": []},
             "prompts/list": {"prompts": [{"name": "p", "arguments": [
                 {"name": "a", "required": True}, {"name": "b"}]}]},
             "prompts/get": {"messages": []}}

    def script(request):
        return http(message(request, lists.get(request.rpc_method)))
    server = scripted(script)
    code, report = bench(server.url, "mixed", *ECHO, *brief(9))
    assert code == 0 and report["ok"] == 9, report
    asked = [request.message for request in server.requests[-9:]]
    assert [one["method"] for one in asked] == [
        name for other in ("tools/list", "resources/read", "prompts/get")
        for name in (other, "tools/call", "tools/call")]
    assert asked[3]["params"]["uri"] == "x:/1"
    assert asked[6]["params"]["arguments"] == {"a": "x"}


def test_arguments_by_the_schema(bench, scripted):
    """The same seed asks the same; the tool is on the second page of the list."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}},
              "required": ["n"]}

    def script(request):
        if request.rpc_method != "tools/list":
            return http(message(request))
        if "cursor" not in request.message["params"]:
            return http(message(request, {"tools": [], "nextCursor": "next"}))
        return http(message(request, {"tools": [{"name": "echo", "inputSchema": schema}]}))

    def asked(*words):
        server = scripted(script)
        code, report = bench(server.url, "tools/call", "--tool", "echo", "--arguments", "auto",
                             *words, *brief(40))
        assert code == 0 and report["ok"] == 40, report
        return [request.message["params"]["arguments"]["n"] for request in server.requests
                if request.rpc_method == "tools/call"]
    first = asked()
    assert len(set(first)) > 3 and min(first) >= 5 and first[:16] == first[16:32]
    assert first == asked() == asked("--seed", 1) != asked("--seed", 2)
    assert "no tool" in fails(1, scripted(script).url, "tools/call", "--tool", "x", "--arguments",
                              "auto")
    schema["properties"]["n"] = {"type": "string", "pattern": "^a{3}$"}
    auto = ("tools/call", "--tool", "echo", "--arguments", "auto")
    assert "--arguments" in fails(1, scripted(script).url, *auto)
    # What the validator cannot take was judged by nobody.
    schema["properties"] = {"n": {"type": "integer"}, "s": {"type": "string", "pattern": "(?=a)"}}
    assert "(?=" in fails(1, scripted(script).url, *auto)


@pytest.mark.asan
@pytest.mark.parametrize("poll_ms", (10, 3_600_000, 1 << 62, -1))
def test_a_task_that_never_ends_is_given_up(bench, scripted, poll_ms):
    """Each look at it was answered, and began the time-out anew; a pause had none at all."""
    server = scripted(lambda r: http(message(r, {
        "resultType": "task" if r.rpc_method == "tools/call" else "complete", "taskId": "t",
        "status": "working", "pollIntervalMs": poll_ms})))
    code, report = bench(server.url, "tasks", *ECHO, "-n", 2, "-c", 2, "--warm-up", "0s",
                         "--timeout", "500ms")
    assert code == 3 and report["errors"]["by_class"] == {"timeout": 2}, report


@pytest.mark.asan
@pytest.mark.parametrize("revision", (MODERN, "2025-11-25"))
@pytest.mark.parametrize("closes", ("said", "while idle"))
def test_a_dialogue_goes_on_through_another_connection(bench, scripted, revision, closes):
    """A server that ends each connection after its answer: the tasks were never looked at, and
    counted as good; those whose pause met the end were errors."""
    looks = {}

    def script(request):
        if request.rpc_method == "initialize":
            return http(message(request), headers="Mcp-Session-Id: s\r\n")
        if request.rpc_method == "tasks/result":
            return http(message(request, {"content": []}), headers="Connection: close\r\n")
        if request.rpc_method not in ("tools/call", "tasks/get"):
            return http("", "202 Accepted")
        name = request.message["params"].get("taskId", f"t{request.serial}")
        looks[name] = looks.get(name, 0) + 1
        ended = looks[name] == 3
        task = {"taskId": name, "status": "completed" if ended else "working",
                "pollInterval": 1200, "pollIntervalMs": 1200, "result": {"content": []}}
        if closes == "while idle" and not ended:
            # The scripted server looks for these words in all that it sends.
            task["statusMessage"] = "Connection: close"
        if request.rpc_method == "tools/call":
            task["resultType"] = "task"
            task["task"] = dict(task)
        return http(message(request, task),
                    headers="Connection: close\r\n" if closes == "said" else "")
    words = ("--poll", "10ms") if closes == "said" else ()
    code, report = bench(scripted(script).url, "tasks", *ECHO, "-r", revision, *words, "-n", 2,
                         "-c", 2, "--warm-up", "0s")
    assert code == 0 and report["ok"] == 2 and report["polls"] >= 4, (report, looks)
    assert list(looks.values()) == [3, 3] and report["reconnects"] >= 4


@pytest.mark.asan
def test_rounds_with_a_connection_for_each(bench, scripted):
    def script(request):
        asked = {"resultType": "input_required", "requestState": "s",
                 "inputRequests": {"a": {"method": "roots/list"}}}
        answered = "inputResponses" in request.message["params"]
        return http(message(request, {"resultType": "complete", "content": []} if answered
                            else asked), headers="Connection: close\r\n")
    server = scripted(script)
    code, report = bench(server.url, "rounds", *ECHO, *brief(5))
    assert code == 0 and report["ok"] == 5 and report["questions"] == 5, report
    assert len(server.requests) == 10


@pytest.mark.asan
def test_a_unix_server_whose_queue_is_full(bench, tmp_path):
    """It accepts the connection that begins the run, and none after that."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        waiting = []

        def accept_one():
            client, _ = listener.accept()
            client.recv(1)  # its end: it was only to be seen
            client.close()
            for _ in range(2):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                one.connect_ex(path)
                waiting.append(one)
        thread = threading.Thread(target=accept_one, daemon=True)
        thread.start()
        code, report = bench(f"unix:{path}", "connection-churn", "-n", 2, "-c", 1, "--warm-up",
                             "0s", "--timeout", "500ms")
        thread.join()
        for one in waiting:
            one.close()
    assert code == 3 and report["ok"] == 0, report
    assert report["errors"]["by_class"] == {"timeout": 2}, report


# ---- streams that listen ----

@pytest.mark.asan
def test_listen(bench, server):
    """Each stream hears of each change once, whatever it has subscribed to."""
    watched = "test://watched-resource"
    for tool, *more in (("test_trigger_tool_change",),
                        ("test_touch_resource", "--arguments", json.dumps({"uri": watched}),
                         "--resource", watched)):
        code, report = bench(server.urls[0], "listen", "--tool", tool, *more, *brief(10, 20))
        assert code == 0 and report["ok"] == 200, report
    code, report = bench(server.urls[0], "listen", "--tool", "test_trigger_prompt_change",
                         "--rate", 50, *brief(10, 3))
    assert code == 0 and report["ok"] == 30 and report["mode"] == "open", report


def listen_event(identifier, method):
    """An event of a subscriptions/listen stream."""
    tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": identifier}}
    text = json.dumps({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": tag})
    return f"data: {text}\n\n"


def test_the_ceiling_of_changes(bench, scripted):
    """Deliveries were taken for changes: with four streams a quarter of the rate was kept up
    with, and the search began at four times of what there is."""
    streams, lock = [], threading.Lock()

    def stream(identifier, changes):
        yield listen_event(identifier, "subscriptions/acknowledged")
        while taken(changes):
            yield listen_event(identifier, "tools/list_changed")

    def script(request):
        if request.rpc_method == "subscriptions/listen":
            changes = queue.Queue()
            streams.append(changes)
            return stream(request.message["id"], changes)
        with lock:
            time.sleep(0.02)  # no more than 50 changes in a second
            for changes in streams:
                changes.put(True)
        return http(message(request))
    code, report = bench(scripted(script).url, "listen", *ECHO, "-c", 4, "-d", "500ms",
                         "--warm-up", "0s", "--find-ceiling", "--slo", "p99 < 3s")
    for changes in streams:
        changes.put(False)
    assert code == 0 and 0 < report["ceiling"]["rate"] < 52, report["ceiling"]
    # A little more than there is is tried, and not four times of it.
    assert all(one["rate"] < 100 for one in report["ceiling"]["steps"]), report["ceiling"]


def test_who_hears_of_nothing_waits_in_vain(bench, server):
    code, report = bench(server.urls[0], "listen", *ECHO, "-c", 4, "-n", 1, "--warm-up", "0s",
                         "--timeout", "1500ms")
    assert code == 3 and report["errors"]["by_class"] == {"timeout": 4}, report


def test_a_call_that_goes_wrong_changes_nothing(bench, server):
    code, report = bench(server.urls[0], "listen", "--tool", "no_such_tool", *brief(3, 4))
    assert code == 3 and report["ok"] == 0, report
    assert report["errors"]["by_class"] == {"rpc_error": 3}, report


def test_a_stream_that_ends_is_begun_again(bench, scripted):
    """The first stream ends with the first call: nobody hears of that change; then all is well."""
    ends, changes, opened = queue.Queue(), queue.Queue(), []

    def stream(first, identifier):
        yield listen_event(identifier, "subscriptions/acknowledged")
        if first:
            taken(ends)
            return
        while taken(changes):
            yield listen_event(identifier, "tools/list_changed")

    def script(request):
        if request.rpc_method == "subscriptions/listen":
            opened.append(request)
            return stream(len(opened) == 1, request.message["id"])
        (ends if len(opened) == 1 else changes).put(True)
        return http(message(request))
    code, report = bench(scripted(script).url, "listen", *ECHO, "-n", 4, "-c", 1, "--warm-up",
                         "0s", "--timeout", "1500ms")
    changes.put(False)
    assert code == 3 and report["ok"] >= 1 and len(opened) == 2, report
    # A stream that is no answer, and the change that went with it.
    assert report["errors"]["by_class"] == {"malformed": 1, "timeout": 1}, report


def test_a_change_that_is_told_twice_is_none_of_the_next_round(bench, scripted):
    """The server tells of every other change, and of that twice: those that nobody heard of
    counted."""
    changes, calls = queue.Queue(), itertools.count(1)

    def stream(identifier):
        yield listen_event(identifier, "subscriptions/acknowledged")
        while taken(changes):
            yield 2 * listen_event(identifier, "tools/list_changed")

    def script(request):
        if request.rpc_method == "subscriptions/listen":
            return stream(request.message["id"])
        changed.append(next(calls) % 2 == 1)
        return http(message(request))
    server = scripted(script)
    one, changed = server.one, []

    def one_and_its_change(reader, writer):
        goes_on = one(reader, writer)
        # Behind the answer, so that the round ends with the first of the two.
        if changed and changed.pop():
            changes.put(True)
        return goes_on
    server.one = one_and_its_change
    code, report = bench(server.url, "listen", *ECHO, "-n", 4, "-c", 1, "--warm-up", "0s",
                         "--timeout", "1500ms")
    changes.put(False)
    assert code == 3 and report["ok"] == 2, report
    assert report["errors"]["by_class"] == {"timeout": 2}, report


def test_messages_of_another_stream(scripted):
    def stream():
        yield 'data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}\n\n'
    server = scripted(lambda r: stream())
    assert "wrong_id" in fails(1, server.url, "listen", *ECHO, *brief(1))


def test_no_stream_at_all(scripted):
    server = scripted(lambda r: http(message(r, result=..., error={"code": -32601, "message": "?"}),
                                     "404 Not Found"))
    assert "http_4xx" in fails(1, server.url, "listen", *ECHO, *brief(1))
