"""The judge itself: it accepts the official examples and notices what is wrong with a message."""

import json

import pytest

import wire_schema
from wire_schema import JUDGE, SERVER_INFO, VERSIONS, WireError

pytestmark = pytest.mark.skipif(not JUDGE.enabled, reason="the official schemas are not here")

META = {"_meta": {SERVER_INFO: {"name": "n", "version": "1"}}}
DONE = {"resultType": "complete", **META}
CACHED = {**DONE, "ttlMs": 0, "cacheScope": "private"}


def test_schemas_of_all_revisions_are_there():
    for rev in VERSIONS:
        types = JUDGE.types(rev)
        named = set(wire_schema.RESULTS[rev].values()) | set(
            wire_schema.NOTIFICATIONS[rev].values())
        named |= set(wire_schema.ERROR_MESSAGES.get(rev, {}).values())
        named |= set(wire_schema.ERROR_OBJECTS.get(rev, {}).values())
        assert named <= types


def examples():
    folder = wire_schema.schema_folder().parent / "examples"
    return sorted(folder.glob("*/*.json")) if folder.is_dir() else []


# Named beforehand: where there are none, a function would be asked for the name of no path.
@pytest.mark.parametrize("path", examples(), ids=[f"{p.parent.name}/{p.stem}" for p in examples()])
def test_official_example_is_of_its_type(path):
    JUDGE.check("E", path.parent.name, json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("rev", "ABCD")
def test_legacy_results(rev):
    JUDGE.result(rev, "ping", {})
    JUDGE.result(rev, "tools/call", {"content": [{"type": "text", "text": "x"}]})
    with pytest.raises(WireError):
        JUDGE.result(rev, "tools/call", {"content": [{"type": "text"}]})
    with pytest.raises(WireError):
        JUDGE.result(rev, "ping", {"x": 1})
    with pytest.raises(WireError):
        JUDGE.result(rev, "tools/list", {"tools": [], "resultType": "complete"})
    with pytest.raises(WireError):
        JUDGE.result(rev, "tools/list", {"tools": [], "ttlMs": 0})
    with pytest.raises(WireError):
        JUDGE.result(rev, "tools/list", {"tools": [], "nextCursor": None})
    with pytest.raises(WireError):
        JUDGE.result(rev, "server/discover", {})


@pytest.mark.parametrize("rev", "AB")
def test_content_kinds_that_came_later_are_noticed(rev):
    audio = {"content": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]}
    link = {"content": [{"type": "resource_link", "uri": "a:b", "name": "n"}]}
    if rev == "A":
        with pytest.raises(WireError):
            JUDGE.result(rev, "tools/call", audio)
    else:
        JUDGE.result(rev, "tools/call", audio)
    with pytest.raises(WireError):
        JUDGE.result(rev, "tools/call", link)
    JUDGE.result("C", "tools/call", link)


def test_base64_and_uris_are_checked():
    for data in ("AAA", "A*==", "AA==\n"):
        with pytest.raises(WireError):
            JUDGE.result("D", "tools/call", {
                "content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
    with pytest.raises(WireError):
        JUDGE.result("D", "resources/read", {"contents": [{"uri": "not a uri", "text": "x"}]})


def test_modern_results():
    JUDGE.result("E", "tools/list", {"tools": [], **CACHED})
    for key in ("ttlMs", "cacheScope", "resultType", "_meta"):
        broken = {"tools": [], **CACHED}
        del broken[key]
        with pytest.raises(WireError):
            JUDGE.result("E", "tools/list", broken)
    with pytest.raises(WireError):
        JUDGE.result("E", "tools/call", {"content": [], **CACHED})
    with pytest.raises(WireError):
        JUDGE.result("E", "tools/list", {"tools": [], **CACHED, "ttlMs": -1})
    with pytest.raises(WireError):
        JUDGE.result("E", "ping", DONE)
    with pytest.raises(WireError):
        JUDGE.result("E", "tools/list", {**META, "resultType": "input_required",
                                         "requestState": "x"})
    JUDGE.result("E", "tools/call", {**META, "resultType": "input_required",
                                     "requestState": "x"})


def test_errors():
    def error(code, data=None, **more):
        body = {"code": code, "message": "m"}
        if data is not None:
            body["data"] = data
        return {"jsonrpc": "2.0", "error": body, **more}

    for rev in VERSIONS:
        JUDGE.error(rev, error(-32601, id=1))
        JUDGE.error(rev, error(-32700))
        with pytest.raises(WireError):
            JUDGE.error(rev, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}})
        with pytest.raises(WireError):
            JUDGE.error(rev, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1.5, "message": ""}})
        with pytest.raises(WireError):
            JUDGE.error(rev, error(-32601, id=1, extra=1))
    with pytest.raises(WireError):
        JUDGE.error("E", error(-32002, id=1))
    with pytest.raises(WireError):
        JUDGE.error("E", error(-32022, id=1))
    JUDGE.error("E", error(-32022, {"supported": ["2026-07-28"], "requested": "x"}, id=1))
    with pytest.raises(WireError):
        JUDGE.error("E", error(-32021, {"requiredCapabilities": ["sampling"]}, id=1))
    JUDGE.error("E", error(-32021, {"requiredCapabilities": {"sampling": {}}}, id=1))


def test_messages_are_classified():
    asked = {1: "ping"}.get
    JUDGE.message("D", {"jsonrpc": "2.0", "id": 1, "result": {}}, asked)
    for message in ({"jsonrpc": "2.0", "id": 2, "result": {}},
                    {"jsonrpc": "2.0", "id": None, "result": {}},
                    {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
                    {"jsonrpc": "2.0", "id": 1},
                    {"jsonrpc": "1.0", "id": 1, "result": {}},
                    {"jsonrpc": "2.0", "method": "notifications/unheard_of"},
                    [{"jsonrpc": "2.0", "id": 1, "result": {}}]):
        with pytest.raises(WireError):
            JUDGE.message("D", message, asked)
    ping = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
    JUDGE.message("D", ping, asked)
    with pytest.raises(WireError):
        JUDGE.message("E", ping, asked)
    progress = {"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": "t", "progress": 1}}
    JUDGE.message("A", progress, asked)
    del progress["params"]["progressToken"]
    with pytest.raises(WireError):
        JUDGE.message("A", progress, asked)
