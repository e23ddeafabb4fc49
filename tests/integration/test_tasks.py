"""Calls that run as tasks, in both dialects: 2025-11-25, where the client asks for it, and the
extension of 2026-07-28, where the server decides for clients that have declared it."""

import json
import time

import pytest

from http_client import EventStream
from mcp_client import CAPABILITIES, RpcError
from wire_schema import RELATED_TASK, SUBSCRIPTION_ID, TASKS

pytestmark = pytest.mark.asan

ABLE = {**CAPABILITIES, "elicitation": {"form": {}}, "extensions": {TASKS: {}}}
DEADLINE_S = 20
UNKNOWN = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture
def modern(make_client):
    return make_client("E", capabilities=ABLE)


@pytest.fixture
def classic(make_client):
    return make_client("D").open()


def begun(client, name, arguments=None, ttl=None):
    """The task that a call has become."""
    params = {"name": name, "arguments": arguments or {}}
    if client.rev == "D":
        params["task"] = {} if ttl is None else {"ttl": ttl}
        return client.request("tools/call", params)["task"]
    result = client.request("tools/call", params)
    assert result["resultType"] == "task", result
    return result


def get(client, task):
    return client.request("tasks/get", {"taskId": task["taskId"]})


def wait_for(client, task, *states):
    """Polls until the task is in one of these states."""
    end = time.monotonic() + DEADLINE_S
    while True:
        now = get(client, task)
        if now["status"] in states:
            return now
        assert time.monotonic() < end, now
        time.sleep(0.02)


def refused(client, method, params, **more):
    with pytest.raises(RpcError) as caught:
        client.request(method, params, **more)
    return caught.value


# ---- what is offered ----

@pytest.mark.row(67)
def test_what_servers_say_about_tasks(make_client):
    offered = make_client("E", capabilities=ABLE).request("server/discover")["capabilities"]
    assert offered["extensions"] == {TASKS: {}} and "tasks" not in offered
    for rev in "ABCD":
        offered = make_client(rev).initialize()["capabilities"]
        wanted = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        assert offered.get("tasks") == (wanted if rev == "D" else None)
        assert "extensions" not in offered


def test_what_tools_say_about_tasks(client):
    tools, cursor = {}, {}
    while cursor is not None:
        page = client.request("tools/list", cursor)
        tools.update((tool["name"], tool.get("execution")) for tool in page["tools"])
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    if client.rev != "D":
        assert set(tools.values()) == {None}
    else:
        assert tools["greet"] is None and tools["slow_compute"] == {"taskSupport": "optional"}
        assert tools["failing_job"] == {"taskSupport": "required"}


# ---- 2026-07-28 ----

def test_a_task_and_its_result(modern):
    task = begun(modern, "slow_compute", {"seconds": 0.2, "label": "x"})
    assert task["status"] == "working"
    assert task["ttlMs"] == 3600000 and task["pollIntervalMs"] == 200
    done = wait_for(modern, task, "completed")
    assert done["result"]["content"][0]["text"] == "computed: x"
    assert done["result"]["resultType"] == "complete" and done["statusMessage"] == "step 4 of 4"
    assert done["createdAt"] == task["createdAt"] < done["lastUpdatedAt"]
    # Kept: the same again.
    assert get(modern, task) == done


def test_only_clients_with_the_extension_get_tasks(make_client):
    plain = make_client("E")
    result = plain.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 0.1},
                                          "task": {"ttl": 1000}})
    assert result["resultType"] == "complete"
    reply = plain.call("tools/call", {"name": "failing_job"})
    assert reply.status == 400 and reply.error.code == -32021
    assert reply.error.data["requiredCapabilities"] == {"extensions": {TASKS: {}}}
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        reply = plain.call(method, {"taskId": UNKNOWN, "inputResponses": {}})
        assert reply.status == 400 and reply.error.code == -32021


