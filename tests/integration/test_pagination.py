"""Cursors of the four lists: opaque, stable, and refused when somebody made them up."""

import pytest

from server_process import Server, fixture_bin

LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}


@pytest.fixture(scope="module")
def paged(io):
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, "--page-size", 3,
                     "--tools", 50)
    yield running
    running.stop()


@pytest.fixture
def pager(paged, make_client, rev):
    return make_client(rev, of=paged).open()


def pages(client, method):
    cursor, found = None, []
    while True:
        result = client.request(method, {"cursor": cursor} if cursor is not None else None)
        found.append(result)
        cursor = result.get("nextCursor")
        if cursor is None:
            return found
        assert isinstance(cursor, str)


@pytest.mark.row(63)
@pytest.mark.parametrize("method", LISTS)
def test_pages_together_are_the_list(pager, method):
    found = pages(pager, method)
    key = LISTS[method]
    assert all(len(page[key]) == 3 for page in found[:-1])
    assert 1 <= len(found[-1][key]) <= 3
    names = [item.get("uri", item["name"]) for page in found for item in page[key]]
    assert len(names) == len(set(names))
    assert (len(names) >= 50) == (method == "tools/list")


def test_every_page_has_the_same_cache_scope(paged, make_client):
    client = make_client("E", of=paged).open()
    for method in LISTS:
        assert len({page["cacheScope"] for page in pages(client, method)}) == 1


@pytest.mark.row(63)
def test_a_cursor_may_be_used_again(pager):
    cursor = pager.request("tools/list")["nextCursor"]
    first = pager.request("tools/list", {"cursor": cursor})
    assert pager.request("tools/list", {"cursor": cursor})["tools"] == first["tools"]


def test_a_cursor_holds_on_every_thread(pager):
    cursor = pager.request("tools/list")["nextCursor"]
    expected = pager.request("tools/list", {"cursor": cursor})["tools"]
    for _ in range(8):
        reply = pager.call("tools/list", {"cursor": cursor}, connection=pager.connect())
        assert reply.result["tools"] == expected


def test_tampered_cursors_are_refused(pager):
    cursor = pager.request("tools/list")["nextCursor"]
    for at in range(len(cursor)):
        other = "A" if cursor[at] != "A" else "B"
        changed = cursor[:at] + other + cursor[at + 1:]
        reply = pager.call("tools/list", {"cursor": changed})
        if "error" in reply.message:
            assert (reply.error.code, reply.status) == (-32602, 200)
        else:  # bits of base64 padding may not count; then it is the same cursor
            assert at == len(cursor) - 1
            assert reply.result["tools"] == pager.request("tools/list", {"cursor": cursor})["tools"]


@pytest.mark.parametrize("cursor", ["", "0", "3", "x" * 2000, "\u00e9", "AAAA", "null", "==="])
def test_made_up_cursors_are_refused(pager, cursor):
    reply = pager.call("tools/list", {"cursor": cursor})
    assert (reply.error.code, reply.status) == (-32602, 200)


@pytest.mark.parametrize("cursor", [3, None, [], {}], ids=str)
def test_cursors_are_strings(pager, cursor):
    reply = pager.call("tools/list", {"cursor": cursor})
    if cursor is None:
        assert "error" not in reply.message or reply.error.code == -32602
    else:
        assert reply.error.code == -32602


def test_a_cursor_of_another_list_is_refused(pager):
    cursor = pager.request("tools/list")["nextCursor"]
    assert pager.call("prompts/list", {"cursor": cursor}).error.code == -32602
    assert pager.call("resources/list", {"cursor": cursor}).error.code == -32602


def test_a_cut_or_extended_cursor_is_refused(pager):
    cursor = pager.request("tools/list")["nextCursor"]
    for changed in (cursor[:-1], cursor[1:], cursor + "A", cursor * 2, cursor.swapcase()):
        if changed != cursor:
            assert pager.call("tools/list", {"cursor": changed}).error.code == -32602


def test_the_default_page_has_fifty_entries(io, start, make_client):
    client = make_client("D", of=start("--tools", 100)).open()
    found = pages(client, "tools/list")
    assert [len(page["tools"]) for page in found[:-1]] == [50] * (len(found) - 1)
