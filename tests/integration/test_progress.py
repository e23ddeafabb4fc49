"""Progress: the token comes back as it was, values only rise, and nothing follows the answer."""

import pytest

pytestmark = pytest.mark.asan


def progress_of(client, tool, arguments, token):
    return client.tool(tool, arguments, meta={"progressToken": token}).notifications(
        "notifications/progress")


@pytest.mark.parametrize("token", ["progress-test-1", "", "1", 1, 0, -5, 2 ** 53, "\u00e9\""],
                         ids=repr)
def test_the_token_keeps_its_type(client, token):
    found = progress_of(client, "test_tool_with_progress", {}, token)
    assert [params["progress"] for params in found] == [0, 50, 100]
    for params in found:
        assert params["progressToken"] == token
        assert type(params["progressToken"]) is type(token)
        assert params["total"] == 100


def test_no_token_no_progress(client):
    reply = client.tool("test_tool_with_progress", {})
    assert reply.before == []
    assert reply.result["content"][0]["text"] == "Tool with progress completed"


@pytest.mark.row(66)
def test_values_that_do_not_rise_are_dropped(client):
    found = progress_of(client, "test_uneven_progress", {}, "t")
    assert [params["progress"] for params in found] == [1, 2.5, 4]
    assert all("total" not in params for params in found)


def test_messages_appear_where_they_are_known(client):
    found = progress_of(client, "test_many_progress", {"n": 1}, "t")
    assert [("message" in params) for params in found] == [client.rev != "A"]


@pytest.mark.row(66)
@pytest.mark.parametrize("count", [0, 1, 100, 1000])
def test_many_reports_rise_and_end_with_the_last(client, count):
    reply = client.tool("test_many_progress", {"n": count}, meta={"progressToken": 7})
    values = [params["progress"] for params in reply.notifications("notifications/progress")]
    assert values == sorted(set(values))
    assert not count or values[-1] == count
    # A burst at once, the last value before the answer, and few more while that took.
    assert values[:16] == list(range(1, min(count, 16) + 1)) and len(values) <= 100
    assert reply.result["content"][0]["text"] == "reported"


@pytest.mark.parametrize("token", [1.5, None, True, {}, []], ids=repr)
def test_a_token_of_another_type(client, token):
    reply = client.tool("test_tool_with_progress", {}, meta={"progressToken": token})
    if client.rev == "E":
        assert reply.error.code == -32602
    else:
        assert reply.before == [] and reply.result["content"]


def test_calls_at_the_same_time_keep_their_tokens_apart(client):
    begun = [(client.begin("tools/call", {"name": "test_tool_with_progress"},
                           meta={"progressToken": f"t{number}"}), f"t{number}")
             for number in range(6)]
    for (connection, identifier), token in begun:
        reply = client.read_reply(connection, identifier)
        assert {params["progressToken"] for params in reply.notifications(
            "notifications/progress")} == {token}
        assert reply.result["content"]


def test_a_client_that_reads_slowly_gets_everything(modern):
    level = {"io.modelcontextprotocol/logLevel": "info"}
    connection, identifier = modern.begin("tools/call", {
        "name": "test_many_logs", "arguments": {"n": 10_000}}, meta=level)
    assert modern.tool_text("echo", {"text": "others go on"}) == "others go on"
    reply = modern.read_reply(connection, identifier)
    assert [m["params"]["data"] for m in reply.before] == [str(n) for n in range(1, 10_001)]
