"""A reload while some keys wait for a restart: the others count beside what runs until then."""

import re

import pytest

from bearer import OPAQUE, ask, refused
from server_process import Server, fixture_bin, wait_until
from test_auth_introspection import Judge
from test_auth_remote import serving
from test_config import checks, config, reload  # pylint: disable=unused-import
from tokens import Issuer, listed

pytestmark = [pytest.mark.asan, pytest.mark.tls]


def test_an_address_that_stays_is_not_opened_to_everybody(io, config, authority):
    """The file moved to this machine and asked for no certificates; the network was let in."""
    tls = f"tls: {{cert: {authority.cert}, key: {authority.key}"
    path = config(f"http: {{listen: '0.0.0.0:0'}}\n{tls}, client_ca: {authority.ca}}}\n")
    server = Server(fixture_bin(), "--io", io, "--config", path)
    try:
        config(f"http: {{listen: '127.0.0.1:0'}}\n{tls}}}\n")
        line = reload(server, "config.")
        with pytest.raises(OSError):
            ask(authority.address(server))
        # Without a place: it is not in the file any more.
        assert 'config.refused' in line and 'first="http.listen: refusing to serve other' in line
        assert "until a restart these stay as they are: http.listen" in line
        client = authority.issue("client", "/CN=client")
        assert ask(authority.address(server, identity=client)).status == 200
    finally:
        server.stop()


def test_the_audience_is_that_of_the_running_path(start, config, tmp_path):
    """Every good token was refused until the restart: it was for the path of before."""
    issuer = Issuer(tmp_path, audience="https://pillion.example/mcp")
    auth = (f"auth: {{issuer: '{issuer.url}', jwks: '{issuer.jwks}', "
            "external_url: 'https://pillion.example'}\n")
    server = start("--config", config(auth))
    config(f"http: {{path: /tools}}\n{auth}")
    assert "keys=http.path" in reload(server, "config.needs_restart")
    assert ask(server.address, issuer.token()).status == 200


def test_taking_tokens_out_of_the_file_takes_nothing_from_them(start, config, authority, scripted,
                                                               tmp_path):
    """What asks about tokens stayed, but whom it believes was gone: every token was a 503."""
    judge = Judge(scripted, tmp_path, serving(authority))
    path = config(f"auth: {{introspection: '{judge.url}', introspection_client: us, "
                  f"introspection_secret: 'file:{judge.secret}', "
                  f"external_url: 'https://mcp.example', ca: {authority.ca}}}\n")
    judge.says["aud"] = "https://mcp.example/mcp"
    server = start("--config", path)
    assert ask(server.address, OPAQUE).status == 200
    # Rates, principals and the rest of the file count at once.
    config("http: {allowed_origins: ['https://new.example']}\nprincipals: {nobody: {}}\n")
    assert "auth.introspection" in reload(server, "config.needs_restart")
    origin = [("Origin", "https://new.example")]
    assert ask(server.address, OPAQUE + "2", origin).status == 200
    refused(ask(server.address, headers=origin))


def test_a_file_that_only_a_restart_can_take(start_pillion, config):
    """It is refused by the name of what it waits for, and taken once it can be."""
    path = config("server: {profile: corporate}\nhttp: {insecure_no_auth: true}\n")
    server = start_pillion("--config", path)
    config("server: {profile: generic}\nhttp: {insecure_no_auth: true, allowed_origins: ['*']}\n")
    line = reload(server, "config.")
    assert re.search(r"pillion\.yaml:2:50: http\.allowed_origins: the corporate profile names "
                     r"every origin, not \*; until a restart these stay as they are: "
                     r"server\.profile\"", line), line
    origin = [("Origin", "https://any.example")]
    assert ask(server.address, headers=origin).status == 403
    wait_until(lambda: checks(server)["configuration"] == "fail")
    config("server: {profile: generic}\nhttp: {insecure_no_auth: true, "
           "allowed_origins: ['https://any.example']}\n")
    assert "keys=server.profile" in reload(server, "config.needs_restart")
    assert ask(server.address, headers=origin).status == 200
    assert checks(server)["configuration"] == "ok"


DESCRIPTION = """{"openapi": "3.1.0", "info": {"title": "T", "version": "1"},
 "paths": {"/it": {"delete": {"operationId": "delete_all", "responses": {}}}}}"""


def test_what_a_reload_brings_has_the_scopes_of_the_same_edit(start_pillion, config, tmp_path):
    """Tools and prompts were there at once, and the rule that came with them after a restart."""
    (tmp_path / "tokens").write_text(listed("ada", OPAQUE, "read"), encoding="ascii")
    (tmp_path / "api.json").write_text(DESCRIPTION, encoding="ascii")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "secret.md").write_text("Say it.\n", encoding="ascii")
    base = "auth: {tokens: tokens}\nupstreams: {up: {url: 'http://127.0.0.1:1'}}\n"
    server = start_pillion("--config", config(base))
    config(base + "openapi: {api: {file: api.json, upstream: up}}\n"
           "prompt_files: {folders: [prompts]}\n"
           "tools: {delete_all: {scopes: [admin]}}\nprompts: {secret: {scopes: [admin]}}\n")
    reload(server, "config.reloaded")
    for method, name in (("tools/call", "delete_all"), ("prompts/get", "secret")):
        response = ask(server.address, OPAQUE, method=method,
                       params={"name": name, "arguments": {}})
        assert response.status == 403, response
        assert 'scope="admin"' in response["WWW-Authenticate"]
