"""The server that ships: a directory as tools and resources, and nothing beyond it."""

import base64
import json
import os
import socket
import threading

import pytest

from mcp_client import Client, RpcError, Stdio
from server_process import pillion_bin, run_program

pytestmark = [pytest.mark.asan, pytest.mark.user]

SECRET = "outside of the tree"
BINARY = bytes(range(256)) * 4
LINES = "".join(f"line {number}\n" for number in range(1000))


@pytest.fixture
def tree(tmp_path):
    """A directory to serve, and a secret beside it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("alpha\n")
    (root / "lines.txt").write_text(LINES)
    (root / "empty").write_text("")
    (root / "data.bin").write_bytes(BINARY)
    (root / "page.html").write_text("<p>\u00e9\u20ac</p>")
    (root / "sub" / "b.md").write_text("# beta\n")
    (root / "sub" / "deep" / "c.json").write_text('{"c":1}')
    (root / "with space & 100% \u00e9.txt").write_text("odd name")
    (root / ".hidden").write_text("hidden text")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("hidden config")
    (root / "inside").symlink_to("a.txt")
    (root / "outside").symlink_to("../secret.txt")
    (root / "absolute").symlink_to(tmp_path / "secret.txt")
    (root / "out_dir").symlink_to("..")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as special:
        special.bind(str(root / "socket"))
    return root


@pytest.fixture
def files(start_pillion, tree, request):
    """A client of a server of that tree."""
    made = Client(start_pillion("--root", tree, "--threads", 2).address, "E")
    request.addfinalizer(made.close)
    return made


def everything(client, method, key):
    cursor, found = None, []
    while True:
        result = client.request(method, {"cursor": cursor} if cursor else None)
        found += result[key]
        cursor = result.get("nextCursor")
        if not cursor:
            return found


def uri_of(client, name):
    return next(r["uri"] for r in everything(client, "resources/list", "resources")
                if r["uri"].endswith("/" + name))


def content_of(client, uri):
    return client.request("resources/read", {"uri": uri})["contents"][0]


def said(result):
    return "".join(item.get("text", "") for item in result["content"])


def list_files(client, **arguments):
    return client.tool("list_files", arguments).result


def read_file(client, path, **arguments):
    return client.tool("read_file", {"path": path, **arguments}).result


def refused(client, path):
    """Neither the tool gives it out."""
    reply = client.tool("read_file", {"path": path})
    text = json.dumps(reply.message)
    assert "error" in reply.message or reply.result["isError"] is True, text
    assert SECRET not in text and "root:" not in text
    return text


# ---- tools ----

def test_the_tools_are_there(files):
    tools = {tool["name"]: tool for tool in files.request("tools/list")["tools"]}
    assert {"list_files", "read_file"} <= set(tools)
    for tool in tools.values():
        assert tool["annotations"]["readOnlyHint"] is True


def test_listing_the_root(files):
    text = said(list_files(files))
    for name in ("a.txt", "data.bin", "sub", "with space & 100% \u00e9.txt", "inside"):
        assert name in text
    for name in (".hidden", ".git", "fifo", "socket", "secret"):
        assert name not in text


def test_listing_a_directory(files):
    text = said(list_files(files, path="sub"))
    assert "b.md" in text and "deep" in text and "a.txt" not in text


@pytest.mark.parametrize("path", ["none", "a.txt", "..", "sub/../..", "/etc", "out_dir", ".git"])
def test_listing_what_is_no_directory_of_the_tree(files, path):
    reply = files.tool("list_files", {"path": path})
    assert "error" in reply.message or reply.result["isError"] is True
    assert "passwd" not in json.dumps(reply.message)


def test_reading_text(files):
    assert "alpha\n" in said(read_file(files, "a.txt"))
    assert "# beta\n" in said(read_file(files, "sub/b.md"))
    assert "odd name" in said(read_file(files, "with space & 100% \u00e9.txt"))
    assert "\u00e9\u20ac" in said(read_file(files, "page.html"))
    assert read_file(files, "empty")["isError"] is False


def test_reading_part_of_a_file(files):
    shape = next(t for t in files.request("tools/list")["tools"] if t["name"] == "read_file")
    names = set(shape["inputSchema"]["properties"])
    length = next(iter(names - {"path", "offset"}))
    assert "offset" in names
    text = said(read_file(files, "lines.txt", offset=0, **{length: 14}))
    assert "line 0\nline 1\n" in text and "line 3" not in text
    text = said(read_file(files, "lines.txt", offset=7, **{length: 7}))
    assert "line 1\n" in text and "line 0" not in text and "line 2" not in text
    beyond = read_file(files, "lines.txt", offset=10_000_000)
    assert "line" not in said(beyond).replace("lines.txt", "")


@pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 2**64, 10**19, 10**300])
def test_reading_from_far_behind_the_end(files, offset):
    """From 2**63 on the file came from its start."""
    text = said(read_file(files, "a.txt", offset=offset))
    assert "is behind the end; the file has 6 bytes" in text and "alpha" not in text


def test_a_file_shorter_than_it_says(start_pillion, request):
    """Files of /sys say 4096 bytes: read_file said for ever to go on, and reading them as
    resources that they were over 1 MiB."""
    root, name = "/sys/kernel", "uevent_seqnum"
    if not os.path.exists(f"{root}/{name}"):
        pytest.skip("there is no such file")
    client = Client(start_pillion("--root", root).address, "E")
    request.addfinalizer(client.close)
    found = read_file(client, name)["structuredContent"]
    assert found["text"].strip().isdigit()
    assert (found["size"], found["truncated"]) == (found["length"], False)
    assert content_of(client, f"pillion://files/{name}")["text"].strip().isdigit()


def test_reading_bytes(files):
    result = read_file(files, "data.bin")
    blobs = [item["resource"]["blob"] for item in result["content"] if item["type"] == "resource"]
    assert base64.b64decode(blobs[0]) == BINARY


def test_a_link_that_stays_inside(files):
    assert "alpha\n" in said(read_file(files, "inside"))


@pytest.mark.parametrize("path", [
    "../secret.txt", "..", "sub/../../secret.txt", "/etc/passwd", "//etc/passwd", "outside",
    "absolute", "out_dir/secret.txt", "loop", "fifo", "socket", "sub", "", "none", ".hidden",
    ".git/config", "sub/.", "./a.txt", "a.txt/", "sub//b.md", "a.txt\0", "x" * 300, "x/" * 3000,
    "%2e%2e/secret.txt", "..\\secret.txt", "\udcff",
], ids=lambda p: repr(p[:24]))
def test_what_is_not_given_out(files, path):
    if path == "\udcff":
        path = "\ufffd"
    refused(files, path)


@pytest.mark.row(95)
def test_the_error_tells_no_path_of_the_machine(files, tree):
    for path in ("none", "../secret.txt", "outside", "fifo"):
        assert str(tree) not in refused(files, path)


def test_hidden_files_when_wanted(start_pillion, tree, request):
    client = Client(start_pillion("--root", tree, "--hidden").address, "E")
    request.addfinalizer(client.close)
    assert ".hidden" in said(list_files(client))
    assert "hidden text" in said(read_file(client, ".hidden"))
    assert "hidden config" in said(read_file(client, ".git/config"))
    refused(client, "outside")


# ---- resources ----

def test_resources_are_the_files(files):
    resources = everything(files, "resources/list", "resources")
    uris = [r["uri"] for r in resources]
    for name in ("a.txt", "sub/b.md", "sub/deep/c.json", "data.bin"):
        assert any(uri.endswith("/" + name) for uri in uris), name
    for name in ("hidden", "config", "fifo", "socket", "secret"):
        assert not any(name in uri for uri in uris)
    assert len(set(uris)) == len(uris)
    sizes = {r["uri"].rsplit("/", 1)[1]: r.get("size") for r in resources}
    assert sizes["data.bin"] == len(BINARY)


def test_every_listed_resource_can_be_read(files, tree):
    for resource in everything(files, "resources/list", "resources"):
        try:
            content = content_of(files, resource["uri"])
        except RpcError as failure:  # a link that leads outside may be listed, not read
            assert "out" in resource["uri"] or "loop" in resource["uri"] or (
                "absolute" in resource["uri"]), failure
            continue
        assert content["uri"] == resource["uri"] and content["mimeType"]
        assert SECRET not in content.get("text", "")


def test_text_and_binary(files):
    text = content_of(files, uri_of(files, "a.txt"))
    assert (text["text"], text["mimeType"]) == ("alpha\n", "text/plain")
    binary = content_of(files, uri_of(files, "data.bin"))
    assert base64.b64decode(binary["blob"]) == BINARY and "text" not in binary
    assert content_of(files, uri_of(files, "c.json"))["mimeType"] == "application/json"


def test_a_template_reaches_every_file(files):
    templates = files.request("resources/templates/list")["resourceTemplates"]
    template = next(t["uriTemplate"] for t in templates if "{+path}" in t["uriTemplate"])
    for path, text in (("a.txt", "alpha\n"), ("sub/deep/c.json", '{"c":1}'),
                       ("with%20space%20%26%20100%25%20%C3%A9.txt", "odd name")):
        assert content_of(files, template.replace("{+path}", path))["text"] == text


@pytest.mark.parametrize("path", [
    "../secret.txt", "%2e%2e/secret.txt", "%2E%2E%2Fsecret.txt", "sub/../../secret.txt", "outside",
    "absolute", "out_dir/secret.txt", "fifo", "socket", "sub", "none", ".hidden", "%2ehidden",
    "a.txt%00", "/etc/passwd", "%2Fetc%2Fpasswd", "a.txt%2F", "%zz", "sub%2Fb.md",
])
def test_resources_outside_of_the_tree(files, path):
    base = uri_of(files, "a.txt")[:-len("a.txt")]
    reply = files.call("resources/read", {"uri": base + path})
    assert reply.error.code in (-32602, -32603)
    assert SECRET not in json.dumps(reply.message)


def test_new_files_appear_and_old_ones_vanish(files, tree):
    base = uri_of(files, "a.txt")[:-len("a.txt")]
    (tree / "new.txt").write_text("new")
    assert content_of(files, base + "new.txt")["text"] == "new"
    assert uri_of(files, "new.txt") == base + "new.txt"
    (tree / "new.txt").unlink()
    assert files.call("resources/read", {"uri": base + "new.txt"}).error.code == -32602


def test_pages_of_many_files(files, tree):
    for number in range(230):
        (tree / "sub" / f"n{number:03}").write_text("")
    uris = [r["uri"] for r in everything(files, "resources/list", "resources")]
    assert len([uri for uri in uris if "/sub/n" in uri]) == 230
    assert len(set(uris)) == len(uris)


def test_a_link_that_turns_around_while_it_is_read(files, tree):
    stop = threading.Event()

    def swap():
        inside, outside = tree / "t1", tree / "t2"
        while not stop.is_set():
            inside.symlink_to("a.txt")
            inside.replace(tree / "turning")
            outside.symlink_to("../secret.txt")
            outside.replace(tree / "turning")

    turner = threading.Thread(target=swap)
    turner.start()
    try:
        for _ in range(300):
            reply = files.tool("read_file", {"path": "turning"})
            assert SECRET not in json.dumps(reply.message)
    finally:
        stop.set()
        turner.join()


def test_a_directory_that_becomes_a_link(files, tree, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.md").write_text(SECRET)
    (tree / "sub").rename(tree / "old")
    (tree / "sub").symlink_to("../other")
    refused(files, "sub/b.md")


@pytest.mark.parametrize("letter", "ABCD")
def test_older_clients(start_pillion, tree, request, letter):
    client = Client(start_pillion("--root", tree).address, letter)
    request.addfinalizer(client.close)
    client.open()
    assert "alpha\n" in said(read_file(client, "a.txt"))
    assert content_of(client, uri_of(client, "a.txt"))["text"] == "alpha\n"


def test_on_a_pipe(io, tree):
    pipe = Stdio(pillion_bin(), "--io", io, "--root", tree).open()
    result = pipe.request("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}})
    assert "alpha\n" in said(result)
    assert pipe.close() == []


# ---- what may be served without being named ----

@pytest.mark.parametrize("where", ["/", "home"])
def test_roots_that_must_be_named(io, tree, where):
    home = str(tree)
    root = "/" if where == "/" else home
    environment = {**os.environ, "HOME": home}
    done = run_program(pillion_bin(), "serve", "--io", io, "--port", "0", cwd=root,
                       env=environment)
    assert done.returncode == 2, done
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and "--root" in lines[0]


def test_a_named_root_is_served(start_pillion, request):
    client = Client(start_pillion("--root", "/").address, "E")
    request.addfinalizer(client.close)
    assert "etc" in said(list_files(client))


def test_the_current_directory_is_the_default(start_pillion, tree, request):
    client = Client(start_pillion(cwd=str(tree)).address, "E")
    request.addfinalizer(client.close)
    assert "alpha\n" in said(read_file(client, "a.txt"))