def test_errors_of_the_tool_and_of_the_protocol(modern):
    tool = wait_for(modern, begun(modern, "failing_job"), "completed", "failed")
    assert tool["status"] == "completed" and tool["result"]["isError"] is True
    protocol = wait_for(modern, begun(modern, "protocol_error_job"), "completed", "failed")
    assert protocol["status"] == "failed" and protocol["error"]["code"] == -32603
    assert protocol["error"]["data"]["job"] == "broken" and "result" not in protocol
    assert protocol["statusMessage"] == "the job broke the protocol"


def test_cancelling(modern):
    task = begun(modern, "slow_compute", {"seconds": 60})
    ack = modern.request("tasks/cancel", {"taskId": task["taskId"]})
    assert set(ack) == {"resultType", "_meta"}
    assert get(modern, task)["status"] == "cancelled"
    modern.request("tasks/cancel", {"taskId": task["taskId"]})
    assert get(modern, task)["status"] == "cancelled"


def test_a_finished_task_is_not_cancelled_any_more(modern):
    task = begun(modern, "slow_compute", {"seconds": 0.01})
    done = wait_for(modern, task, "completed")
    modern.request("tasks/cancel", {"taskId": task["taskId"]})
    assert get(modern, task) == done


def test_what_a_cancelled_handler_says_is_dropped(modern):
    task = begun(modern, "stubborn_job")
    modern.request("tasks/cancel", {"taskId": task["taskId"]})
    time.sleep(0.2)
    now = get(modern, task)
    assert now["status"] == "cancelled" and "result" not in now


def test_questions_while_it_runs(modern):
    task = begun(modern, "confirm_delete", {"filename": "a.txt"})
    asks = wait_for(modern, task, "input_required")
    assert asks["inputRequests"] == {"confirm": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Delete a.txt?", "requestedSchema": {
            "type": "object", "properties": {"confirm": {"type": "boolean"}},
            "required": ["confirm"]}}}}
    yes = {"action": "accept", "content": {"confirm": True}}
    ack = modern.request("tasks/update", {"taskId": task["taskId"],
                                          "inputResponses": {"nobody": 1, "confirm": yes}})
    assert set(ack) == {"resultType", "_meta"}
    done = wait_for(modern, task, "completed")
    assert done["result"]["content"][0]["text"] == "Deleted a.txt"
    # Late and unknown answers are acknowledged and ignored.
    modern.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {"confirm": yes}})
    assert get(modern, task) == done


def test_two_questions_at_once_answered_one_by_one(modern):
    task = begun(modern, "multi_input")
    asks = wait_for(modern, task, "input_required")
    assert sorted(asks["inputRequests"]) == ["confirm", "name"]
    modern.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {
        "name": {"action": "accept", "content": {"name": "Ada"}}}})
    rest = get(modern, task)
    assert rest["status"] == "input_required" and list(rest["inputRequests"]) == ["confirm"]
    modern.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {
        "confirm": {"action": "accept", "content": {"confirm": True}}}})
    done = wait_for(modern, task, "completed")
    assert done["result"]["content"][0]["text"] == "Ada is sure"


def test_a_malformed_answer_is_asked_for_again_under_another_key(modern):
    task = begun(modern, "confirm_delete", {"filename": "b"})
    wait_for(modern, task, "input_required")
    modern.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {
        "confirm": {"action": "accept", "content": {"confirm": "perhaps"}}}})
    asks = wait_for(modern, task, "input_required")
    assert list(asks["inputRequests"]) == ["confirm-2"]
    modern.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {
        "confirm-2": {"action": "decline"}}})
    done = wait_for(modern, task, "completed")
    assert done["result"]["content"][0]["text"] == "Kept b"


