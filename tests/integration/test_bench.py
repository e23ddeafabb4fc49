"""pillion-bench: right against any server, and not taken in by a wrong one."""

import itertools
import json
import os
import pty
import re
import signal
import socket
import subprocess
import time
import xml.etree.ElementTree

import pytest

from bench_program import LEGACY, MODERN, bench_bin, brief, fails
from scripted_server import CLOSE, NEVER, chunked, http, message
from server_process import run_program, wait_until

SCENARIOS = {
    "ping": ("ping",),
    "list": ("tools/list",),
    "call": ("tools/call", "--tool", "echo", "--arguments", '{"text":"hello"}'),
}


@pytest.mark.asan
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("revision", (MODERN, *LEGACY))
def test_every_scenario_in_every_revision(bench, server, revision, scenario):
    code, report = bench(server.urls[0], *SCENARIOS[scenario], "-r", revision, *brief(200, 4))
    assert code == 0 and report["passed"], report
    assert report["ok"] == 200 and report["errors"]["total"] == 0
    assert report["revision"] == revision and report["reconnects"] == 0
    latency = report["latency_us"]
    assert 0 < latency["min"] <= latency["p50"] <= latency["p90"] <= latency["p99"]
    assert latency["p99"] <= latency["p99.9"] <= latency["p99.99"] <= latency["max"]
    assert report["bytes_in"] > 200 * 50 and report["bytes_out"] > 200 * 100


@pytest.mark.asan
def test_unix_socket(bench, start, tmp_path):
    path = tmp_path / "s"
    start("--listen", f"unix:{path}")
    code, report = bench(f"unix:{path}", *SCENARIOS["call"], *brief(100, 2))
    assert code == 0 and report["ok"] == 100, report


def test_large_answers_and_requests(bench, server, tmp_path):
    text = "x" * 200_000
    arguments = tmp_path / "arguments.json"
    arguments.write_text(json.dumps({"text": text}, indent=1), encoding="utf-8")
    code, report = bench(server.urls[0], "tools/call", "--tool", "echo", "--arguments",
                         f"@{arguments}", "--expect", text[:1000], *brief(20, 2))
    assert code == 0 and report["ok"] == 20, report
    assert min(report["bytes_in"], report["bytes_out"]) > 20 * len(text)


# ---- servers of other manners ----

MANNERS = {
    "chunked": lambda r: chunked(message(r)[:10], message(r)[10:]),
    "byte by byte": lambda r: tuple(bytes([byte]) for byte in http(message(r))),
    "event stream": lambda r: chunked(
        "id: 1\ndata:\n\n", ': note\ndata: {"jsonrpc":"2.0","method":"notifications/message",',
        f'"params":{{}}}}\n\ndata: {message(r)}\n\n', kind="text/event-stream"),
    "interim": lambda r: b"HTTP/1.1 100 Continue\r\n\r\n" + http(message(r)),
}
ONCE = {
    "close": lambda r: http(message(r), headers="Connection: close\r\n"),
    "until close": lambda r: b"HTTP/1.0 200 OK\r\n\r\n" + message(r).encode(),
}


@pytest.mark.asan
@pytest.mark.parametrize("manner", MANNERS)
def test_any_manner_of_answering(bench, scripted, manner):
    code, report = bench(scripted(MANNERS[manner]).url, *SCENARIOS["call"], *brief(20, 2))
    assert code == 0 and report["ok"] == 20 and report["reconnects"] == 0, report


@pytest.mark.parametrize("manner", ONCE)
def test_a_server_that_closes_is_come_back_to(bench, scripted, manner):
    code, report = bench(scripted(ONCE[manner]).url, *SCENARIOS["call"], *brief(20, 2))
    assert code == 0 and report["ok"] == 20, report
    assert report["reconnects"] >= 18, report


# ---- servers that are wrong ----

