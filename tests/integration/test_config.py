"""The configuration file: check, serve and stdio with it, flags over it, reload by SIGHUP."""

import json
import os
import pathlib
import re
import signal
import threading

import jsonschema
import pytest

from http_client import Connection
from mcp_client import Stdio
from server_process import ROOT, fixture_bin, pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan

SCHEMA = ROOT / "src" / "app" / "pillion.schema.json"
KEYS = ["%064x" % number for number in (1, 2)]
SAMPLED = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


@pytest.fixture
def config(tmp_path):
    """Writes the configuration and returns its path; again with another text."""
    def write(text):
        path = tmp_path / "pillion.yaml"
        path.write_text(text, encoding="utf-8")
        return path
    return write


def check(*arguments, env=None, **more):
    return run_program(pillion_bin(), "check", *arguments, text=True,
                       env={**os.environ, **(env or {})}, **more)


def placed(done, path):
    """The faults that have a place in the file, and not what the log says beside them."""
    return [line.removeprefix(f"{path}:").split(": ", 1) for line in done.stderr.splitlines()
            if line.startswith(f"{path}:")]


def reload(server, said):
    """SIGHUP, and the line of the log that contains `said`."""
    seen = len(server.log)
    server.process.send_signal(signal.SIGHUP)
    return wait_until(lambda: next((line for line in server.log[seen:] if said in line), None),
                      what=said)


def request(address, headers=(), body=b"{}", target="/mcp"):
    with Connection(address) as connection:
        return connection.request("POST", target, [("Content-Type", "application/json"), *headers],
                                  body)


def checks(server):
    """What /ready says; a bad file alone does not make it unready."""
    with Connection(server.address) as connection:
        reply = connection.request("GET", "/ready")
    assert reply.status == 200
    return reply.json()["checks"]


# ---- check ----

def test_a_good_file(config):
    done = check(config("http: {port: 0}\nlimits: {body: 2MiB}\n"))
    assert done.returncode == 0 and done.stdout.startswith("ok: ") and done.stderr == ""


def test_every_fault_with_its_place(config):
    path = config("http:\n  port: 70000\n  prot: 1\nlog: {level: loud}\n"
                  "options: {root: 1}\nserver: {threads: '${NO_SUCH}'}\n")
    done = check(path)
    assert done.returncode == 2 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{path}:{place}" for place in ("2:9", "3:3", "4:14", "5:17", "6:19")], lines
    assert "70000" in lines[0] and '"prot"' in lines[1] and "NO_SUCH" in lines[4]


def test_a_fault_of_the_syntax(config):
    path = config("http: {port: 1\nlog: {}\n")
    done = check("--config", path)
    assert done.returncode == 2 and re.match(rf"{path}:\d+:\d+: not YAML: ", done.stderr)


def test_faults_of_flags_and_file_together(config):
    path = config("http: {path: mcp}\n")
    done = check(path, "--threads", "0", "--io", "magic")
    assert done.returncode == 2
    assert [line.split(": ")[:2] for line in done.stderr.splitlines()] == [
        ["pillion", "--threads"], ["pillion", "--io"], [f"{path}:1:14", "http.path"]]


