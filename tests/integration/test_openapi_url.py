"""OpenAPI descriptions by URL: asked at the start and at each reload, over TCP or a unix socket."""

import http.server
import json
import signal
import socketserver
import threading

import pytest

from server_process import pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan


class Service:
    """Says its description at /openapi.json, and to everything else what it was asked."""

    def __init__(self, servers=None):
        self.paths = ["pets"]
        self.servers = servers
        self.status = 200
        self.asked = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                service.asked.append((self.path, dict(self.headers)))
                known = self.path == "/openapi.json"
                body = service.description() if known else json.dumps({"asked": self.path})
                self.send_response(service.status if known else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def address_string(self):
                return "somebody"

            def log_message(self, *_):
                pass
        self.handler = Handler

    def description(self):
        paths = {f"/{name}": {"get": {
            "operationId": f"list_{name}", "summary": f"Lists {name}.",
            "responses": {"200": {"description": "them"}}}} for name in self.paths}
        more = {} if self.servers is None else {"servers": self.servers}
        return json.dumps({"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"},
                           "paths": paths, **more})

    def start(self, server):
        self.server = server
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def over_tcp(self):
        self.start(http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def over_unix(self, path):
        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            pass
        return self.start(Server(str(path), self.handler))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service():
    made = []

    def run(**more):
        made.append(Service(**more))
        return made[-1]
    yield run
    for one in made:
        one.stop()


@pytest.fixture
def write(tmp_path):
    config = tmp_path / "config.yaml"

    def run(text):
        config.write_text(text, encoding="utf-8")
        return config
    return run


def tools_of(client):
    return {one["name"] for one in client.request("tools/list")["tools"]}


def asked_by(client, tool):
    result = client.request("tools/call", {"name": tool, "arguments": {}})
    assert not result.get("isError"), result
    return json.loads(result["content"][0]["text"])["asked"]


@pytest.mark.parametrize("servers, path", [
    (None, "/pets"), ([{"url": "/"}], "/pets"), ([{"url": "/api/v3"}], "/api/v3/pets")])
def test_requests_go_to_where_it_came_from(service, write, start_pillion, make_client, tmp_path,
                                           servers, path):
    it = service(servers=servers).over_tcp()
    config = write(f"openapi: {{pets: {{url: '{it.url}/openapi.json'}}}}\n")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    assert "list_pets" in tools_of(client)
    assert asked_by(client, "list_pets") == path


def test_it_is_asked_as_its_upstream_is(service, write, start_pillion, make_client, tmp_path):
    it = service().over_unix(tmp_path / "socket")
    config = write(f"""
upstreams: {{pets: {{url: 'http://localhost', socket: '{tmp_path}/socket', headers: {{X-Key: k}}}}}}
openapi: {{pets: {{url: 'http://localhost/openapi.json', upstream: pets}}}}
""")
    client = make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    assert asked_by(client, "list_pets") == "/pets"
    assert [(path, headers["X-Key"]) for path, headers in it.asked] == [
        ("/openapi.json", "k"), ("/pets", "k")]


def test_nobody_else_gets_what_is_for_the_upstream(service, write, start_pillion, tmp_path):
    it, other = service().over_tcp(), service().over_tcp()
    config = write(f"""
upstreams: {{pets: {{url: '{other.url}', headers: {{X-Key: k}}}}}}
openapi: {{pets: {{url: '{it.url}/openapi.json', upstream: pets}}}}
""")
    start_pillion("--config", config, "--root", tmp_path)
    [(_, headers)] = it.asked
    assert "X-Key" not in headers and not other.asked


def test_a_reload_asks_again(service, write, start_pillion, make_client, tmp_path):
    it = service().over_tcp()
    config = write(f"openapi: {{pets: {{url: '{it.url}/openapi.json'}}}}\n")
    server = start_pillion("--config", config, "--root", tmp_path)
    client = make_client("E", server).open()
    it.paths.append("toys")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: {"list_pets", "list_toys"} <= tools_of(client))
    # One that cannot be had changes nothing.
    it.status = 503
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log("the answer has status 503")
    assert {"list_pets", "list_toys"} <= tools_of(client)


@pytest.mark.parametrize("status, said", [
    (404, "openapi.pets.url: the answer has status 404"),
    (500, "openapi.pets.url: the answer has status 500"),
    (301, "openapi.pets.url: the answer has status 301")])
def test_a_start_without_it_fails(service, write, status, said):
    it = service().over_tcp()
    it.status = status
    config = write(f"openapi: {{pets: {{url: '{it.url}/openapi.json'}}}}\n")
    ended = run_program(pillion_bin(), "check", "--config", config)
    assert ended.returncode == 2 and said in ended.stderr.decode()


@pytest.mark.parametrize("text, said", [
    ("{}", "needs file or url, and not both"),
    ("{file: a.json, url: 'http://127.0.0.1:1/'}", "needs file or url, and not both"),
    ("{url: 'ftp://127.0.0.1/'}", "the URL of a description"),
    ("{url: 'http://127.0.0.1:1/openapi.json'}", "openapi.pets.url: ")])
def test_faults_of_the_key(write, text, said):
    config = write(f"openapi: {{pets: {text}}}\n")
    ended = run_program(pillion_bin(), "check", "--config", config)
    assert ended.returncode == 2 and said in ended.stderr.decode()