def test_questions_first_then_the_task(modern):
    first = modern.request("tools/call", {"name": "test_tool_with_task", "arguments": {}})
    assert first["resultType"] == "input_required" and "taskId" not in first
    answer = {"user_name": {"action": "accept", "content": {"name": "Alice"}}}
    task = modern.request("tools/call", {
        "name": "test_tool_with_task", "arguments": {}, "inputResponses": answer,
        "requestState": first["requestState"]})
    assert task["resultType"] == "task"
    done = wait_for(modern, task, "completed")
    assert done["result"]["content"][0]["text"] == "Done for Alice"


def test_answers_of_rounds_count_in_the_task_that_follows(modern):
    """It asked again what the retry had answered."""
    plain = {**CAPABILITIES, "elicitation": {"form": {}}}
    call = {"name": "confirm_delete", "arguments": {"filename": "a"}}
    first = modern.request("tools/call", call, capabilities=plain)
    assert list(first["inputRequests"]) == ["confirm"]
    again = modern.request("tools/call", {
        **call, "requestState": first["requestState"],
        "inputResponses": {"confirm": {"action": "accept", "content": {"confirm": True}}}})
    result = wait_for(modern, again, "completed")["result"] if "taskId" in again else again
    assert result["content"][0]["text"] == "Deleted a"


def test_listening_to_tasks(modern):
    task = begun(modern, "slow_compute", {"seconds": 0.4})
    stream, identifier, ack = modern.listen(taskIds=[task["taskId"], UNKNOWN])
    assert ack["notifications"] == {"taskIds": [task["taskId"]]}
    heard = []
    while not heard or heard[-1]["status"] == "working":
        message = modern.next_message(stream)
        assert message["method"] == "notifications/tasks"
        assert message["params"]["_meta"][SUBSCRIPTION_ID] == identifier
        heard.append(message["params"])
    assert heard[0]["status"] == "working" and heard[-1]["status"] == "completed"
    told = {key: value for key, value in heard[-1].items() if key != "_meta"}
    now = get(modern, task)
    assert told == {key: value for key, value in now.items() if key not in ("_meta", "resultType")}


def test_who_listens_late_hears_how_it_ended(modern):
    task = begun(modern, "slow_compute", {"seconds": 0.01})
    wait_for(modern, task, "completed")
    stream, _, _ = modern.listen(taskIds=[task["taskId"]])
    assert modern.next_message(stream)["params"]["status"] == "completed"


def test_listening_needs_the_extension(make_client):
    plain = make_client("E")
    reply = plain.call("subscriptions/listen", {"notifications": {"taskIds": []}})
    assert reply.status == 400 and reply.error.code == -32021


def test_the_headers_name_the_task(modern):
    task = begun(modern, "slow_compute", {"seconds": 0.01})
    params = {"taskId": task["taskId"], "inputResponses": {}}
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        for name in (UNKNOWN, None):
            reply = modern.call(method, params, extra=[("Mcp-Name", name)])
            assert reply.status == 400 and reply.error.code == -32020


def test_methods_of_the_other_dialect(modern, classic):
    for method in ("tasks/result", "tasks/list"):
        reply = modern.call(method, {"taskId": UNKNOWN})
        assert reply.status == 404 and reply.error.code == -32601
    reply = classic.call("tasks/update", {"taskId": UNKNOWN, "inputResponses": {}})
    assert reply.status == 200 and reply.error.code == -32601


# ---- both ----

@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_unknown_tasks(modern, classic, method):
    mine = begun(modern, "slow_compute", {"seconds": 0.01})
    for client, known in ((modern, UNKNOWN), (classic, UNKNOWN), (classic, mine["taskId"])):
        assert refused(client, method, {"taskId": known}).code == -32602
        assert refused(client, method, {"taskId": None}, extra=[("Mcp-Name", "x")]).code in (
            -32602, -32020)


def test_a_task_with_a_limit_fails_in_time(modern, classic):
    for client in (modern, classic):
        failed = wait_for(client, begun(client, "limited_job"), "failed")
        assert "timed out" in failed["statusMessage"]


