"""Tools that are requests to a service: what it is sent, what is made of its answers, and what
happens when it is in trouble."""

import json
import os
import pathlib
import re
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from mcp_client import RpcError
from server_process import pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan

TOOLS = """
tools:
  user: {http: {upstream: up, path: '/users/{id}/x', query: {limit: '{limit}', tag: '{tags}',
                fixed: 'a b'}, headers: {X-Lang: '{lang}', X-Two: 'v{id}'}}}
  create: {input: {type: object, properties: {id: {}, name: {}, n: {}}},
           http: {upstream: up, method: POST, path: '/users/{id}', send: rest}}
  one: {http: {upstream: up, method: PUT, path: /one, send: argument, body: item}}
  form: {input: {type: object, properties: {a: {}, b: {}}},
         http: {upstream: up, method: POST, path: /form, send: form}}
  text: {http: {upstream: up, method: POST, path: /text, send: text, body: 'hello {who}'}}
  part: {http: {upstream: up, path: /part, pointer: /data/0}}
  plain: {http: {upstream: up, path: /plain, output: text, errors: {404: Nobody}}}
  remove: {http: {upstream: up, method: DELETE, path: /gone}}
  look: {http: {upstream: up, method: HEAD, path: /head}}
"""


class Upstream:
    """A service that answers as its script says; each connection has a thread."""

    def __init__(self, folder=None):
        self.requests = []
        self.script = lambda request: reply(200, b'{"ok":true}')
        self.lock = threading.Lock()
        self.open = []
        if folder is None:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        else:
            self.path = os.path.join(folder, "up.sock")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(100)
            self.url = "http://service.internal"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            head, body = head.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, value in
                      (line.split(": ", 1) for line in lines[1:])}
            while len(body) < int(fields.get("content-length", 0)):
                body += connection.recv(65536)
            request = {"line": lines[0], "fields": fields, "body": body, "socket": connection,
                       "names": [line.split(":")[0].lower() for line in lines[1:]]}
            self.requests.append(request)
            answer = self.script(request)
            if answer is not None:
                connection.sendall(answer)
        except OSError:
            pass
        finally:
            connection.close()

    def stop(self):
        self.listener.close()
        for connection in self.open:
            connection.close()


def reply(status, body=b"", kind="application/json", more=""):
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            f"{more}\r\n").encode() + body


@pytest.fixture(params=["tcp", "unix"])
def upstream(request, tmp_path):
    made = Upstream(tmp_path if request.param == "unix" else None)
    yield made
    made.stop()


@pytest.fixture
def tcp():
    made = Upstream()
    yield made
    made.stop()


def configured(upstream, folder, more=""):
    where = f"url: '{upstream.url}/v1'"
    if hasattr(upstream, "path"):
        where += f", socket: '{upstream.path}'"
    config = folder / "tools.yaml"
    config.write_text(
        TOOLS + f"upstreams: {{up: {{{where}, headers: {{X-Key: 'file:key'}}, {more}}}}}\n",
        encoding="utf-8")
    (folder / "key").write_text("s3cret\n", encoding="utf-8")
    return config


@pytest.fixture
def client(upstream, start_pillion, make_client, tmp_path):
    server = start_pillion("--config", configured(upstream, tmp_path), "--root", tmp_path)
    return make_client("E", server).open()


def called(client, name, arguments=None, **more):
    return client.request("tools/call", {"name": name, "arguments": arguments or {}}, **more)


def text_of(result):
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def failure(client, name, arguments=None):
    result = called(client, name, arguments)
    assert result["isError"] is True, result
    return result["content"][0]["text"]


def test_arguments_have_their_places(client, upstream):
    result = called(client, "user", {"id": "a/b ü", "limit": 5, "tags": ["x&y", "z"],
                                     "lang": "de"})
    assert result["structuredContent"] == {"ok": True}
    [sent] = upstream.requests
    assert sent["line"] == ("GET /v1/users/a%2Fb%20%C3%BC/x?limit=5&tag=x%26y&tag=z&fixed=a%20b"
                            " HTTP/1.1")
    fields = sent["fields"]
    assert fields["x-lang"] == "de" and fields["x-two"] == "va/b ü".encode().decode("latin-1")
    assert fields["x-key"] == "s3cret"
    assert 0 < int(fields["x-request-timeout-ms"]) <= 60_000
    assert len(fields["x-request-id"]) >= 16
    assert "content-length" not in fields and "content-type" not in fields


def test_what_is_missing_is_left_out(client, upstream):
    called(client, "user", {"id": 7})
    assert upstream.requests[0]["line"] == "GET /v1/users/7/x?fixed=a%20b HTTP/1.1"
    assert "x-lang" not in upstream.requests[0]["fields"]


