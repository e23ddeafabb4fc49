"""Where secrets come from, and how they are kept from leaking; what a reload leaves for later."""

import hmac
import json
import os
import pathlib
import re
import signal
import tempfile
import time

import pytest

from http_client import Connection
from server_process import Server, fixture_bin, pillion_bin, run_program, wait_until
from test_auth import Issuer, ask, refused
from test_metrics_users import line_of
from tokens import b64url, listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
NOBODY = 65534


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(listed("ci", KEY), encoding="ascii")
    return path


# ---- the environment names files ----

def test_files_of_the_environment(start, tokens, tmp_path, authority):
    (tmp_path / "users").write_text(line_of("a", "password 1"), encoding="ascii")
    server = start("--tls-cert", authority.cert, "--metrics-listen", "127.0.0.1:0", env={
        "PILLION_TLS_KEY_FILE": str(authority.key), "PILLION_AUTH_TOKENS_FILE": str(tokens),
        "PILLION_API_KEYS_FILE": str(tokens), "PILLION_METRICS_USERS_FILE": str(tmp_path / "users"),
        "PILLION_STATE_KEYS_FILE": ""})
    address = authority.address(server)
    assert ask(address, KEY).status == 200
    assert ask(address, headers=[("X-API-Key", KEY)]).status == 200
    refused(ask(address, OTHER), "invalid_token")


def test_flags_win_over_the_environment_and_that_over_the_file(start, tokens, tmp_path):
    other = tmp_path / "other"
    other.write_text(listed("ci", OTHER), encoding="ascii")
    config = tmp_path / "config.yaml"
    config.write_text("auth: {tokens: no-such-file}\n", encoding="ascii")
    variable = {"PILLION_AUTH_TOKENS_FILE": str(tokens)}
    server = start("--config", config, env=variable)
    assert ask(server.address, KEY).status == 200
    server = start("--config", config, "--auth-tokens", other, env=variable)
    assert ask(server.address, OTHER).status == 200
    refused(ask(server.address, KEY), "invalid_token")


@pytest.mark.parametrize("name, flags", [
    ("PILLION_AUTH_TOKENS_FILE", []), ("PILLION_API_KEYS_FILE", []),
    ("PILLION_METRICS_USERS_FILE", ["--metrics-listen", "127.0.0.1:0"]),
    ("PILLION_STATE_KEYS_FILE", [])])
def test_a_file_of_the_environment_that_is_not_there(name, flags):
    done = run_program(pillion_bin(), "check", *flags, env={**os.environ, name: "/no/such/file"})
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"pillion: {name}: "), done
    assert done.stderr.decode().count("\n") == 1


# ---- secrets of tokens, for development ----

def secret_of(tmp_path):
    secret = os.urandom(32)
    (tmp_path / "jwks").write_text(json.dumps({"keys": [
        {"kty": "oct", "kid": "s", "alg": "HS256", "k": b64url(secret)}]}), encoding="ascii")
    return secret


def signed_by(secret):
    now = int(time.time())
    text = ".".join(b64url(json.dumps(part).encode()) for part in (
        {"alg": "HS256", "kid": "s"},
        {"iss": "https://i.example", "aud": "a", "sub": "dev", "iat": now, "exp": now + 60}))
    return text + "." + b64url(hmac.digest(secret, text.encode(), "sha256"))


def test_tokens_of_secrets_need_a_switch(start, tmp_path):
    secret = secret_of(tmp_path)
    flags = ("--oidc-issuer", "https://i.example", "--oidc-jwks", tmp_path / "jwks",
             "--oidc-audience", "a")
    done = run_program(fixture_bin(), "serve", "--port", "0", *flags)
    assert done.returncode == 2 and b"no key for RS256 or ES256" in done.stderr
    server = start(*flags, "--insecure-hs256")
    server.wait_for_log("warn auth.insecure_hs256")
    assert ask(server.address, signed_by(secret)).status == 200
    refused(ask(server.address, signed_by(os.urandom(32))), "invalid_token")
    done = run_program(fixture_bin(), "serve", "--port", "0", "--conforming", "--profile",
                       "corporate", *flags, "--insecure-hs256")
    assert done.returncode == 2 and b"corporate profile takes no tokens of secrets" in done.stderr


# ---- nothing of the memory gets out ----

def limits_of(server):
    text = pathlib.Path(f"/proc/{server.pid}/limits").read_text(encoding="ascii")
    return re.search(r"Max core file size +(\S+) +(\S+)", text).groups()


def test_core_dumps_are_off(start):
    assert limits_of(start()) == ("0", "0")
    with_dumps = start("--core-dumps")
    assert limits_of(with_dumps) == limits_of_this_process()


