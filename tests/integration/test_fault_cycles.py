"""Children and services in every kind of trouble, many times and many at once: each call ends as it
is documented, nobody else notices, and nothing is left: no process, no descriptor, no memory.

What a call is told must not take longer than the call may: those that end with another error than
the deadline's have ended before it.
"""

import json
import os
import pathlib
import sys

import pytest

from fault_cycles import (AT_ONCE, CYCLES, MARK, SLOW_CYCLES, Bystander, FaultyService, called,
                          error_of, failure, is_sanitized, marked, run_cycles, unique)
from http_client import EventStream
from mcp_client import RpcError
from server_process import wait_until

FAULTY = pathlib.Path(__file__).with_name("faulty_server.py")
IN_TIME = {"pillion/timeoutMs": 60_000}
# Longer than that: what is too late is the server's to say. A client gave up after 20 s while
# sixteen floods of 32 MiB were read on a busy machine.
PATIENCE_S = 70
SOON = {"pillion/timeoutMs": 200}
LATE = (-32004, "Request timed out")
# Once the allocator kept the 32 MiB in which a message had become too large, for each of them that
# there had been at a time.
GROWTH_KB = 16 * 1024

WELL = """
  well_command: {command: {argv: [printf, fine], env: {MARK}}}
  well_service: {http: {upstream: well, path: /well}}
upstreams:
  well: {WELL}
"""
COMMANDS = """
tools:
  crash: {command: {argv: [sh, -c, 'echo half; kill -SEGV $$$$'], env: {MARK}}}
  fails: {command: {argv: [sh, -c, 'echo oops >&2; exit 7'], env: {MARK}}}
  flood: {command: {argv: ['yes'], output_bytes: 64KiB, env: {MARK}}}
  garbage: {command: {argv: [printf, '{{\\377\\000'], output: json, env: {MARK}}}
  noise: {command: {argv: [sh, -c, 'yes | head -c 3000000 >&2; echo last words >&2; exit 1'],
                    env: {MARK}}}
  hangs: {command: {argv: [sleep, '1000'], env: {MARK}}}
  deaf: {command: {argv: [sh, -c, "trap '' TERM; while :; do sleep 1; done"], kill_after: 50ms,
                   env: {MARK}}}
  deaf_flood: {command: {argv: [sh, -c, "trap '' TERM PIPE; while :; do yes; sleep 1; done"],
                         kill_after: 50ms, output_bytes: 64KiB, env: {MARK}}}
  family: {command: {argv: [sh, -c, "trap '' TERM; (sh -c 'sleep 1000 & wait' & wait) & wait"],
                     kill_after: 50ms, env: {MARK}}}
  leaves: {command: {argv: [sh, -c, "(sh -c 'sleep 1000 & wait' & wait) & echo done"],
                     env: {MARK}}}
  missing: {command: {argv: [/none/such]}}
"""


