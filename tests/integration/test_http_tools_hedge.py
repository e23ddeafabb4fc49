"""Requests to a service that are sent a second time when their answer takes long
(upstreams.NAME.hedge)."""

import itertools
import json
import threading
import time

import pytest

from mcp_client import RpcError
from server_process import wait_until
from test_http_tools import (Upstream, called, closed, configured, failure, hang, reply, text_of)

pytestmark = pytest.mark.asan


@pytest.fixture
def service():
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def serve(service, start_pillion, make_client, tmp_path):
    """A client of a server whose upstream has these keys."""
    def made(more):
        config = configured(service, tmp_path, more)
        return make_client("E", start_pillion("--config", config, "--root", tmp_path)).open()
    return made


def in_turn(*answers):
    """A script that answers each request by the next of these: what to send, or what to do first.
    A number is a pause in seconds."""
    lock, turns = threading.Lock(), itertools.count()

    def script(request):
        with lock:
            steps = answers[min(next(turns), len(answers) - 1)]
        for step in steps if isinstance(steps, tuple) else (steps,):
            if isinstance(step, (int, float)):
                time.sleep(step)
            elif callable(step):
                return step(request)
            else:
                return step
        return b""
    return script


def plain(text):
    return reply(200, text.encode(), "text/plain")


def test_a_second_request_overtakes_the_first(serve, service):
    client = serve("hedge: 50ms")
    service.script = in_turn(hang, plain("second"))
    begun = time.monotonic()
    assert text_of(called(client, "plain")) == "second"
    assert time.monotonic() - begun < 10
    first, second = service.requests
    assert (first["line"], first["body"]) == (second["line"], second["body"])
    ignored = {"x-request-timeout-ms"}  # what is left is less
    assert {name: value for name, value in first["fields"].items() if name not in ignored} == \
           {name: value for name, value in second["fields"].items() if name not in ignored}
    assert int(second["fields"]["x-request-timeout-ms"]) <= \
           int(first["fields"]["x-request-timeout-ms"]) - 50
    wait_until(lambda: closed(first["socket"]))


def test_the_first_may_win_all_the_same(serve, service):
    client = serve("hedge: 50ms")
    service.script = in_turn((0.4, plain("first")), hang)
    assert text_of(called(client, "plain")) == "first"
    assert len(service.requests) == 2
    wait_until(lambda: closed(service.requests[1]["socket"]))


@pytest.mark.parametrize("more", ["hedge: 10s", "hedge: 0s", ""])
def test_who_answers_in_time_is_asked_once(serve, service, more):
    client = serve(more)
    service.script = in_turn((0.15, plain("x")))
    for _ in range(5):
        assert text_of(called(client, "plain")) == "x"
    assert len(service.requests) == 5


def test_only_what_changes_nothing_is_sent_twice(serve, service):
    client = serve("hedge: 20ms")
    service.script = in_turn((0.3, reply(200, b"{}")))
    for tool, arguments in (("one", {"item": 1}), ("remove", {}), ("create", {"id": 1}),
                            ("form", {"a": 1})):
        called(client, tool, arguments)
    assert len(service.requests) == 4
    service.script = in_turn((0.3, reply(200)))
    called(client, "look")
    called(client, "part")  # which has nothing there
    methods = [one["line"].split()[0] for one in service.requests[4:]]
    assert methods == ["HEAD", "HEAD", "GET", "GET"]


@pytest.mark.parametrize("first, second, said", [
    ((0.4, plain("good")), reply(503), "good"),
    ((0.4, plain("good")), b"", "good"),
    ((0.4, plain("good")), reply(429), "good"),
    ((0.2, reply(503)), (0.4, plain("good")), "good"),
    ((0.2, b"no http\r\n\r\n"), (0.4, plain("good")), "good"),
])
def test_trouble_of_one_is_not_that_of_both(serve, service, first, second, said):
    client = serve("hedge: 50ms")
    service.script = in_turn(first, second)
    assert text_of(called(client, "plain")) == said
    assert len(service.requests) == 2