def limits_of_this_process():
    text = pathlib.Path("/proc/self/limits").read_text(encoding="ascii")
    return re.search(r"Max core file size +(\S+) +(\S+)", text).groups()


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, which is closed to other users
        path = pathlib.Path(name)
        path.chmod(0o755)
        yield path


@pytest.mark.parametrize("flags", [[], ["--core-dumps"]], ids=str)
def test_who_may_look_inside(io, flags, folder):
    """The system gives the entries of a process that nobody may look into to root (proc(5))."""
    user = os.getuid() or NOBODY
    # Its folder may be closed to that user, as one of mktemp -d is: so are the libraries beside it,
    # which pillion has in itself where they are not the system's (fixture-server did not start).
    program = os.open(pillion_bin(), os.O_RDONLY)
    more = {"user": user, "group": user, "extra_groups": []} if os.getuid() == 0 else {}
    try:
        server = Server(f"/proc/self/fd/{program}", "--root", folder, "--io", io, "--port", 0,
                        "--metrics-listen", "127.0.0.1:0", *flags, pass_fds=[program], **more)
    finally:
        os.close(program)
    try:
        assert os.stat(f"/proc/{server.pid}/fd").st_uid == (user if flags else 0)
        # It still sees itself.
        port = int(re.search(r"address=\S*:(\d+)", server.wait_for_log("metrics.listening"))[1])
        with Connection(("127.0.0.1", port)) as connection:
            page = connection.request("GET", "/metrics").body.decode()
        assert int(float(re.search(r"^process_open_fds (\S+)", page, re.MULTILINE)[1])) > 3
        assert float(re.search(r"^process_resident_memory_bytes (\S+)", page, re.MULTILINE)[1]) > 0
    finally:
        server.stop()


def test_stdio_forbids_them_too(stdio):
    path = pathlib.Path(f"/proc/{stdio().process.pid}/limits")
    wait_until(lambda: re.search(r"Max core file size +0 +0", path.read_text(encoding="ascii")),
               what="no core dumps")


# ---- a reload says what waits for a restart ----

def reload(server):
    server.log.clear()
    server.process.send_signal(signal.SIGHUP)
    return server.wait_for_log("config.needs_restart")


