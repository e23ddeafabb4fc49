"""Many event streams at once, over two threads: everybody hears of every change once, who does not
read is cut, and a shutdown ends all of them."""

import select
import socket

from server_process import wait_until
from wire_schema import SUBSCRIPTION_ID

WATCHED = "test://watched-resource"
KINDS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True,
         "resourceSubscriptions": [WATCHED]}
CHANGES = [("test_trigger_tool_change", {}), ("test_trigger_prompt_change", {}),
           ("test_trigger_resource_change", {}), ("test_touch_resource", {"uri": WATCHED})]
METHODS = ["notifications/prompts/list_changed", "notifications/resources/list_changed",
           "notifications/resources/updated", "notifications/tools/list_changed"]


def open_streams(make_client, server, count):
    """Half listen streams, half GET streams of sessions: pairs of client and stream."""
    modern = make_client("E", of=server).open()
    streams = [(modern, modern.listen(**KINDS)[0]) for _ in range(count // 2)]
    for i in range(count // 2):
        client = make_client("BC"[i % 2], of=server).open()
        client.request("resources/subscribe", {"uri": WATCHED})
        streams.append((client, client.open_stream()))
    return modern, streams


def quiet(streams, seconds=0.2):
    """Whether nothing more comes."""
    sockets = [stream.connection.sock for _, stream in streams]
    read = any(stream.connection.buffer or b"\n\n" in stream._text for _, stream in streams)
    return not read and not select.select(sockets, [], [], seconds)[0]


def test_everybody_hears_each_change_once(start, make_client):
    server = start("--threads", 2)
    modern, streams = open_streams(make_client, server, 300)
    for tool, arguments in CHANGES:
        modern.tool_text(tool, arguments)
    for client, stream in streams:
        told = [client.next_message(stream)["method"] for _ in CHANGES]
        assert sorted(told) == METHODS
    for _ in range(5):
        modern.tool_text("test_trigger_tool_change")
        for client, stream in streams:
            assert client.next_message(stream)["method"] == METHODS[-1]
    assert quiet(streams)


def test_changes_from_all_sides_are_told_to_everybody_and_the_last_one_is(start, make_client):
    server = start("--threads", 2)
    modern, streams = open_streams(make_client, server, 40)
    calls = 30
    begun = [modern.begin("tools/call", {"name": name, "arguments": arguments},
                          extra=[("Mcp-Name", name)])
             for _ in range(calls) for name, arguments in CHANGES]
    for connection, _ in begun:
        assert connection.read_response().status == 200
    modern.tool_text("test_trigger_tool_change")
    for client, stream in streams:
        told = []
        while not quiet([(client, stream)]):
            told.append(client.next_message(stream)["method"])
        assert sorted(set(told)) == METHODS
        assert all(told.count(method) <= calls + 1 for method in METHODS)


def test_a_shutdown_ends_every_stream(start, make_client):
    server = start("--threads", 2)
    _, streams = open_streams(make_client, server, 200)
    server.process.terminate()
    for client, stream in streams:
        last = client.next_message(stream)
        if client.rev == "E":
            assert last["result"]["_meta"][SUBSCRIPTION_ID] == last["id"]
            last = client.next_message(stream)
        assert last is None and stream.ended


def test_who_does_not_read_is_cut_and_the_others_hear_everything(start, make_client):
    server = start("--threads", 2)
    uri = "test://" + "x" * 8_000
    modern = make_client("E", of=server).open()
    legacy = make_client("C", of=server).open()
    legacy.request("resources/subscribe", {"uri": uri})
    reader = modern.listen(resourceSubscriptions=[uri])[0]
    modern.tool_text("test_simple_text")  # its connection stays
    connections = server.descriptors()
    for stream in (modern.listen(resourceSubscriptions=[uri])[0], legacy.open_stream()):
        # The kernel still takes megabytes for a peer that does not read.
        stream.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    for _ in range(700):
        modern.tool_text("test_touch_resource", {"uri": uri})
        assert modern.next_message(reader)["params"]["uri"] == uri

    def cut():
        modern.tool_text("test_touch_resource", {"uri": uri})
        assert modern.next_message(reader)["params"]["uri"] == uri
        return sum("mcp.listener_cut" in line for line in server.log) == 2

    wait_until(cut, 20, "both are cut")
    wait_until(lambda: server.descriptors() <= connections, what="their descriptors closed")
