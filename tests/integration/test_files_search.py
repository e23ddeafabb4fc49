"""The tool search_files: results, bounds, progress, and that it can be cancelled."""

import json

import pytest

from http_client import EventStream
from mcp_client import Client

pytestmark = [pytest.mark.asan, pytest.mark.user]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\nneedle two\nthree\n")
    (root / "sub" / "b.txt").write_text("é Needle\n" * 3)
    (root / "out.log").write_text("needle\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "bin").write_bytes(b"needle\0")
    return root


@pytest.fixture
def client(start_pillion, tree, request):
    made = Client(start_pillion("--root", tree).address, "E")
    request.addfinalizer(made.close)
    return made


def search(client, pattern, **arguments):
    result = client.tool("search_files", {"pattern": pattern, **arguments}).result
    assert result["isError"] is False, result
    found = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == found
    return found


def lines(found):
    return [(one["path"], one["line"], one["column"]) for one in found["matches"]]


def test_a_text_is_found(client):
    found = search(client, "needle")
    assert found == {"matches": [{"path": "a.txt", "line": 2, "column": 1, "text": "needle two"}],
                     "truncated": False, "files_searched": 2, "files_skipped": 0}


def test_options(client):
    assert lines(search(client, "needle", ignore_case=True)) == [
        ("a.txt", 2, 1), ("sub/b.txt", 1, 3), ("sub/b.txt", 2, 3), ("sub/b.txt", 3, 3)]
    assert lines(search(client, r"^t\w+e$", regex=True)) == [("a.txt", 3, 1)]
    assert search(client, r"^t\w+e$")["matches"] == []
    assert lines(search(client, "Needle", path="sub")) == lines(search(client, "Needle"))
    assert lines(search(client, "needle", path="out.log")) == [("out.log", 1, 1)]
    around = search(client, "two", context_lines=5)["matches"][0]
    assert around["before"] == ["one"] and around["after"] == ["three"]


@pytest.mark.row(92)
def test_truncation_shows(client):
    assert search(client, "Needle", max_results=2)["truncated"] is True
    assert search(client, "Needle", max_results=3)["truncated"] is False


@pytest.mark.parametrize("arguments", [
    {"pattern": "(", "regex": True}, {"pattern": ""}, {"pattern": "a\nb"}, {"pattern": "a" * 1001},
    {"pattern": "a", "path": ".."}, {"pattern": "a", "path": "none"}, {},
    {"pattern": "a", "max_results": 1001}, {"pattern": "a", "context_lines": 6},
    {"pattern": "a", "max_results": 0}, {"pattern": "a{1000}{1000}", "regex": True},
], ids=str)
def test_what_is_refused(client, arguments):
    reply = client.tool("search_files", arguments)
    assert "error" in reply.message or reply.result["isError"] is True


@pytest.fixture
def long_client(start_pillion, tree, request):
    """A legacy client of a tree that takes seconds to search: one file under many names."""
    with open(tree / "big", "wb") as file:
        for _ in range(32):
            file.write((b"x" * 127 + b"\n") * 8192)
    for number in range(127):
        (tree / f"big{number}").hardlink_to(tree / "big")
    made = Client(start_pillion("--root", tree).address, "D").open()
    request.addfinalizer(made.close)
    return made


def test_a_long_search_reports_and_can_be_cancelled(long_client):
    connection, identifier = long_client.begin(
        "tools/call", {"name": "search_files", "arguments": {"pattern": "x+y", "regex": True}},
        meta={"progressToken": 1})
    stream = EventStream(connection, connection.read_head())
    first = long_client.next_message(stream)
    # On a busy machine the first is told before the first file is through.
    assert first["method"] == "notifications/progress" and first["params"]["progress"] >= 0
    assert "files searched" in first["params"]["message"]
    assert long_client.notify("notifications/cancelled",
                              {"requestId": identifier}).status == 202
    while (message := long_client.next_message(stream)) is not None:
        assert message["method"] == "notifications/progress"


def test_other_requests_are_served_meanwhile(long_client):
    connection, identifier = long_client.begin(
        "tools/call", {"name": "search_files", "arguments": {"pattern": "x+y", "regex": True}},
        meta={"progressToken": 1})
    EventStream(connection, connection.read_head())
    assert long_client.tool_text("read_file", {"path": "a.txt"}).startswith("one")
    assert long_client.notify("notifications/cancelled",
                              {"requestId": identifier}).status == 202