@pytest.mark.parametrize("arguments", [
    {"id": ".."}, {"id": "."}, {"id": ""}, {"id": "x", "lang": "de\r\nX-Evil: 1"},
    {"id": "x", "lang": "a\0b"}, {"id": "x", "tags": [{}]}, {"id": "x" * 20_000},
    {"id": "x\r\ny"},
])
def test_what_would_be_something_else_is_refused(client, upstream, arguments):
    failure(client, "user", arguments)
    assert upstream.requests == []


@pytest.mark.parametrize("given, sent", [
    ("../../etc", "..%2F..%2Fetc"), ("%2e%2e", "%252e%252e"), ("a?b#c", "a%3Fb%23c"),
    ("http://evil", "http%3A%2F%2Fevil"), ("@evil:80", "%40evil%3A80"), ("a;b=c", "a%3Bb%3Dc"),
    ("\\..\\", "%5C..%5C"),
])
def test_a_place_holds_a_value_and_nothing_else(client, upstream, given, sent):
    # As part of a segment, of a path of one place.
    called(client, "create", {"id": given})
    assert upstream.requests[0]["line"] == f"POST /v1/users/{sent} HTTP/1.1"


def test_bodies(client, upstream):
    """This service closes its connections without saying so before: no POST may meet that."""
    called(client, "create", {"id": 1, "name": "ü", "n": [1]})
    called(client, "one", {"item": {"a": None}})
    called(client, "form", {"a": "x y&z", "b": 2})
    called(client, "text", {"who": "\"you\"\n"})
    bodies = [(one["body"].decode(), one["fields"]["content-type"]) for one in upstream.requests]
    assert json.loads(bodies[0][0]) == {"name": "ü", "n": [1]}
    assert bodies[0][1] == "application/json"
    assert bodies[1] == ('{"a":null}', "application/json")
    assert bodies[2] == ("a=x%20y%26z&b=2", "application/x-www-form-urlencoded")
    assert bodies[3] == ('hello "you"\n', "text/plain; charset=utf-8")


def test_answers(client, upstream):
    upstream.script = lambda _: reply(200, b'{"data":[{"a":1},2]}')
    assert called(client, "part")["structuredContent"] == {"a": 1}
    upstream.script = lambda _: reply(200, b'{"data":[]}')
    assert failure(client, "part") == "The answer of the service has nothing at /data/0"
    upstream.script = lambda _: reply(200, b"{")
    assert failure(client, "part") == "The service answered with something that is no JSON"
    upstream.script = lambda _: reply(200, b"just text", "text/plain")
    assert text_of(called(client, "plain")) == "just text"
    upstream.script = lambda _: reply(200, b"\xff", "text/plain")
    assert failure(client, "plain") == "The service answered with something that is no text"
    upstream.script = lambda _: reply(404, b"x")
    assert failure(client, "plain") == "Nobody"
    upstream.script = lambda _: reply(422, b'{"why":"no"}')
    assert failure(client, "plain") == 'The service answered 422\n{"why":"no"}'
    upstream.script = lambda _: reply(302, b"", more="Location: http://evil/\r\n")
    assert failure(client, "plain") == (
        "The service answered 302, a redirect, which is not followed")
    upstream.script = lambda _: reply(204)
    assert text_of(called(client, "remove")) == ""
    upstream.script = lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
    assert text_of(called(client, "look")) == ""
    upstream.script = lambda _: reply(200, b"\x89PNG", "image/png")
    assert called(client, "remove")["content"][0]["mimeType"] == "image/png"


# Accept and Content-Type of the upstream came beside ours, and a service took either.
def test_a_field_is_said_once(tcp, start_pillion, make_client, tmp_path):
    config = tmp_path / "c.yaml"
    own = "headers: {accept: a/own, X-Two: tool, X-Request-Id: mine}"
    config.write_text(
        f"upstreams: {{up: {{url: '{tcp.url}', headers: {{Accept: a/b, Content-Type: c/d,"
        " X-Two: all, Authorization: secret}}}\n"
        "tools:\n  get: {http: {upstream: up, path: /get}}\n"
        "  post: {input: {type: object, properties: {a: {}}},"
        " http: {upstream: up, method: POST, path: /post, send: rest}}\n"
        f"  own: {{http: {{upstream: up, path: /own, {own}}}}}\n", encoding="utf-8")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    for name in ("get", "post", "own"):
        called(client, name, {"a": 1} if name == "post" else {})
    for request in tcp.requests:
        assert sorted(set(request["names"])) == sorted(request["names"])
        assert request["fields"]["content-type"] == "c/d"
        assert request["fields"]["authorization"] == "secret"
    get, post, own = [request["fields"] for request in tcp.requests]
    assert get["accept"] == post["accept"] == "a/b" and get["x-two"] == "all"
    assert (own["accept"], own["x-two"], own["x-request-id"]) == ("a/own", "tool", "mine")