WRONG = {
    "wrong_id": lambda r: http(message(r, id=5)),
    "rpc_error": lambda r: http(message(r, result=..., error={"code": -32603, "message": "no"})),
    "tool_error": lambda r: http(message(r, {"content": [], "isError": True})),
    "wrong_shape": lambda r: http(message(r, {"resultType": "complete"})),
    "unexpected": lambda r: http(message(r, {"content": []})),
    "http_5xx": lambda r: http(message(r), "500 Internal Server Error"),
    "http_4xx": lambda r: http("", "404 Not Found"),
    "http_other": lambda r: http("", "302 Found", headers="Location: /x\r\n"),
    "malformed": lambda r: b"SSH-2.0-OpenSSH_9.2\r\n",
    "closed": lambda r: CLOSE,
    "timeout": lambda r: NEVER,
}
ALSO_WRONG = {
    "malformed": (
        lambda r: http("<html>"), lambda r: http(""), lambda r: http(message(r)) + b"more",
        lambda r: http(f"[{message(r)}]"), lambda r: chunked(message(r)).replace(b"\r\n0", b"zz"),
        lambda r: http('{"jsonrpc":"2.0","method":"notifications/message"}'),
    ),
    "closed": (lambda r: http(message(r))[:-1].replace(b"200 OK", b"200 OK\r\nConnection: close"),),
    "wrong_id": (lambda r: chunked(f"data: {message(r)}\n\n" * 2, kind="text/event-stream"),),
}
ALL_WRONG = [*WRONG.items(), *((name, script) for name, more in ALSO_WRONG.items()
                               for script in more)]


@pytest.mark.asan
@pytest.mark.parametrize("number", range(len(ALL_WRONG)),
                         ids=[f"{at}-{name}" for at, (name, _) in enumerate(ALL_WRONG)])
def test_wrong_answers_are_no_samples(bench, scripted, number):
    name, script = ALL_WRONG[number]
    code, report = bench(scripted(script).url, *SCENARIOS["call"], "--expect", "hello", "-n", 2,
                         "-c", 1, "--warm-up", "0s", "--timeout",
                         "150ms" if name == "timeout" else "10s")
    assert code == 3 and not report["passed"]
    assert report["ok"] == 0 and report["rps"] == 0 and report["latency_us"] is None
    assert report["errors"]["by_class"] == {name: 2}, report["errors"]
    assert report["errors"]["rate"] == 1


@pytest.mark.asan
def test_unchecked_answers_count_by_framing_and_status(bench, scripted):
    """A server of canned bytes answers every question alike: that is no error where it is said so,
    and what is not HTTP, not 200 or not whole is one all the same."""
    def run(script, *more):
        return bench(scripted(script).url, *SCENARIOS["call"], *brief(3), "--unchecked", *more)
    for canned in (lambda r: http("canned"), lambda r: http(""), lambda r: http(message(r, id=5)),
                   lambda r: chunked("can", "ned"),
                   lambda r: chunked(": nothing\n\n", kind="text/event-stream")):
        code, report = run(canned)
        assert code == 0 and report["ok"] == 3 and not report["checked"], report
        # None of them took longer than all of them.
        assert 0 < report["latency_us"]["max"] < report["seconds"] * 1e6
    code, report = run(lambda r: http(""), "--spin")
    assert code == 0 and report["ok"] == 3 and report["spin"], report
    for name in ("http_5xx", "http_4xx", "http_other", "closed"):
        code, report = run(WRONG[name])
        assert code == 3 and report["errors"]["by_class"] == {name: 3}, report
    code, report = run(lambda r: http("canned") + b"more")
    assert code == 3 and report["errors"]["by_class"] == {"malformed": 3}, report


def test_a_handshake_is_never_unchecked(bench, scripted, server):
    code, report = bench(server.urls[0], "ping", "-r", LEGACY[0], *brief(10), "--unchecked")
    assert code == 0 and report["ok"] == 10, report
    canned = scripted(lambda r: http("canned")).url
    assert "malformed" in fails(1, canned, "-r", LEGACY[0], *brief(1), "--unchecked")


def test_codes_of_json_rpc_and_examples(bench, scripted, io):
    server = scripted(lambda r: http(message(r, result=..., error={
        "code": -32000 - r.serial % 2, "message": "\x1b[31mred"})))
    code, report = bench(server.url, "tools/list", *brief(4))
    assert code == 3
    assert report["errors"]["rpc_codes"] == {"-32000": 2, "-32001": 2}
    done = run_program(bench_bin(), server.url, "tools/list", *brief(2), "--io", io)
    assert done.returncode == 3
    assert b"rpc_error" in done.stdout and b"red" in done.stdout and b"\x1b" not in done.stdout