def test_ids_cannot_be_guessed(modern):
    ids = {begun(modern, "slow_compute", {"seconds": 0.01})["taskId"] for _ in range(50)}
    assert len(ids) == 50 and all(len(one) >= 26 for one in ids)
    shared = [sum(a == b for a, b in zip(one, UNKNOWN)) for one in ids]
    assert max(shared) < 10


# ---- 2025-11-25 ----

def test_a_task_at_the_wish_of_the_client(classic):
    task = begun(classic, "slow_compute", {"seconds": 0.2, "label": "x"}, ttl=7200000)
    assert task["status"] == "working" and task["ttl"] == 7200000 and task["pollInterval"] == 200
    assert get(classic, task)["status"] == "working"
    result = classic.request("tasks/result", {"taskId": task["taskId"]})
    assert result["content"][0]["text"] == "computed: x" and result["isError"] is False
    assert result["_meta"][RELATED_TASK] == {"taskId": task["taskId"]}
    assert get(classic, task)["status"] == "completed"
    again = classic.request("tasks/result", {"taskId": task["taskId"]})
    assert again == result


def test_every_call_with_the_wish_becomes_one(classic):
    task = begun(classic, "slow_compute", {"seconds": 0})
    assert classic.request("tasks/result", {"taskId": task["taskId"]})["content"]


@pytest.mark.parametrize("wanted, granted", [(0, 3600000), (10**12, 86400000), (None, 3600000)])
def test_how_long_it_is_kept(classic, wanted, granted):
    params = {"name": "slow_compute", "arguments": {"seconds": 0}, "task": {"ttl": wanted}}
    assert classic.request("tools/call", params)["task"]["ttl"] == granted


def test_wishes_that_cannot_be(classic):
    greet = {"name": "greet", "arguments": {"name": "x"}, "task": {}}
    assert refused(classic, "tools/call", greet).code == -32601
    assert refused(classic, "tools/call", {"name": "failing_job"}).code == -32601
    for task in (5, "x", [], {"ttl": -1}, {"ttl": "long"}):
        params = {"name": "slow_compute", "arguments": {"seconds": 0}, "task": task}
        assert refused(classic, "tools/call", params).code == -32602


def test_an_error_of_the_tool_is_a_failed_task(classic):
    task = begun(classic, "failing_job")
    result = classic.request("tasks/result", {"taskId": task["taskId"]})
    assert result["isError"] is True
    assert get(classic, task)["status"] == "failed"


def test_an_error_of_the_protocol_comes_out_as_it_was(classic):
    task = begun(classic, "protocol_error_job")
    error = refused(classic, "tasks/result", {"taskId": task["taskId"]})
    assert (error.code, error.message) == (-32603, "the job broke the protocol")
    assert get(classic, task)["status"] == "failed"


def test_cancelling_a_classic_task(classic):
    task = begun(classic, "slow_compute", {"seconds": 60})
    connection, identifier = classic.begin("tasks/result", {"taskId": task["taskId"]})
    cancelled = classic.request("tasks/cancel", {"taskId": task["taskId"]})
    assert cancelled["status"] == "cancelled" and cancelled["taskId"] == task["taskId"]
    # Who waited for the result hears that there is none.
    assert classic.read_reply(connection, identifier).error.code == -32602
    assert refused(classic, "tasks/cancel", {"taskId": task["taskId"]}).code == -32602


def test_the_request_of_a_task_cannot_be_cancelled(classic):
    message = classic.compose("tools/call", {"name": "slow_compute", "task": {},
                                             "arguments": {"seconds": 0.3}})
    task = classic.post(message).result["task"]
    assert classic.notify("notifications/cancelled", {"requestId": message["id"]}).status == 202
    assert classic.request("tasks/result", {"taskId": task["taskId"]})["isError"] is False


