"""MCP servers behind the server: clients of every revision with servers of every revision."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from bridged import (ABLE, NAME, REVISIONS, SCRIPT, Bridged, called, children_of, failed,
                     text_of)
from mcp_client import Client, RpcError
from server_process import Server, has_ended, pillion_bin, run_program, wait_until
from test_asking import answer, begin, question
from test_openapi_url import Service

pytestmark = pytest.mark.asan


@pytest.fixture
def bridge(start_pillion, tmp_path):
    return lambda inner, more="": Bridged(start_pillion, tmp_path, inner, more)


@pytest.fixture(params=REVISIONS)
def inner(request):
    return request.param


# ---- the matrix of eras ----

def test_what_it_offers_is_offered(bridge, make_client, rev, inner):
    client = make_client(rev, bridge(inner).server).open()
    tools, cursor = [], {}
    while cursor is not None:
        page = client.request("tools/list", cursor)
        tools += [one["name"] for one in page["tools"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    assert [name for name in tools if name.startswith("inner__")] == [
        "inner__" + name for name in ["echo", "ask", "count", "tell", "wait", "crash", "garbage",
                                      "flood", "deaf", "orphan", "change", "touch", "big",
                                      "noise", "self"]]
    assert called(client, "inner__echo", {"a": [1, {"b": "ü"}]}) == '{"a": [1, {"b": "\\u00fc"}]}'
    prompt = client.request("prompts/get",
                            {"name": "inner__poem", "arguments": {"about": "seats"}})
    assert [(one["role"], one["content"]["text"]) for one in prompt["messages"]] == [
        ("user", "Write about seats"), ("assistant", "No")]
    assert "memo://one" in [one["uri"] for one in client.request("resources/list")["resources"]]
    for uri in ("memo://one", "memo://by/ada"):
        read = client.request("resources/read", {"uri": uri})
        assert read["contents"][0]["text"] == "memo " + uri
    completed = client.request("completion/complete", {
        "ref": {"type": "ref/prompt", "name": "inner__poem"},
        "argument": {"name": "about", "value": "po"}})
    assert completed["completion"]["values"] == ["poms", "pots"]


def test_what_cannot_be_read_is_told_from_what_is_not_there(bridge, make_client, inner):
    """All was "not found": clients forgot resources instead of trying again."""
    client = make_client("D", bridge(inner).server).open()
    with pytest.raises(RpcError) as caught:
        client.request("resources/read", {"uri": "memo://by/locked"})
    assert caught.value.code == -32603 and "The database is locked" in str(caught.value)
    with pytest.raises(RpcError) as caught:
        client.request("resources/read", {"uri": "memo://by/nobody"})
    assert caught.value.code == -32002


def test_links_keep_what_they_say(bridge, make_client, rev, inner):
    link = {"uri": "memo://one", "name": "one", "title": "The \"first\"", "size": 8,
            "mimeType": "text/plain", "description": "d"}
    client = make_client(rev, bridge(inner).server).open()
    for given in (link, {"uri": "memo://one", "name": "one"}, {**link, "size": 0}):
        [got] = client.request("tools/call", {"name": "inner__echo",
                                              "arguments": {"link": given}})["content"]
        if rev in "AB":  # which know none
            assert got["type"] == "text" and "memo://one" in got["text"]
        else:
            assert got == {"type": "resource_link", **given}


ICON = {"src": "https://x.example/bridged.png", "mimeType": "image/png", "sizes": ["16x16"],
        "theme": "light"}
PAGE_META = {"ui": {"csp": {"connectDomains": ["https://x.example"]}}}


@pytest.mark.parametrize("content", [
    {"type": "resource_link", "uri": "memo://one", "name": "one", "title": "The first", "size": 8,
     "mimeType": "text/plain", "description": "d"},
    {"type": "resource", "resource": {"uri": "memo://two", "mimeType": "a/b", "blob": "AAE="}}],
    ids=["link", "bytes"])
def test_prompts_hold_what_tools_may_give(bridge, make_client, rev, content):
    """Links and bytes of resources became "[content of type … cannot be shown]"."""
    client = make_client(rev, bridge("D").server).open()
    [message] = client.request("prompts/get", {
        "name": "inner__poem", "arguments": {"about": json.dumps(content)}})["messages"]
    assert message["role"] == "assistant"
    if rev in "AB" and content["type"] == "resource_link":  # which know none
        assert message["content"]["type"] == "text" and "memo://one" in message["content"]["text"]
    else:
        assert message["content"] == content


HIDDEN = "hidden://self"


def name_it(client, uri, tool="inner__echo"):
    client.request("tools/call", {"name": tool, "arguments": {"link": {"uri": uri, "name": "x"}}})


def read_text(client, uri):
    return client.request("resources/read", {"uri": uri})["contents"][0]["text"]


def cannot_read(client, uri):
    with pytest.raises(RpcError) as caught:
        client.request("resources/read", {"uri": uri})
    return caught.value.code == (-32602 if client.rev == "E" else -32002)


def test_what_a_result_names_can_be_read(bridge, make_client, rev, inner):
    """Servers need not list what they link to; such links led nowhere."""
    behind = bridge(inner)
    client = make_client(rev, behind.server).open()
    assert cannot_read(client, HIDDEN)
    name_it(client, HIDDEN)
    process = called(client, "inner__self")
    assert read_text(client, HIDDEN) == process
    # One server serves all, in whatever session they come.
    assert read_text(make_client("D", behind.server).open(), HIDDEN) == process


def test_what_a_prompt_names_can_be_read(bridge, make_client):
    client = make_client("E", bridge("D").server).open()
    content = {"type": "resource", "resource": {"uri": HIDDEN, "text": "x"}}
    client.request("prompts/get", {"name": "inner__poem", "arguments": {
        "about": json.dumps(content)}})
    assert read_text(client, HIDDEN) == called(client, "inner__self")


def test_a_link_leads_to_who_named_it(start_pillion, make_client, tmp_path):
    """And never to another server's own resources, nor to one of ours."""
    config, root = tmp_path / "c.yaml", tmp_path / "root"
    root.mkdir()
    (root / "note.txt").write_text("ours", encoding="utf-8")
    one = f"{{command: {sys.executable}, args: ['{SCRIPT}', D]}}"
    config.write_text(f"servers: {{a: {one}, b: {one}}}", encoding="utf-8")
    client = make_client("D", start_pillion("--config", config, "--root", root)).open()
    processes = {name: called(client, name + "__self") for name in "ab"}
    for name in "ba":
        name_it(client, HIDDEN, name + "__echo")
        assert read_text(client, HIDDEN) == processes[name]
    [note] = [one["uri"] for one in client.request("resources/list")["resources"]
              if one["name"] == "note.txt"]
    name_it(client, note, "b__echo")
    assert read_text(client, note) == "ours"


