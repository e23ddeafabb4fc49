"""Changes of files reach clients of both eras; paths complete."""

import os

import pytest

from mcp_client import Client, Stdio
from server_process import pillion_bin, wait_until

pytestmark = [pytest.mark.asan, pytest.mark.user]

OWN = "pillion://files/"
UPDATED = "notifications/resources/updated"
LISTED = "notifications/resources/list_changed"


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("alpha")
    (root / "sub" / "b c.txt").write_text("beta")
    (root / "out").mkdir()
    (root / ".gitignore").write_text("out/\n")
    return root


@pytest.fixture
def serve(start_pillion, tree, request):
    def run(letter, *arguments):
        server = start_pillion("--root", tree, "--log-level", "debug", *arguments)
        server.wait_for_log("files.watch.settled")
        client = Client(server.address, letter)
        request.addfinalizer(client.close)
        return client.open()

    return run


def until(client, stream, method, uri=None):
    while True:
        message = client.next_message(stream)
        assert message is not None
        if message["method"] == method and (uri is None or message["params"]["uri"] == uri):
            return


def test_a_listener_hears_of_changes(serve, tree):
    client = serve("E", "--threads", 2)
    uri = OWN + "sub/b%20c.txt"
    stream, _, _ = client.listen(resourcesListChanged=True, resourceSubscriptions=[uri])
    (tree / "sub" / "b c.txt").write_text("new")
    message = client.next_message(stream)
    assert (message["method"], message["params"]["uri"]) == (UPDATED, uri)
    (tree / "a.txt").write_text("nobody asked")
    (tree / "sub" / "new").write_text("x")
    assert client.next_message(stream)["method"] == LISTED
    os.replace(tree / "sub" / "new", tree / "sub" / "b c.txt")
    until(client, stream, UPDATED, uri)


# The template's {+path} leaves reserved characters as they are (RFC 6570 §3.2.3): such a resource
# was read and subscribed to, and nobody heard of its changes.
@pytest.mark.parametrize("letter", "DE")
def test_changes_are_told_by_the_name_that_was_subscribed_to(serve, tree, letter):
    (tree / "[id]@2x (1).png").write_text("old")
    uris = {OWN + "[id]@2x%20(1).png", OWN + "%5bid%5d@2x%20(1).png",
            OWN + "%5Bid%5D%402x%20%281%29.png"}
    client = serve(letter)
    if letter == "E":
        stream, _, _ = client.listen(resourceSubscriptions=sorted(uris))
    else:
        stream = client.open_stream()
        for uri in uris:
            client.request("resources/subscribe", {"uri": uri})
    (tree / "[id]@2x (1).png").write_text("new")
    heard = set()
    while heard != uris:
        message = client.next_message(stream)
        if message["method"] == UPDATED:
            heard.add(message["params"]["uri"])


@pytest.mark.parametrize("letter", "ABCD")
def test_a_session_hears_of_changes(serve, tree, letter):
    client = serve(letter)
    uri = OWN + "a.txt"
    stream = client.open_stream()
    client.request("resources/subscribe", {"uri": uri})
    (tree / "a.txt").write_text("new")
    until(client, stream, UPDATED, uri)
    (tree / "a.txt").unlink()
    until(client, stream, LISTED)


def test_a_pipe_hears_of_changes(io, tree):
    pipe = Stdio(pillion_bin(), "--io", io, "--root", tree, "--log-level", "debug").open()
    wait_until(lambda: b"files.watch.settled" in pipe.log, what="watch")
    pipe.request("resources/subscribe", {"uri": OWN + "a.txt"})
    (tree / "a.txt").write_text("new")
    message = pipe.recv()
    assert (message["method"], message["params"]["uri"]) == (UPDATED, OWN + "a.txt")
    pipe.close()


# ---- completion ----

def complete(client, typed):
    ref = {"type": "ref/resource", "uri": OWN + "{+path}"}
    return client.request("completion/complete", {
        "ref": ref, "argument": {"name": "path", "value": typed}})["completion"]


@pytest.mark.parametrize("typed, values", [
    ("", ["a.txt", "sub/"]), ("a", ["a.txt"]), ("a.txt", ["a.txt"]), ("su", ["sub/"]),
    ("sub", ["sub/"]), ("sub/", ["sub/b c.txt", "sub/deep/"]), ("sub/b", ["sub/b c.txt"]),
    ("sub/deep/", []), ("o", []), ("x", []), ("none/", []), ("a.txt/", []), ("..", []),
    ("../", []), ("/", []), ("/etc/pa", []), (".gi", []), ("sub//", []), ("./", []),
    ("x" * 5000, []),
], ids=lambda value: repr(value)[:20])
def test_paths_complete(serve, typed, values):
    assert complete(serve("E"), typed)["values"] == values


def test_completion_is_bounded(serve, tree):
    for number in range(120):
        (tree / "sub" / "deep" / f"{number:03}").write_text("")
    client = serve("D")
    found = complete(client, "sub/deep/")
    assert found["values"] == [f"sub/deep/{number:03}" for number in range(100)]
    assert found["hasMore"] is True
    few = complete(client, "sub/deep/01")
    assert (len(few["values"]), few["total"], few["hasMore"]) == (10, 10, False)