def test_a_fast_wrong_server_loses(bench, scripted):
    """One of ten answers is wrong: it is no sample, and the exit code says so, unless as many
    errors are allowed."""
    def one_of_ten(request):
        return http(message(request, **({"id": 0} if request.serial % 10 == 9 else {})))
    code, report = bench(scripted(one_of_ten).url, "tools/list", *brief(50))
    assert code == 3 and report["ok"] == 45 and report["errors"]["by_class"] == {"wrong_id": 5}
    code, report = bench(scripted(one_of_ten).url, "tools/list", *brief(50), "--assert",
                         "error_rate <= 10%", "--assert", "errors == 5")
    assert code == 0 and report["passed"], report


def test_the_server_goes_away(bench, scripted):
    def leave(request):
        if request.serial == 10:
            server.listener.socket.close()
            return CLOSE
        return http(message(request))
    server = scripted(leave)
    code, report = bench(server.url, "tools/list", *brief(15))
    assert code == 3 and report["ok"] == 10
    classes = report["errors"]["by_class"]
    # Who stood in the queue of the listener is reset.
    assert classes["closed"] == 1 and classes["refused"] >= 1, report
    assert sum(classes.values()) == 5 and set(classes) <= {"closed", "refused", "reset",
                                                         "unreachable"}, report


def test_an_idle_connection_that_is_closed_is_no_error(bench, scripted):
    """Open loop with more connections than are needed: the server closes each after its answer."""
    server = scripted(lambda r: http(message(r)) if r.serial % 2 else ONCE["close"](r))
    code, report = bench(server.url, "tools/list", "--rate", 200, *brief(30, 5))
    assert code == 0 and report["ok"] == 30, report


# ---- sessions ----

@pytest.mark.parametrize("revision", LEGACY)
def test_sessions_are_begun_used_and_ended(bench, scripted, revision):
    def script(request):
        if request.method == "DELETE":
            return http("", "204 No Content")
        if request.rpc_method == "initialize":
            return http(message(request), headers=f"Mcp-Session-Id: s{request.serial}\r\n")
        if request.rpc_method == "notifications/initialized":
            return http("", "202 Accepted")
        return http(message(request))
    server = scripted(script)
    code, report = bench(server.url, "tools/list", "-r", revision, *brief(6, 2))
    assert code == 0 and report["ok"] == 6, report
    told = [request.rpc_method or request.method for request in server.requests]
    assert sorted(told[:4]) == ["initialize"] * 2 + ["notifications/initialized"] * 2
    assert told[4:10] == ["tools/list"] * 6 and told[10:] == ["DELETE"] * 2
    sessions = {request.headers["mcp-session-id"] for request in server.requests
                if request.rpc_method != "initialize"}
    assert len(sessions) == 2


def test_a_session_that_was_forgotten_is_begun_anew(bench, scripted):
    forgotten = []

    def script(request):
        if request.rpc_method == "initialize":
            return http(message(request), headers=f"Mcp-Session-Id: s{request.serial}\r\n")
        if request.rpc_method != "tools/list":
            return http("", "202 Accepted")
        if request.serial == 5:
            forgotten.append(request.headers["mcp-session-id"])
        if request.headers["mcp-session-id"] in forgotten:
            return http("", "404 Not Found")
        return http(message(request))
    code, report = bench(scripted(script).url, "tools/list", "-r", "2025-11-25", *brief(10))
    assert code == 3 and report["ok"] == 9, report
    assert report["errors"]["by_class"] == {"http_4xx": 1}


def test_a_server_of_another_revision(scripted):
    server = scripted(lambda r: http(message(r, {"protocolVersion": "2024-11-05"})))
    assert "2024-11-05" in fails(1, server.url, "ping", "-r", "2025-11-25", *brief(1))


# ---- time ----

def test_open_loop_waits_count_from_when_a_request_was_due(bench, scripted):
    """One stall of 400 ms: everything that was due meanwhile was late, not one request only."""
    def script(request):
        if request.serial == 5:
            time.sleep(0.4)
        return http(message(request))
    code, report = bench(scripted(script).url, "tools/list", "--rate", 100, *brief(50, 1))
    assert code == 0 and report["ok"] == 50 and report["mode"] == "open"
    # 40 were due within the stall: half of them waited for 200 ms and more.
    assert report["latency_us"]["p50"] >= 100_000, report["latency_us"]
    assert report["latency_us"]["p90"] >= 300_000, report["latency_us"]


