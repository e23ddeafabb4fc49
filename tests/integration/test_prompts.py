"""prompts/list and prompts/get."""

import base64

import pytest

pytestmark = pytest.mark.asan


def get(client, name, arguments=None):
    params = {"name": name}
    if arguments is not None:
        params["arguments"] = arguments
    return client.call("prompts/get", params)


def test_the_list(client):
    prompts = {p["name"]: p for p in client.request("prompts/list")["prompts"]}
    prompt = prompts["test_prompt_with_arguments"]
    assert [(a["name"], a["required"]) for a in prompt["arguments"]] == [
        ("arg1", True), ("arg2", True)]
    assert all(a["description"] for a in prompt["arguments"])


@pytest.mark.row(83)
def test_definitions_have_the_fields_of_the_revision(client):
    prompt = next(p for p in client.request("prompts/list")["prompts"]
                  if p["name"] == "test_simple_prompt")
    assert prompt["description"]
    assert ("title" in prompt) == (client.rev in "CDE")
    assert ("_meta" in prompt) == (client.rev in "CDE")
    assert ("icons" in prompt) == (client.rev in "DE")


@pytest.mark.parametrize("arguments", [None, {}])
def test_a_simple_prompt(client, arguments):
    result = get(client, "test_simple_prompt", arguments).result
    assert result["messages"] == [{"role": "user", "content": {
        "type": "text", "text": "This is a simple prompt for testing."}}]
    assert result["description"] == "A simple prompt"


def test_arguments_are_filled_in(client):
    result = get(client, "test_prompt_with_arguments",
                 {"arg1": "a'\"\\", "arg2": "\u00e9\n"}).result
    assert result["messages"][0]["content"]["text"] == (
        "Prompt with arguments: arg1='a'\"\\', arg2='\u00e9\n'")


def test_an_embedded_resource(client):
    messages = get(client, "test_prompt_with_embedded_resource",
                   {"resourceUri": "test://example-resource"}).result["messages"]
    assert messages[0]["content"]["resource"] == {
        "uri": "test://example-resource", "mimeType": "text/plain",
        "text": "Embedded resource content for testing."}
    assert messages[1]["content"]["text"] == "Please process the embedded resource above."


def test_an_image(client):
    messages = get(client, "test_prompt_with_image").result["messages"]
    assert messages[0]["content"]["mimeType"] == "image/png"
    assert base64.b64decode(messages[0]["content"]["data"]).startswith(b"\x89PNG")


def test_roles_annotations_and_audio(client):
    messages = get(client, "test_prompt_with_roles").result["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert set(messages[0]["content"]["annotations"]["audience"]) == {"user", "assistant"}
    assert messages[2]["content"]["type"] == ("text" if client.rev == "A" else "audio")


@pytest.mark.parametrize("name, arguments", [
    ("no_such_prompt", {}), ("TEST_SIMPLE_PROMPT", {}),
    ("test_prompt_with_arguments", None), ("test_prompt_with_arguments", {"arg1": "x"}),
    ("test_prompt_with_arguments", {"arg1": "x", "arg2": 2}),
    ("test_prompt_with_arguments", {"arg1": "x", "arg2": None}),
    ("test_prompt_with_arguments", []), ("test_simple_prompt", "x"),
])
def test_what_cannot_be_given_is_refused(client, name, arguments):
    reply = get(client, name, arguments)
    assert (reply.error.code, reply.status) == (-32602, 200)


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": None}], ids=str)
def test_a_prompt_needs_a_name(client, params):
    error = client.call("prompts/get", params).error
    assert error.code in ((-32602, -32020) if client.rev == "E" else (-32602,))
