"""Changes of files where the system allows too few inotify watches for the tree.

The limit is that of a user namespace of the server's own, so nothing else is short of watches.
"""

import ctypes
import os

import pytest

from mcp_client import Client

OWN = "pillion://files/"
UPDATED = "notifications/resources/updated"
LISTED = "notifications/resources/list_changed"
CLONE_NEWUSER = 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)


def allow_two_watches():
    if LIBC.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/sys/user/max_inotify_watches", "w", encoding="ascii") as limit:
        limit.write("2")


@pytest.fixture
def tree(tmp_path):
    for place in "abcdef":
        (tmp_path / place / "deep").mkdir(parents=True)
        (tmp_path / place / "deep" / "x").write_text("old")
    return tmp_path


@pytest.fixture
def client(start_pillion, tree, request):
    server = start_pillion("--root", tree, "--log-level", "debug", preexec_fn=allow_two_watches)
    server.wait_for_log("fs.inotify.max_user_watches is reached")
    server.wait_for_log("files.watch.settled")
    found = Client(server.address, request.param)
    request.addfinalizer(found.close)
    return found.open()


def until(client, stream, method):
    """What else is said before the first message of `method`, and that message."""
    others = []
    while True:
        message = client.next_message(stream)
        assert message is not None
        if message["method"] == method:
            return others, message
        others.append(message)


@pytest.mark.parametrize("client", ["E"], indirect=True)
def test_a_listener_hears_of_what_it_asked_for(client, tree):
    wanted = [OWN + "f/deep/x", OWN + "e/made"]
    stream, _, _ = client.listen(resourcesListChanged=True, resourceSubscriptions=wanted)
    (tree / "f" / "deep" / "x").write_text("new")
    _, message = until(client, stream, UPDATED)
    assert message["params"]["uri"] == wanted[0]
    (tree / "e" / "made").write_text("new")
    others, message = until(client, stream, UPDATED)
    assert message["params"]["uri"] == wanted[1]
    if not others:
        until(client, stream, LISTED)


@pytest.mark.parametrize("client", ["D"], indirect=True)
def test_a_session_hears_of_what_it_subscribed_to(client, tree):
    stream = client.open_stream()
    client.request("resources/subscribe", {"uri": OWN + "f/deep/x"})
    (tree / "f" / "deep" / "x").write_text("new")
    until(client, stream, UPDATED)
    client.request("resources/unsubscribe", {"uri": OWN + "f/deep/x"})
    client.request("resources/subscribe", {"uri": OWN + "a/deep/x"})
    (tree / "f" / "deep" / "x").write_text("newer")
    (tree / "a" / "deep" / "x").write_text("new")
    _, message = until(client, stream, UPDATED)
    assert message["params"]["uri"] == OWN + "a/deep/x"
    os.rename(tree / "c" / "deep" / "x", tree / "c" / "deep" / "y")
    until(client, stream, LISTED)