def test_percentiles_of_a_fixed_schedule(bench, scripted):
    """The server says how long it took each time: no percentile of the client may be below, and
    those far apart in the schedule must not be mixed up."""
    took = []

    def script(request):
        begin = time.perf_counter()
        time.sleep((0.002, 0.002, 0.002, 0.03, 0.15)[request.serial % 5])
        took.append(time.perf_counter() - begin)
        return http(message(request))
    code, report = bench(scripted(script).url, "tools/list", "--rate", 200, *brief(100, 40))
    assert code == 0 and report["ok"] == 100
    took.sort()
    latency = report["latency_us"]
    for name, rank in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        assert latency[name] >= took[rank - 1] * 1e6 * 0.995, (name, took)
    assert latency["mean"] >= sum(took) / len(took) * 1e6 * 0.995


def test_a_server_that_hangs_from_the_start_fails(bench, scripted):
    """The whole measured time passes while the requests of the warm-up wait: nothing was answered
    and nothing asked, and an assertion about errors held for that."""
    code, report = bench(scripted(lambda r: NEVER).url, "tools/list", "-c", 2, "-d", "100ms",
                         "--warm-up", "100ms", "--timeout", "1500ms", "--assert", "error_rate < 1%")
    assert code == 3 and report["ok"] == 0 and report["errors"]["by_class"]["timeout"] >= 2, report


def test_what_cannot_be_sent_in_time_is_an_error(bench, scripted):
    """A backlog that never ends: requests are given up once they are late by the time-out."""
    def script(request):
        time.sleep(0.05)
        return http(message(request))
    code, report = bench(scripted(script).url, "tools/list", "--rate", 500, "-c", 1, "-n", 200,
                         "--warm-up", "0s", "--timeout", "100ms")
    assert code == 3
    assert report["errors"]["by_class"]["unsent"] > 50
    assert report["ok"] + report["errors"]["total"] == 200


# ---- what is said ----

def test_the_server_is_watched(bench, server):
    for word in (server.pid, "auto"):
        code, report = bench(server.urls[0], "ping", "--pid", word, *brief(2000, 4))
        assert code == 0
        watched = report["server"]
        assert watched["pids"] == [server.pid]
        assert 0 < watched["cpu_us_per_request"] < 1e6 and watched["rss_bytes"] > 1 << 20
    assert report["client"]["cpu_us_per_request"] > 0


def test_a_client_that_never_sleeps_is_no_bottleneck(bench, scripted, io, tmp_path):
    """It is busy all the time: at 20 requests/s it was said that it could not ask for more."""
    url = scripted(lambda r: http(message(r))).url
    words = ("tools/list", "--rate", 20, "--spin", *brief(10))
    code, report = bench(url, *words)
    assert code == 0 and report["client"]["cpu_share"] > 0, report
    for name in ("cpu_us_per_request", "bottleneck", "ceiling_rps"):
        assert report["client"][name] is None, report["client"]
    done = run_program(bench_bin(), url, *words, "--io", io)
    assert done.returncode == 0 and b"never sleeps" in done.stdout
    assert b"bottleneck" not in done.stdout and b"CPU per request" not in done.stdout
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    done = run_program(bench_bin(), "compare", path, path)
    assert done.returncode == 0 and b"client" not in done.stdout, done


def test_auto_is_whoever_listens_at_the_address(bench, server):
    """Another server has the same port at another address: both were watched as one."""
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.port))
        other.listen(1)
        _, report = bench(server.urls[0], "ping", "--pid", "auto", *brief(10))
        assert report["server"]["pids"] == [server.pid]
        url = server.urls[0].replace("127.0.0.1", "127.0.0.3")
        assert "listens" in fails(1, url, "--pid", "auto", *brief(1))


def test_threads_that_have_ended_count(bench, scripted):
    """A thread for each connection, a connection for each request: what each used was lost with
    it."""
    used = []

    def script(request):
        while time.thread_time() < 0.01:
            pass
        used.append(time.thread_time())
        return ONCE["close"](request)
    code, report = bench(scripted(script).url, "tools/list", "--pid", os.getpid(), *brief(20))
    assert code == 0 and report["ok"] == 20, report
    assert report["server"]["cpu_us_per_request"] * 20 >= sum(used) * 1e6 * 0.99, used