def test_the_caller_s_token_stays_here(client, upstream):
    client.call("tools/call", {"name": "plain", "arguments": {}},
                extra=[("Authorization", "Bearer mine"), ("Cookie", "a=b")])
    assert "authorization" not in upstream.requests[0]["fields"]
    assert "cookie" not in upstream.requests[0]["fields"]


def test_the_trace_goes_on(client, upstream):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    called(client, "plain", meta={"traceparent": trace})
    assert upstream.requests[0]["fields"]["traceparent"] == trace
    # What would end the field is no trace: it once became a field of its own.
    called(client, "plain", meta={"traceparent": "01" + trace[2:] + "-\r\nX-Evil: 1"})
    assert "x-evil" not in upstream.requests[1]["fields"]
    assert "traceparent" not in upstream.requests[1]["fields"]


def hang(_):
    time.sleep(30)


def slowly(request):
    try:
        for byte in reply(200, b"x" * 1000):
            request["socket"].sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        pass


@pytest.mark.parametrize("script", [hang, slowly])
def test_a_deadline_closes_the_connection(client, upstream, script):
    upstream.script = script
    with pytest.raises(RpcError) as caught:
        called(client, "plain", meta={"pillion/timeoutMs": 400})
    assert caught.value.code == -32004
    [request] = upstream.requests
    wait_until(lambda: closed(request["socket"]))


def closed(sock):
    try:
        sock.settimeout(5)
        return sock.recv(1) == b""
    except OSError:  # the thread that served it has closed it as well
        return True


def test_a_client_that_leaves_closes_the_connection(client, upstream):
    upstream.script = hang
    connection, _ = client.begin("tools/call", {"name": "plain", "arguments": {}})
    wait_until(lambda: upstream.requests)
    connection.close()
    wait_until(lambda: closed(upstream.requests[0]["socket"]))


@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1 200", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
])
def test_answers_that_are_none(client, upstream, answer):
    upstream.script = lambda _: answer
    with pytest.raises(RpcError) as caught:
        called(client, "create", {"id": 1})
    assert caught.value.code == -32006
    # What may have happened is not asked for again.
    assert len(upstream.requests) == 1


def test_an_answer_that_is_too_large(client, upstream):
    upstream.script = lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
    for _ in range(8):  # it is no trouble of the service
        assert failure(client, "plain") == "The answer of the service is too large"
    assert len(upstream.requests) == 8


def test_its_own_limit_of_time(start_pillion, make_client, tcp, tmp_path):
    config = configured(tcp, tmp_path, "answer_timeout: 200ms, failures: 1, open_time: 1h")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    tcp.script = hang
    for meta in ({"pillion/timeoutMs": 50}, None):
        with pytest.raises(RpcError):
            called(client, "create", {"id": 1}, meta=meta)
    with pytest.raises(RpcError) as caught:
        called(client, "create", {"id": 1})
    assert caught.value.code == -32006 and len(tcp.requests) == 2


def test_who_promises_nothing_is_repeated(client, upstream):
    answers = iter([b"", reply(200, b"second", "text/plain")])
    upstream.script = lambda _: next(answers)
    assert text_of(called(client, "plain")) == "second"
    answers = iter([reply(503), reply(200, b"fourth", "text/plain")])
    assert text_of(called(client, "plain")) == "fourth"
    assert len(upstream.requests) == 4


def test_repeating_has_its_bounds(start_pillion, make_client, tcp, tmp_path):
    config = configured(tcp, tmp_path, "failures: 0, retries: 2")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    tcp.script = lambda _: reply(503)
    for _ in range(100):
        failure(client, "plain")
    # Two of each while the budget lasts, which is ten and a tenth of what is asked.
    assert 100 + 10 <= len(tcp.requests) <= 100 + 10 + 10 + 1


def test_the_breaker(start_pillion, make_client, tcp, tmp_path):
    config = configured(tcp, tmp_path, "failures: 3, open_time: 700ms, retries: 0")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    tcp.script = lambda _: reply(500)
    for _ in range(5):
        failure(client, "plain")  # it answers: that is no trouble
    tcp.script = lambda _: b""
    for _ in range(3):
        with pytest.raises(RpcError):
            called(client, "plain")
    asked = len(tcp.requests)
    with pytest.raises(RpcError) as caught:
        called(client, "create", {"id": 1})
    assert caught.value.code == -32006 and len(tcp.requests) == asked
    tcp.script = lambda _: reply(200, b"well", "text/plain")

    def works():
        try:
            return text_of(called(client, "plain")) == "well"
        except RpcError:
            return False
    wait_until(works)
    assert len(tcp.requests) == asked + 1
    called(client, "create", {"id": 1})