class World:
    """A server with what is well, what is not, and an account of all that belongs to it."""

    def __init__(self, start, make_client, folder, config, services=()):
        self.mark = f"{os.getpid()}-{next(unique)}"
        self.well = FaultyService()
        self.services = [*services, self.well]
        self.make_client = make_client
        self.made = []
        text = config + WELL
        for i, one in enumerate(services):
            text += f"  faulty_{i}: {json.dumps({**one.target, 'failures': 0})}\n"
        for name, value in (("WELL", self.well.target), ("MARK", {MARK: self.mark})):
            text = text.replace("{" + name + "}", json.dumps(value))
        file = folder / "config.yaml"
        file.write_text(text, encoding="utf-8")
        root = folder / "root"
        root.mkdir()
        self.server = start("--config", file, "--root", root, "--threads", 2)

    def clients(self, count):
        """Connected, so that their connections count from the beginning."""
        made = [self.make_client("E", self.server, patience_s=PATIENCE_S).open()
                for _ in range(count)]
        for one in made:
            called(one, "echo", {"text": "x"})
        self.made += made
        return made

    def count(self, processes):
        """Waits until nobody is left over; returns the number of descriptors."""
        wait_until(lambda: len(marked(self.mark)) == processes, seconds=30,
                   what=f"{processes} processes and no more")
        wait_until(lambda: all(one.left == 0 for one in self.services),
                   what="the end of the connections to services")
        return self.server.descriptors()

    def judge(self, cycles, cycle, calls=(), processes=0):
        """Runs the cycles beside somebody who is well; `processes` are there before and after."""
        bystander, workers = self.clients(1), self.clients(AT_ONCE)
        calls = [("echo", {"text": "x"}), ("well_service", {}), *calls]
        with Bystander(bystander[0], calls):
            # The first ones make the memory that the later ones use again.
            run_cycles(AT_ONCE, workers, cycle)
        resident, before = self.server.resident_kb(), self.count(processes)
        with Bystander(bystander[0], calls) as beside:
            run_cycles(cycles, workers, cycle)
        print(f"{cycles} cycles, {beside.rounds} rounds beside them, resident {resident} KiB and "
              f"then {self.server.resident_kb()}, {before} descriptors")
        wait_until(lambda: self.count(processes) <= before,
                   what=f"{before} descriptors and not {self.server.descriptors()}")
        if not is_sanitized(self.server):
            assert self.server.resident_kb() - resident < GROWTH_KB
        for client in self.made:
            client.close()
        self.server.stop()
        wait_until(lambda: not marked(self.mark), what="the end of all processes")
        for one in self.services:
            one.stop()


@pytest.fixture
def world(start_pillion, make_client, tmp_path):
    return lambda *config: World(start_pillion, make_client, tmp_path, *config)


# ---- servers behind this one ----

def servers():
    """One for each worker, and one that is well."""
    def one(name):
        return (f"  {name}: {{command: '{sys.executable}', args: [-S, -E, '{FAULTY}'], "
                f"env: {{MARK}}, restart_min: 1ms, restart_max: 20ms}}\n")
    return ("servers:\n" + "".join(one(f"f{i}") for i in range(AT_ONCE)) + one("healthy") +
            "tools:")


def wait_until_up(client, name):
    """While it is started again, its calls end with -32006."""
    def is_up():
        try:
            return called(client, name + "__echo", meta=IN_TIME)["content"][0]["text"] == "{}"
        except RpcError as error:
            assert error.code == -32006, error
            return False
    wait_until(is_up, seconds=60, what=name + " is up")


def ends_it(tool):
    """A fault that ends the server, and every call that it works on."""
    def cycle(client, worker):
        name = f"f{worker}"
        wait_until_up(client, name)
        # Its server has it when it tells of progress: on another thread of ours the call could else
        # come to the next one, which would never end.
        waiting, _ = client.begin("tools/call", {"name": name + "__wait", "arguments": {}},
                                  meta={"progressToken": "begun"})
        stream = EventStream(waiting, waiting.read_head())
        assert client.next_message(stream)["method"] == "notifications/progress"
        code, message = error_of(client, f"{name}__{tool}", meta=IN_TIME)
        assert (code, message) == (-32006, f"The server {name} went away during the call")
        other = client.next_message(stream)["error"]
        assert (other["code"], other["message"]) == (code, message), other
        waiting.close()
        wait_until_up(client, name)
    return cycle


def answers(tool, said):
    def cycle(client, worker):
        result = called(client, f"f{worker}__{tool}", meta=IN_TIME)
        assert result["content"][0]["text"] == said
    return cycle


def hangs(client, worker):
    assert error_of(client, f"f{worker}__wait", meta=SOON) == LATE


