"""The pipe: one message a line, both eras side by side, and nothing else on standard output."""

import json
import os
import pty
import queue
import select
import signal
import subprocess
import time

import pytest

from mcp_client import RpcError, compact
from server_process import fixture_bin
from wire_schema import JUDGE, VERSIONS

pytestmark = [pytest.mark.asan, pytest.mark.user]

LIMIT = 1024 * 1024


@pytest.mark.row(17)
def test_a_session(stdio, legacy_rev):
    pipe = stdio(rev=legacy_rev).open()
    assert pipe.request("ping") == {}
    assert pipe.request("tools/list")["tools"]
    result = pipe.request("tools/call", {"name": "echo", "arguments": {"text": "a\nb\u00e9"}})
    assert result["content"][0]["text"] == "a\nb\u00e9"
    assert pipe.close() == []


def test_modern_requests_need_no_handshake(stdio):
    pipe = stdio(rev="E")
    result = pipe.request("server/discover")
    assert result["supportedVersions"][0] == VERSIONS["E"]
    assert pipe.request("tools/list")["tools"]


def test_both_eras_on_one_pipe(stdio):
    pipe = stdio().open()
    for _ in range(3):
        assert "resultType" not in pipe.request("tools/list")
        assert pipe.request("tools/list", rev="E")["resultType"] == "complete"
    with pytest.raises(RpcError) as refusal:
        pipe.request("ping", rev="E")
    assert refusal.value.code == -32601
    assert pipe.request("ping") == {}


def test_modern_errors_on_a_pipe(stdio):
    pipe = stdio(rev="E")
    message = pipe.compose("server/discover")
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "v999"
    pipe.send(message)
    error = pipe.recv(rev="E")["error"]
    assert error["code"] == -32022 and error["data"]["requested"] == "v999"
    message = pipe.compose("server/discover")
    del message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    pipe.send(message)
    assert pipe.recv(rev="E")["error"]["code"] == -32602


def test_mirrored_arguments_need_no_header_here(stdio):
    pipe = stdio(rev="E")
    result = pipe.request("tools/call", {"name": "test_x_mcp_header",
                                         "arguments": {"region": "r", "level": 1}})
    assert result["content"][0]["text"] == "region=r level=1"


BROKEN = [b"{", b"nonsense", b"{\"a\":\"\xff\"}", b"\xef\xbb\xbf{}", b"[" * 200 + b"]" * 200]


@pytest.mark.parametrize("line", BROKEN, ids=repr)
def test_a_line_that_is_no_json(stdio, rev, line):
    pipe = stdio(rev=rev)
    if rev != "E":
        pipe.open()
    else:
        pipe.request("server/discover")
    pipe.write(line + b"\n")
    answer = pipe.recv()
    assert answer["error"]["code"] == -32700
    if rev in "ABC":
        assert answer["id"] is None
    elif rev == "D":
        assert "id" not in answer
    else:
        assert answer.get("id") is None
    assert pipe.request("tools/list")["tools"]


@pytest.mark.parametrize("message", [
    {"jsonrpc": "2.0", "id": None, "method": "ping"}, {"jsonrpc": "2.0", "id": 1.5, "method": "x"},
    {"jsonrpc": "1.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": 1}, 7,
    {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
], ids=repr)
def test_a_line_that_is_no_message(stdio, message):
    pipe = stdio().open()
    pipe.write(compact(message) + b"\n")
    assert pipe.recv()["error"]["code"] in (-32600, -32602)
    assert pipe.request("ping") == {}


@pytest.mark.row(27)
def test_notifications_and_responses_are_never_answered(stdio):
    pipe = stdio().open()
    for line in (b'{"jsonrpc":"2.0","method":"unknown"}',
                 b'{"jsonrpc":"2.0","method":"tools/call"}',
                 b'{"jsonrpc":"2.0","id":5,"result":{}}',
                 b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}',
                 b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}'):
        pipe.write(line + b"\n")
    assert pipe.request("ping") == {}
    assert pipe.close() == []


def test_line_ends_and_blank_lines(stdio):
    pipe = stdio()
    pipe.write(b"\n\r\n  \n\t\r\n")
    message = pipe.compose("ping")
    pipe.asked[message["id"]] = ("ping", "D")
    pipe.write(compact(message) + b"\r\n\r\n")
    assert pipe.recv()["result"] == {}
    assert pipe.close() == []


def test_a_last_line_without_its_end(stdio):
    pipe = stdio()
    message = pipe.compose("ping")
    pipe.asked[message["id"]] = ("ping", "D")
    pipe.write(compact(message))
    pipe.process.stdin.close()
    assert pipe.recv()["result"] == {}
    assert pipe.close() == []


def test_a_message_cut_at_every_byte(stdio):
    pipe = stdio().open()
    for at in range(1, 60, 3):
        message = pipe.compose("tools/call", {"name": "echo", "arguments": {"text": "\u00e9"}})
        pipe.asked[message["id"]] = ("tools/call", "D")
        line = compact(message) + b"\n"
        pipe.write(line[:at])
        time.sleep(0.001)
        pipe.write(line[at:])
        assert pipe.recv()["result"]["content"][0]["text"] == "\u00e9"


