"""Basic for /metrics: over https or on this machine, remembered, and never on the endpoint."""

import base64
import hashlib
import http.client
import os
import re
import subprocess

import pytest

from server_process import fixture_bin, pillion_bin, run_program
from test_auth import ask, refused
from tokens import b64url, listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]

PASSWORD = "correct horse: bättery"
KEY = "0123456789abcdef0123456789abcdef"


def line_of(name, password, iterations=10_000):
    salt = os.urandom(16)
    made = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    return f"{name} pbkdf2-sha256${iterations}${b64url(salt)}${b64url(made)}\n"


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users"
    path.write_text("# who\n" + line_of("prometheus", PASSWORD) + line_of("ops", "password 2"),
                    encoding="ascii")
    return path


def basic(name, password):
    coded = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {coded}"}


def port_of(server):
    return int(re.search(r"address=\S*:(\d+)", server.wait_for_log("metrics.listening"))[1])


def scrape(server, headers=None, path="/metrics", context=None, host="127.0.0.1"):
    """Status, headers and body; a look that waits for another one is tried again."""
    while True:
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        more = {"context": context} if context else {}
        connection = kind(host, port_of(server), timeout=30, **more)
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 503:
            return answer.status, answer.headers, body


def denied(answer):
    status, headers, body = answer
    assert status == 401 and body == b"", answer
    assert headers["WWW-Authenticate"] == 'Basic realm="metrics", charset="UTF-8"'


@pytest.fixture
def server(start, users):
    return start("--metrics-listen", "127.0.0.1:0", "--metrics-users", users)


def test_a_password_lets_in(server):
    denied(scrape(server))
    for _ in range(3):
        status, _, body = scrape(server, basic("prometheus", PASSWORD))
        assert status == 200 and b"pillion_build_info" in body
    assert scrape(server, basic("ops", "password 2"))[0] == 200
    name, coded = "basic", basic("ops", "password 2")["Authorization"].split()[1]
    assert scrape(server, {"Authorization": f"{name} {coded}"})[0] == 200


@pytest.mark.parametrize("headers", [
    basic("prometheus", "password 2"), basic("ops", PASSWORD), basic("nobody", PASSWORD),
    basic("", ""), basic("prometheus", ""), basic("Prometheus", PASSWORD),
    basic("prometheus", PASSWORD + "x"), {"Authorization": "Basic"},
    {"Authorization": "Basic !!!"}, {"Authorization": "Basic " + "QQ" * 4000},
    {"Authorization": f"Bearer {KEY}"}, {"Authorization": "Basic cHJvbWV0aGV1cw=="},
], ids=str)
def test_what_lets_nobody_in(server, headers):
    denied(scrape(server, headers))
    server.wait_for_log("auth.refused")


def test_other_paths_say_nothing(server):
    assert scrape(server, path="/other")[0] == 404


def test_guesses_are_slowed_down(server):
    """Each look takes time of a helper; what is known good goes on all the while."""
    assert scrape(server, basic("prometheus", PASSWORD))[0] == 200
    guesses = (scrape(server, basic("prometheus", f"guess number {i}"))[0] for i in range(100))
    seen = [next(guesses) for _ in range(4)]  # five at once, with the look above
    assert set(seen) == {401} and 429 in guesses
    assert scrape(server, basic("prometheus", PASSWORD))[0] == 200
    assert PASSWORD not in "\n".join(server.log) and "guess" not in "\n".join(server.log)


def test_users_that_change(start, users):
    # Of files, those of certificates and tokens are watched; SIGHUP reads all.
    server = start("--metrics-listen", "127.0.0.1:0", "--metrics-users", users)
    assert scrape(server, basic("prometheus", PASSWORD))[0] == 200
    fresh = users.with_suffix(".new")
    fresh.write_text(line_of("ops", "password 3"), encoding="ascii")
    fresh.rename(users)
    server.wait_for_log("config.reloaded")
    answers = iter(lambda: scrape(server, basic("prometheus", PASSWORD))[0], 401)
    assert sum(1 for _ in answers) < 1000
    assert scrape(server, basic("ops", "password 3"))[0] == 200


