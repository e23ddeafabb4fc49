"""Readiness that follows the services beside the server."""

import json
import os
import socket
import threading

import pytest

from http_client import Connection
from scripted_server import CLOSE, http
from server_process import pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan


def ask(server, path):
    with Connection(server.address) as connection:
        return connection.request("GET", path)


def ready(server):
    answer = ask(server, "/ready")
    return answer.status, answer.json()["checks"]


def follows(start, tmp_path, *places, interval="50ms"):
    config = tmp_path / "c.yaml"
    config.write_text(f"ready: {{follow: {json.dumps(places)}, interval: {interval}}}\n",
                      encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    return start("--config", config, "--root", root)


def test_it_is_ready_while_the_service_is_well(start_pillion, scripted, tmp_path):
    say = [http("well")]
    service = scripted(lambda request: say[0])
    place = service.base.replace("localhost", "127.0.0.1") + "/health?deep=1"
    server = follows(start_pillion, tmp_path, place)
    wait_until(lambda: ready(server)[0] == 200)
    assert ready(server)[1][f"follow {place}"] == "ok"
    assert service.requests[0].path == "/health?deep=1"
    for trouble in (http("no", "503 Down"), http("", "302 Elsewhere"), CLOSE):
        say[0] = trouble
        wait_until(lambda: ready(server)[0] == 503)
        assert ready(server)[1][f"follow {place}"] == "fail"
        # The server itself is well, and serves.
        assert ask(server, "/health").status == 200
        say[0] = http("x" * 1_000_000)  # nobody reads it
        wait_until(lambda: ready(server)[0] == 200)
    server.wait_for_log("ready.not")
    server.wait_for_log("ready.again")


def test_it_is_not_ready_before_the_first_answer(start_pillion, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        server = follows(start_pillion, tmp_path, place, interval="1s")
        assert ready(server)[0] == 503
        assert "it took too long" in server.wait_for_log("ready.not")


def test_a_service_at_a_unix_socket(start_pillion, tmp_path):
    path = os.path.join(tmp_path, "s.sock")
    place = f"unix:{path}:/live"
    server = follows(start_pillion, tmp_path, place)
    assert ready(server)[0] == 503
    seen = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(10)

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                seen.append(connection.recv(4096))
                connection.sendall(http("well") if seen[-1].startswith(b"GET /live ") else b"")
    threading.Thread(target=serve, daemon=True).start()
    wait_until(lambda: ready(server)[0] == 200)
    listener.close()
    os.unlink(path)
    wait_until(lambda: ready(server)[0] == 503)


@pytest.mark.parametrize("place", ["ftp://x", "unix:x.sock", "http://", "/run/x.sock", "unix:"])
def test_what_is_no_place(tmp_path, place):
    ended = run_program(pillion_bin(), "check", "--ready-follow", place)
    assert ended.returncode == 2
    assert b"ready-follow" in ended.stderr
