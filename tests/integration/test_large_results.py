"""Results beyond the limit: cut, flagged, and read whole by their link, in every revision and over
every transport; prompts and resources are refused."""

import base64
import json
import re
import signal
import socket

import pytest

from mcp_client import RpcError
from server_process import Server, fixture_bin

pytestmark = pytest.mark.asan

LIMIT = 64 * 1024
BIG = {"name": "test_big", "arguments": {"bytes": 3 * LIMIT}}
LIMITS = "limits: {result: 64KiB, kept_results: 4MiB}\n"


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "fixture.yaml"
    path.write_text(LIMITS)
    return path


@pytest.fixture(scope="module")
def small(io, config):
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, "--config", config)
    yield running
    running.stop()


def link_of(result, rev):
    """Where the whole is; checks what a result that was cut must say."""
    assert result["_meta"]["truncated"] is True
    text = next(block["text"] for block in result["content"]
                if block["type"] == "text" and block["text"].startswith("[truncated"))
    uri = re.search(r"[a-z][a-z0-9+.-]*://results/[A-Za-z0-9_-]{27}", text)[0]
    links = [block["uri"] for block in result["content"] if block["type"] == "resource_link"]
    assert links == ([uri] if rev >= "C" else [])
    return uri


def whole(read, uri):
    """All parts behind a link."""
    out = b""
    while uri is not None:
        result = read(uri)
        assert len(json.dumps(result)) <= LIMIT
        for one in result["contents"]:
            out += (base64.b64decode(one["blob"]) if "blob" in one
                    else one["text"].encode())
        uri = result["_meta"].get("pillion/next")
    return out


@pytest.mark.row(92, 98)
def test_over_http(small, make_client, rev):
    client = make_client(rev, of=small).open()
    reply = client.tool(BIG["name"], BIG["arguments"])
    assert reply.status == 200 and not reply.result.get("isError")
    uri = link_of(reply.result, rev)
    assert whole(lambda at: client.request("resources/read", {"uri": at}), uri) == \
        b"x" * BIG["arguments"]["bytes"]
    # Another session, on another connection, knows nothing of it.
    if rev != "E":
        other = make_client(rev, of=small).open()
        with pytest.raises(RpcError) as refused:
            other.request("resources/read", {"uri": uri})
        assert refused.value.code == -32002


@pytest.mark.row(98)
def test_over_a_pipe(stdio, config, rev):
    pipe = stdio("--config", config, rev=rev)
    if rev != "E":
        pipe.open()
    uri = link_of(pipe.request("tools/call", BIG, rev=rev), rev)
    assert whole(lambda at: pipe.request("resources/read", {"uri": at}, rev=rev), uri) == \
        b"x" * BIG["arguments"]["bytes"]
    assert pipe.close() == []


def test_over_an_old_stream(small, make_sse):
    client = make_sse("A", of=small).open()
    uri = link_of(client.request("tools/call", BIG), "A")
    assert len(whole(lambda at: client.request("resources/read", {"uri": at}), uri)) == 3 * LIMIT


def test_a_small_answer_behind_one_beyond_the_cap(io, tmp_path, make_sse):
    """What came behind a large event on its stream was taken for too much: neither arrived."""
    path = tmp_path / "fixture.yaml"
    path.write_text("limits: {output_hard: 128KiB}\n")
    server = Server(fixture_bin(), "--io", io, "--port", 0, "--config", path)
    client = make_sse("A", of=server).open()
    # Else the system takes all of it.
    client.stream.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    size = 9_000_000
    for name, arguments in (("test_big", {"bytes": size}), ("echo", {"text": "small"})):
        client.send(client.compose("tools/call", {"name": name, "arguments": arguments}))
    texts = [client.recv()["result"]["content"][0]["text"] for _ in range(2)]
    assert [len(text) for text in texts] == [size, 5]
    server.stop()


def test_members_of_a_batch(small, make_client):
    client = make_client("B", of=small).open()
    members = [client.compose("tools/call", BIG) for _ in range(2)]
    reply = client.connection.request("POST", client.path, client.headers(),
                                      json.dumps(members).encode())
    for answer in reply.json():
        link_of(answer["result"], "B")


def test_a_reload_changes_the_limit(io, tmp_path, make_client):
    path = tmp_path / "fixture.yaml"
    path.write_text("limits: {result: 1MiB}\n")
    server = Server(fixture_bin(), "--io", io, "--port", 0, "--config", path)
    client = make_client("E", of=server)
    assert client.tool_text(BIG["name"], BIG["arguments"]) == "x" * BIG["arguments"]["bytes"]
    path.write_text(LIMITS)
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log("config.reloaded")
    link_of(client.request("tools/call", BIG), "E")
    server.stop()


def test_twenty_mebibytes_of_the_default(modern):
    size = 20 * 1024 * 1024
    result = modern.request("tools/call", {"name": "test_big", "arguments": {"bytes": size}})
    uri, read = link_of(result, "E"), 0
    while uri is not None:
        part = modern.request("resources/read", {"uri": uri})
        read += sum(len(one["text"]) for one in part["contents"])
        uri = part["_meta"].get("pillion/next")
    assert read == size