def test_pages_of_tools_can_be_read(bridge, make_client, rev):
    """Servers may leave them out of their lists (MCP Apps); nobody could be shown them."""
    client = make_client(rev, bridge("D", "    deny: [big]\n").server).open()
    for name in ("count", "tell"):
        assert read_text(client, f"hidden://{name}") == f"memo hidden://{name}"
    assert cannot_read(client, "hidden://big")


def test_a_link_is_forgotten_with_its_server(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    name_it(client, HIDDEN)
    assert read_text(client, HIDDEN)
    behind.config.write_text("servers: {}\n", encoding="utf-8")
    wait_until(lambda: behind.children() == [])
    assert cannot_read(client, HIDDEN)


def fields_known_to(rev):
    """Of what is said of a page, what a client of that revision knows."""
    annotations = {"audience": ["user"], "priority": 0.5}
    if rev not in "AB":
        annotations["lastModified"] = "2026-01-01T00:00:00Z"
    return {"annotations": annotations, **({"_meta": PAGE_META} if rev not in "AB" else {}),
            **({"icons": [ICON]} if rev in "DE" else {})}


def test_resources_and_templates_keep_what_they_say(bridge, make_client, rev):
    """Lists said less than the server: pages of MCP Apps came without their `_meta.ui`."""
    client = make_client(rev, bridge("D").server).open()
    [page] = [one for one in client.request("resources/list")["resources"]
              if one["uri"] == "ui://page"]
    assert page == {"uri": "ui://page", "name": "page", **fields_known_to(rev)}
    [pages] = [one for one in client.request("resources/templates/list")["resourceTemplates"]
               if one["uriTemplate"] == "ui://of/{name}"]
    assert pages == {"uriTemplate": "ui://of/{name}", "name": "of", **fields_known_to(rev)}


def test_contents_keep_their_meta(bridge, make_client, rev, inner):
    """Pages of MCP Apps lost what they may connect to."""
    client = make_client(rev, bridge(inner).server).open()
    for uri in ("ui://page", "ui://of/ada"):
        [got] = client.request("resources/read", {"uri": uri})["contents"]
        assert got == {"uri": uri, "mimeType": "text/plain", "text": "memo " + uri,
                       **({"_meta": PAGE_META} if rev not in "AB" else {})}


def test_questions_reach_the_user(bridge, make_client, rev, inner):
    behind = bridge(inner)
    client = make_client(rev, behind.server, capabilities=ABLE).open()
    if rev in "AB":
        # Their clients cannot be asked, whatever they say.
        assert called(client, "inner__ask").startswith("nobody")
        return
    if rev == "E":
        first = client.call("tools/call", {"name": "inner__ask", "arguments": {}}).result
        assert first["resultType"] == "input_required"
        [(key, asked)] = first["inputRequests"].items()
        assert asked["params"]["message"] == "Who?"
        again = client.call("tools/call", {
            "name": "inner__ask", "arguments": {}, "inputResponses": {key: NAME},
            "requestState": first["requestState"]})
        assert text_of(again.result) == "Hello, Ada"
        if inner != "E":
            # The server was asked once: the same call waited for the answer.
            assert behind.journal().count("called ask") == 1
        return
    call = begin(client, "inner__ask")
    answer(client, question(call, "elicitation/create"), result=NAME)
    assert text_of(call.result()) == "Hello, Ada"


def test_a_client_that_declines(bridge, make_client, inner):
    client = make_client("D", bridge(inner).server, capabilities=ABLE).open()
    call = begin(client, "inner__ask")
    answer(client, question(call, "elicitation/create"), result={"action": "decline"})
    assert text_of(call.result()) == "Hello, decline"


def test_who_cannot_be_asked_is_not(bridge, make_client, rev, inner):
    client = make_client(rev, bridge(inner).server, capabilities={}).open()
    assert called(client, "inner__ask").startswith("nobody")


def test_progress_and_logs_are_passed_on(bridge, make_client, rev, inner):
    client = make_client(rev, bridge(inner).server).open()
    reply = client.call("tools/call", {"name": "inner__count",
                                       "arguments": {"to": 3, "pause": 0.3}},
                        meta={"progressToken": "mine"})
    assert text_of(reply.result) == "counted"
    told = reply.notifications("notifications/progress")
    assert [one["progressToken"] for one in told] == ["mine"] * len(told)
    assert told[-1]["progress"] == 3 and told[-1]["total"] == 3
    assert len(told) >= 2
    meta = {"io.modelcontextprotocol/logLevel": "debug"} if rev == "E" else None
    reply = client.call("tools/call", {"name": "inner__tell", "arguments": {}}, meta=meta)
    assert text_of(reply.result) == "told"
    [said] = reply.notifications("notifications/message")
    assert (said["level"], said["logger"], said["data"]) == ("warning", "bridged", "careful")


def test_a_client_hears_as_much_as_it_wants(bridge, make_client, rev, inner):
    """Servers with sessions were asked for "info", so nobody ever heard of anything below."""
    client = make_client(rev, bridge(inner).server).open()
    meta = {"io.modelcontextprotocol/logLevel": "debug"} if rev == "E" else None
    if rev != "E":
        client.request("logging/setLevel", {"level": "debug"})
    reply = client.call("tools/call", {"name": "inner__tell", "arguments": {"level": "debug"}},
                        meta=meta)
    assert text_of(reply.result) == "told"
    assert [one["level"] for one in reply.notifications("notifications/message")] == ["debug"]


def test_who_wants_less_is_not_told_what_others_want(bridge, make_client):
    behind = bridge("D")
    client, other = (make_client("D", behind.server).open() for _ in range(2))
    other.request("logging/setLevel", {"level": "debug"})
    assert called(other, "inner__tell") == "told"
    assert behind.journal()[-2:] == ["level debug", "called tell"]
    for level, heard in (("debug", []), ("info", ["info"])):
        reply = client.call("tools/call", {"name": "inner__tell", "arguments": {"level": level}})
        assert text_of(reply.result) == "told"
        assert [one["level"] for one in reply.notifications("notifications/message")] == heard
    assert behind.journal().count("level info") == 1


@pytest.mark.parametrize("level", ["warning", "error"])
def test_however_much_it_logs_the_result_comes(bridge, make_client, level):
    """All messages stayed in the memory of the call, whether or not anybody wanted them."""
    limits = "limits: {request_memory: 1MiB, body: 64KiB, result: 256KiB}\n"
    client = make_client("E", bridge("D", limits).server)
    reply = client.call("tools/call", {"name": "inner__tell",
                                       "arguments": {"times": 150, "bytes": 10000}},
                        meta={"io.modelcontextprotocol/logLevel": level})
    assert text_of(reply.result) == "told"
    said = reply.notifications("notifications/message")
    assert [len(one["data"]) for one in said] == ([10000] * 150 if level == "warning" else [])


def test_cancellation_reaches_the_server(bridge, make_client, rev, inner):
    behind = bridge(inner)
    client = make_client(rev, behind.server).open()
    connection, identifier = client.begin("tools/call", {"name": "inner__wait", "arguments": {}})
    behind.wait_for("called wait")
    if rev == "E":
        connection.close()
    else:
        client.notify("notifications/cancelled", {"requestId": identifier, "reason": "enough"})
    wait_until(lambda: any(one.startswith("cancelled") for one in behind.journal()))
    assert called(client, "inner__echo", {"still": "there"}) == '{"still": "there"}'


def test_updates_of_resources_reach_who_subscribed(bridge, make_client, rev, inner):
    behind = bridge(inner)
    client = make_client(rev, behind.server).open()
    uri = "memo://one"
    if rev == "E":
        stream, _, _ = client.listen(resourceSubscriptions=[uri])
    else:
        stream = client.open_stream()
        client.request("resources/subscribe", {"uri": uri})
    behind.wait_for("subscribed " + uri)
    assert called(make_client("D", behind.server).open(), "inner__touch", {"uri": uri}) == "touched"
    message = client.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == uri


def test_a_change_of_its_tools_is_told(bridge, make_client, rev, inner):
    behind = bridge(inner)
    client = make_client(rev, behind.server).open()
    stream = client.listen(toolsListChanged=True)[0] if rev == "E" else client.open_stream()
    assert called(make_client("D", behind.server).open(), "inner__change",
                  {"name": "echo2"}) == "changed"
    assert client.next_message(stream)["method"] == "notifications/tools/list_changed"
    with pytest.raises(RpcError):
        called(client, "inner__none")


# ---- names ----

def test_names_are_the_operator_s(bridge, make_client):
    more = ("    prefix: ''\n    allow: [count, ask, poem, tell]\n    deny: [tell]\n"
            "    rename: {ask: who_is_it}\n")
    client = make_client("E", bridge("D", more).server).open()
    names = [one["name"] for one in client.request("tools/list")["tools"]]
    assert {"count", "who_is_it"} < set(names) and not {"tell", "ask", "big"} & set(names)
    assert "poem" in [one["name"] for one in client.request("prompts/list")["prompts"]]
    assert called(client, "count", {"to": 1}) == "counted"


def test_a_name_that_is_taken_is_left_out(start_pillion, make_client, tmp_path):
    config = tmp_path / "c.yaml"
    server = f"{{command: {sys.executable}, args: ['{SCRIPT}', D], prefix: ''}}"
    config.write_text(f"servers: {{a: {server}, b: {server}}}", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path)
    server.wait_for_log("bridge.left_out server=b name=count")
    client = make_client("E", server).open()
    names = [one["name"] for one in client.request("tools/list")["tools"]]
    assert names.count("count") == 1


@pytest.fixture
def two_with(start_pillion, make_client, tmp_path):
    """A client of two servers whose first tools take arguments of these schemas."""
    def begin(*schemas):
        config = tmp_path / "c.yaml"
        servers = {name: {"command": sys.executable, "args": [str(SCRIPT), "D"],
                          "env": {"SCHEMA_OF_ECHO": json.dumps(schema)}}
                   for name, schema in zip("ab", schemas)}
        config.write_text(json.dumps({"servers": servers}), encoding="utf-8")
        root = tmp_path / "root"
        root.mkdir()
        return make_client("D", start_pillion("--config", config, "--root", root)).open()
    return begin


def all_tools(client):
    tools, cursor = {}, {}
    while cursor is not None:
        page = client.request("tools/list", cursor)
        tools.update((one["name"], one) for one in page["tools"])
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    return tools


@pytest.mark.parametrize("annotated", [
    {"type": "number", "x-mcp-header": "N"},
    {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}], ids=["type", "place"])
def test_a_header_that_cannot_be_costs_one_schema_alone(two_with, annotated):
    """All tools of its server were gone, and those of the servers before it."""
    client = two_with({"type": "object"}, {"type": "object", "properties": {"x": annotated}})
    tools = all_tools(client)
    assert "a__echo" in tools and "b__count" in tools
    assert tools["b__echo"]["inputSchema"] == {"type": "object"}
    assert called(client, "b__echo", {"x": "any"}) == '{"x": "any"}'


def test_two_servers_may_give_different_schemas_one_id(two_with):
    """Each compiled, but not both at once: no server's tools were offered."""
    def schema(kind):
        return {"$id": "https://x.example/s", "type": "object", "properties": {"x": {"type": kind}}}
    client = two_with(schema("string"), schema("integer"))
    tools = all_tools(client)
    for name, kind in (("a__echo", "string"), ("b__echo", "integer")):
        assert tools[name]["inputSchema"]["properties"] == {"x": {"type": kind}}
    assert called(client, "a__echo", {"x": "1"}) == '{"x": "1"}'
    reply = client.call("tools/call", {"name": "b__echo", "arguments": {"x": "1"}})
    assert reply.result["isError"]


# They were listed, and each call of them was refused.
def test_tools_that_are_called_as_tasks_alone_are_left_out(bridge, make_client):
    behind = bridge("D", "    env: {TASKS: 'yes', ONLY_TASKS: big noise}\n")
    client = make_client("E", behind.server).open()
    tools = all_tools(client)
    assert "inner__echo" in tools and not {"inner__big", "inner__noise"} & set(tools)
    [line] = [one for one in behind.server.log if "bridge.left_out" in one]
    assert "inner__big, inner__noise" in line and "task" in line


def test_where_a_server_has_no_tasks_its_tools_are_called_whatever_they_say(bridge, make_client):
    client = make_client("E", bridge("D", "    env: {ONLY_TASKS: big}\n").server).open()
    assert called(client, "inner__big", {"bytes": 3}) == "xxx"


def test_a_client_s_file_is_taken_as_it_is(start_pillion, make_client, tmp_path):
    known = tmp_path / "claude.json"
    known.write_text("""{
  // what the client itself reads
  "mcpServers": {
    "one": {"type": "stdio", "command": "%s", "args": ["%s", "C"], "env": {"A": "//b"},
            "autoApprove": [], "disabledTools": ["tell"]},
    "off": {"command": "/none", "disabled": true} /* not now */
  }
}
""" % (sys.executable, SCRIPT), encoding="utf-8")
    server = start_pillion("--mcp-config", known, "--bridge-prefix", "", "--root", tmp_path)
    server.wait_for_log("mcpServers.one.autoApprove")
    client = make_client("E", server).open()
    names = [one["name"] for one in client.request("tools/list")["tools"]]
    assert "count" in names and "tell" not in names


@pytest.mark.parametrize("text, said", [
    ("{}", "has no mcpServers"),
    ("[]", "is no JSON object"),
    ('{"mcpServers": {"a b": {"command": "x"}}}', "a name must be of"),
    ('{"mcpServers": {"a": {}}}', "needs command or url, and not both"),
    ('{"mcpServers": {"a": {"url": "http://x", "command": "y"}}}', "needs command or url"),
    ('{"mcpServers": {"a": {"url": "ftp://x"}}}', "a: it is no http:// or https:// URL"),
    ('{"mcpServers": {"a": {"url": "http://x", "headers": {"Mcp-Name": "y"}}}}',
     "a: its header Mcp-Name cannot be set so"),
    ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "a.args: is not what it should be"),
])
def test_a_client_s_file_with_a_fault(tmp_path, text, said):
    file = tmp_path / "f.json"
    file.write_text(text, encoding="utf-8")
    ended = run_program(pillion_bin(), "check", "--mcp-config", file)
    assert ended.returncode == 2 and said in ended.stderr.decode()