def test_a_server_that_ends_has_no_figures(start, io, tmp_path):
    """After less before was less than nothing: -2000 µs of CPU per request."""
    own = start()
    lines, out = tmp_path / "lines", tmp_path / "out"
    with subprocess.Popen([bench_bin(), own.urls[0], "ping", "-c", "2", "-d", "3s", "--warm-up",
                           "0s", "--io", io, "--pid", str(own.pid), "--ndjson", lines, "--json",
                           out], stdout=subprocess.PIPE) as process:
        wait_until(lambda: lines.exists() and lines.stat().st_size > 0, what="the first second")
        own.stop()
        text = process.communicate()[0].decode()
    report = json.loads(out.read_text(encoding="utf-8"))
    assert process.returncode == 3 and report["ok"] > 0 and report["server"] is None, report
    assert "has ended" in text


def test_auto_finds_a_unix_socket(bench, start, tmp_path):
    path = tmp_path / "s"
    own = start("--listen", f"unix:{path}")
    _, report = bench(f"unix:{path}", "ping", "--pid", "auto", *brief(10))
    assert report["server"]["pids"] == [own.pid]


def test_find_ceiling(bench, server):
    brief_steps = ("-c", 2, "-d", "50ms", "--warm-up", "0s", "--find-ceiling")
    code, report = bench(server.urls[0], "ping", *brief_steps, "--slo", "p50 < 1m")
    steps = report["ceiling"]["steps"]
    met = [step["rate"] for step in steps if step["met"]]
    assert report["ceiling"]["rate"] == max(met, default=0)
    assert code == (0 if met else 3) and len(steps) <= 32
    code, report = bench(server.urls[0], "ping", *brief_steps, "--slo", "p50 < 1ns")
    assert code == 3 and report["ceiling"]["rate"] == 0
    steps = report["ceiling"]["steps"]
    assert not any(step["met"] for step in steps)
    # Each miss was looked at twice.
    assert [step["rate"] for step in steps[::2]] == [step["rate"] for step in steps[1::2]]


def test_a_ceiling_with_errors_that_are_allowed(bench, scripted):
    """What the promise allows for is no reason to fail where it is kept."""
    server = scripted(lambda r: http("", "503 Busy") if r.serial % 20 == 19 else http(message(r)))
    code, report = bench(server.url, "tools/list", "-c", 2, "-d", "100ms", "--warm-up", "0s",
                         "--find-ceiling", "--slo", "error_rate < 50%")
    assert code == (0 if report["ceiling"]["rate"] > 0 else 3), report["ceiling"]
    assert report["passed"] == (code == 0)


def test_ramp(bench, server):
    """The rate goes from one value to another: as many were due as their mean says, more of them in
    the second half."""
    code, report = bench(server.urls[0], "ping", "--rate", "100..900", "-d", "2s", "-c", 4,
                         "--warm-up", "0s", "--timeout", "30s")
    assert code == 0 and report["mode"] == "open", report
    assert (report["rate"], report["rate_to"]) == (100, 900)
    assert 995 <= report["ok"] <= 1001, report["ok"]
    rates = [point["rate"] for point in report["series"]]
    assert rates == sorted(rates) and 100 < rates[0] < 900


def test_steps(bench, server, tmp_path):
    page = tmp_path / "page.html"
    for name, values in (("--rate", (200, 100)), ("-c", (1, 3, 2))):
        words = (name, ",".join(map(str, values)), "-d", "100ms", "--warm-up", "0s")
        code, report = bench(server.urls[0], "ping", *words, "--html", page)
        assert code == 0 and report["passed"], report
        key = "rate" if name == "--rate" else "connections"
        assert [step[key] for step in report["steps"]] == list(values)
        assert all(step["ok"] > 0 and step["passed"] for step in report["steps"])
        text = page.read_text(encoding="utf-8")
        assert text.count("<svg") == 1 + len(values)
        before = tmp_path / "before"
        before.write_text(json.dumps(report), encoding="utf-8")
        done = run_program(bench_bin(), "compare", before, before, "--fail-above", "0%")
        assert done.returncode == 0 and done.stdout.count(b"step ") == len(values)
        report["steps"].pop()
        fewer = tmp_path / "fewer"
        fewer.write_text(json.dumps(report), encoding="utf-8")
        assert "steps" in fails(1, "compare", before, fewer)


def test_one_bad_step_fails_all(bench, scripted):
    server = scripted(lambda r: http(message(r, id=0) if r.serial < 5 else message(r)))
    code, report = bench(server.url, "tools/list", "-c", "1,2", *brief(5)[:2], "--warm-up", "0s")
    assert code == 3 and not report["passed"]
    assert [step["passed"] for step in report["steps"]] == [False, True]


