"""Tools that run programs: what is handed to them, what comes back, and what is left of them."""

import os
import pathlib
import signal
import sys

import pytest

from mcp_client import RpcError
from server_process import Server, has_ended, pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan

TOOLS = """
tools:
  words: {command: {argv: [printf, '%s|', '{a}', 'x{b}y', '{list}'], dashes: [b]}}
  variables: {command: {argv: [env], env: {A: b, HOME: /own}, pass_env: [HOME, PATH, NOT_THERE]}}
  fails: {command: {argv: [sh, -c, 'echo oops >&2; exit $1', sh, '{code}'], errors: {7: Seven}}}
  dies: {command: {argv: [sh, -c, 'kill -9 $$$$']}}
  cat: {input: {type: object}, command: {argv: [cat], input: arguments, output: json}}
  cat_text: {input: {type: object}, command: {argv: [cat], input: arguments}}
  no_json: {command: {argv: [echo, '{{'], output: json}}
  no_text: {command: {argv: [printf, '\\377']}}
  reads_nothing: {command: {argv: [cat]}}
  here: {command: {argv: [pwd], folder: sub}}
  missing: {command: {argv: [/none/such]}}
  missing_folder: {command: {argv: ['true'], folder: none}}
  flood: {command: {argv: ['yes'], output_bytes: 1KiB}}
  noise: {command: {argv: [sh, -c, 'yes | head -c 3000000 >&2; echo last words >&2; exit 1']}}
  umlauts: {command: {argv: [SCRIPT, 'import sys; sys.stderr.write("ü" * 3000 + "x"); sys.exit(1)'],
                      env: {PYTHONIOENCODING: utf-8}}}
  escapes: {command: {argv: [SCRIPT, 'import subprocess;
                             subprocess.Popen(["sleep", "20"], start_new_session=True)'],
                      pass_env: [PATH]}}
  waits: {command: {argv: [sleep, '1000']}}
  deaf: {command: {argv: [sh, -c, "trap '' TERM; echo deaf > started; while :; do sleep 1; done"],
                   folder: sub, kill_after: 300ms, pass_env: [PATH]}}
  family: {command: {argv: [sh, -c, "trap '' TERM; sleep 1000 & echo $! > child; wait"],
                     folder: sub, kill_after: 300ms, pass_env: [PATH]}}
  leaves: {command: {argv: [sh, -c, 'sleep 1000 & echo $! > child; echo done'], folder: sub,
                     pass_env: [PATH]}}
  closes: {command: {argv: [sh, -c, 'exec >&- 2>&-; sleep 0.3'], pass_env: [PATH]}}
  hungry: {command: {argv: [SCRIPT, 'x = bytearray(1 << 30)'], memory: 256MiB}}
  spins: {command: {argv: [SCRIPT, 'while True: pass'], cpu_time: 1s}}
  one_at_a_time: {concurrent: 1, queue: 50, command: {argv: [sleep, '0.02'], pass_env: [PATH]}}
"""


@pytest.fixture
def made(start_pillion, tmp_path):
    (tmp_path / "sub").mkdir()
    config = tmp_path / "tools.yaml"
    config.write_text(TOOLS.replace("SCRIPT", f"{sys.executable}, -c"), encoding="utf-8")
    return start_pillion("--config", config, "--root", tmp_path)


@pytest.fixture
def client(made, make_client):
    return make_client("E", made).open()


def called(client, name, arguments=None, **more):
    return client.request("tools/call", {"name": name, "arguments": arguments or {}}, **more)


def text_of(result):
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def failure(client, name, arguments=None):
    result = called(client, name, arguments)
    assert result["isError"] is True, result
    return result["content"][0]["text"]


def children(server):
    return (pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children")
            .read_text(encoding="ascii").split())


@pytest.mark.parametrize("arguments, words", [
    ({"a": 1, "b": "-q", "list": ["l m", True]}, "1|x-qy|l m|true|"),
    ({"b": "z"}, "xzy|"),
    ({"a": "$(id) `id` ;&|<>*\n'\"\\", "b": ""}, "$(id) `id` ;&|<>*\n'\"\\|xy|"),
    ({"a": "ü😀", "b": 1.5, "list": []}, "ü😀|x1.5y|"),
])
def test_words_are_words(client, arguments, words):
    assert text_of(called(client, "words", arguments)) == words


@pytest.mark.parametrize("arguments, said", [
    ({"a": "-rf", "b": "x"}, "The argument a must not begin with -"),
    ({"list": ["ok", "-x"], "b": "x"}, "The argument list must not begin with -"),
    ({"a": {"x": 1}, "b": "x"}, "The argument a must be a text"),
    ({"a": "x\0y", "b": "x"}, "The argument a must not hold a NUL"),
    ({"a": "x" * 200_000, "b": "x"}, "The arguments are too long"),
    ({"a": "x"}, "Invalid arguments"),
])
def test_what_is_no_word_is_refused(client, arguments, said):
    assert said in failure(client, "words", arguments)


def test_it_sees_the_variables_it_was_given(client):
    lines = set(text_of(called(client, "variables")).splitlines())
    assert lines == {"A=b", "HOME=/own", "PATH=" + os.environ["PATH"]}


def test_codes_and_signals(client):
    assert failure(client, "fails", {"code": 3}) == "The command failed with code 3\noops"
    assert failure(client, "fails", {"code": 7}) == "Seven"
    assert failure(client, "dies") == "The command was killed by SIGKILL"


def test_arguments_as_input_and_a_result_as_json(client):
    given = {"x": [1, {"y": "ü"}], "big": "z" * 300_000}
    result = called(client, "cat", given)
    assert result["structuredContent"] == given
    assert '"x":[1' in text_of(called(client, "cat_text", given))
    assert failure(client, "no_json") == "The command wrote something that is no JSON"
    assert failure(client, "no_text") == "The command wrote something that is no text"
    assert text_of(called(client, "reads_nothing")) == ""