# ---- what goes wrong ----

def test_a_crash_ends_its_calls_and_is_mended(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    assert failed(client, "inner__crash").code == -32006
    behind.server.wait_for_log("the disk is on fire")
    # Its tools are still listed, and the next one is there soon.
    assert "inner__echo" in [one["name"] for one in client.request("tools/list")["tools"]]
    wait_until(lambda: behind.journal().count("started") == 2)
    wait_for_life(client)


def wait_for_life(client):
    def works():
        try:
            return called(client, "inner__echo", {"x": 1}) == '{"x": 1}'
        except RpcError as error:
            assert error.code == -32006
            return False
    wait_until(works)


# What the first client said to the process that had gone was the answer to the second one's call.
def test_an_answer_is_for_the_process_that_asked(bridge, make_client):
    behind = bridge("D")
    clients = [make_client("E", behind.server, capabilities=ABLE).open() for _ in range(2)]
    asked = []
    for i, client in enumerate(clients):
        asked.append(client.request("tools/call", {"name": "inner__ask", "arguments": {}}))
        if i == 0:
            assert failed(client, "inner__crash").code == -32006
            wait_for_life(client)
    error, result = [
        client.call("tools/call", {"name": "inner__ask", "arguments": {}, "inputResponses": {
            key: {"action": "accept", "content": {"name": name}} for key in one["inputRequests"]},
            "requestState": one["requestState"]})
        for client, one, name in zip(clients, asked, ["Ada", "Bob"])]
    assert error.error.code == -32006
    assert text_of(result.result) == "Hello, Bob"


def test_garbage_is_passed_over(bridge, make_client):
    client = make_client("E", bridge("D").server).open()
    assert called(client, "inner__garbage") == "after all"
    assert called(client, "inner__noise") == "quiet"


def test_a_flood_ends_it(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    assert failed(client, "inner__flood").code == -32006
    behind.server.wait_for_log("its message is too large")
    assert behind.server.resident_kb() < 200_000


def test_one_that_ignores_the_end_is_killed(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    client.begin("tools/call", {"name": "inner__deaf", "arguments": {}})
    behind.wait_for("deaf")
    [child] = behind.children()
    behind.server.stop()
    assert has_ended(child)


def test_grandchildren_end_with_it(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    assert failed(client, "inner__orphan").code == -32006
    [line] = [one for one in behind.journal() if one.startswith("grandchild")]
    wait_until(lambda: has_ended(line.split()[1]))


def test_nobody_outlives_a_server_that_is_killed(io, tmp_path):
    def start(*arguments):
        return Server(pillion_bin(), "--io", io, "--port", 0, *arguments)
    behind = Bridged(start, tmp_path, "D")
    [child] = behind.children()
    behind.server.process.send_signal(signal.SIGKILL)
    behind.server.wait()
    wait_until(lambda: has_ended(child))


# Whoever did not wait for the line in the log was answered before the servers were there.
def test_who_asks_while_it_starts_finds_all_tools(start_pillion, tmp_path):
    config, place = tmp_path / "c.yaml", str(tmp_path / "s")
    config.write_text(
        f"servers: {{slow: {{command: sh, args: [-c, 'sleep 0.5; exec \"$0\" \"$@\"', "
        f"{sys.executable}, '{SCRIPT}', D]}}}}", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path, "--listen", f"unix:{place}",
                           wait=False)
    wait_until(lambda: children_of(server.pid))
    client = Client(place, "E").open()
    assert called(client, "slow__echo", {"x": 1}) == '{"x": 1}'
    client.close()
    server.wait_until_ready()


# It waited for them first: 20 seconds, and failed at the end of a pipe.
@pytest.mark.parametrize("way", ["serve", "stdio"])
def test_the_end_may_come_while_servers_start(io, tmp_path, way):
    config = tmp_path / "c.yaml"
    config.write_text("servers: {slow: {command: sleep, args: ['1000']}}", encoding="utf-8")
    port = ["--port", "0"] if way == "serve" else []
    with subprocess.Popen([pillion_bin(), way, "--io", io, "--config", config, "--root", tmp_path,
                           *port], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        [child] = wait_until(lambda: children_of(process.pid))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert has_ended(child) and b"shutdown complete" in process.stderr.read()


def test_one_that_cannot_start_harms_nobody(start_pillion, make_client, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(
        "servers:\n  gone: {command: /none/such}\n  ends: {command: 'false'}\n"
        f"  good: {{command: {sys.executable}, args: ['{SCRIPT}', D]}}\n", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path)
    assert "No such file" in server.wait_for_log("bridge.down server=gone")
    assert "it ended with code 1" in server.wait_for_log("bridge.down server=ends")
    client = make_client("E", server).open()
    assert called(client, "good__echo", {}) == "{}"


def test_a_deadline_reaches_the_server(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    error = failed_meta(client, "inner__wait", {"pillion/timeoutMs": 300})
    assert error.code == -32004
    wait_until(lambda: "cancelled deadline" in behind.journal(), what=str(behind.journal()))


def failed_meta(client, name, meta):
    with pytest.raises(RpcError) as caught:
        client.request("tools/call", {"name": name, "arguments": {}}, meta=meta)
    return caught.value


def test_a_reload_exchanges_what_has_changed(bridge, make_client):
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    [before] = behind.children()
    config = behind.config.read_text(encoding="utf-8")
    behind.config.write_text(config + "    prefix: new_\n", encoding="utf-8")
    wait_until(lambda: behind.children() and behind.children() != [before])

    def works():
        try:
            return called(client, "new_echo", {"x": 1}) == '{"x": 1}'
        except RpcError:
            return False
    wait_until(works)
    names = [one["name"] for one in client.request("tools/list")["tools"]]
    assert "inner__echo" not in names
    behind.server.process.send_signal(signal.SIGHUP)
    behind.server.wait_for_log("config.reloaded")
    assert called(client, "new_echo", {"x": 2}) == '{"x": 2}'


# Nobody ended what it brought, and so the end never came.
@pytest.mark.parametrize("way", ["serve", "stdio"])
def test_a_reload_that_ends_after_the_servers_starts_none(io, tmp_path, way):
    may_say = threading.Event()

    class Slow(Service):
        def description(self):
            may_say.wait(30)
            return super().description()

    def write(names):
        servers = "".join(f"  {one}: {{command: {sys.executable}, args: ['{SCRIPT}', D]}}\n"
                          for one in names)
        config.write_text(f"openapi: {{pets: {{url: '{pets.url}/openapi.json'}}}}\n"
                          f"servers:\n{servers}", encoding="utf-8")
    pets, config = Slow().over_tcp(), tmp_path / "c.yaml"
    may_say.set()
    write(["first"])
    port = ["--port", "0"] if way == "serve" else []
    with subprocess.Popen([pillion_bin(), way, "--io", io, "--config", config, "--root", tmp_path,
                           *port], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            [child] = wait_until(lambda: children_of(process.pid))
            may_say.clear()
            write(["first", "second"])
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(pets.asked) > 1, what="the reload")
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: has_ended(child), what="the end of the servers")
            may_say.set()
            assert process.wait(20) == 0
        finally:
            process.kill()
    pets.stop()


# Nobody told the new process, and the client heard of nothing any more.
def test_subscriptions_outlive_a_reload(bridge, make_client, inner):
    behind = bridge(inner)
    client = make_client("E", behind.server).open()
    uri = "memo://one"
    stream, _, _ = client.listen(resourceSubscriptions=[uri])
    behind.wait_for("subscribed " + uri)
    config = behind.config.read_text(encoding="utf-8")
    behind.config.write_text(config + "    ping: 20s\n", encoding="utf-8")
    wait_until(lambda: behind.journal().count("subscribed " + uri) == 2)
    assert called(make_client("D", behind.server).open(), "inner__touch", {"uri": uri}) == "touched"
    message = client.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == uri


def uris_of(client):
    return [one["uri"] for one in client.request("resources/list")["resources"]]


def follow(client, uri):
    """A stream that tells of changes of that resource."""
    if client.rev == "E":
        return client.listen(resourceSubscriptions=[uri])[0]
    stream = client.open_stream()
    client.request("resources/subscribe", {"uri": uri})
    return stream


# The server was never told: not then, and not for those who subscribed after him.
def test_who_subscribes_before_it_has_the_resource_hears_of_it(bridge, make_client, rev, inner):
    behind, uri = bridge(inner), "memo://two"
    client, other = make_client(rev, behind.server).open(), make_client("D", behind.server).open()
    stream = follow(client, uri)
    assert called(other, "inner__change", {"resource": uri}) == "changed"
    behind.wait_for("subscribed " + uri)
    assert called(other, "inner__touch", {"uri": uri}) == "touched"
    message = client.next_message(stream)
    if message["method"] == "notifications/resources/list_changed":  # sessions hear of all
        message = client.next_message(stream)
    assert message["method"] == "notifications/resources/updated"
    assert message["params"]["uri"] == uri


# It went on telling of what nobody wanted to hear of any more.
@pytest.mark.parametrize("inner", "DE", indirect=True)
def test_who_goes_while_it_lacks_the_resource_has_gone(bridge, make_client, inner):
    behind, uri = bridge(inner), "memo://one"
    client = make_client("D", behind.server).open()
    client.request("resources/subscribe", {"uri": uri})
    behind.wait_for("subscribed " + uri)
    for there in (False, True):
        assert called(client, "inner__change", {"resource": uri}) == "changed"
        wait_until(lambda: (uri in uris_of(client)) == there)
        if not there:
            client.request("resources/unsubscribe", {"uri": uri})
    assert called(client, "inner__echo", {}) == "{}"  # it has read all that was said before
    told = [one for one in behind.journal() if "subscribed" in one or "listened" in one]
    assert told[-1] == ("listened to" if inner == "E" else "unsubscribed " + uri)


# As above, of one that is down when others are served.
@pytest.mark.parametrize("inner", "DE", indirect=True)
def test_who_subscribes_before_it_is_there_hears_of_it(start_pillion, make_client, tmp_path,
                                                       inner):
    config, root, journal = (tmp_path / name for name in ("c.yaml", "root", "journal"))
    root.mkdir()
    config.write_text(json.dumps({"servers": {"late": {"command": "sh", "args": [
        "-c", f"test -e '{tmp_path}/now' && exec \"$0\" \"$@\"", sys.executable, str(SCRIPT),
        inner, str(journal)]}}}), encoding="utf-8")
    client = make_client("E", start_pillion("--config", config, "--root", root)).open()
    stream = follow(client, "memo://one")
    (tmp_path / "now").touch()
    wait_until(lambda: journal.exists() and "subscribed memo://one" in journal.read_text("utf-8"))
    assert called(client, "late__touch", {"uri": "memo://one"}) == "touched"
    assert client.next_message(stream)["params"]["uri"] == "memo://one"


# What it had hidden stayed away until the next start.
def test_a_server_that_goes_leaves_its_names_to_others(start_pillion, make_client, tmp_path):
    config, root = tmp_path / "c.yaml", tmp_path / "root"
    root.mkdir()
    one = f"{{command: {sys.executable}, args: ['{SCRIPT}', D], prefix: ''}}"
    config.write_text(f"servers: {{a: {one}, b: {one}}}", encoding="utf-8")
    server = start_pillion("--config", config, "--root", root)
    client = make_client("E", server).open()
    first = called(client, "self")
    config.write_text(f"servers: {{b: {one}}}", encoding="utf-8")

    def other():
        try:
            return called(client, "self") != first
        except RpcError:
            return False
    wait_until(other)
    [child] = wait_until(lambda: len(found := children_of(server.pid)) == 1 and found)
    assert called(client, "self") == child
    names = [one["name"] for one in client.request("tools/list")["tools"]]
    assert names.count("echo") == 1
    assert client.request("resources/read", {"uri": "memo://one"})["contents"]
    assert "memo://one" in [one["uri"] for one in client.request("resources/list")["resources"]]


def test_crashes_leave_nothing(bridge, make_client):
    """Children, descriptors and memory after many ends."""
    behind = bridge("D")
    client = make_client("E", behind.server).open()
    before = behind.server.descriptors()
    for _ in range(3):
        def works():
            try:
                return called(client, "inner__echo", {}) == "{}"
            except RpcError:
                return False
        wait_until(works, seconds=20)
        assert failed(client, "inner__crash").code == -32006
    wait_until(works, seconds=20)
    assert len(behind.children()) == 1
    assert behind.server.descriptors() <= before + 1
    assert json.loads(called(client, "inner__echo", {"end": True})) == {"end": True}