@pytest.mark.row(17)
def test_many_lines_in_one_write(stdio):
    pipe = stdio().open()
    messages = [pipe.compose("tools/call", {"name": "echo", "arguments": {"text": str(n)}})
                for n in range(200)]
    for message in messages:
        pipe.asked[message["id"]] = ("tools/call", "D")
    pipe.write(b"".join(compact(message) + b"\n" for message in messages))
    answers = {answer["id"]: answer for answer in (pipe.recv() for _ in messages)}
    for number, message in enumerate(messages):
        assert answers[message["id"]]["result"]["content"][0]["text"] == str(number)


@pytest.mark.row(97)
def test_the_largest_line_and_one_more(stdio):
    pipe = stdio().open()
    message = pipe.compose("tools/call", {"name": "echo", "arguments": {"text": ""}})
    room = LIMIT - len(compact(message))
    message["params"]["arguments"]["text"] = "x" * room
    pipe.send(message)
    assert len(pipe.recv()["result"]["content"][0]["text"]) == room
    pipe.write(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (3 * LIMIT) + b'"}\n')
    assert pipe.recv()["error"]["code"] == -32005
    assert pipe.request("ping") == {}


def test_an_id_in_use_is_refused(stdio):
    pipe = stdio().open()
    slow = pipe.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 300}})
    pipe.send(slow)
    pipe.send({**slow, "method": "ping", "params": {}})
    pipe.asked[slow["id"]] = ("tools/call", "D")
    first, second = pipe.recv(), pipe.recv()
    assert first["error"]["code"] == -32600
    assert second["result"]["content"][0]["text"] == "slept"


def test_a_slow_call_delays_nobody(stdio):
    pipe = stdio().open()
    slow = pipe.compose("tools/call", {"name": "test_slow", "arguments": {"ms": 500}})
    pipe.send(slow)
    assert pipe.request("ping") == {}
    assert pipe.recv()["id"] == slow["id"]


def test_progress_and_logs_come_before_the_answer(stdio):
    pipe = stdio().open()
    pipe.request("logging/setLevel", {"level": "debug"})
    answer, before = pipe.call("tools/call", {"name": "test_tool_with_progress"},
                               meta={"progressToken": "t"})
    assert answer["result"] and [m["params"]["progress"] for m in before] == [0, 50, 100]
    _, before = pipe.call("tools/call", {"name": "test_log_all"})
    assert len(before) == 8


def test_the_end_of_the_input_ends_the_server(stdio):
    for prepare in (lambda pipe: None, lambda pipe: pipe.open()):
        pipe = stdio()
        prepare(pipe)
        before = time.monotonic()
        assert pipe.close() == []
        assert time.monotonic() - before < 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(stdio, number):
    pipe = stdio().open()
    pipe.process.send_signal(number)
    assert pipe.recv() is None
    pipe.close()


def test_a_reader_that_goes_away_ends_the_server(io):
    read_end, write_end = os.pipe()
    process = subprocess.Popen([fixture_bin(), "stdio", "--io", io], stdin=subprocess.PIPE,
                               stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    os.close(read_end)
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.close()
    log = process.stderr.read()
    code = process.wait(20)
    process.stderr.close()
    assert code >= 0, f"killed by signal {-code}: {log[-500:]!r}"


REQUESTS = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}\n'
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
            b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n')
METHODS = {1: "initialize", 2: "tools/list"}


def judge(output):
    lines = output.replace(b"\r\n", b"\n").splitlines()
    assert len(lines) == 2
    for line in lines:
        JUDGE.message("D", json.loads(line), METHODS.get)


def test_files_as_input_and_output(io, tmp_path):
    (tmp_path / "in").write_bytes(REQUESTS)
    with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken:
        done = subprocess.run([fixture_bin(), "stdio", "--io", io], stdin=given, stdout=taken,
                              stderr=subprocess.PIPE, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    judge((tmp_path / "out").read_bytes())


def test_a_terminal_as_output(io):
    controller, terminal = pty.openpty()
    process = subprocess.Popen([fixture_bin(), "stdio", "--io", io], stdin=subprocess.PIPE,
                               stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    process.stdin.write(REQUESTS)
    process.stdin.flush()
    output, end = b"", time.monotonic() + 20
    while output.count(b"\n") < 2 and time.monotonic() < end:
        if select.select([controller], [], [], 0.5)[0]:
            output += os.read(controller, 65536)
    process.stdin.close()
    assert process.wait(20) == 0
    os.close(controller)
    judge(output)


def test_a_reader_that_is_slow_gets_everything(stdio):
    pipe = stdio().open()
    message = pipe.compose("tools/call", {"name": "test_big", "arguments": {"bytes": 4_000_000}})
    for _ in range(3):
        pipe.send({**message, "id": next(pipe.ids) + 1000})
    for _ in range(3):
        answer = pipe.recv(timeout=30)
        assert len(answer["result"]["content"][0]["text"]) == 4_000_000
    with pytest.raises(queue.Empty):
        pipe.lines.get(timeout=0.1)