def test_where_it_works(client, made):
    assert text_of(called(client, "here")).endswith("/sub\n")
    assert failure(client, "missing_folder") == "The command cannot be started"
    assert failure(client, "missing") == "The command cannot be started"
    made.wait_for_log("No such file")


def test_bounds(client):
    assert failure(client, "flood") == "The command wrote more than 1024 bytes and was stopped"
    said = failure(client, "noise")
    assert said.endswith("last words") and len(said) < 2200
    assert "MemoryError" in failure(client, "hungry")
    assert failure(client, "spins") in ("The command was killed by SIGKILL",
                                        "The command was killed by SIGXCPU")
    said = failure(client, "umlauts")
    assert said.endswith("üx") and "?" not in said and "\ufffd" not in said


@pytest.mark.parametrize("tool", ["waits", "deaf"])
def test_a_deadline_ends_it(client, made, tool):
    with pytest.raises(RpcError) as caught:
        called(client, tool, meta={"pillion/timeoutMs": 500})
    assert caught.value.code == -32004
    wait_until(lambda: not children(made), what="the end of the command")


def test_a_client_that_leaves_ends_it(client, made):
    connection, _ = client.begin("tools/call", {"name": "waits", "arguments": {}})
    [child] = wait_until(lambda: children(made))
    connection.close()
    wait_until(lambda: has_ended(child))


@pytest.mark.parametrize("tool", ["family", "leaves"])
def test_its_family_ends_with_it(client, made, tool, tmp_path):
    child = tmp_path / "sub/child"
    if tool == "leaves":
        assert text_of(called(client, tool)) == "done\n"
    else:
        connection, _ = client.begin("tools/call", {"name": tool, "arguments": {}})
        wait_until(lambda: child.exists() and child.read_text(encoding="ascii").endswith("\n"))
        connection.close()
    wait_until(lambda: has_ended(child.read_text(encoding="ascii").strip()))
    wait_until(lambda: not children(made))


# With `setsid -f` it was killed in its group at times: the parent ends before the child leaves it.
def test_who_leaves_its_group_is_not_waited_for(client):
    assert failure(client, "escapes") == (
        "The command ended, and left somebody behind who goes on writing")


def test_one_that_closes_its_output_is_waited_for(client):
    assert text_of(called(client, "closes")) == ""


def test_places_and_queue_are_those_of_all_tools(make_client, made):
    clients = [make_client("E", made).open() for _ in range(20)]
    begun = [one.begin("tools/call", {"name": "one_at_a_time", "arguments": {}})
             for one in clients]
    for one, (connection, identifier) in zip(clients, begun):
        reply = one.read_reply(connection, identifier)
        assert reply.result["content"][0]["text"] == ""


def test_the_server_ends_while_it_runs(made, make_client):
    client = make_client("E", made).open()
    client.begin("tools/call", {"name": "deaf", "arguments": {}})
    [child] = wait_until(lambda: children(made))
    made.process.send_signal(signal.SIGTERM)
    made.process.send_signal(signal.SIGTERM)
    made.wait()
    assert has_ended(child)


def test_nobody_outlives_a_server_that_is_killed(io, tmp_path, make_client):
    (tmp_path / "sub").mkdir()
    config = tmp_path / "tools.yaml"
    config.write_text(TOOLS.replace("SCRIPT", "'true'"), encoding="utf-8")
    server = Server(pillion_bin(), "--io", io, "--port", 0, "--config", config, "--root", tmp_path)
    make_client("E", server).open().begin("tools/call", {"name": "waits", "arguments": {}})
    [child] = wait_until(lambda: children(server))
    server.process.send_signal(signal.SIGKILL)
    server.wait()
    wait_until(lambda: has_ended(child))


def test_a_thousand_runs_leave_nothing(client, made):
    for _ in range(3):
        failure(client, "fails", {"code": 1})
    before = made.descriptors()
    for i in range(500):
        assert failure(client, "fails", {"code": 7}) == "Seven"
        assert text_of(called(client, "words", {"b": i})) == f"x{i}y|"
    assert made.descriptors() <= before
    assert not children(made)


@pytest.mark.parametrize("command, said", [
    ("{argv: ['{p}']}", "which program it is must not depend on arguments"),
    ("{argv: [x, '{']}", "a { begins a place for an argument"),
    ("{argv: [x, '{a b}']}", "a { begins a place"),
    ("{argv: [x, 'a}']}", "a } without its {"),
    ("{argv: [bash, -ec, 'ls {folder}']}", "a shell would run what is in an argument"),
    ("{input: arguments}", "needs argv"),
    ("{argv: [x], memory: 0}", "is not a size"),
])
def test_a_command_that_is_none_is_refused(tmp_path, command, said):
    config = tmp_path / "c.yaml"
    config.write_text(f"tools: {{t: {{command: {command}}}}}", encoding="utf-8")
    ended = run_program(pillion_bin(), "check", config, "--root", tmp_path)
    assert ended.returncode == 2 and said in ended.stderr.decode(), ended.stderr


# What is ignored stays so over execve(2): no program had an end, and neither had the server.
def test_whoever_starts_it_may_ignore_the_ends_of_children(start_pillion, make_client, tmp_path):
    config = tmp_path / "tools.yaml"
    config.write_text("tools: {hi: {command: {argv: [echo, hi]}}}", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path,
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    result = make_client("E", server).open().request("tools/call", {"name": "hi", "arguments": {}})
    assert result["content"][0]["text"] == "hi\n"
