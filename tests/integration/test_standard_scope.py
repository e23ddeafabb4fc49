"""The corporate standard, its scope: versions, transports, profiles, what a server tells about
itself (rows 1-19, 68-76, 82-90, 115-118)."""

import functools
import json
import pathlib
import re

import pytest

from http_client import Connection
from mcp_client import LegacySse, Stdio
from server_process import ROOT, Server, fixture_bin, pillion_bin, run_program
from wire_schema import VERSIONS

SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]{1,63}")


@functools.cache
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def check(*arguments):
    """`check` of the fixture server: exit code and what it said."""
    done = run_program(fixture_bin(), "check", *arguments)
    return done.returncode, done.stderr.decode()


def read(client, uri):
    return client.request("resources/read", {"uri": uri})["contents"][0]


# ---- versions ----

@pytest.mark.row(4, 5)
def test_all_five_revisions_are_offered_and_documented(shipped, make_client):
    offered = make_client("E", of=shipped).request("server/discover")["supportedVersions"]
    assert sorted(offered) == sorted(VERSIONS.values())
    head = readme().split("## Two commands")[0]
    assert all(version in head for version in VERSIONS.values())


@pytest.mark.row(8, 9)
def test_the_version_is_semantic_and_the_same_everywhere(shipped, make_client):
    said = run_program(pillion_bin(), "version").stdout.decode().split()[1]
    assert re.fullmatch(r"\d+\.\d+\.\d+", said)
    with Connection(shipped.address) as connection:
        assert connection.request("GET", "/health").json()["version"] == said
    for letter in "ABCD":
        result = make_client(letter, of=shipped).initialize()
        assert result["serverInfo"]["version"] == said
    modern = make_client("E", of=shipped)
    for method in ("tools/list", "server/discover"):
        info = modern.request(method)["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert info["version"] == said


@pytest.mark.row(10)
def test_the_version_is_a_resource(shipped, make_client):
    for letter in "ABCDE":
        content = read(make_client(letter, of=shipped).open(), "project://version")
        version = json.loads(content["text"])
        assert content["mimeType"] == "application/json" and version["name"] == "pillion"
        assert sorted(version["protocolVersions"]) == sorted(VERSIONS.values())


# ---- profiles ----

@pytest.mark.row(12, 37, 52)
def test_each_profile_tells_how_callers_are_known(shipped, io, tmp_path, make_client):
    generic = read(make_client("D", of=shipped).open(), "use://auth")["text"]
    assert "Profile: generic" in generic and "loopback" in generic and "claims" in generic
    # A unix socket admits its user alone: the corporate profile takes it without more.
    path = str(tmp_path / "s")
    server = Server(pillion_bin(), "--io", io, "--profile", "corporate", "--listen", f"unix:{path}",
                    "--root", tmp_path, wait=False)
    server.wait_for_log("listening on")
    client = make_client("D", of=type("At", (), {"address": path})).open()
    corporate = read(client, "use://auth")["text"]
    assert "Profile: corporate" in corporate and "unix sockets" in corporate
    assert client.call("no/such").status == 404
    client.close()
    server.stop()


@pytest.mark.row(37)
@pytest.mark.parametrize("listener", ["127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0"])
def test_the_corporate_profile_serves_nobody_unknown(listener):
    done = run_program(fixture_bin(), "serve", "--conforming", "--profile", "corporate",
                       "--listen", listener)
    assert done.returncode == 2 and done.stdout == b""
    assert b"--insecure-no-auth" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.row(37)
def test_a_configuration_is_told_where_authentication_is_missing(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("server: {profile: corporate}\nhttp:\n  listen: [127.0.0.1:0, unix:/tmp/x]\n"
                      "  allowed_origins: ['*']\n", encoding="utf-8")
    code, said = check("--conforming", config)
    assert code == 2
    assert "server.yaml:3:12: http.listen: the corporate profile refuses" in said
    assert "server.yaml:4:21: http.allowed_origins" in said and "unix" in said
    assert len(said.splitlines()) == 2


@pytest.mark.row(33)
def test_the_corporate_profile_names_every_origin():
    code, said = check("--conforming", "--profile", "corporate", "--insecure-no-auth",
                       "--allowed-origins", "*")
    assert code == 2 and "every origin" in said
    assert check("--conforming", "--profile", "corporate", "--insecure-no-auth",
                 "--allowed-origins", "https://app.example")[0] == 0


@pytest.mark.row(68, 69, 73, 74)
def test_registrations_are_checked_in_the_corporate_profile():
    code, said = check("--profile", "corporate", "--insecure-no-auth")
    refused = [line for line in said.splitlines() if "the corporate profile does not" in line]
    assert code == 2 and len(refused) > 1 and "should have a title" in said
    slow = [line for line in refused if 'tool "test_slow": may change things' in line]
    assert len(slow) == 1 and "Risk: high" in slow[0]
    assert check("--conforming", "--profile", "corporate", "--insecure-no-auth")[0] == 0
    assert check()[0] == 0


@pytest.mark.row(68)
def test_the_generic_profile_notes_what_the_other_would_refuse(start):
    server = start("--log-level", "debug")
    server.wait_for_log('registry.convention text="tool \\"test_slow\\": may change things')


# ---- transports ----

@pytest.mark.row(2, 13, 14, 15, 16)
def test_calls_mean_the_same_on_every_transport(io, leaking, make_client):
    calls = [("tools/call", {"name": "leak_text", "arguments": {"how": "tool", "plain": "no"}}),
             ("tools/call", {"name": "leak_text", "arguments": {"how": 7}}),
             ("tools/call", {"name": "none"}), ("tools/list", {}), ("no/such", {}),
             ("resources/read", {"uri": "test://constant"}),
             ("resources/read", {"uri": "test://none"}), ("prompts/get", {"name": "leak_prompt"}),
             ("tools/list", {"cursor": "made up"})]

    def told(message):
        message = {key: value for key, value in message.items() if key != "id"}
        message.get("error", {}).get("data", {}).pop("requestId", None)
        return message

    client = make_client("D", of=leaking).open()
    over_http = [told(client.call(*one).message) for one in calls]
    assert all(one["jsonrpc"] == "2.0" for one in over_http)
    for pipe in (Stdio(fixture_bin(), "--io", io, "--conforming", rev="D"),
                 LegacySse(leaking.address, "D")):
        pipe.open()
        assert [told(pipe.call(*one)[0]) for one in calls] == over_http
        pipe.close()


@pytest.mark.row(55)
def test_a_pipe_needs_no_credentials(io):
    pipe = Stdio(fixture_bin(), "--io", io, "--conforming", "--profile", "corporate", rev="D")
    pipe.open()
    assert pipe.request("tools/list")["tools"]
    pipe.close()


# ---- what the server that ships offers ----

@pytest.mark.row(70, 71, 72, 76)
def test_tools_are_described_in_full(shipped, make_client):
    tools = make_client("D", of=shipped).open().request("tools/list")["tools"]
    assert {tool["name"] for tool in tools} >= {"list_files", "read_file", "search_files", "echo"}
    for tool in tools:
        assert SNAKE_CASE.fullmatch(tool["name"])
        assert tool["title"] and len(tool["description"]) > 20
        assert tool["annotations"]["readOnlyHint"] is True
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert all(one.get("description") for one in schema.get("properties", {}).values())
    done = run_program(pillion_bin(), "check", "--profile", "corporate", "--insecure-no-auth")
    assert done.returncode == 0, done.stderr


@pytest.mark.row(82, 83)
def test_agents_are_briefed(shipped, make_client):
    client = make_client("D", of=shipped).open()
    prompts = {one["name"]: one for one in client.request("prompts/list")["prompts"]}
    assert set(prompts) >= {"agent_brief", "agent_prompt"}
    for name in ("agent_brief", "agent_prompt"):
        assert prompts[name]["description"]
        text = client.request("prompts/get", {"name": name})["messages"][0]["content"]["text"]
        assert len(text.encode()) <= 2048 or name == "agent_prompt"
        assert "Constraints" in text or "Limits" in text


@pytest.mark.row(84, 85, 86, 87, 88, 89)
def test_resources_have_the_uris_of_the_standard(shipped, make_client):
    client = make_client("D", of=shipped).open()
    resources = {one["uri"]: one for one in client.request("resources/list")["resources"]}
    assert set(resources) >= {"pillion://agent/brief", "pillion://agent/prompt", "use://auth",
                              "use://http-headers", "project://version", "doc://readme"}
    assert all(uri.startswith("pillion://") or uri in (
        "use://auth", "use://http-headers", "project://version", "doc://readme")
               for uri in resources)
    for uri, item in resources.items():
        assert item["name"] and ("mimeType" in item or uri.startswith("pillion://files/"))
        for content in client.request("resources/read", {"uri": uri})["contents"]:
            assert content["uri"] == uri and content["mimeType"]
            assert ("text" in content) != ("blob" in content)


@pytest.mark.row(45, 87)
def test_every_header_that_is_read_is_documented(shipped, make_client):
    text = read(make_client("D", of=shipped).open(), "use://http-headers")["text"].lower()
    source = (ROOT / "src" / "http" / "head.cpp").read_text(encoding="utf-8")
    known = re.findall(r'"([a-z][a-z0-9-]+)"', source)
    assert "mcp-session-id" in known
    # The parser knows more names than the server reads.
    unread = {"upgrade", "user-agent", "x-forwarded-for", "x-request-timeout-ms"}
    missing = [name for name in known if name not in text and name not in unread]
    assert not missing, missing


@pytest.mark.row(84)
def test_other_schemes_are_not_answered(shipped, corporate, make_client):
    for server in (shipped, corporate):
        client = make_client("D", of=server).open()
        for uri in ("file:///etc/passwd", "https://example.com/", "use://other", "doc://x"):
            assert client.call("resources/read", {"uri": uri}).error.code == -32002


# ---- contract ----

@pytest.mark.row(116)
def test_what_is_going_to_go_says_when_and_what_comes_instead(leaking, make_client):
    for letter in "AE":
        client = make_client(letter, of=leaking).open()
        tool = next(one for one in client.request("tools/list")["tools"]
                    if one["name"] == "raise_code")
        assert tool["description"].startswith(
            "[DEPRECATED] To be removed after 2027-03-31; use leak_text instead. Fails with")
        prompt = client.request("prompts/list")["prompts"][0]
        assert prompt["description"].startswith("[DEPRECATED] To be removed after 2027-03-31. ")
        resource = client.request("resources/list")["resources"][0]
        assert resource["description"].startswith("[DEPRECATED] To be removed after 2027-03-31; ")


@pytest.mark.row(117)
def test_the_contract_is_written_down():
    changes = pathlib.Path(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changes and "Keep a Changelog" in changes
    for part in ("## Public contract", "## Configuration", "## Security", "### Profiles"):
        assert part in readme()


@pytest.mark.row(103)
def test_limits_are_documented():
    for limit in ("request body", "| request |", "JSON nesting", "connections", "sessions", "batch",
                  "list page"):
        assert limit in readme()


@pytest.mark.row(118)
def test_deviations_are_justified():
    part = readme().split("### The corporate standard")[1].split("\n## ")[0]
    assert "| row |" in part and "why" in part