def test_places_are_waited_for(start_pillion, make_client, tcp, tmp_path):
    config = configured(tcp, tmp_path, "connections: 2")
    server = start_pillion("--config", config, "--root", tmp_path)
    at_once, most, lock = [0], [0], threading.Lock()

    def script(_):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.1)
        with lock:
            at_once[0] -= 1
        return reply(200, b"x", "text/plain")
    tcp.script = script
    clients = [make_client("E", server).open() for _ in range(10)]
    begun = [one.begin("tools/call", {"name": "plain", "arguments": {}}) for one in clients]
    for one, (connection, identifier) in zip(clients, begun):
        assert text_of(one.read_reply(connection, identifier).result) == "x"
    assert most[0] <= 2


@pytest.fixture
def deaf():
    """A port where nobody listens, and that nobody else gets."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        yield made.getsockname()[1]


def leading_nowhere(server):
    """Its sockets that no table of the system lists: neither bound nor connected."""
    listed = set()
    for table in ("tcp", "tcp6", "udp", "udp6", "unix", "netlink"):
        path = pathlib.Path("/proc/net", table)
        if path.exists():
            listed.update(path.read_text(encoding="utf-8", errors="replace").split())
    found = []
    for one in pathlib.Path(f"/proc/{server.pid}/fd").iterdir():
        try:
            inode = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(one))
        except FileNotFoundError:
            continue  # closed since
        if inode and inode[1] not in listed:
            found.append(one.name)
    return found


def test_who_leads_nowhere_is_seen():
    with socket.socket() as made:
        assert str(made.fileno()) in leading_nowhere(SimpleNamespace(pid=os.getpid()))
        made.bind(("127.0.0.1", 0))
        made.listen()
        assert str(made.fileno()) not in leading_nowhere(SimpleNamespace(pid=os.getpid()))


# Counting all of its descriptors failed once and was never explained: others may connect to it as
# well. What a failed connection of its own leaves can be told from that.
def test_nobody_is_there(start_pillion, make_client, tcp, deaf, tmp_path):
    tcp.url = f"http://127.0.0.1:{deaf}"
    config = configured(tcp, tmp_path, "failures: 0")
    server = start_pillion("--config", config, "--root", tmp_path)
    client = make_client("E", server).open()
    for _ in range(20):
        with pytest.raises(RpcError) as caught:
            called(client, "create", {"id": 1})
        assert caught.value.code == -32006
        assert "127.0.0.1" not in json.dumps(caught.value.reply.message)
    wait_until(lambda: not leading_nowhere(server), what="sockets that lead nowhere are closed")


def test_a_reload_exchanges_tools(start_pillion, make_client, tcp, tmp_path):
    config = configured(tcp, tmp_path)
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    stream, _, _ = client.listen(toolsListChanged=True)
    assert text_of(called(client, "text", {"who": "x"})) == '{"ok":true}'
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("  text:", "  renamed:"), encoding="utf-8")
    assert client.next_message(stream)["method"] == "notifications/tools/list_changed"
    names = {one["name"] for one in client.request("tools/list")["tools"]}
    assert "renamed" in names and "text" not in names
    assert text_of(called(client, "renamed", {"who": "x"})) == '{"ok":true}'


@pytest.mark.parametrize("http, said", [
    ("{upstream: up, path: 'x'}", "a path that begins with /"),
    ("{upstream: up, path: '/a b'}", "characters that a path may not hold"),
    ("{upstream: up, path: '/{a'}", "a { begins a place"),
    ("{upstream: up, headers: {Host: x}}", "Host cannot be set"),
    ("{upstream: up, headers: {'a b': x}}", "cannot be set"),
    ("{upstream: up, headers: {Transfer-Encoding: chunked}}", "cannot be set"),
    ("{upstream: up, send: text}", "body: is missing"),
    ("{upstream: up, method: TRACE}", "is not GET"),
    ("{upstream: down}", "is none of upstreams"),
    ("{upstream: up, pointer: a}", "is not a JSON Pointer"),
])
def test_a_request_that_is_none_is_refused(tmp_path, http, said):
    config = tmp_path / "c.yaml"
    config.write_text(f"upstreams: {{up: {{url: 'http://a'}}}}\ntools: {{t: {{http: {http}}}}}",
                      encoding="utf-8")
    ended = run_program(pillion_bin(), "check", config, "--root", tmp_path)
    assert ended.returncode == 2 and said in ended.stderr.decode(), ended.stderr