@pytest.mark.parametrize("finished", (1, 2))
def test_a_step_that_cannot_be_run_takes_none_with_it(scripted, io, tmp_path, finished):
    """There is no session for one of its connections: what had been measured was lost."""
    introduced = itertools.count(1)
    sessions = sum(range(1, finished + 1))

    def script(request):
        if "id" not in request.message:
            return http("", "202 Accepted")
        if request.rpc_method == "initialize" and next(introduced) > sessions:
            return http("", "503 Full")
        return http(message(request))
    path = tmp_path / "report"
    done = run_program(bench_bin(), scripted(script).url, "tools/list", "-c", "1,2,3", "-r",
                       "2025-11-25", *brief(5)[:2], "--warm-up", "0s", "--io", io, "--json", path)
    assert done.returncode == 1, done
    assert done.stderr.decode() == (f"pillion-bench: with {finished + 1} connections: "
                                    "no connection: http_5xx (503 )\n")
    report = json.loads(path.read_text(encoding="utf-8"))
    steps = report["steps"] if finished > 1 else [report]
    assert [(one["connections"], one["ok"]) for one in steps] == [(1, 5), (2, 5)][:finished]
    assert b"tools/list" in done.stdout


def test_assertions(bench, server):
    code, report = bench(server.urls[0], "ping", *brief(50), "--assert", "p99 < 1m", "--assert",
                         "rps > 0", "--assert", "errors == 0")
    assert code == 0 and all(one["passed"] for one in report["assertions"])
    code, report = bench(server.urls[0], "ping", *brief(50), "--assert", "p50 < 1ns")
    assert code == 3 and not report["assertions"][0]["passed"] and report["ok"] == 50


def test_text_for_people(server, io, tmp_path):
    lines = tmp_path / "lines"
    done = run_program(bench_bin(), server.urls[0], "ping", *brief(100, 2), "--io", io, "--ndjson",
                       lines, "--assert", "errors == 0", "--pid", server.pid)
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    for word in ("100 answered", "p99.99", "server", "client", "ok     errors == 0", MODERN):
        assert word in text, text
    points = [json.loads(line) for line in lines.read_text(encoding="ascii").splitlines()]
    assert sum(point["ok"] for point in points) == 100