def test_a_refusal_is_an_answer(serve, service):
    client = serve("hedge: 50ms")
    service.script = in_turn(hang, reply(404))
    assert failure(client, "plain") == "Nobody"
    assert len(service.requests) == 2


@pytest.mark.parametrize("first, second, said", [
    ((0.2, reply(502, b"first", "text/plain")), (0.2, b""), "502"),
    ((0.2, b""), (0.2, reply(503, b"second", "text/plain")), "503"),
])
def test_it_is_one_of_the_retries(serve, service, first, second, said):
    client = serve("hedge: 50ms, retries: 1")
    service.script = in_turn(first, second)
    assert said in failure(client, "plain")
    assert len(service.requests) == 2


def test_when_both_fail_retries_go_on(serve, service):
    client = serve("hedge: 50ms, retries: 2")
    service.script = in_turn((0.2, reply(503)), (0.2, b""), plain("third"))
    assert text_of(called(client, "plain")) == "third"
    assert len(service.requests) == 3


def test_the_budget_is_that_of_retries(serve, service):
    client = serve("hedge: 10ms, retries: 3, failures: 0")
    service.script = in_turn((0.05, plain("x")))
    for _ in range(60):
        called(client, "plain")
    # A few may be answered before the time is over, on a busy machine.
    assert 60 < len(service.requests) <= 60 + 10 + 6 + 1


def test_the_breaker_hears_of_both(serve, service):
    client = serve("hedge: 50ms, failures: 2, open_time: 1h")
    service.script = in_turn((0.2, reply(503)))
    failure(client, "plain")
    assert len(service.requests) == 2
    with pytest.raises(RpcError) as caught:
        called(client, "plain")
    assert caught.value.code == -32006 and len(service.requests) == 2


def test_who_was_overtaken_is_no_failure(serve, service):
    client = serve("hedge: 50ms, failures: 1, open_time: 1h")
    for _ in range(3):
        service.script = in_turn(hang, plain("second"))
        assert text_of(called(client, "plain")) == "second"
    assert len(service.requests) == 6


def test_it_takes_no_place_from_others(serve, service):
    client = serve("hedge: 20ms, connections: 1")
    service.script = in_turn((0.3, plain("x")))
    assert text_of(called(client, "plain")) == "x"
    assert len(service.requests) == 1


def test_places_come_back(serve, service):
    client = serve("hedge: 20ms, connections: 2")
    for _ in range(5):
        service.script = in_turn(hang, plain("x"))
        assert text_of(called(client, "plain")) == "x"
    service.script = in_turn((0.1, plain("y")))
    begun = [client.begin("tools/call", {"name": "create", "arguments": {"id": 1}})
             for _ in range(4)]
    for connection, identifier in begun:
        assert text_of(client.read_reply(connection, identifier).result) == "y"


def test_a_deadline_closes_both(serve, service):
    client = serve("hedge: 50ms")
    service.script = hang
    with pytest.raises(RpcError) as caught:
        called(client, "plain", meta={"pillion/timeoutMs": 400})
    assert caught.value.code == -32004
    assert len(service.requests) == 2
    wait_until(lambda: all(closed(one["socket"]) for one in service.requests))


@pytest.mark.parametrize("requests", [1, 2])
def test_a_client_that_leaves_closes_both(serve, service, requests):
    client = serve("hedge: 300ms")
    service.script = hang
    connection, _ = client.begin("tools/call", {"name": "plain", "arguments": {}})
    wait_until(lambda: len(service.requests) == requests)
    connection.close()
    wait_until(lambda: all(closed(one["socket"]) for one in service.requests))
    service.script = in_turn(plain("x"))
    assert text_of(called(client, "plain")) == "x"


def test_structured_answers_are_the_winner_s(serve, service):
    client = serve("hedge: 50ms")
    service.script = in_turn(hang, reply(200, json.dumps({"data": [{"n": 2}]}).encode()))
    assert called(client, "part")["structuredContent"] == {"n": 2}
