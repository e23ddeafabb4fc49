"""Bridged servers of which each client has one of its own: who gets which, and when they go."""

import signal

import pytest

from bridged import ABLE, NAME, Bridged, Remote, called, children_of, failed, text_of
from server_process import has_ended, wait_until
from test_asking import answer, begin, question
from test_bridge import HIDDEN, cannot_read, name_it, read_text
from tokens import listed

pytestmark = pytest.mark.asan

OWN = "    per_client: true\n"
KEYS = {"ada": "0123456789abcdef0123456789abcdef", "bob": "fedcba9876543210fedcba9876543210"}


@pytest.fixture
def own(start_pillion, tmp_path):
    return lambda inner="D", more="": Bridged(start_pillion, tmp_path, inner, OWN + more)


@pytest.fixture
def with_keys(own, start_pillion, tmp_path):
    """Clients have names, by keys. Calls `run` as the one of them or the other."""
    keys = tmp_path / "keys"
    keys.write_text("".join(listed(name, key) for name, key in KEYS.items()), encoding="ascii")
    return lambda inner: Bridged(lambda *more: start_pillion("--api-keys", keys, *more), tmp_path,
                                 inner, OWN)


def by(name):
    return (("X-API-Key", KEYS[name]),)


def process_of(client):
    return called(client, "inner__self")


def test_each_session_has_its_own(own, make_client, legacy_rev):
    behind = own()
    ada, bob = (make_client(legacy_rev, behind.server).open() for _ in range(2))
    assert len(behind.children()) == 1  # nobody has called yet
    first, second = process_of(ada), process_of(bob)
    assert first != second
    assert (process_of(ada), process_of(bob)) == (first, second)
    assert {first, second} < set(behind.children()) and len(behind.children()) == 3
    behind.server.wait_for_log("bridge.up server=inner#2")


@pytest.mark.parametrize("inner", "DE")
def test_a_link_is_for_whose_server_named_it(own, make_client, inner):
    behind = own(inner)
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    name_it(ada, HIDDEN)
    assert read_text(ada, HIDDEN) == process_of(ada)
    assert cannot_read(bob, HIDDEN)
    name_it(bob, HIDDEN)
    assert read_text(bob, HIDDEN) == process_of(bob) != read_text(ada, HIDDEN)
    nameless = make_client("E", behind.server).open()
    assert cannot_read(nameless, HIDDEN)
    name_it(nameless, HIDDEN)
    assert read_text(nameless, HIDDEN) == process_of(nameless)


def test_each_server_has_the_level_of_its_client(own, make_client):
    behind = own()
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    for client, level in ((ada, "debug"), (bob, "error"), (ada, "notice")):
        client.request("logging/setLevel", {"level": level})
        process_of(client)
    assert [one for one in behind.journal() if one.startswith("level")] == [
        "level info", "level debug", "level error", "level notice"]


@pytest.mark.parametrize("again", [False, True])
def test_new_roots_reach_the_client_s_server(own, make_client, again):
    """It went on with those of its start."""
    behind = own()
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    first = [process_of(client) for client in (ada, bob)]
    for uri in ("file:///a", "file:///b")[:1 + again]:
        ada.notify("notifications/roots/list_changed")
        call = begin(ada, "inner__self")
        answer(ada, question(call, "roots/list"), result={"roots": [{"uri": uri}]})
        assert text_of(call.result()) == first[0]
        behind.wait_for("roots " + uri)
    # It is told once, and nobody else's is.
    assert [process_of(client) for client in (ada, bob)] == first
    assert len([one for one in behind.journal() if one.startswith("roots")]) == 1 + again


def test_clients_without_a_name_share_the_first(own, make_client):
    behind = own()
    ada, bob = (make_client("E", behind.server).open() for _ in range(2))
    assert process_of(ada) == process_of(bob) == behind.children()[0]
    assert len(behind.children()) == 1


def test_one_serves_all_where_nothing_is_said(start_pillion, tmp_path, make_client):
    behind = Bridged(start_pillion, tmp_path, "D")
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    assert process_of(ada) == process_of(bob)


def test_each_principal_has_its_own(with_keys, make_client, inner_rev):
    behind = with_keys(inner_rev)
    client = make_client("E", behind.server)

    def run(name, tool="inner__self", **more):
        return client.call("tools/call", {"name": tool, "arguments": {}, **more},
                           extra=by(name)).result
    ada, bob = text_of(run("ada")), text_of(run("bob"))
    assert ada != bob and text_of(run("ada")) == ada
    # Who was asked comes back to the server that asked.
    client.capabilities = ABLE
    asked = {name: run(name, "inner__ask") for name in KEYS}
    for name in ("bob", "ada"):
        [key] = asked[name]["inputRequests"]
        told = run(name, "inner__ask", inputResponses={key: NAME},
                   requestState=asked[name]["requestState"])
        assert text_of(told) == "Hello, Ada"
    if inner_rev != "E":
        assert behind.journal().count("called ask") == 2


