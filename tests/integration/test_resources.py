"""resources/list, templates/list, read, subscribe."""

import base64
import json

import pytest

pytestmark = pytest.mark.asan

UNKNOWN = "test://nonexistent-resource-for-conformance-testing"


def read(client, uri):
    return client.call("resources/read", {"uri": uri})


def test_the_list(client):
    resources = client.request("resources/list")["resources"]
    uris = [resource["uri"] for resource in resources]
    for uri in ("test://static-text", "test://static-binary", "test://watched-resource"):
        assert uri in uris
    assert len(set(uris)) == len(uris)
    assert read(client, uris[0]).result["contents"]


@pytest.mark.row(88)
def test_definitions_have_the_fields_of_the_revision(client):
    resource = next(r for r in client.request("resources/list")["resources"]
                    if r["uri"] == "test://static-text")
    assert resource["name"] == "static-text" and resource["mimeType"] == "text/plain"
    assert resource["size"] == 48
    assert resource["annotations"]["audience"] == ["user"]
    assert ("lastModified" in resource["annotations"]) == (client.rev in "CDE")
    assert ("title" in resource) == (client.rev in "CDE")
    assert ("_meta" in resource) == (client.rev in "CDE")
    assert ("icons" in resource) == (client.rev in "DE")


@pytest.mark.row(90)
def test_the_templates(client):
    templates = client.request("resources/templates/list")["resourceTemplates"]
    template = next(t for t in templates if t["name"] == "template")
    assert template["uriTemplate"] == "test://template/{id}/data"
    assert template["mimeType"] == "application/json"
    assert ("title" in template) == (client.rev in "CDE")


@pytest.mark.row(89)
def test_a_text(client):
    contents = read(client, "test://static-text").result["contents"]
    assert contents == [{"uri": "test://static-text", "mimeType": "text/plain",
                         "text": "This is the content of the static text resource."}]


@pytest.mark.row(89)
def test_a_binary(client):
    content = read(client, "test://static-binary").result["contents"][0]
    assert content["mimeType"] == "image/png"
    assert base64.b64decode(content["blob"]).startswith(b"\x89PNG")


def test_several_contents(client):
    contents = read(client, "test://pair").result["contents"]
    assert [content["uri"] for content in contents] == ["test://pair/first", "test://pair/second"]
    assert base64.b64decode(contents[1]["blob"]) == b"\x00\xfe"


def test_cache_hints(modern):
    pair = read(modern, "test://pair").result
    assert (pair["ttlMs"], pair["cacheScope"]) == (60_000, "public")
    binary = read(modern, "test://static-binary").result
    assert (binary["ttlMs"], binary["cacheScope"]) == (0, "private")


@pytest.mark.parametrize("identifier, decoded", [("123", "123"), ("a%20b", "a b"),
                                                 ("%C3%A9", "\u00e9"), ("x" * 500, "x" * 500),
                                                 ("a%2Fb", "a/b")])
def test_a_template(client, identifier, decoded):
    uri = f"test://template/{identifier}/data"
    content = read(client, uri).result["contents"][0]
    assert (content["uri"], content["mimeType"]) == (uri, "application/json")
    assert json.loads(content["text"]) == {"id": decoded, "templateTest": True,
                                           "data": f"Data for ID: {decoded}"}


@pytest.mark.parametrize("uri", [
    UNKNOWN, "test://template/missing/data", "test://template//data", "test://template/a/b/data",
    "test://template/123/data/", "test://static-text/", "TEST://static-text", "other://x",
    "http://127.0.0.1/", "file:///etc/passwd", "x", "test://template/%zz/data",
])
def test_a_resource_that_is_not_there(client, uri):
    reply = read(client, uri)
    assert reply.status == 200
    assert reply.error.code == (-32602 if client.rev == "E" else -32002)
    assert reply.error.data["uri"] == uri


@pytest.mark.parametrize("params", [{}, {"uri": 1}, {"uri": None}, {"uri": ["test://x"]}], ids=str)
def test_a_read_without_uri_is_refused(client, params):
    error = client.call("resources/read", params).error
    assert error.code in ((-32602, -32020) if client.rev == "E" else (-32602,))


def test_a_resource_that_cannot_be_read(client):
    reply = read(client, "test://broken")
    assert (reply.error.code, reply.status) == (-32603, 200)


@pytest.mark.row(90)
def test_subscribe_and_unsubscribe(legacy):
    for _ in range(2):
        assert legacy.request("resources/subscribe", {"uri": "test://watched-resource"}) == {}
    for _ in range(2):
        assert legacy.request("resources/unsubscribe", {"uri": "test://watched-resource"}) == {}


def test_subscribe_needs_a_uri(legacy):
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert legacy.call(method, {}).error.code == -32602
        assert legacy.call(method, {"uri": 5}).error.code == -32602


def test_subscriptions_of_a_session_are_limited(legacy):
    codes = set()
    for number in range(1100):
        reply = legacy.call("resources/subscribe", {"uri": f"test://template/{number}/data"})
        codes.add("error" in reply.message)
    assert codes == {False, True}
    assert legacy.request("ping") == {}
