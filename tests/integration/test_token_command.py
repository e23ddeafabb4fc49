"""`pillion token`: keys, key sets and tokens for trying things out, and getting in with them."""

import base64
import hashlib
import json
import stat

import pytest

from server_process import pillion_bin, run_program
from test_auth import ECHO, ask, refused

pytestmark = [pytest.mark.asan, pytest.mark.user]

ISSUER = "https://dev.example"
AUDIENCE = "https://pillion.example/mcp"


def token(*arguments, code=0):
    """What `pillion token` says: standard output, and standard error."""
    done = run_program(pillion_bin(), "token", *arguments)
    assert done.returncode == code, done
    return done.stdout.decode(), done.stderr.decode()


def signed(key, *arguments, subject="alice"):
    out, _ = token("sign", "--key", key, "--issuer", ISSUER, "--audience", AUDIENCE, "--subject",
                   subject, *arguments)
    assert out.endswith("\n") and out.count("\n") == 1
    return out.strip()


def parts_of(text):
    return [json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            for part in text.split(".")[:2]]


def flags(folder):
    return ("--oidc-issuer", ISSUER, "--oidc-jwks", folder / "jwks.json", "--oidc-audience",
            AUDIENCE)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_key_and_its_token_let_in(start, tmp_path, algorithm):
    keys = tmp_path / "keys"
    out, said = token("keys", "--out", keys, "--alg", algorithm)
    assert out == "" and str(keys / "jwks.json") in said
    assert mode(keys / "dev.pem") == 0o600 and mode(keys / "jwks.json") == 0o644
    assert mode(keys) == 0o700
    server = start(*flags(keys))
    header, claims = parts_of(good := signed(keys / "dev.pem", "--scope", "a b", "--expires", "5m",
                                             "--claim", "n=[1,true]", "--claim", "team=red x"))
    assert header == {"alg": algorithm, "typ": "JWT", "kid": "dev"}
    assert claims["exp"] - claims["iat"] == 300 and claims["scope"] == "a b"
    assert claims["n"] == [1, True] and claims["team"] == "red x" and claims["sub"] == "alice"
    assert claims["aud"] == AUDIENCE
    assert ask(server.address, good).status == 200
    refused(ask(server.address, good[:-3] + "AAA"), "invalid_token")
    several = signed(keys / "dev.pem", "--audience", "https://other.example")
    assert parts_of(several)[1]["aud"] == [AUDIENCE, "https://other.example"]
    assert ask(server.address, several).status == 200


def test_keys_rotate(start, tmp_path):
    token("keys", "--out", tmp_path, "--kid", "old")
    server = start(*flags(tmp_path))
    assert ask(server.address, signed(tmp_path / "old.pem")).status == 200
    refused(ask(server.address, signed(tmp_path / "old.pem", "--kid", "new")), "invalid_token")
    token("keys", "--out", tmp_path, "--kid", "new", "--alg", "RS256")
    server.wait_for_log("config.reloaded")
    for name in ("old", "new"):
        assert ask(server.address, signed(tmp_path / f"{name}.pem")).status == 200


def test_nothing_is_overwritten(tmp_path):
    token("keys", "--out", tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"dev.pem", "jwks.json"}
    _, said = token("keys", "--out", tmp_path, code=1)
    assert "dev.pem" in said and said.count("\n") == 1
    # The same id in the set, from a key of another kind.
    _, said = token("keys", "--out", tmp_path, "--alg", "HS256", code=1)
    assert "--kid" in said
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "jwks.json").write_text("{}", encoding="ascii")
    _, said = token("keys", "--out", tmp_path, "--kid", "x", code=1)
    assert "Key Set" in said and not (tmp_path / "x.pem").exists()


def test_a_set_keeps_what_others_wrote(tmp_path):
    (tmp_path / "jwks.json").write_text(
        '{"note":"ours","keys":[{"kty":"OKP","kid":"a","n":1.50}]}', encoding="ascii")
    token("keys", "--out", tmp_path)
    text = (tmp_path / "jwks.json").read_text(encoding="ascii")
    found = json.loads(text)
    assert found["note"] == "ours" and [key["kid"] for key in found["keys"]] == ["a", "dev"]
    assert "1.50" in text