@pytest.mark.parametrize("command", ["check", "serve", "stdio"])
def test_no_such_file(command, tmp_path):
    done = run_program(pillion_bin(), command, "--config", tmp_path / "none", text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("pillion: --config: ") and "none" in done.stderr


def test_what_is_no_regular_file(tmp_path, config):
    """To open a pipe without a writer blocks; a reload would have kept the server from ending."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/null"):
        done = check("--config", path)
        assert done.returncode == 2 and "no regular file" in done.stderr
    done = check(config("server: {state_keys: file:pipe}\n"))
    assert done.returncode == 2 and "no regular file" in done.stderr
    done = check(config(" " * (1 << 20) + "\n"))
    assert done.returncode == 2 and "larger than 1 MiB" in done.stderr


def test_serve_and_stdio_refuse_what_check_refuses(config):
    path = config("limits: {body: 1}\n")
    said = check(path).stderr
    assert said.startswith(f"{path}:1:16: limits.body: ")
    for command in ("serve", "stdio"):
        done = run_program(pillion_bin(), command, "--config", path, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


# What the file is not at fault for as a text, but what it asks for cannot be registered.
REGISTERS = """\
options:
  root: missing
folders:
  docs:
    path: none
  notes:
    path: {here}
    uri: notes://a/
  again:
    path: {here}
    uri: notes://a/
prompt_files:
  folders: [one, two]
tools:
  echo:
    command: {{argv: ["true"]}}
  bad:
    input: {{type: object, properties: {{a: {{type: nonsense}}}}}}
    output:
      {{type: 12}}
    command: {{argv: ["true"]}}
  absent:
    scopes: [x]
methods:
  tools/dance:
    scopes: [x]
"""


@pytest.mark.parametrize("command", ["check", "serve", "stdio"])
def test_every_fault_of_registration_with_its_place(config, tmp_path, command):
    """The first one was told, without its place, and of a folder not which one it was."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.md").write_text("Hello", encoding="utf-8")
    path = config(REGISTERS.format(here=tmp_path))
    done = run_program(pillion_bin(), command, "--config", path, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done
    found = placed(done, path)
    assert [place for place, _ in found] == [
        "2:9", "5:11", "11:10", "13:18", "15:3", "18:12", "20:7"], done.stderr
    for (_, text), says in zip(found, (
            "options.root: there is no such directory",
            "folders.docs.path: there is no such directory",
            'resource "notes://a/{+path}": registered twice',
            'prompt "same": registered twice', 'tool "echo": registered twice',
            'tool "bad": input schema: ', 'tool "bad": output schema: ')):
        assert text.startswith(says), (text, says)


def test_rules_about_what_is_not_there(config, tmp_path):
    """As above. Where something could not be registered, nobody knows whether they are wrong."""
    rules = "".join(f"{kind}:\n  {name}:\n    scopes: [x]\n" for kind, name in (
        ("tools", "absent"), ("prompts", "absent"), ("resources", "'x://absent'"),
        ("methods", "tools/dance")))
    path = config(rules)
    done = check(path, cwd=tmp_path)
    assert done.returncode == 2
    found = placed(done, path)
    assert [place for place, _ in found] == ["3:14", "6:14", "9:14", "12:14"], done.stderr
    assert all(text.endswith(".scopes: there is nothing of that name") for _, text in found)
    done = check(path, "--root", "missing", cwd=tmp_path)
    assert done.stderr == "pillion: --root: there is no such directory\n"


def test_what_the_corporate_profile_refuses_with_its_place(config, tmp_path):
    """As above."""
    path = config("server: {profile: corporate}\ntools:\n  Bad:\n    description: Risk low.\n"
                  "    command: {argv: ['true']}\n  worse_one:\n    command: {argv: ['true']}\n")
    done = check(path, "--root", tmp_path, "--insecure-no-auth")
    assert done.returncode == 2
    assert [place for place, _ in placed(done, path)] == ["3:3", "6:3"], done.stderr


def test_variables_come_from_the_environment(config):
    path = config("http:\n  port: ${PILLION_TEST_PORT}\n")
    assert check(path, env={"PILLION_TEST_PORT": "0"}).returncode == 0
    wrong = check(path, env={"PILLION_TEST_PORT": "hunter2"})
    assert wrong.returncode == 2 and "hunter2" not in wrong.stderr


def test_a_secret_is_never_shown(config, tmp_path):
    (tmp_path / "secret").write_text("hunter2\n")
    for text in ("state_keys: hunter2", "state_keys: file:secret", "state_keys: [hunter2]"):
        done = check(config(f"server: {{{text}}}\n"), "--log-level", "debug")
        assert done.returncode == 2 and "hunter2" not in done.stderr + done.stdout
        assert ":1:" in done.stderr


# ---- the schema ----

def test_the_published_schema_is_the_printed_one():
    done = run_program(pillion_bin(), "check", "--schema", text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == SCHEMA.read_text(encoding="utf-8")
    jsonschema.Draft7Validator.check_schema(json.loads(done.stdout))


def test_every_flag_has_its_key():
    text = run_program(pillion_bin(), "serve", "--help", text=True).stdout
    flags = set(re.findall(r"--[a-z][a-z0-9-]*", text)) - {"--help", "--config"}
    described = json.dumps(json.loads(SCHEMA.read_text(encoding="utf-8")))
    keys = set(re.findall(r"Flag: (--[a-z0-9-]+)", described))
    assert flags == keys


@pytest.mark.parametrize("document", [
    {}, None, {"http": {"port": 0}}, {"http": {"port": "0"}}, {"http": {"prt": 0}}, {"x": 1},
    {"http": {"listen": ["127.0.0.1:0"], "port": 1}}, {"log": {"level": "warn"}},
    {"log": {"level": "loud"}}, {"limits": {"request_timeout": "1m"}},
    {"limits": {"request_timeout": 60}}, {"limits": {"body": "2MiB"}}, {"limits": {"body": "2MB"}},
    {"options": {"hidden": True, "no_ignore": False}}, {"options": {"hidden": "yes"}},
], ids=json.dumps)
def test_an_independent_validator_agrees_with_check(config, document):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    good = jsonschema.Draft7Validator(schema).is_valid(document)
    done = check(config(json.dumps(document)))
    assert (done.returncode == 0) == good, done.stderr


# ---- the README ----

def test_the_example_of_the_readme(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Configuration\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)[1]
    example = re.search(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[1]
    (tmp_path / "pillion.yaml").write_text(example, encoding="utf-8")
    (tmp_path / "state.keys").write_text(KEYS[0] + "\n")
    done = check(tmp_path / "pillion.yaml", env={"NOTES": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_the_table_of_the_readme_is_that_of_the_schema():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Configuration\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)[1]
    rows = re.findall(r"^\| `([a-z_]+\.[a-z0-9_]+)` \|(.*)\|(.*)\|(.*)\|$", section, re.MULTILINE)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    wanted = []
    for name, part in schema["properties"].items():
        for key, value in part.get("properties", {}).items():
            flag, default = (re.search(pattern, value["description"]) for pattern in
                             (r"Flag: (--[a-z0-9-]+)", r"Default: (.*?)\. (?:SIGHUP|Changed)"))
            live = "SIGHUP" in value["description"]
            wanted.append((f"{name}.{key}", f"`{flag[1]}`" if flag else "",
                           default[1] if default else "", "changes it" if live else ""))
    assert [tuple(cell.strip() for cell in row) for row in rows] == wanted


def test_limits_of_the_readme_are_those_of_the_table():
    """What the contract promises of a limit, where it names the key, is the key's default."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^\| `(limits\.\w+)` \|.*\| (\w+) \| [a-z ]*\|$", text,
                               re.MULTILINE))
    table = re.search(r"^\| limit \| value .*\n(?:\|.*\n)+", text, re.MULTILINE)[0]
    named = set()
    for row in table.splitlines():
        joined = re.sub(r"(?<=\d) (?=\d|[KM]iB|s\b|min\b|h\b)", "", row).replace("min", "m")
        keys = re.findall(r"`(limits\.\w+|_\w+)`", row)
        for key in keys:
            name = keys[0].rpartition("_")[0] + key if key.startswith("_") else key
            assert defaults[name] in re.findall(r"\w+", joined), (name, defaults[name], row)
            named.add(name)
    assert len(named) > 20


# ---- serve and stdio ----

def test_serve_with_a_file(start_pillion, config, tmp_path):
    path = config(f"http: {{path: /api}}\noptions: {{root: {tmp_path}}}\n"
                  "limits: {body: 1KiB}\n")
    server = start_pillion("--config", path)
    assert server.urls[0].endswith("/api")
    assert request(server.address, target="/mcp").status == 404
    assert request(server.address, target="/api", body=b" " * 1025).status == 413
    assert request(server.address, target="/api", body=b" " * 1024).status == 400


def test_flags_win(start_pillion, config, tmp_path):
    path = config("http: {listen: ['unix:/no/such/directory/s'], path: /api, legacy_sse: false}\n"
                  "options: {root: /no/such/directory}\n")
    server = start_pillion("--config", path, "--root", tmp_path, "--path", "/flag")
    assert server.urls[0].endswith("/flag")


def test_stdio_with_a_file(io, config):
    path = config("http: {host: 0.0.0.0}\noptions: {page_size: '3'}\nlimits: {body: 1KiB}\n")
    stdio = Stdio(fixture_bin(), "--io", io, "--config", path, rev="D")
    try:
        stdio.open()
        assert len(stdio.request("tools/list")["tools"]) == 3
    finally:
        stdio.close()


# ---- SIGHUP ----

def test_a_reload_counts_from_the_next_request_on_every_thread(start, config):
    path = config("http: {allowed_origins: ['https://old.example']}\n")
    server = start("--config", path, "--threads", 2)
    old, new = ([("Origin", f"https://{name}.example")] for name in ("old", "new"))
    with Connection(server.address) as kept:
        assert request(server.address, old).status != 403
        assert request(server.address, new).status == 403
        assert kept.request("POST", "/mcp", [("Content-Type", "application/json"), *new],
                            b"{}").status == 403
        config("http: {allowed_origins: ['https://new.example']}\nlimits: {body: 1KiB}\n")
        reload(server, "config.reloaded")
        for _ in range(20):  # connections are spread over the threads
            wait_until(lambda: request(server.address, old).status == 403)
            assert request(server.address, new).status != 403
        assert request(server.address, new, b" " * 1025).status == 413
        assert kept.request("POST", "/mcp", [("Content-Type", "application/json"), *new],
                            b"{}").status != 403


@pytest.mark.parametrize("text", ["http: [", "limits: {body: 1}\n", "x: 1\n", None],
                         ids=["syntax", "value", "key", "gone"])
def test_a_bad_file_changes_nothing(start, config, text):
    path = config("http: {allowed_origins: ['https://old.example']}\n")
    server = start("--config", path)
    path.unlink() if text is None else config("http: {allowed_origins: ['*']}\n" + text
                                              if text != "http: [" else text)
    good = checks(server)
    assert set(good.values()) == {"ok"}
    line = reload(server, "config.refused")
    wait_until(lambda: checks(server) == {**good, "configuration": "fail"})
    assert str(path) in line and "faults=1" in line
    assert request(server.address, [("Origin", "https://new.example")]).status == 403
    assert request(server.address, [("Origin", "https://old.example")]).status != 403
    config("http: {allowed_origins: ['https://new.example']}\n")
    reload(server, "config.reloaded")
    assert request(server.address, [("Origin", "https://new.example")]).status != 403
    assert checks(server) == good


def test_what_needs_a_restart_is_named_and_stays(start, config):
    path = config("server: {threads: 1}\n")
    server = start("--config", path)
    config("http: {path: /other}\nserver: {threads: 2, drain_timeout: 2s}\n"
           "limits: {sessions: 5, connections: 10000}\noptions: {page_size: '4'}\n")
    line = reload(server, "config.needs_restart")
    assert 'keys="http.path, server.threads, limits.sessions, options.page_size"' in line
    assert request(server.address, target="/other").status == 404
    again = reload(server, "config.needs_restart")  # it still differs
    assert "http.path" in again


def test_flags_still_win_after_a_reload(start, config):
    path = config("limits: {request_timeout: 1s}\n")
    server = start("--config", path, "--allowed-origins", "https://flag.example")
    config("http: {allowed_origins: ['https://file.example']}\n")
    reload(server, "config.reloaded")
    assert request(server.address, [("Origin", "https://flag.example")]).status != 403
    assert request(server.address, [("Origin", "https://file.example")]).status == 403


def test_without_a_file_there_is_nothing_to_reload(start):
    server = start()
    reload(server, "config.nothing_to_reload")
    assert request(server.address).status == 400


def test_the_log_changes_with_a_reload(start, config):
    path = config("")
    server = start("--config", path)
    config("log: {level: debug, format: json}\n")
    assert json.loads(reload(server, "config.reloaded"))["level"] == "info"
    config("log: {format: text}\n")
    assert not reload(server, "config.reloaded").startswith("{")


def test_deadlines_change_with_a_reload(start, config, make_client):
    path = config("")
    server = start("--config", path)
    client = make_client("D", of=server).open()
    config("limits: {request_timeout: 50ms}\n")
    reload(server, "config.reloaded")
    assert client.tool("test_slow", {"ms": 20_000}).error.code == -32004


def test_new_keys_open_what_the_old_ones_sealed(start, config, make_client, tmp_path):
    secret = tmp_path / "keys"
    secret.write_text(KEYS[0] + "\n")
    path = config("server: {state_keys: file:keys}\n")
    server = start("--config", path)
    client = make_client("E", of=server)

    def called(responses=None, state=None):
        params = {"name": "test_input_required_result_multi_round", "arguments": {}}
        if state is not None:
            params |= {"inputResponses": responses, "requestState": state}
        return client.call("tools/call", params, capabilities=SAMPLED)

    state = called().result["requestState"]
    secret.write_text(f"{KEYS[1]}\n{KEYS[0]}\n")
    reload(server, "config.reloaded")
    answer = {"step1": {"action": "accept", "content": {"name": "Di"}}}
    assert called(answer, state).result["resultType"] == "input_required"
    secret.write_text(KEYS[1] + "\n")
    reload(server, "config.reloaded")
    assert called(answer, state).error.code == -32602


def test_reloads_while_requests_run(start, config, make_client):
    path = config("limits: {body: 1MiB}\n")
    server = start("--config", path, "--threads", 2)
    clients = [make_client(rev, of=server).open() for rev in "DEDE"]
    stop, failed, done = threading.Event(), [], [0] * len(clients)

    def work(number):
        while not stop.is_set():
            try:
                assert clients[number].tool_text("echo", {"text": "x"})
            except Exception as fault:  # pylint: disable=broad-except
                failed.append(fault)
                stop.set()
            done[number] += 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(clients))]
    for thread in threads:
        thread.start()
    try:
        for turn in range(15):
            good = turn % 3 != 2
            config(f"limits: {{body: {turn + 2}KiB}}\n" if good else "limits: {body: x}\n")
            reload(server, "config.reloaded" if good else "config.refused")
            before = sum(done)
            wait_until(lambda: sum(done) > before + 4)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed and all(done)


def test_many_signals_end_in_the_last_file(start, config):
    path = config("")
    server = start("--config", path)
    for number in range(50):
        config(f"http: {{allowed_origins: ['https://a{number}.example']}}\n")
        server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: request(server.address, [("Origin", "https://a49.example")]).status != 403)


def test_stdio_reloads(io, config):
    path = config("limits: {body: 4KiB}\n")
    stdio = Stdio(fixture_bin(), "--io", io, "--config", path, rev="D")
    try:
        stdio.open()
        long = {"name": "echo", "arguments": {"text": "x" * 3000}}
        assert not stdio.request("tools/call", long).get("isError")
        config("limits: {body: 1KiB}\n")
        stdio.process.send_signal(signal.SIGHUP)
        wait_until(lambda: stdio.call("tools/call", long)[0].get("error", {}).get("code") == -32005)
    finally:
        stdio.close()


def test_stdio_takes_over_a_changed_file(io, config, tmp_path):
    """Over stdio only SIGHUP did, which who starts a server as a child has no reason to send."""
    path = config("limits: {body: 4KiB}\n")
    stdio = Stdio(fixture_bin(), "--io", io, "--config", path, rev="D")
    try:
        stdio.open()
        long = {"name": "echo", "arguments": {"text": "x" * 3000}}
        assert not stdio.request("tools/call", long).get("isError")
        for text, code in (("1KiB", -32005), ("4KiB", None), ("2KiB", -32005)):
            (tmp_path / "new").write_text(f"limits: {{body: {text}}}\n", encoding="ascii")
            (tmp_path / "new").rename(path)
            wait_until(lambda: stdio.call("tools/call", long)[0].get("error", {}).get(
                "code") == code)  # pylint: disable=cell-var-from-loop
    finally:
        stdio.close()


def test_secrets_that_flags_name_are_read_again(start, tmp_path):
    """Without --config SIGHUP had nothing to reload, and keys could not be exchanged."""
    secret = tmp_path / "keys"
    secret.write_text(KEYS[0], encoding="ascii")
    server = start("--state-keys", secret)
    secret.write_text("no key", encoding="ascii")
    assert "--state-keys" in reload(server, "config.refused")
    (tmp_path / "new").write_text(KEYS[1], encoding="ascii")
    seen = len(server.log)
    (tmp_path / "new").rename(secret)  # and without SIGHUP, as other files
    wait_until(lambda: any("config.reloaded" in line for line in server.log[seen:]))


def test_a_signal_while_it_drains(start, config):
    path = config("")
    server = start("--config", path)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
        server.process.send_signal(number)
    assert server.wait() == 0


def test_the_path_of_a_secret_is_relative_to_the_file(tmp_path):
    folder = pathlib.Path(tmp_path) / "conf"
    folder.mkdir()
    (folder / "keys").write_text(KEYS[0])
    (folder / "pillion.yaml").write_text("server: {state_keys: file:keys}\n")
    assert check(folder / "pillion.yaml").returncode == 0
    done = run_program(pillion_bin(), "check", "pillion.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
