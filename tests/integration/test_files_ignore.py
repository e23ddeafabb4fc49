""".gitignore files of the served directory: what they leave out is not listed, but can be read."""

import pytest

from mcp_client import Client

pytestmark = [pytest.mark.asan, pytest.mark.user]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    (root / "build" / "deep").mkdir(parents=True)
    (root / "src" / "gen").mkdir(parents=True)
    (root / ".gitignore").write_text("build/\n*.log\n!keep.log\n/top\n")
    (root / "src" / ".gitignore").write_text("gen/*\n!gen/kept\n")
    for name in ("build/out", "build/deep/out", "a.log", "keep.log", "top", "src/top", "src/a.log",
                 "src/gen/made", "src/gen/kept", "src/main"):
        (root / name).write_text(name)
    return root


@pytest.fixture
def serve(start_pillion, tree, request):
    def run(*arguments):
        client = Client(start_pillion("--root", tree, *arguments).address, "E")
        request.addfinalizer(client.close)
        return client

    return run


def listed(client, **arguments):
    result = client.tool("list_files", arguments).result
    return [one["path"] for one in result["structuredContent"]["entries"]]


def resources(client):
    found = client.request("resources/list")["resources"]
    own = "pillion://files/"
    return sorted(one["uri"][len(own):] for one in found if one["uri"].startswith(own))


KEPT = ["keep.log", "src/gen/kept", "src/main", "src/top"]


def test_listings_leave_out_what_is_ignored(serve):
    client = serve()
    assert listed(client) == ["keep.log", "src"]
    assert listed(client, path="src") == ["src/gen", "src/main", "src/top"]
    assert listed(client, recursive=True) == [
        "keep.log", "src", "src/gen", "src/gen/kept", "src/main", "src/top"]


def test_resources_leave_out_what_is_ignored(serve):
    assert resources(serve()) == KEPT


def test_reading_by_name_stays_allowed(serve):
    client = serve()
    for path in ("build/out", "a.log", "src/gen/made"):
        assert client.tool_text("read_file", {"path": path}) == path
        uri = "pillion://files/" + path
        assert client.request("resources/read", {"uri": uri})["contents"][0]["text"] == path


def test_an_ignored_directory_can_be_listed_by_name(serve):
    assert listed(serve(), path="build") == ["build/deep", "build/out"]


def test_rules_that_change_hold_at_once(serve, tree):
    client = serve()
    (tree / ".gitignore").write_text("src/\n")
    assert listed(client) == ["a.log", "build", "keep.log", "top"]
    (tree / ".gitignore").unlink()
    assert "src" in listed(client)


def test_no_ignore_lists_everything(serve):
    client = serve("--no-ignore")
    assert listed(client) == ["a.log", "build", "keep.log", "src", "top"]
    assert len(resources(client)) == 10


def test_hidden_files_obey_the_rules_too(serve, tree):
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("x")
    assert not any(".git" in path for path in listed(serve()))
    assert ".git" in listed(serve("--hidden")) and "a.log" not in listed(serve("--hidden"))
