"""2026-07-28 over HTTP: per-request metadata, mirrored headers, and the order of the checks."""

import base64

import pytest

from mcp_client import CAPABILITIES, CLIENT_INFO, META, compact
from wire_schema import VERSIONS

pytestmark = pytest.mark.asan

E = VERSIONS["E"]
REMOVED = ["initialize", "ping", "logging/setLevel", "resources/subscribe",
           "resources/unsubscribe", "tasks/result", "tasks/list"]


def discover(**changes):
    """A server/discover request whose `_meta` is changed; a value of ... removes the key."""
    meta = {META + "protocolVersion": E, META + "clientInfo": CLIENT_INFO,
            META + "clientCapabilities": CAPABILITIES}
    for key, value in changes.items():
        meta[META + key] = value
    meta = {key: value for key, value in meta.items() if value is not ...}
    return {"jsonrpc": "2.0", "id": 5, "method": "server/discover", "params": {"_meta": meta}}


def refuse(client, message, code, status=400, extra=()):
    client.asked[message.get("id")] = message["method"]
    reply = client.post(message, extra)
    assert (reply.error.code, reply.status) == (code, status), reply.message
    assert reply.message["id"] == message["id"]
    return reply.error


def encoded(text):
    return "=?base64?" + base64.b64encode(text.encode("utf-8")).decode() + "?="


# ---- discovery and metadata ----

@pytest.mark.row(4)
def test_discover(modern):
    result = modern.request("server/discover")
    assert result["supportedVersions"] == sorted(VERSIONS.values(), reverse=True)
    assert "serverInfo" not in result
    assert result["instructions"].startswith("Call any tool")
    capabilities = result["capabilities"]
    assert {"tools", "prompts", "resources", "completions", "logging"} <= set(capabilities)
    assert "tasks" not in capabilities