def test_progress_on_a_terminal(server, io):
    ours, theirs = pty.openpty()
    with subprocess.Popen([bench_bin(), server.urls[0], "-c", "2", "-d", "2500ms", "--warm-up",
                           "0s", "--io", io], stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side has gone
                break
            shown += piece
        assert process.wait() == 0
    os.close(ours)
    assert re.search(rb"[12] s  ", shown) and b"p99" in shown and shown.endswith(b"\r\x1b[K"), shown


def test_interrupted_it_reports_what_it_has(scripted, io):
    server = scripted(lambda r: http(message(r)))
    with subprocess.Popen([bench_bin(), server.url, "-c", "1", "-d", "60s", "--warm-up", "0s",
                           "--io", io, "--json", "-"], stdout=subprocess.PIPE) as process:
        wait_until(lambda: len(server.requests) > 20, what="requests")
        process.send_signal(signal.SIGINT)
        output = process.communicate()[0]
    assert process.returncode == 0
    assert json.loads(output)["ok"] >= 20


def test_compare(bench, server, tmp_path):
    _, report = bench(server.urls[0], "ping", *brief(50))
    slower = json.loads(json.dumps(report))
    slower["latency_us"]["p99"] = report["latency_us"]["p99"] * 1.5
    before, after, none = tmp_path / "before", tmp_path / "after", tmp_path / "none"
    before.write_text(json.dumps(report), encoding="utf-8")
    after.write_text(json.dumps(slower), encoding="utf-8")
    none.write_text("{}", encoding="utf-8")

    def compared(*arguments):
        return run_program(bench_bin(), "compare", *arguments)
    done = compared(before, after)
    assert done.returncode == 0 and b"1.500" in done.stdout
    assert compared(before, after, "--fail-above", "60%").returncode == 0
    done = compared(before, after, "--fail-above", "10%")
    assert done.returncode == 3 and b"WORSE" in done.stdout
    assert compared(after, before, "--fail-above", "0%").returncode == 0
    # A server that answers nothing has no latency, and requests/s can fall by 100 % at most.
    dead = {**report, "rps": 0, "latency_us": None}
    after.write_text(json.dumps(dead), encoding="utf-8")
    assert compared(before, after, "--fail-above", "150%").returncode == 3
    for bad in (none, tmp_path / "missing"):
        assert str(bad) in fails(1, "compare", before, bad)


def test_compare_ceilings(bench, server, tmp_path):
    """What a search came to was passed over: half of it was as good as all."""
    _, report = bench(server.urls[0], "ping", *brief(50))
    for name, rate in (("before", 1000), ("after", 500), ("none", 0)):
        report["ceiling"] = {"rate": rate, "steps": []}
        (tmp_path / name).write_text(json.dumps(report), encoding="utf-8")

    def compared(before, after):
        return run_program(bench_bin(), "compare", tmp_path / before, tmp_path / after,
                           "--fail-above", "10%")
    for after, ratio in (("after", b"0.500"), ("none", b"0.000")):
        done = compared("before", after)
        line = next(one for one in done.stdout.splitlines() if one.startswith(b"ceiling/s"))
        assert done.returncode == 3 and ratio in line and b"WORSE" in line, done
    assert compared("after", "before").returncode == 0
    assert compared("none", "before").returncode == 0


# ---- what cannot be ----

def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert "refused" in fails(1, f"http://127.0.0.1:{port}/mcp", *brief(1))
        assert "listens" in fails(1, f"http://127.0.0.1:{port}/mcp", "--pid", "auto", *brief(1))
    assert "refused" in fails(1, "unix:/no/such/socket", *brief(1))
    assert "no-such-host.invalid" in fails(1, "http://no-such-host.invalid/mcp", *brief(1))


def test_usage():
    assert "SCENARIO" in run_program(bench_bin(), "--help").stdout.decode()
    assert run_program(bench_bin(), "version").stdout.startswith(b"pillion-bench ")
    for arguments in ((), ("http://x/", "dance"), ("http://x/", "--rate", "-1"), ("ws://x/",)):
        fails(2, *arguments)


def test_directories_that_are_no_files(tmp_path):
    """They can be opened, and reading them ended the program by an exception."""
    report = tmp_path / "report.json"
    report.write_text('{"pillion_bench":"1"}', encoding="utf-8")
    assert str(tmp_path) in fails(1, "compare", report, tmp_path)
    assert "cannot read" in fails(2, "http://127.0.0.1:1/mcp", *SCENARIOS["call"][:3],
                                  "--arguments", f"@{tmp_path}")
    assert "cannot read" in fails(1, "https://127.0.0.1:1/mcp", "--cacert", tmp_path)


def test_files_that_are_too_large(tmp_path):
    """One that never ends was read until there was no memory any more."""
    arguments = tmp_path / "arguments.json"
    arguments.write_text(json.dumps({"text": "x" * (16 << 20)}), encoding="utf-8")
    call = ("http://127.0.0.1:1/mcp", *SCENARIOS["call"][:3], "--arguments")
    for endless in (arguments, "/dev/zero"):
        assert f"{endless} is larger than 16 MiB" in fails(2, *call, f"@{endless}")
    assert "larger" in fails(1, "https://127.0.0.1:1/mcp", "--cacert", arguments)
    with open(arguments, "r+b") as file:
        file.truncate((256 << 20) + 1)  # a hole
    assert "larger than 256 MiB" in fails(1, "compare", arguments, arguments)


def test_files_that_cannot_be_written(scripted):
    """That is said before the run, whose results would be lost."""
    server = scripted(lambda r: http(message(r)))
    for option in ("--ndjson", "--json", "--html"):
        assert "/no/such" in fails(1, server.url, option, "/no/such/file", *brief(1))
    assert not server.requests


def test_page(server, io, tmp_path):
    page = tmp_path / "page.html"
    # Two seconds and a half, of which each makes a point: with 1100 ms on a busy machine the first
    # one came late and was the only one.
    done = run_program(bench_bin(), server.urls[0], "ping", "--rate", 50, "-d", "2500ms", "-c", 2,
                       "--warm-up", "0s", "--io", io, "--html", page, "-q", "--assert", "p99 < 1h")
    assert done.returncode == 0 and done.stdout == b""
    text = page.read_text(encoding="utf-8")
    root = xml.etree.ElementTree.fromstring(
        text[text.index("<body>"):text.index("</html>")])
    assert len(list(root.iter("svg"))) == 3
    assert "asked/s" in text
    assert "p99 &lt; 1h" in text and "prefers-color-scheme:dark" in text
    assert "<script" not in text and "http" not in text.split("</style>")[0]