def test_tasks_of_a_session_are_listed(make_client):
    one, other = make_client("D").open(), make_client("D").open()
    mine = [begun(one, "slow_compute", {"seconds": 0})["taskId"] for _ in range(53)]
    begun(other, "slow_compute", {"seconds": 0})
    first = one.request("tasks/list")
    rest = one.request("tasks/list", {"cursor": first["nextCursor"]})
    assert [task["taskId"] for task in first["tasks"] + rest["tasks"]] == mine
    assert len(first["tasks"]) == 50 and "nextCursor" not in rest
    assert refused(one, "tasks/list", {"cursor": "nonsense"}).code == -32602


def test_tasks_outlive_their_session(make_client):
    first = make_client("D").open()
    task = begun(first, "slow_compute", {"seconds": 0.3})
    assert first.delete().status < 300
    second = make_client("D").open()
    result = second.request("tasks/result", {"taskId": task["taskId"]})
    assert result["content"][0]["text"] == "computed: done"


def test_a_question_goes_to_who_waits_for_the_result(classic):
    task = begun(classic, "confirm_delete", {"filename": "a"})
    wait_for(classic, task, "input_required")
    connection, identifier = classic.begin("tasks/result", {"taskId": task["taskId"]})
    stream, question = open_question(classic, connection)
    assert question["method"] == "elicitation/create"
    assert question["params"]["_meta"][RELATED_TASK] == {"taskId": task["taskId"]}
    answer = {"action": "accept", "content": {"confirm": True}}
    assert classic.respond(question["id"], result=answer).status == 202
    final = classic.next_message(stream)
    assert final["id"] == identifier
    assert final["result"]["content"][0]["text"] == "Deleted a"


def open_question(client, connection):
    from http_client import EventStream
    stream = EventStream(connection, connection.read_head())
    return stream, client.next_message(stream)


@pytest.mark.parametrize("how", ["session", "connection"])
def test_a_question_moves_on_when_its_carrier_has_gone(make_client, classic, how):
    """It was lost with the connection of the first tasks/result."""
    task = begun(classic, "confirm_delete", {"filename": "a"})
    wait_for(classic, task, "input_required")
    other = make_client("D").open() if how == "session" else classic
    connection, _ = classic.begin("tasks/result", {"taskId": task["taskId"]})
    _, lost = open_question(classic, connection)
    if how == "session":
        classic.delete()  # its streams end; the task does not
    else:
        connection.close()
    connection, identifier = other.begin("tasks/result", {"taskId": task["taskId"]})
    stream, question = open_question(other, connection)
    assert question["id"] == lost["id"]
    other.respond(question["id"], result={"action": "decline"})
    assert other.next_message(stream)["result"]["content"][0]["text"] == "Kept a"


# Whoever had come back once was taken to hear for ever: the question was asked nobody else.
@pytest.mark.parametrize("returns", [0, 1, 2])
def test_a_question_is_asked_anew_of_who_asks_anew(classic, returns):
    task = begun(classic, "confirm_delete", {"filename": "a"})
    wait_for(classic, task, "input_required")
    waits = {"taskId": task["taskId"]}
    connection, _ = classic.begin("tasks/result", waits)
    stream = EventStream(connection, connection.read_head())
    asked = None
    while asked is None:
        event = stream.next_event()
        asked = classic.take_event(event)
    connection.close()
    for _ in range(returns):
        classic.open_stream(extra=[("Last-Event-ID", event.id)]).connection.close()
    connection, _ = classic.begin("tasks/result", waits)
    stream = EventStream(connection, connection.read_head())
    again = classic.next_message(stream)
    while "id" not in again:
        again = classic.next_message(stream)
    assert again["method"] == asked["method"] == "elicitation/create"
    assert again["params"] == asked["params"]
    connection.close()