def test_turning_tokens_on_waits_for_a_restart(start, tokens, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("{}\n", encoding="ascii")
    server = start("--config", config)
    config.write_text(f"auth: {{tokens: {tokens}, external_url: 'https://x.example'}}\n",
                      encoding="ascii")
    assert 'keys=auth.tokens' in reload(server)
    assert ask(server.address).status == 200
    assert 'keys=auth.tokens' in reload(server)  # it still does
    config.write_text("{}\n", encoding="ascii")
    server.log.clear()
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log("config.reloaded")
    assert not [line for line in server.log if "needs_restart" in line]


def test_turning_tokens_and_https_off_waits_for_a_restart(start, tokens, tmp_path, authority):
    config = tmp_path / "config.yaml"
    (tmp_path / "users").write_text(line_of("a", "password 1"), encoding="ascii")
    config.write_text(f"auth: {{tokens: {tokens}}}\ntls: {{cert: {authority.cert}, "
                      f"key: {authority.key}}}\nmetrics: {{listen: '127.0.0.1:0', "
                      f"users: {tmp_path / 'users'}}}\n", encoding="ascii")
    server = start("--config", config)
    config.write_text("metrics: {listen: '127.0.0.1:0'}\n", encoding="ascii")
    line = reload(server)
    assert 'keys="tls.cert, tls.key, auth.tokens, metrics.users"' in line
    address = authority.address(server)
    refused(ask(address))
    assert ask(address, KEY).status == 200


# ---- proxies ----

@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


PATH = "/.well-known/oauth-protected-resource/mcp"
BELIEVED = {
    "X-Forwarded": ([("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "mcp.example")],
                    "https://mcp.example"),
    "with a port": ([("X-Forwarded-Host", "mcp.example:8443"), ("X-Forwarded-Proto", "HTTPS")],
                    "https://mcp.example:8443"),
    "the last hop": ([("X-Forwarded-Host", "evil.example, mcp.example"),
                      ("X-Forwarded-Proto", "http, https")], "https://mcp.example"),
    "Forwarded": ([("Forwarded", 'for=192.0.2.9;Proto=https;host="mcp.example:444"')],
                  "https://mcp.example:444"),
    "the last hop of Forwarded": ([("Forwarded", "host=evil.example, proto=https;host=m.example")],
                                  "https://m.example"),
    "Forwarded first": ([("Forwarded", "proto=https;host=a.example"),
                         ("X-Forwarded-Host", "b.example")], "https://a.example"),
    "scheme alone": ([("X-Forwarded-Proto", "https")], "https://HOST"),
}
NOT_BELIEVED = {
    "no scheme": [("X-Forwarded-Proto", "ftp")],
    "no host": [("X-Forwarded-Host", 'x"y')],
    "a path": [("X-Forwarded-Host", "x.example/y")],
    "twice": [("X-Forwarded-Host", "a.example"), ("X-Forwarded-Host", "b.example")],
    "Forwarded twice": [("Forwarded", "host=a.example"), ("Forwarded", "host=b.example")],
    "huge": [("X-Forwarded-Host", "a" * 300)],
}


def base_of(address, headers, host):
    response = ask(address, headers=headers)
    seen = refused(response)["resource_metadata"]
    assert seen.endswith(PATH), seen
    with Connection(address) as connection:
        metadata = connection.request("GET", PATH, headers).json()
    assert metadata["resource"] + "\n" == seen.removesuffix(PATH) + "/mcp\n"
    return seen.removesuffix(PATH).replace(host, "HOST")


@pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.0/8", "::ffff:127.0.0.0/104",
                                     "0.0.0.0/0"])
def test_trusted_proxies_are_believed(start, issuer, trusted):
    server = start(*issuer.flags, "--trusted-proxies", f"10.0.0.0/8,{trusted}")
    host = f"127.0.0.1:{server.port}"
    assert base_of(server.address, [], host) == "http://HOST"
    for name, (headers, expected) in BELIEVED.items():
        assert base_of(server.address, headers, host) == expected, name
    for name, headers in NOT_BELIEVED.items():
        assert base_of(server.address, headers, host) == "http://HOST", name


@pytest.mark.parametrize("flags", [[], ["--trusted-proxies", "10.0.0.0/8,127.0.0.2,unix,::1"]],
                         ids=["none", "others"])
def test_nobody_else_is_believed(start, issuer, flags):
    server = start(*issuer.flags, *flags)
    for name, (headers, _) in BELIEVED.items():
        assert base_of(server.address, headers, f"127.0.0.1:{server.port}") == "http://HOST", name


def test_what_the_operator_says_counts_more(start, issuer):
    server = start(*issuer.flags, "--trusted-proxies", "127.0.0.1", "--external-url",
                   "https://said.example")
    for headers, _ in BELIEVED.values():
        assert base_of(server.address, headers, "-") == "https://said.example"


def test_host_must_still_be_ours(start, issuer):
    server = start(*issuer.flags, "--trusted-proxies", "127.0.0.1")
    with Connection(server.address) as connection:
        connection.send(b"GET " + PATH.encode() + b" HTTP/1.1\r\nHost: evil.example\r\n"
                        b"X-Forwarded-Host: localhost\r\n\r\n")
        assert connection.read_response().status == 403


@pytest.mark.parametrize("value", ["", "proxy.example", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/",
                                   "::/129", "10.0.0", "unix:/x", "1.2.3.4/-1"])
def test_proxies_that_are_none(value):
    done = run_program(fixture_bin(), "serve", "--port", "0", "--trusted-proxies", value)
    assert done.returncode == 2 and b"--trusted-proxies: " in done.stderr, done


def test_rates_count_whom_a_trusted_proxy_speaks_for(start, tokens, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("rates: {address: 1, address_burst: 3}\n", encoding="ascii")

    def statuses(server, client, token=None):
        return (ask(server.address, token, [("X-Forwarded-For", f"127.0.0.1, {client}")]).status
                for _ in range(1000))
    guarded = start("--config", config, "--auth-tokens", tokens, "--trusted-proxies", "127.0.0.1")
    everybodys = start("--config", config, "--trusted-proxies", "127.0.0.1")
    for server, token, usual in ((guarded, OTHER, 401), (everybodys, None, 200)):
        assert 429 in statuses(server, "192.0.2.7", token)
        assert next(statuses(server, "192.0.2.8", token)) == usual  # somebody else
    direct = start("--config", config)
    assert any(429 in statuses(direct, "192.0.2.7") and
               next(statuses(direct, "192.0.2.8")) == 429 for _ in range(20))


def test_a_trusted_proxy_on_a_unix_socket_vouches_for_nobody(start, tokens, tmp_path):
    """The kernel says who the proxy is; who its client is, only a token does."""
    socket = str(tmp_path / "socket")
    direct = start("--listen", f"unix:{socket}", "--auth-tokens", tokens)
    assert ask(socket).status == 200
    direct.stop()
    start("--listen", f"unix:{socket}", "--auth-tokens", tokens, "--trusted-proxies", "unix")
    refused(ask(socket))
    assert ask(socket, KEY).status == 200
