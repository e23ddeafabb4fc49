"""tools/list and tools/call: definitions, arguments, results, and what each revision gets."""

import base64
import json

import pytest

from wire_schema import LEGACY

pytestmark = pytest.mark.asan

CONTACT_SCHEMA_KEYS = {"$schema", "type", "$defs", "properties", "allOf", "if", "then", "else",
                       "additionalProperties"}
SECRET = "hunter2"


def tools_of(client):
    return {tool["name"]: tool for tool in client.request("tools/list")["tools"]}


# ---- definitions ----

def test_the_first_tool_needs_no_arguments(client):
    first = client.request("tools/list")["tools"][0]["name"]
    assert client.tool(first, {}).result.get("isError") in (None, False)


def test_definitions_are_complete_and_in_stable_order(client):
    tools = client.request("tools/list")["tools"]
    for tool in tools:
        assert tool["name"] and tool["description"]
        assert tool["inputSchema"]["type"] == "object"
    for _ in range(3):
        assert client.request("tools/list")["tools"] == tools


@pytest.mark.row(72)
def test_definitions_have_the_fields_of_the_revision(client):
    tool = tools_of(client)["test_every_kind"]
    allowed = {"name", "description", "inputSchema"}
    if client.rev in "BCDE":
        allowed |= {"annotations"}
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is True and hints["idempotentHint"] is True
        assert hints["destructiveHint"] is False and hints["openWorldHint"] is False
    if client.rev in "CDE":
        allowed |= {"title", "_meta"}
        assert tool["title"] == "Every kind"
        assert tool["_meta"] == {"com.example/group": "content"}
    if client.rev in "DE":
        allowed |= {"icons"}
        assert tool["icons"][0]["src"] == "https://example.com/tool.png"
    if client.rev == "D":
        allowed |= {"execution"}
    assert set(tool) <= allowed


@pytest.mark.row(72)
def test_output_schemas_appear_where_they_are_known(client):
    tools = tools_of(client)
    assert ("outputSchema" in tools["test_structured"]) == (client.rev in "CDE")
    # Before 2026-07-28 an output schema has to describe an object.
    assert ("outputSchema" in tools["test_typed_array"]) == (client.rev == "E")


def test_an_input_schema_arrives_keyword_by_keyword(client):
    shape = tools_of(client)["json_schema_2020_12_tool"]["inputSchema"]
    assert set(shape) == CONTACT_SCHEMA_KEYS
    assert shape["$defs"]["address"]["$anchor"] == "addressDef"
    assert shape["properties"]["address"] == {"$ref": "#/$defs/address"}
    assert shape["allOf"] == [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}]
    assert shape["else"] == {"required": ["email"]}
    assert shape["additionalProperties"] is False


def test_mirrored_arguments_are_declared(modern):
    properties = tools_of(modern)["test_x_mcp_header"]["inputSchema"]["properties"]
    assert properties["region"]["x-mcp-header"] == "Region"
    assert properties["level"]["x-mcp-header"] == "Level"


# ---- calls ----

def test_a_call_without_arguments(client):
    result = client.tool("test_simple_text").result
    assert result["content"] == [{"type": "text",
                                  "text": "This is a simple text response for testing."}]
    assert result["isError"] is False


@pytest.mark.parametrize("text", ["", "x", "\"\\\n\r\t\b\f\u0000\u001f", "\u00e9\u20ac\U0001f600",
                                  "\u2028\u2029", "</script>", "x" * 100_000])
def test_text_comes_back_as_it_was(client, text):
    assert client.tool_text("echo", {"text": text}) == text