@pytest.mark.row(9)
def test_results_name_the_server(modern):
    info = modern.request("tools/list")["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (info["name"], info["version"]) == ("test", "1.2.3")


def test_replies_of_modern_requests_have_no_session(modern):
    reply = modern.call("tools/list", extra=[("Mcp-Session-Id", "whatever")])
    assert reply.status == 200
    assert reply.response["Mcp-Session-Id"] is None


@pytest.mark.parametrize("changes", [
    {"protocolVersion": ...}, {"protocolVersion": 1}, {"clientCapabilities": ...},
    {"clientCapabilities": []},
], ids=str)
def test_metadata_is_required(modern, changes):
    refuse(modern, discover(**changes), -32602)


def test_params_and_meta_are_required(modern):
    message = discover()
    message["params"] = {}
    refuse(modern, message, -32602)
    del message["params"]
    refuse(modern, message, -32602)


def test_client_info_is_not_required(modern):
    message = discover(clientInfo=...)
    modern.asked[message["id"]] = message["method"]
    assert modern.post(message).result["supportedVersions"]


def test_versions_that_differ_are_a_header_mismatch(modern):
    refuse(modern, discover(protocolVersion="v999.0.0"), -32020)
    refuse(modern, discover(), -32020, extra=[("MCP-Protocol-Version", VERSIONS["D"])])
    refuse(modern, discover(), -32020, extra=[("MCP-Protocol-Version", None)])


@pytest.mark.row(7)
def test_an_unsupported_version_is_told_the_supported_ones(modern):
    error = refuse(modern, discover(protocolVersion="v999.0.0"), -32022,
                   extra=[("MCP-Protocol-Version", "v999.0.0")])
    assert error.data["requested"] == "v999.0.0"
    assert error.data["supported"]
    assert set(error.data["supported"]) <= set(VERSIONS.values())


def test_a_legacy_version_in_modern_form_is_not_offered_again(modern):
    error = refuse(modern, discover(protocolVersion=VERSIONS["D"]), -32022,
                   extra=[("MCP-Protocol-Version", VERSIONS["D"])])
    assert error.data == {**error.data, "supported": [E], "requested": VERSIONS["D"]}


def test_a_live_session_outweighs_the_metadata(make_client):
    client = make_client("D").open()
    meta = {META + "protocolVersion": VERSIONS["D"], META + "clientCapabilities": {}}
    assert "resultType" not in client.call("tools/list", meta=meta).result


# ---- Mcp-Method and Mcp-Name ----

@pytest.mark.parametrize("value", [None, "tools/call", "SERVER/DISCOVER", "server/discove", ""])
def test_the_method_header_must_match(modern, value):
    refuse(modern, discover(), -32020, extra=[("Mcp-Method", value)])


def test_header_names_ignore_case_and_values_are_trimmed(modern):
    message = modern.compose("tools/call", {"name": "test_simple_text"})
    extra = [("Mcp-Method", None), ("Mcp-Name", None), ("mCP-mETHOD", "  tools/call \t"),
             ("MCP-NAME", " test_simple_text  ")]
    assert modern.post(message, extra).result["content"]


def test_a_repeated_header_is_refused(modern):
    for name, value in (("Mcp-Method", "tools/call"), ("Mcp-Name", "test_simple_text"),
                        ("MCP-Protocol-Version", E)):
        message = modern.compose("tools/call", {"name": "test_simple_text"})
        others = [pair for pair in modern.headers(message) if pair[0] != name]
        connection = modern.connect()
        connection.send_request("POST", "/mcp", others + [(name, value), (name, value)],
                                compact(message))
        reply = modern.read_reply(connection, message["id"])
        assert reply.status == 400


@pytest.mark.parametrize("method, params", [
    ("tools/call", {"name": "test_simple_text"}),
    ("prompts/get", {"name": "test_simple_prompt"}),
    ("resources/read", {"uri": "test://static-text"}),
])
def test_the_name_header_must_match(modern, method, params):
    assert modern.call(method, params).status == 200
    name = params.get("name") or params["uri"]
    for value in (None, "other", name.upper(), name + "x", ""):
        refuse(modern, modern.compose(method, params), -32020, extra=[("Mcp-Name", value)])
    reply = modern.call(method, params, extra=[("Mcp-Name", encoded(name))])
    assert reply.status == 200 and reply.result


def test_an_encoded_name_is_decoded_strictly(modern):
    name = "test_simple_text"
    good = encoded(name)
    bad = [good.replace("base64", "BASE64"), good[:-2], good[2:], good.replace("?=", "=?="),
           "=?base64?" + good[9:-2].rstrip("=")[:-1] + "?=", "=?base64?!!!!?="]
    for value in bad:
        refuse(modern, modern.compose("tools/call", {"name": name}), -32020,
               extra=[("Mcp-Name", value)])


def test_names_beyond_ascii_travel_encoded(modern):
    uri = "test://template/\u00e9/data"
    reply = modern.call("resources/read", {"uri": uri}, extra=[("Mcp-Name", encoded(uri))])
    assert reply.status == 200
    refuse(modern, modern.compose("resources/read", {"uri": uri}), -32020,
           extra=[("Mcp-Name", uri.encode("utf-8").decode("latin-1"))])


# ---- Mcp-Param-* ----

def params_call(modern, arguments, *headers):
    message = modern.compose("tools/call", {"name": "test_x_mcp_header", "arguments": arguments})
    return modern.post(message, headers)


@pytest.mark.parametrize("arguments, headers, text", [
    ({}, [], "region=- level=-"),
    ({"region": "Hello"}, [("Mcp-Param-Region", "Hello")], "region=Hello level=-"),
    ({"region": "Hello"}, [("mcp-param-REGION", " Hello ")], "region=Hello level=-"),
    ({"region": "Hello"}, [("Mcp-Param-Region", "=?base64?SGVsbG8=?=")], "region=Hello level=-"),
    ({"region": "SGVsbG8="}, [("Mcp-Param-Region", "SGVsbG8=")], "region=SGVsbG8= level=-"),
    ({"region": "=?base64?SGVsbG8="}, [("Mcp-Param-Region", "=?base64?SGVsbG8=")],
     "region==?base64?SGVsbG8= level=-"),
    ({"region": ""}, [("Mcp-Param-Region", "")], "region= level=-"),
    ({"region": " x "}, [("Mcp-Param-Region", encoded(" x "))], "region= x  level=-"),
    ({"region": "\u00e9"}, [("Mcp-Param-Region", encoded("\u00e9"))], "region=\u00e9 level=-"),
    ({"level": 42}, [("Mcp-Param-Level", "42")], "region=- level=42"),
    ({"level": 42}, [("Mcp-Param-Level", "42.0")], "region=- level=42"),
    ({"level": -7}, [("Mcp-Param-Level", "-7")], "region=- level=-7"),
    ({}, [("Mcp-Param-Other", "x")], "region=- level=-"),
])
def test_mirrored_arguments_that_match(modern, arguments, headers, text):
    assert params_call(modern, arguments, *headers).result["content"][0]["text"] == text


@pytest.mark.parametrize("arguments, headers", [
    ({"region": "Hello"}, []),
    ({"region": "Hello"}, [("Mcp-Param-Region", "hello")]),
    ({"region": "Hello"}, [("Mcp-Param-Region", "=?base64?SGVsbG8?=")]),
    ({"region": "Hello"}, [("Mcp-Param-Region", "=?base64?SGVs!!!bG8=?=")]),
    ({"region": "Hello"}, [("Mcp-Param-Region", "Hello"), ("Mcp-Param-Region", "Hello")]),
    ({"region": " x "}, [("Mcp-Param-Region", "x")]),
    ({}, [("Mcp-Param-Region", "Hello")]),
    ({"level": 42}, [("Mcp-Param-Level", "43")]),
    ({"level": 42}, [("Mcp-Param-Level", "forty-two")]),
    ({"level": 42}, [("Mcp-Param-Level", "")]),
    ({"level": 42}, []),
    ({"level": 42, "region": "x"}, [("Mcp-Param-Level", "42")]),
])
def test_mirrored_arguments_that_do_not_match(modern, arguments, headers):
    reply = params_call(modern, arguments, *headers)
    assert (reply.error.code, reply.status) == (-32020, 400)


def test_an_unknown_tool_is_told_so_before_its_param_headers(modern):
    reply = modern.tool("no_such_tool", {}, extra=[("Mcp-Param-Region", "x")])
    assert (reply.error.code, reply.status) == (-32602, 200)


def test_legacy_revisions_ignore_mirrored_headers(make_client):
    client = make_client("D").open()
    reply = client.tool("test_x_mcp_header", {"region": "a"},
                        extra=[("Mcp-Param-Region", "b"), ("Mcp-Name", "c")])
    assert reply.result["content"][0]["text"] == "region=a level=-"


# ---- order of the checks ----

def test_metadata_is_checked_first(modern):
    refuse(modern, discover(clientCapabilities=...), -32602,
           extra=[("MCP-Protocol-Version", "v1"), ("Mcp-Method", "wrong")])


def test_versions_are_checked_before_the_method(modern):
    refuse(modern, discover(protocolVersion="v1"), -32022,
           extra=[("MCP-Protocol-Version", "v1"), ("Mcp-Method", "wrong")])


def test_the_method_header_is_checked_before_the_method(modern):
    refuse(modern, modern.compose("unknown/method"), -32020, extra=[("Mcp-Method", "wrong")])


def test_the_method_is_checked_before_the_name(modern):
    message = modern.compose("unknown/method", {"name": "x"})
    refuse(modern, message, -32601, 404, extra=[("Mcp-Name", "y")])


def test_the_name_is_checked_before_the_params(modern):
    message = modern.compose("tools/call", {"name": "x", "arguments": []})
    refuse(modern, message, -32020, extra=[("Mcp-Name", "y")])
    refuse(modern, message, -32602, 200)


def test_mirrored_arguments_are_checked_before_the_capability(modern):
    reply = modern.tool("test_missing_capability", {}, capabilities={})
    assert (reply.error.code, reply.status) == (-32021, 400)
    assert reply.error.data["requiredCapabilities"] == {"sampling": {}}
    assert modern.tool_text("test_missing_capability", {}) == "The client can sample"


# ---- what is gone ----

@pytest.mark.row(62)
@pytest.mark.parametrize("method", REMOVED)
def test_removed_methods_are_not_found(modern, method):
    reply = modern.call(method, {"level": "info", "uri": "test://static-text", "taskId": "x"})
    assert (reply.error.code, reply.status) == (-32601, 404)


@pytest.mark.row(21, 22)
def test_get_and_delete_are_not_allowed(modern, connect):
    for method in ("GET", "DELETE"):
        response = connect().request(method, "/mcp", [
            ("MCP-Protocol-Version", E), ("Accept", "text/event-stream")])
        assert response.status == 405
        assert "POST" in response["Allow"]


@pytest.mark.row(26)
def test_responses_of_the_client_are_refused(modern):
    reply = modern.post(compact({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}}),
                        [("MCP-Protocol-Version", E)])
    assert reply.status == 400


def test_notifications_are_accepted(modern):
    assert modern.notify("notifications/initialized").status == 202
    assert modern.notify("notifications/initialized",
                         extra=[("Mcp-Method", "notifications/initialized")]).status == 202


def test_a_notification_with_a_wrong_method_header_is_refused(modern):
    reply = modern.notify("notifications/initialized", extra=[("Mcp-Method", "wrong")])
    assert reply.status == 400


def test_ids_may_be_reused_at_once_by_anyone(modern):
    begun = [modern.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 100}},
                          identifier=1) for _ in range(3)]
    for connection, identifier in begun:
        assert modern.read_reply(connection, identifier).result


@pytest.mark.row(105)
def test_trace_context_reaches_handlers(modern):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert parent in modern.tool_text("test_whoami", meta={"traceparent": parent})