@pytest.mark.row(44)
def test_over_https(start, users, authority):
    server = start(*authority.flags, "--metrics-listen", "https://0.0.0.0:0", "--metrics-users",
                   users)
    context = authority.trust()
    denied(scrape(server, context=context, host="localhost"))
    status, _, body = scrape(server, basic("ops", "password 2"), context=context, host="localhost")
    assert status == 200 and b"pillion_build_info" in body


@pytest.mark.row(44)
@pytest.mark.parametrize("more", [[], ["--insecure-no-auth"]], ids=str)
def test_passwords_over_plain_http_stay_on_this_machine(users, more):
    done = run_program(fixture_bin(), "serve", "--port", "0", "--metrics-listen", "0.0.0.0:0",
                       "--metrics-users", users, *more)
    assert done.returncode == 2 and b"passwords" in done.stderr, done


def test_users_need_an_address(users):
    done = run_program(fixture_bin(), "serve", "--port", "0", "--metrics-users", users)
    assert done.returncode == 2 and b"--metrics-listen" in done.stderr


@pytest.mark.row(44)
def test_basic_is_nothing_for_the_endpoint(start, users, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(listed("ci", KEY), encoding="ascii")
    server = start("--metrics-listen", "127.0.0.1:0", "--metrics-users", users, "--auth-tokens",
                   tokens)
    header = list(basic("prometheus", PASSWORD).items())
    assert "Basic" not in refused(ask(server.address, headers=header))
    assert ask(server.address, KEY).status == 200
    denied(scrape(server, {"Authorization": f"Bearer {KEY}"}))


GOOD = line_of("a", "password 1").split()[1]
BAD = ["", "# none\n", "a\n", "a secret\n", "a " + GOOD.replace("sha256", "sha1") + "\n",
       "a " + GOOD.replace("10000", "9999") + "\n", "a " + GOOD.replace("10000", "6000000") + "\n",
       "a " + GOOD.replace("10000", "-1") + "\n", "a " + GOOD[:-2] + "\n", f"a:b {GOOD}\n",
       f"a {GOOD}\na {GOOD}\n", f"a {GOOD} x\n"]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_list_that_is_none(tmp_path, text):
    path = tmp_path / "users"
    path.write_text(text, encoding="ascii")
    done = run_program(fixture_bin(), "serve", "--port", "0", "--metrics-listen", "127.0.0.1:0",
                       "--metrics-users", path)
    assert done.returncode == 2 and b"--metrics-users: " in done.stderr, done
    assert GOOD.split("$")[3].encode() not in done.stderr


def hash_password(name, text):
    return subprocess.run([pillion_bin(), "token", "password", name], input=text, check=False,
                          capture_output=True, timeout=30)


def test_the_command_makes_a_line(start, tmp_path):
    done = hash_password("prom", f"{PASSWORD}\n".encode())
    assert done.returncode == 0 and done.stderr == b""
    assert re.fullmatch(rb"prom pbkdf2-sha256\$600000\$\S+\$\S+\n", done.stdout), done
    assert hash_password("prom", PASSWORD.encode()).stdout != done.stdout  # another salt
    users = tmp_path / "users"
    users.write_bytes(done.stdout)
    server = start("--metrics-listen", "127.0.0.1:0", "--metrics-users", users)
    assert scrape(server, basic("prom", PASSWORD))[0] == 200
    denied(scrape(server, basic("prom", PASSWORD + " ")))


@pytest.mark.parametrize("name, text", [("a", b""), ("a", b"short\n"), ("a", b"x" * 513),
                                        ("a", b"with\tcontrol\n"), ("a:b", b"password 1"),
                                        ("a b", b"password 1"), ("#a", b"password 1")])
def test_passwords_that_cannot_be(name, text):
    done = hash_password(name, text)
    assert done.returncode == 2 and done.stdout == b"" and len(done.stderr.splitlines()) == 1
