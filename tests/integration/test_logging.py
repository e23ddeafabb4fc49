"""Log messages to clients: levels of a session, levels of a request."""

import pytest

pytestmark = pytest.mark.asan

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVEL_KEY = "io.modelcontextprotocol/logLevel"


def levels_of(reply):
    return [params["level"] for params in reply.notifications("notifications/message")]


@pytest.mark.parametrize("level", LEVELS)
def test_a_session_gets_its_level_and_above(legacy, level):
    assert legacy.request("logging/setLevel", {"level": level}) == {}
    reply = legacy.tool("test_log_all", {})
    assert levels_of(reply) == LEVELS[LEVELS.index(level):]
    assert reply.result["content"][0]["text"] == "logged"


def test_a_session_without_level_gets_all_but_debug(legacy):
    assert levels_of(legacy.tool("test_log_all", {})) == LEVELS[1:]


@pytest.mark.parametrize("params", [{}, {"level": "loud"}, {"level": "INFO"}, {"level": 3},
                                    {"level": None}, None], ids=str)
def test_an_unknown_level_is_refused(legacy, params):
    assert legacy.call("logging/setLevel", params).error.code == -32602


def test_levels_of_sessions_are_their_own(make_client):
    loud, quiet = make_client("D").open(), make_client("D").open()
    loud.request("logging/setLevel", {"level": "debug"})
    quiet.request("logging/setLevel", {"level": "emergency"})
    assert levels_of(loud.tool("test_log_all", {})) == LEVELS
    assert levels_of(quiet.tool("test_log_all", {})) == ["emergency"]


def test_a_level_holds_on_every_connection(server, legacy):
    legacy.request("logging/setLevel", {"level": "alert"})
    for _ in range(8):
        reply = legacy.tool("test_log_all", {}, connection=legacy.connect())
        assert levels_of(reply) == ["alert", "emergency"]


def test_messages_carry_text_data_and_logger(legacy):
    legacy.request("logging/setLevel", {"level": "alert"})
    first, last = legacy.tool("test_log_all", {}).notifications("notifications/message")
    assert first == {"level": "alert", "logger": "fixture", "data": "at alert"}
    assert last == {"level": "emergency", "logger": "fixture", "data": {"text": "at emergency"}}


def test_messages_come_while_the_tool_runs(legacy):
    legacy.request("logging/setLevel", {"level": "debug"})
    reply = legacy.tool("test_tool_with_logging", {})
    assert [params["data"] for params in reply.notifications("notifications/message")] == [
        "Tool execution started", "Tool processing data", "Tool execution completed"]


def test_a_modern_request_without_level_gets_none(modern):
    for tool in ("test_log_all", "test_logging_tool"):
        assert levels_of(modern.tool(tool, {})) == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_modern_request_gets_its_level_and_above(modern, level):
    reply = modern.tool("test_log_all", {}, meta={LEVEL_KEY: level})
    assert levels_of(reply) == LEVELS[LEVELS.index(level):]
    assert levels_of(modern.tool("test_log_all", {})) == []


@pytest.mark.parametrize("level", ["loud", "", 3, None, ["info"]], ids=str)
def test_a_modern_request_with_an_unknown_level_is_refused(modern, level):
    reply = modern.tool("test_log_all", {}, meta={LEVEL_KEY: level})
    assert reply.error.code == -32602