def test_an_opaque_token(start, tmp_path):
    listed = tmp_path / "tokens"
    secret, said = token("list", "ci", "tools:call", "x", "--append", listed)
    assert said == "" and mode(listed) == 0o600
    digest = hashlib.sha256(secret.strip().encode()).hexdigest()
    assert listed.read_text(encoding="ascii") == f"ci {digest} tools:call x\n"
    second, said = token("list", "other")
    digest = hashlib.sha256(second.strip().encode()).hexdigest()
    assert second.strip() not in said and f"\nother {digest}\n" in said
    server = start("--auth-tokens", listed)
    assert ask(server.address, secret.strip(), method="tools/call", params=ECHO).status == 200
    server.wait_for_log("principal=token:ci")
    refused(ask(server.address, second.strip()), "invalid_token")


def test_a_list_without_an_end_of_its_last_line(tmp_path):
    """The new line was glued to it, and the list was none any more."""
    listed = tmp_path / "tokens"
    token("list", "one", "--append", listed)
    listed.write_text(listed.read_text(encoding="ascii").rstrip(), encoding="ascii")
    token("list", "two", "--append", listed)
    names = [line.split()[0] for line in listed.read_text(encoding="ascii").splitlines()]
    assert names == ["one", "two"]
    token("list", "three", "--append", listed)
    assert listed.read_text(encoding="ascii").count("\n") == 3


WRONG = {
    "no command": ([], 2), "other command": (["frob"], 2),
    "keys without a folder": (["keys"], 2),
    "other algorithm": (["keys", "--out", "k", "--alg", "none"], 2),
    "id as a path": (["keys", "--out", "k", "--kid", "../x"], 2),
    "hidden id": (["keys", "--out", "k", "--kid", ".x"], 2),
    "empty id": (["keys", "--out", "k", "--kid", ""], 0),
    "folder below a file": (["keys", "--out", "/etc/passwd/k"], 1),
    "no key": (["sign", "--issuer", "i", "--audience", "a", "--subject", "s"], 2),
    "no such key": (["sign", "--key", "/no/such", "--issuer", "i", "--audience", "a", "--subject",
                     "s"], 1),
    "no key in it": (["sign", "--key", "/etc/passwd", "--issuer", "i", "--audience", "a",
                      "--subject", "s"], 1),
    "bad name": (["list", "a b"], 2), "comment as a name": (["list", "#x"], 2),
    "bad scope": (["list", "a", 'x"y'], 2), "empty scope": (["list", "a", ""], 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done(tmp_path, name):
    arguments, code = WRONG[name]
    done = run_program(pillion_bin(), "token", *arguments, cwd=tmp_path)
    assert done.returncode == code, done
    if code:
        assert done.stdout == b"" and len(done.stderr.splitlines()) == 1, done
        assert done.stderr.startswith(b"pillion: token")


@pytest.mark.parametrize("more", [["--expires", "0s"], ["--expires", "soon"], ["--claim", "x"],
                                  ["--claim", "=x"], ["--claim", "exp=1"],
                                  ["--claim", "a=1", "--claim", "a=2"],
                                  ["--claim", "long=" + "x" * 9000]], ids=lambda m: m[1][:8])
def test_claims_that_cannot_be(tmp_path, more):
    token("keys", "--out", tmp_path)
    out, said = token("sign", "--key", tmp_path / "dev.pem", "--issuer", ISSUER, "--audience",
                      AUDIENCE, "--subject", "s", *more, code=2)
    assert out == "" and said.count("\n") == 1


def test_help():
    for arguments in ([], ["keys"], ["sign"], ["list"]):
        out, said = token(*arguments, "--help")
        assert out.startswith("Keys and tokens") or "--" in out
        assert said == ""
    assert "token" in run_program(pillion_bin(), "--help").stdout.decode()


def test_private_keys_stay_private(tmp_path):
    _, said = token("keys", "--out", tmp_path)
    body = "".join((tmp_path / "dev.pem").read_text(encoding="ascii").splitlines()[1:-1])
    assert body not in said
    assert '"d"' not in (tmp_path / "jwks.json").read_text(encoding="ascii")