def test_an_image(client):
    item = client.tool("test_image_content", {}).result["content"][0]
    assert (item["type"], item["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(item["data"]).startswith(b"\x89PNG\r\n\x1a\n")


def test_audio_or_text_where_audio_is_unknown(client):
    item = client.tool("test_audio_content", {}).result["content"][0]
    if client.rev == "A":
        assert item["type"] == "text"
    else:
        assert (item["type"], item["mimeType"]) == ("audio", "audio/wav")
        assert base64.b64decode(item["data"]).startswith(b"RIFF")


def test_a_resource_link_or_text_where_links_are_unknown(client):
    item = client.tool("test_resource_link", {}).result["content"][0]
    if client.rev in "AB":
        assert item["type"] == "text" and "test://static-text" in item["text"]
    else:
        assert item["type"] == "resource_link"
        assert (item["uri"], item["name"]) == ("test://static-text", "static-text")


def test_an_embedded_resource(client):
    item = client.tool("test_embedded_resource", {}).result["content"][0]
    assert item["resource"] == {"uri": "test://embedded-resource", "mimeType": "text/plain",
                                "text": "This is an embedded resource content."}


def test_several_kinds_of_content_keep_their_order(client):
    content = client.tool("test_multiple_content_types", {}).result["content"]
    assert [item["type"] for item in content] == ["text", "image", "resource"]
    assert json.loads(content[2]["resource"]["text"]) == {"test": "data", "value": 123}


def test_every_kind_with_annotations_and_meta(client):
    result = client.tool("test_every_kind", {}).result
    content = result["content"]
    assert len(content) == 6
    notes = content[0]["annotations"]
    assert notes["audience"] == ["user"] and notes["priority"] == 0.5
    assert ("lastModified" in notes) == (client.rev in "CDE")
    assert base64.b64decode(content[4]["resource"]["blob"]) == b"\x00\x01\x02\xff"
    assert result["_meta"]["com.example/trace"] == {"step": 1}


@pytest.mark.row(78)
def test_a_failure_of_the_tool_is_a_result(client):
    reply = client.tool("test_error_handling", {})
    assert reply.status == 200
    assert reply.result["isError"] is True
    assert reply.result["content"][0]["text"] == (
        "This tool intentionally returns an error for testing")


def test_a_protocol_error_of_the_tool_is_an_error(client):
    reply = client.tool("test_rpc_error", {})
    assert reply.status == 200
    assert (reply.error.code, reply.error.message) == (1234, "A fault of the protocol")
    assert reply.error.data["why"] == "test"


def test_a_missing_capability_by_revision(make_client):
    for letter in LEGACY:
        client = make_client(letter, capabilities={}).open()
        result = client.tool("test_missing_capability", {}).result
        assert result["isError"] is True and "sampling" in result["content"][0]["text"]


# ---- arguments ----

@pytest.mark.row(77)
def test_an_unknown_tool(client):
    names = ["no_such_tool", "TEST_SIMPLE_TEXT", "x" * 3000]
    if client.rev != "E":  # there a header mirrors the name, which test_modern is about
        names += ["", "test_simple_text ", "x" * 100_000, "\u00e9"]
    for name in names:
        reply = client.tool(name, {})
        assert (reply.error.code, reply.status) == (-32602, 200)
        assert len(reply.error.message) < 300


@pytest.mark.row(77)
@pytest.mark.parametrize("params", [
    {}, {"name": 1}, {"name": None}, {"name": ["x"]},
    {"name": "test_simple_text", "arguments": []},
    {"name": "test_simple_text", "arguments": "{}"},
    {"name": "test_simple_text", "arguments": 1},
], ids=str)
def test_malformed_params_are_an_error(client, params):
    reply = client.call("tools/call", params)
    if client.rev == "E" and not isinstance(params.get("name"), str):
        assert reply.error.code in (-32602, -32020)
    else:
        assert (reply.error.code, reply.status) == (-32602, 200)


@pytest.mark.row(80)
@pytest.mark.parametrize("arguments", [
    {}, {"name": "x"}, {"name": "", "count": 1}, {"name": "123456789", "count": 1},
    {"name": "x", "count": 0}, {"name": "x", "count": 11}, {"name": "x", "count": 1.5},
    {"name": "x", "count": "1"}, {"name": 1, "count": 1}, {"name": "x", "count": 1, "other": 1},
    {"name": "x", "count": 1, "color": "blue"}, {"name": "x", "count": 1, "tags": [1]},
    {"name": "x", "count": 1, "tags": ["a", "b", "c", "d"]}, {"name": "x", "count": None},
], ids=str)
def test_arguments_against_the_schema(client, arguments):
    reply = client.tool("test_validate", arguments)
    if client.rev in "ABC":
        assert (reply.error.code, reply.status) == (-32602, 200)
    else:
        assert reply.result["isError"] is True
        assert reply.result["content"][0]["text"]


def test_arguments_that_fit_the_schema(client):
    for arguments in ({"name": "x", "count": 1}, {"name": "\u00e9" * 8, "count": 10},
                      {"name": "x", "count": 1.0, "color": "red", "tags": ["a", "b", "c"]}):
        assert client.tool_text("test_validate", arguments) == f"valid: {arguments['name']}"


def test_a_demanding_schema_is_enforced(client):
    call = client.tool
    assert call("json_schema_2020_12_tool", {"contactMethod": "phone", "phone": "1"}).result[
        "isError"] is False
    bad = [{}, {"contactMethod": "phone", "email": "e"}, {"contactMethod": "fax", "phone": "1"},
           {"email": "e", "address": {"city": 1}}, {"email": "e", "unknown": 1}]
    for arguments in bad:
        reply = call("json_schema_2020_12_tool", arguments)
        assert "error" in reply.message or reply.result["isError"] is True


def test_extra_params_do_not_matter(client):
    reply = client.call("tools/call", {"name": "test_simple_text", "arguments": {},
                                       "task": None, "unknown": {"a": 1}})
    assert reply.result["content"]


# ---- structured results ----

@pytest.mark.row(81)
def test_structured_content_and_its_text_twin(client):
    result = client.tool("test_structured", {"a": 2, "b": 40}).result
    assert json.loads(result["content"][0]["text"]) == {"sum": 42}
    if client.rev in "CDE":
        assert result["structuredContent"] == {"sum": 42}
    else:
        assert "structuredContent" not in result


def test_a_structured_array(client):
    result = client.tool("test_typed_array", {}).result
    assert json.loads(result["content"][0]["text"]) == [1, 2, 3]
    if client.rev == "E":
        assert result["structuredContent"] == [1, 2, 3]
    else:
        assert "structuredContent" not in result


@pytest.mark.row(81)
@pytest.mark.parametrize("tool", ["test_bad_output", "test_no_output"])
def test_a_result_that_breaks_its_schema_is_an_internal_error(client, tool):
    reply = client.tool(tool, {})
    assert (reply.error.code, reply.status) == (-32603, 200)
    assert "private text" not in json.dumps(reply.message)


def test_a_failure_needs_no_structured_content(client):
    result = client.tool("test_failed_output", {}).result
    assert result["isError"] is True and "structuredContent" not in result


# ---- exceptions and limits ----

@pytest.mark.row(79)
@pytest.mark.parametrize("tool", ["test_throw", "test_throw_later", "test_blocking_throw"])
def test_what_a_handler_throws_stays_inside(client, tool):
    reply = client.tool(tool, {})
    assert (reply.error.code, reply.status) == (-32603, 200)
    assert SECRET not in json.dumps(reply.message)
    assert client.tool_text("echo", {"text": "alive"}) == "alive"


def test_work_on_a_helper_thread(client):
    begun = [client.begin("tools/call", {"name": "test_blocking", "arguments": {"ms": 20}})
             for _ in range(8)]
    for connection, identifier in begun:
        reply = client.read_reply(connection, identifier)
        assert reply.result["content"][0]["text"] == "worked"


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65_536, 1_000_000, 3_000_000])
def test_results_of_all_sizes(modern, size):
    assert modern.tool_text("test_big", {"bytes": size}) == "x" * size


@pytest.mark.row(92, 98)
def test_a_result_beyond_the_limit_is_cut_and_says_so(modern):
    limit = 10 * 1024 * 1024
    reply = modern.tool("test_big", {"bytes": 2 * limit})
    text = json.dumps(reply.result, ensure_ascii=False)
    assert len(text) <= limit + 4096
    assert "truncated" in text