BRIDGED = {
    "crash": (CYCLES, ends_it("crash")), "flood": (CYCLES, ends_it("flood")),
    "babble": (CYCLES, ends_it("babble")), "orphans": (CYCLES, ends_it("orphans")),
    "deaf": (SLOW_CYCLES, ends_it("deaf")), "garbage": (CYCLES, answers("garbage", "after all")),
    "burst": (CYCLES, answers("burst", "after all")), "noise": (CYCLES, answers("noise", "quiet")),
    "hang": (CYCLES, hangs),
}


@pytest.mark.parametrize("fault", BRIDGED)
def test_a_server_behind_this_one(world, fault):
    cycles, cycle = BRIDGED[fault]
    world(servers()).judge(cycles, cycle, [("healthy__echo", {"a": 1})], AT_ONCE + 1)


# ---- programs ----

def is_late(name):
    return lambda client, _: check(error_of(client, name, meta=SOON), LATE)


def fails(name, said):
    return lambda client, _: check(failure(client, name, meta=IN_TIME), said)


def check(found, wanted):
    assert found == wanted, found


def last_words(client, _):
    said = failure(client, "noise", meta=IN_TIME)
    assert said.endswith("last words") and len(said) < 2200


def leaves(client, _):
    assert called(client, "leaves", meta=IN_TIME)["content"][0]["text"] == "done\n"


TOO_MUCH = "The command wrote more than 65536 bytes and was stopped"
# On a loop that was held up "garbage" and "leaves" once left somebody behind: the time for reading
# what is in the pipes was over before they were looked at.
PROGRAMS = {
    "crash": fails("crash", "The command was killed by SIGSEGV"),
    "fails": fails("fails", "The command failed with code 7\noops"),
    "flood": fails("flood", TOO_MUCH), "deaf_flood": fails("deaf_flood", TOO_MUCH),
    "garbage": fails("garbage", "The command wrote something that is no text"),
    "missing": fails("missing", "The command cannot be started"),
    "noise": last_words, "leaves": leaves,
    "hangs": is_late("hangs"), "deaf": is_late("deaf"), "family": is_late("family"),
}


@pytest.mark.parametrize("fault", PROGRAMS)
def test_a_program(world, fault):
    world(COMMANDS).judge(CYCLES, PROGRAMS[fault], [("well_command", {})])


# ---- services ----

def upstream_error(name):
    def cycle(client, worker):
        code, message = error_of(client, f"{name}_{worker % 2}", meta=IN_TIME)
        assert code == -32006 and "127.0.0.1" not in message, (code, message)
    return cycle


def upstream_late(name, time):
    return lambda client, worker: check(
        error_of(client, f"{name}_{worker % 2}", meta=time), LATE)


def upstream_failure(name, said):
    return lambda client, worker: check(
        failure(client, f"{name}_{worker % 2}", meta=IN_TIME), said)


TOO_LARGE = "The answer of the service is too large"
SERVICES = {
    "hang": (CYCLES, upstream_late("hang", SOON)),
    # Three bytes have come by then.
    "drip": (SLOW_CYCLES, upstream_late("drip", {"pillion/timeoutMs": 2500})),
    **{name: (CYCLES, upstream_error(name)) for name in (
        "reset", "reset_within", "silent_end", "short", "long", "two_lengths", "garbage")},
    "large": (CYCLES, upstream_failure("large", TOO_LARGE)),
    "endless": (CYCLES, upstream_failure("endless", TOO_LARGE)),
    "redirect": (CYCLES, upstream_failure(
        "redirect", "The service answered 302, a redirect, which is not followed")),
}


@pytest.mark.parametrize("fault", SERVICES)
def test_a_service(world, fault, tmp_path):
    """At a port and at a unix socket in turn."""
    cycles, cycle = SERVICES[fault]
    faulty = [FaultyService(), FaultyService(tmp_path)]
    config = "tools:\n" + "".join(
        f"  {fault}_{i}: {{http: {{upstream: faulty_{i}, method: POST, path: /{fault}}}}}\n"
        for i in range(2))
    world(config.rstrip("\n"), faulty).judge(cycles, cycle, [("well_command", {})])
