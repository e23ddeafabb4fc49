"""`pillion healthcheck`: what a container asks of the server inside it."""

import os
import socket
import subprocess
import time

import pytest

from scripted_server import http
from server_process import fixture_bin, pillion_bin, run_program, wait_until
from tls_authority import Authority

pytestmark = pytest.mark.user


def check(*arguments, program=None, **more):
    """Exit code and stderr; one line where it fails, and none where it does not."""
    done = run_program(program or pillion_bin(), "healthcheck", *arguments, **more)
    text = done.stderr.decode()
    assert done.stdout == b"" and text.count("\n") == (0 if done.returncode == 0 else 1), text
    return done.returncode, text


def config_of(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_server_that_is_healthy(start):
    server = start()
    url = f"http://127.0.0.1:{server.port}"
    assert check(url) == (0, "") and check(url, "--ready") == (0, "")
    assert check(f"{url}/healthz") == (0, "")
    assert check(f"http://localhost:{server.port}") == (0, "")
    assert check("--port", str(server.port)) == (0, "")


def test_nobody_is_there():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        code, text = check("--port", str(port))
    assert code == 1
    assert text == (f"pillion: healthcheck: http://127.0.0.1:{port}/health: "
                    "it cannot be reached\n")


def test_one_that_does_not_answer():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        began = time.monotonic()
        code, text = check(f"http://127.0.0.1:{one.getsockname()[1]}", "--timeout", "300ms")
    assert code == 1 and "it took too long" in text and 0.3 <= time.monotonic() - began < 2


def test_other_answers(scripted):
    server = scripted(lambda request: http("no\nthanks", "503 Service Unavailable"))
    code, text = check(server.url)
    assert code == 1 and text.endswith("/mcp: status 503: no thanks\n"), text
    server = scripted(lambda request: http("", "302 Found", headers="Location: /health\r\n"))
    assert check(server.url)[0] == 1


def test_not_ready_says_why(start, make_client):
    server = start()
    make_client("E", of=server).tool("test_set_ready", {"to": "no"})
    url = f"http://127.0.0.1:{server.port}"
    code, text = check(url, "--ready")
    assert code == 1 and "status 503" in text and '"fixture":"fail"' in text
    assert check(url) == (0, "")


def test_a_unix_socket(start, tmp_path):
    path = tmp_path / "socket"
    start("--listen", f"unix:{path}")
    assert check(f"unix:{path}") == (0, "") and check(f"unix:{path}", "--ready") == (0, "")
    assert check("--listen", f"unix:{path}") == (0, "")
    code, text = check(f"unix:{tmp_path}/other")
    assert code == 1 and "it cannot be reached" in text


@pytest.mark.tls
def test_https(start, authority, tmp_path):
    server = start("--listen", "localhost:0", *authority.flags)
    url = f"https://127.0.0.1:{server.port}"
    ca = ["--ca", str(authority.ca)]
    # On loopback nobody is in between: without authorities any certificate will do.
    assert check(url) == (0, "")
    assert check(f"https://localhost:{server.port}", *ca) == (0, "")
    assert check(url, *ca, "--server-name", "localhost") == (0, "")
    code, text = check(url, *ca, "--server-name", "elsewhere.example")
    assert code == 1 and "its certificate is not trusted" in text
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    code, text = check(f"https://localhost:{server.port}", "--ca", str(other.ca))
    assert code == 1 and "its certificate is not trusted" in text
    # The flags of the server are the flags of the question.
    assert check("--port", str(server.port), *authority.flags) == (0, "")
    code, text = check("--port", str(server.port))
    assert code == 1 and "http://" in text


@pytest.mark.tls
def test_certificates_of_clients(start, authority, tmp_path):
    path = tmp_path / "socket"
    flags = [*authority.flags, "--tls-client-ca", authority.ca]
    server = start("--listen", "localhost:0", "--listen", f"unix:{path}", *flags)
    code, text = check("--listen", f"localhost:{server.port}", *map(str, flags))
    assert code == 1 and "let it listen on a unix socket, too" in text
    listen = ["--listen", f"localhost:{server.port}", "--listen", f"unix:{path}"]
    assert check(*listen, *map(str, flags)) == (0, "")


def test_the_address_of_the_configuration(start, tmp_path):
    server = start()
    config = config_of(tmp_path, "http: {host: 0.0.0.0, port: \"${MY_PORT}\", "
                                 "insecure_no_auth: true}\nauth: {api_keys: file:missing}\n")
    # What only the server needs is not looked at, its secrets neither.
    env = {**os.environ, "MY_PORT": str(server.port)}
    assert check("--config", str(config), env=env) == (0, "")
    assert check("--config", str(config), "--port", "1", env=env)[0] == 1


@pytest.mark.parametrize("arguments, said", [
    (["--listen", "fd:3"], "give a URL"),
    (["--port", "0"], "give a URL"),
    (["--timeout", "soon"], "--timeout"),
    (["--timeout", "0s"], "--timeout"),
    (["ftp://localhost"], "it is no http:// or https:// URL"),
    (["unix:"], "it cannot be reached"),
    (["--config", "/nowhere/at/all"], "cannot tell its address"),
    (["--no-such-option"], "no-such-option"),
])
def test_what_cannot_be_asked(arguments, said):
    """Never 2, which is reserved where containers are watched."""
    code, text = check(*arguments)
    assert code == 1 and said in text, text


def test_a_bad_file_is_named_with_its_place(tmp_path):
    config = config_of(tmp_path, "http: {port: many}\n")
    code, text = check("--config", str(config))
    assert code == 1 and f"{config}:1:14:" in text


def test_addresses_of_all_interfaces(start):
    server = start("--listen", "0.0.0.0:0", "--insecure-no-auth")
    assert check("--host", "0.0.0.0", "--port", str(server.port)) == (0, "")
    assert check("--listen", f"0.0.0.0:{server.port}") == (0, "")


def test_a_server_built_on_the_library(start):
    server = start()
    assert check("--port", str(server.port), program=fixture_bin()) == (0, "")


def test_it_is_cheap(start):
    """Watchers ask every few seconds: no threads of a server, no rings."""
    server = start()
    began = time.monotonic()
    for _ in range(10):
        subprocess.run([pillion_bin(), "healthcheck", "--port", str(server.port)], check=True)
    assert time.monotonic() - began < 5
    wait_until(server.alive)


def test_draining_is_not_ready(start):
    server = start("--drain-timeout", "5s")
    url = f"http://127.0.0.1:{server.port}"
    assert check(url, "--ready") == (0, "")
    server.stop()
    assert check(url, "--ready")[0] == 1