@pytest.fixture(params="ADE")
def inner_rev(request):
    return request.param


def test_whoever_is_asked_is_whose_server_asks(own, make_client):
    """Of a server that all share nobody could say whose call it asks about."""
    behind = own()
    clients = [make_client("D", behind.server, capabilities=ABLE).open() for _ in range(3)]
    calls = [begin(client, "inner__ask") for client in clients]
    for client, call in zip(clients, calls):
        answer(client, question(call, "elicitation/create"), result=NAME)
        assert text_of(call.result()) == "Hello, Ada"


def test_the_one_that_rested_longest_makes_room(own, make_client):
    behind = own(more="    clients_max: 2\n")
    ada, bob, cy = (make_client("D", behind.server).open() for _ in range(3))
    first, second = process_of(ada), process_of(bob)
    assert process_of(ada) == first
    third = process_of(cy)
    wait_until(lambda: has_ended(second))
    assert process_of(ada) == first and process_of(cy) == third
    assert process_of(bob) not in (first, second, third)  # it has a new one
    behind.server.wait_for_log("bridge.client_left server=inner#2")


def test_one_that_works_is_not_sent_away(own, make_client):
    behind = own(more="    clients_max: 1\n")
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    connection, identifier = ada.begin("tools/call", {"name": "inner__wait", "arguments": {}})
    behind.wait_for("called wait")
    refused = failed(bob, "inner__self")
    assert refused.code == -32006 and "no room" in refused.message
    ada.notify("notifications/cancelled", {"requestId": identifier})
    wait_until(lambda: any(one.startswith("cancelled") for one in behind.journal()))
    connection.close()
    assert process_of(bob)


def test_they_go_when_they_have_rested(own, make_client):
    behind = own(more="    client_idle: 200ms\n")
    ada = make_client("D", behind.server).open()
    first = process_of(ada)
    # Ended is not yet reaped.
    wait_until(lambda: has_ended(first) and len(behind.children()) == 1)
    assert process_of(ada) != first


def test_a_crash_is_its_client_s_alone(own, make_client):
    behind = own()
    ada, bob = (make_client("D", behind.server).open() for _ in range(2))
    second = process_of(bob)
    connection, identifier = bob.begin("tools/call", {
        "name": "inner__count", "arguments": {"to": 1, "pause": 0.5}})
    assert failed(ada, "inner__crash").code == -32006
    assert text_of(bob.read_reply(connection, identifier).result) == "counted"
    assert process_of(bob) == second


def test_a_resource_of_one_s_own_is_heard_of(own, make_client):
    behind = own()
    client = make_client("D", behind.server).open()
    stream = client.open_stream()
    client.request("resources/subscribe", {"uri": "memo://one"})
    process_of(client)
    wait_until(lambda: behind.journal().count("subscribed memo://one") == 2)
    assert called(client, "inner__touch", {"uri": "memo://one"}) == "touched"
    assert client.next_message(stream)["params"]["uri"] == "memo://one"


@pytest.mark.parametrize("how", ["stop", "reload"])
def test_all_go_with_the_server(own, make_client, how):
    behind = own()
    clients = [make_client("D", behind.server).open() for _ in range(3)]
    theirs = [process_of(client) for client in clients] + behind.children()
    if how == "stop":
        behind.server.stop()
    else:
        behind.config.write_text("servers: {}\n", encoding="utf-8")
        behind.server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: all(has_ended(one) for one in theirs))
    if how == "reload":
        wait_until(lambda: children_of(behind.server.pid) == [])


@pytest.mark.parametrize("revision", "BD")
def test_each_has_a_session_of_its_own_behind_a_url(start_pillion, make_client, tmp_path,
                                                    revision):
    behind = Remote(start_pillion, tmp_path, revision)
    try:
        behind.serve("per_client: true")
        before = behind.journal().count("initialized 2025-11-25")
        clients = [make_client("D", behind.server).open() for _ in range(2)]
        for client in clients * 2:
            assert called(client, "inner__echo", {"a": 1}) == '{"a": 1}'
        assert behind.journal().count("initialized 2025-11-25") == before + 2
    finally:
        behind.stop()