# What had been posted before the subscription came was told after what it had read itself.
def test_a_task_does_not_live_again_after_its_end(start, make_client):
    running = start("--threads", 1)
    client = make_client("E", of=running, capabilities=ABLE)
    task = begun(client, "confirm_delete", {"filename": "a"})
    key = list(wait_for(client, task, "input_required")["inputRequests"])[0]
    of = {"taskId": task["taskId"]}
    messages = [
        client.compose("tasks/update", {**of, "inputResponses": {key: {"action": "decline"}}}),
        client.compose("tasks/cancel", of),
        client.compose("subscriptions/listen", {"notifications": {
            "taskIds": [task["taskId"]], "toolsListChanged": True}})]
    connection = client.connect()
    connection.send(b"".join(connection.render("POST", client.path, client.headers(one),
                                               json.dumps(one).encode()) for one in messages))
    for _ in messages[:2]:
        connection.take(int(connection.read_head()["Content-Length"]))
    stream = EventStream(connection, connection.read_head())
    assert client.next_message(stream)["method"] == "notifications/subscriptions/acknowledged"
    assert client.next_message(stream)["params"]["status"] == "cancelled"
    client.tool("test_trigger_tool_change")
    assert client.next_message(stream)["method"] == "notifications/tools/list_changed"
    connection.close()


def test_progress_goes_to_who_waits_for_the_result(classic):
    params = {"name": "slow_compute", "arguments": {"seconds": 1}, "task": {}}
    task = classic.request("tools/call", params, meta={"progressToken": "p"})["task"]
    reply = classic.call("tasks/result", {"taskId": task["taskId"]})
    steps = reply.notifications("notifications/progress")
    assert steps and steps[-1]["progress"] == 4 and steps[-1]["progressToken"] == "p"
    assert all(one["_meta"][RELATED_TASK]["taskId"] == task["taskId"] for one in steps)


def test_status_is_told_on_the_stream_of_the_session(classic):
    stream = classic.open_stream()
    task = begun(classic, "slow_compute", {"seconds": 0.1})
    heard = []
    while not heard or heard[-1]["status"] == "working":
        message = classic.next_message(stream)
        assert message["method"] == "notifications/tasks/status"
        heard.append(message["params"])
    assert heard[-1]["status"] == "completed" and heard[-1]["taskId"] == task["taskId"]
    assert "_meta" not in heard[-1]


@pytest.mark.parametrize("rev", "ABC")
def test_earlier_revisions_wait_for_the_answer(make_client, rev):
    client = make_client(rev).open()
    assert client.tool_text("slow_compute", {"seconds": 0.1}) == "computed: done"
    result = client.tool("failing_job").result
    assert result["isError"] and "2025-11-25" in result["content"][0]["text"]
    assert refused(client, "tasks/get", {"taskId": UNKNOWN}).code == -32601


# ---- pipes and the end ----

def test_tasks_on_a_pipe(stdio):
    pipe = stdio().open()
    task = pipe.request("tools/call", {"name": "slow_compute", "task": {},
                                       "arguments": {"seconds": 0.1}})["task"]
    answer, before = pipe.call("tasks/result", {"taskId": task["taskId"]})
    assert answer["result"]["content"][0]["text"] == "computed: done"
    assert [m["params"]["status"] for m in before
            if m["method"] == "notifications/tasks/status"][-1] == "completed"
    assert [t["taskId"] for t in pipe.request("tasks/list")["tasks"]] == [task["taskId"]]
    modern = pipe.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 0.1}},
                          rev="E", capabilities=ABLE)
    end = time.monotonic() + DEADLINE_S
    while True:
        now = pipe.request("tasks/get", {"taskId": modern["taskId"]}, rev="E", capabilities=ABLE)
        if now["status"] != "working":
            break
        assert time.monotonic() < end
    assert now["status"] == "completed"


def test_a_running_task_does_not_outlive_its_grace(start, make_client):
    """SIGTERM lets it finish; what does not in time is stopped, and nothing leaks."""
    server = start("--drain-timeout", "1s")
    client = make_client("E", of=server, capabilities=ABLE)
    begun(client, "slow_compute", {"seconds": 60})
    begun(client, "confirm_delete", {"filename": "x"})
    begun(make_client("D", of=server).open(), "confirm_delete", {"filename": "x"})
    server.stop()
