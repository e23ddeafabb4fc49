"""The examples of tools/examples, as they are."""

import json
import subprocess
import sys

import pytest

from server_process import ROOT
from test_http_tools import Upstream, reply

EXAMPLES = ROOT / "tools" / "examples"


def called(client, name, arguments):
    result = client.request("tools/call", {"name": name, "arguments": arguments})
    assert not result.get("isError"), result
    return result


@pytest.fixture
def open_client(start_pillion, make_client, tmp_path):
    def run(name, rev="E", **more):
        server = start_pillion("--config", EXAMPLES / name, "--root", tmp_path, **more)
        return make_client(rev, server).open()
    return run


def test_commands(open_client, rev, tmp_path):
    client = open_client("commands.yaml", rev)
    assert called(client, "disk_usage", {"path": str(tmp_path)})["content"][0]["text"].endswith(
        f"\t{tmp_path}\n")
    failed = client.request("tools/call", {"name": "disk_usage", "arguments": {"path": "/none"}})
    assert failed["isError"] and "no such directory" in failed["content"][0]["text"]
    result = called(client, "count_words", {"text": "one two\nthree"})
    counted = {"lines": 1, "words": 3, "bytes": 13}
    assert json.loads(result["content"][0]["text"]) == counted
    if rev in "CDE":
        assert result["structuredContent"] == counted


def test_files(open_client):
    client = open_client("files.yaml")
    prompt = client.request("prompts/get", {
        "name": "review", "arguments": {"language": "C++", "focus": "limits"}})
    assert [one["role"] for one in prompt["messages"]] == ["user", "assistant"]
    assert "written in C++. Look at limits" in prompt["messages"][0]["content"]["text"]
    completed = client.request("completion/complete", {
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "language", "value": "C"}})
    assert completed["completion"]["values"] == ["C++"]
    uris = [one["uri"] for one in client.request("resources/list")["resources"]]
    assert "pillion://notes/seats.md" in uris
    read = client.request("resources/read", {"uri": "pillion://notes/seats.md"})
    assert "second rider" in read["contents"][0]["text"]


@pytest.fixture
def orders(tmp_path):
    """The service that comes with the examples; its socket."""
    place = str(tmp_path / "orders.sock")
    with subprocess.Popen([sys.executable, EXAMPLES / "orders.py", place],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == f"orders at {place}\n".encode()
        yield place
        process.kill()


@pytest.mark.parametrize("name, body", [("service.yaml", {"note": "soon"}),
                                        ("openapi.yaml", {"body": {"note": "soon"}})])
def test_the_service_of_the_examples(open_client, orders, name, body):
    client = open_client(name, env={"ORDERS_SOCKET": orders})
    given = called(client, "get_order", {"number": 7, "fields": "number,item"})
    assert given["structuredContent"] == {"number": 7, "item": "saddle"}
    noted = called(client, "add_note", {"number": 7, **body})
    assert noted["structuredContent"]["notes"] == ["soon"]
    missing = client.request("tools/call", {"name": "get_order", "arguments": {"number": 99}})
    assert missing["isError"] and "no such order" in missing["content"][0]["text"]
    if name == "openapi.yaml":
        sent = called(client, "list_orders", {"state": "sent"})["structuredContent"]["orders"]
        assert [one["number"] for one in sent] == [8]


def test_a_service(open_client, tmp_path):
    service = Upstream(tmp_path)
    service.script = lambda _: reply(200, b'{"number":7}')
    client = open_client("service.yaml", env={"ORDERS_SOCKET": service.path})
    assert called(client, "get_order", {"number": 7, "fields": "a,b"})["structuredContent"] == {
        "number": 7}
    called(client, "add_note", {"number": 7, "note": "soon"})
    assert [one["line"] for one in service.requests] == [
        "GET /v1/orders/7?fields=a%2Cb HTTP/1.1", "POST /v1/orders/7/notes HTTP/1.1"]
    assert json.loads(service.requests[1]["body"]) == {"note": "soon"}
    service.stop()
