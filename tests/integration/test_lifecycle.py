"""The handshake of the legacy revisions and what server and client know of each other after it."""

import json

import pytest

from mcp_client import CLIENT_INFO, RpcError
from wire_schema import LATEST_LEGACY, LEGACY, VERSIONS

pytestmark = [pytest.mark.asan, pytest.mark.user]


def hello(version, **changes):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO, **changes}
    return {key: value for key, value in params.items() if value is not ...}


@pytest.mark.row(3, 4)
@pytest.mark.parametrize("letter", LEGACY)
def test_a_known_version_is_echoed(make_client, letter):
    assert make_client(letter).initialize()["protocolVersion"] == VERSIONS[letter]


@pytest.mark.row(6)
@pytest.mark.parametrize("asked", ["2026-07-28", "2023-01-01", "2099-12-31", "1.0", "", "2025-11-2",
                                   "2025-11-25 ", "banana", "\u00e9" * 300])
def test_any_other_version_is_answered_with_the_latest_legacy_one(make_client, asked):
    assert make_client("D").initialize(asked)["protocolVersion"] == LATEST_LEGACY


@pytest.mark.parametrize("changes", [
    {"protocolVersion": ...}, {"protocolVersion": 1}, {"protocolVersion": None},
    {"capabilities": ...}, {"capabilities": []}, {"clientInfo": ...}, {"clientInfo": "x"},
], ids=str)
def test_a_malformed_initialize_is_refused(make_client, changes):
    reply = make_client("D").call("initialize", hello(LATEST_LEGACY, **changes))
    assert reply.error.code == -32602
    assert reply.response["Mcp-Session-Id"] is None


def test_what_a_client_says_of_itself_is_bounded(make_client):
    """It is kept as long as the session: ten thousand of a megabyte each were allowed."""
    large = {"experimental": {"x": {"text": "x" * 65536}}}
    for changes in ({"capabilities": large},
                    {"clientInfo": {"name": "x" * 65536, "version": "1"}}):
        reply = make_client("D").call("initialize", hello(LATEST_LEGACY, **changes))
        assert reply.error.code == -32602
        assert reply.response["Mcp-Session-Id"] is None
    large["experimental"]["x"]["text"] = "x" * 60_000
    reply = make_client("D").call("initialize", hello(LATEST_LEGACY, capabilities=large))
    assert reply.response["Mcp-Session-Id"]


@pytest.mark.row(6)
def test_a_missing_version_is_told_what_is_supported(make_client):
    error = make_client("D").call("initialize", hello(...)).error
    assert set(VERSIONS[letter] for letter in LEGACY) <= set(error.data["supported"])


def test_initialize_without_params_is_refused(make_client):
    assert make_client("D").call("initialize").error.code == -32602


def test_a_second_initialize_in_a_session_is_refused_or_opens_another(legacy):
    before = legacy.session
    reply = legacy.call("initialize", hello(VERSIONS[legacy.rev]))
    if "error" in reply.message:
        assert reply.error.code == -32600
    else:
        assert reply.response["Mcp-Session-Id"] not in (None, before)
    assert legacy.request("ping") == {}


def test_a_second_initialize_on_a_pipe_is_refused(stdio, legacy_rev):
    pipe = stdio(rev=legacy_rev).open()
    with pytest.raises(RpcError) as refusal:
        pipe.initialize()
    assert refusal.value.code == -32600
    assert pipe.request("ping") == {}


@pytest.mark.row(56, 57)
def test_requests_before_initialize_are_refused_on_a_pipe(stdio, legacy_rev):
    pipe = stdio(rev=legacy_rev)
    assert pipe.request("ping") == {}
    for method in ("tools/list", "resources/list", "unknown/method"):
        with pytest.raises(RpcError) as refusal:
            pipe.request(method)
        assert refusal.value.code == -32600
    pipe.initialize()
    assert pipe.request("tools/list")["tools"]


def test_requests_before_the_initialized_notification_are_served(make_client, legacy_rev):
    client = make_client(legacy_rev)
    client.initialize()
    assert client.request("tools/list")["tools"]


def test_initialize_with_the_version_header_is_served(make_client, legacy_rev):
    client = make_client(legacy_rev)
    version = VERSIONS[legacy_rev]
    reply = client.call("initialize", hello(version),
                        extra=[("MCP-Protocol-Version", version)])
    assert reply.result["protocolVersion"] == version


def test_server_info_has_the_fields_of_the_revision(make_client, legacy_rev):
    info = make_client(legacy_rev).initialize()["serverInfo"]
    assert (info["name"], info["version"]) == ("test", "1.2.3")
    expected = {"name", "version"}
    if legacy_rev in "CD":
        expected |= {"title"}
    if legacy_rev == "D":
        expected |= {"description", "icons", "websiteUrl"}
        assert info["icons"] == [{"src": "https://example.com/icon.png", "mimeType": "image/png",
                                  "sizes": ["48x48"], "theme": "light"}]
        assert info["websiteUrl"] == "https://example.com/fixture"
    assert set(info) == expected


def test_instructions_are_given(make_client, legacy_rev):
    assert make_client(legacy_rev).initialize()["instructions"].startswith("Call any tool")


@pytest.mark.row(58)
def test_capabilities_are_those_of_the_revision(make_client, legacy_rev):
    capabilities = make_client(legacy_rev).initialize()["capabilities"]
    assert capabilities["tools"]["listChanged"] is True
    assert capabilities["prompts"]["listChanged"] is True
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["logging"] == {}
    assert ("completions" in capabilities) == (legacy_rev != "A")
    assert "extensions" not in capabilities


def test_handlers_know_the_client(make_client, legacy_rev):
    client = make_client(legacy_rev, capabilities={"sampling": {}}).open()
    known = json.loads(client.tool_text("test_whoami"))
    assert known["protocolVersion"] == VERSIONS[legacy_rev]
    assert known["clientName"] == CLIENT_INFO["name"]
    assert known["clientVersion"] == CLIENT_INFO["version"]
    assert known["sampling"] is True
    assert known["method"] == "tools/call"
    assert known["target"] == "test_whoami"


@pytest.mark.row(60)
def test_ping_is_answered_with_an_empty_object(legacy):
    assert legacy.request("ping") == {}


@pytest.mark.row(62)
def test_unknown_methods_are_refused(client):
    for method in ("unknown/method", "tools/unknown", "tools", "Tools/List", "rpc.discover"):
        reply = client.call(method)
        assert reply.error.code == -32601
        assert reply.status == (404 if client.rev == "E" else 200)


@pytest.mark.row(62)
def test_unknown_notifications_are_ignored(client):
    for method in ("notifications/unknown", "unknown", "notifications/roots/list_changed"):
        assert client.notify(method).status == 202


@pytest.mark.row(3, 18)
def test_one_endpoint_serves_all_revisions_at_once(make_client):
    clients = [make_client(letter).open() for letter in VERSIONS]
    for client in clients + clients:
        assert client.tool_text("echo", {"text": client.rev}) == client.rev
