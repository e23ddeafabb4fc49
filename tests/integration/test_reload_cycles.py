"""Reloads by the dozen under load, by changes of the files alone and with SIGHUP in turn: tools,
servers, prompts and what nobody sees change, and nobody who asks for something else is hurt."""

import json
import os
import signal
import sys
import threading

import pytest

from fault_cycles import LONG, MARK, FaultyService, called, is_sanitized, marked, unique
from http_client import HttpError
from server_process import has_ended, wait_until
from test_fault_cycles import FAULTY

ROUNDS = 30 if LONG else 4
# What changes with each reload of a round. Clients are told of the tools, twice of the server's
# (they go, and come when it is ready), and of the prompts; of nothing else.
TURNS = ("tools", "words", "server", "prompts", "inside", "nothing", "prompts")
GROWTH_KB = 4 * 1024
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


class Files:
    """The configuration, and how often each of its parts has changed."""

    def __init__(self, folder, service):
        self.mark = f"{os.getpid()}-{next(unique)}"
        self.config, self.prompts = folder / "config.json", folder / "prompts"
        self.folder, self.service = folder, service
        self.turns = dict.fromkeys(TURNS, 0)
        self.prompts.mkdir()
        (folder / "root").mkdir()
        self.write("words")
        self.write("tools")

    def server(self, name, turn):
        return {"command": sys.executable, "args": ["-S", "-E", str(FAULTY)],
                "env": {MARK: f"{self.mark}-{name}", "TURN": str(turn)}}

    def tool(self, *argv, **more):
        return {"command": {"argv": list(argv)}, **more}

    def text(self):
        turns = self.turns
        return json.dumps({
            "prompt_files": {"folders": str(self.prompts)},
            "upstreams": {"up": self.service.target},
            "servers": {"steady": self.server("steady", 0),
                        "moving": self.server("moving", turns["server"])},
            "tools": {
                "command": self.tool("printf", "fine", concurrent=100 + turns["nothing"]),
                "service": {"http": {"upstream": "up", "path": "/well"}},
                "slow_command": self.tool("sleep", "0.3"),
                "slow_service": {"http": {"upstream": "up", "path": "/slow"}},
                "inside": self.tool("echo", str(turns["inside"])),
                f"extra_{turns['tools']}": self.tool("true")}}, indent=1)

    def write(self, what):
        """Lets a part change, in one step as an editor does."""
        self.turns[what] += 1
        number = self.turns[what]
        file, text = self.config, self.text()
        if what == "words":
            file, text = self.prompts / "fixed.md", f"---\ndescription: d\n---\nWords {number}\n"
        elif what == "prompts":
            file, text = self.prompts / "other.md", f"---\ndescription: d{number}\n---\nOther\n"
        fresh = self.folder / "fresh"
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(file)

    def is_seen(self, what, client):
        """Whether a client sees the last change."""
        number = self.turns[what]
        if what == "tools":
            return f"extra_{number}" in names(client, "tools")
        if what == "words":
            said = client.request("prompts/get", {"name": "fixed"})["messages"][0]
            return said["content"]["text"].strip() == f"Words {number}"
        if what == "server":
            return ("moving__turn" in names(client, "tools") and
                    called(client, "moving__turn")["content"][0]["text"] == str(number))
        if what == "prompts":
            return f"d{number}" in [one["description"] for one in
                                    client.request("prompts/list")["prompts"]]
        if what == "inside":
            return called(client, "inside")["content"][0]["text"] == f"{number}\n"
        return True


def names(client, kind):
    found, cursor = [], {}
    while cursor is not None:
        page = client.request(f"{kind}/list", cursor)
        found += [one["name"] for one in page[kind]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    return found


class Load:
    """Clients that ask without a pause on connections that they keep; nothing may fail."""

    QUICK = ("echo", "steady__echo", "command", "service", "inside")
    SLOW = ("slow_command", "slow_service")

    def __init__(self, quick, slow):
        self.served = 0
        self.faults = []
        self.end = threading.Event()
        self.threads = [
            threading.Thread(target=self.run, args=(client, which), daemon=True)
            for clients, which in ((quick, self.QUICK), (slow, self.SLOW)) for client in clients]
        for thread in self.threads:
            thread.start()

    def run(self, client, tools):
        try:
            kept = client.connection
            while not self.end.is_set():
                for name in tools:
                    result = called(client, name, {"text": "x"} if name == "echo" else {})
                    assert not result.get("isError"), f"{name}: {result}"
                    self.served += 1
                assert "command" in names(client, "tools") and "fixed" in names(client, "prompts")
                client.request("prompts/get", {"name": "fixed"})
                assert client.connection is kept, "it was closed"
        except Exception as error:  # told by stop()
            self.faults.append(f"{type(error).__name__}: {error}")

    def stop(self):
        self.end.set()
        for thread in self.threads:
            thread.join()
        assert not self.faults, self.faults


class Listener:
    """What a client is told of lists."""

    def __init__(self, client):
        self.client, self.told = client, []
        self.stream = client.listen(**LISTS)[0]
        self.stream.connection.sock.settimeout(None)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            while (message := self.client.next_message(self.stream)) is not None:
                if "method" in message:  # and not the answer at the end
                    self.told.append(message["method"].split("/")[1])
        except (OSError, ValueError, HttpError):
            pass  # the end of the test


def reload(server, files, what, client, with_signal):
    """One of them, until it is seen."""
    done = sum("config.reloaded" in line for line in server.log)
    files.write(what)
    if with_signal:
        server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: sum("config.reloaded" in line for line in server.log) > done, seconds=30,
               what=f"the reload of {what}, signal {with_signal}: "
                    f"{[line for line in server.log if 'config.' in line][-3:]}")
    wait_until(lambda: files.is_seen(what, client), seconds=30, what=f"the change of {what}")


def one_round(server, files, client, heard, odd):
    """All TURNS while a call to the server that stays is under way."""
    waiting, identifier = client.begin("tools/call", {"name": "steady__wait", "arguments": {}})
    for i, what in enumerate(TURNS):
        told = heard.told.count("prompts")
        reload(server, files, what, client, (i + odd) % 2 == 1)
        if what == "prompts":
            wait_until(lambda before=told: heard.told.count("prompts") > before,
                       what="who listens is told of prompts")
    assert called(client, "steady__release")["content"][0]["text"] == "1"
    assert client.read_reply(waiting, identifier).result["content"][0]["text"] == "released"
    waiting.close()


@pytest.fixture
def service():
    made = FaultyService()
    yield made
    made.stop()


def test_reloads_under_load(start_pillion, make_client, service, tmp_path):
    files = Files(tmp_path, service)
    server = start_pillion("--config", files.config, "--root", tmp_path / "root", "--threads", 2)
    client = make_client("E", server).open()
    heard = Listener(make_client("E", server).open())
    [steady], [moving] = (list(marked(f"{files.mark}-{name}")) for name in ("steady", "moving"))
    load = Load([make_client(rev, server).open() for rev in "EEDC"],
                [make_client(rev, server).open() for rev in "EED"])
    at_first = {}
    try:
        for i in range(ROUNDS):
            one_round(server, files, client, heard, i % 2)
            if i == ROUNDS // 4:
                at_first = {"resident": server.resident_kb(), "served": load.served}
    finally:
        load.stop()
    grown = server.resident_kb() - at_first["resident"]
    print(f"{ROUNDS * len(TURNS)} reloads, {load.served} requests, 0 failed; resident "
          f"{at_first['resident']} KiB after a quarter, {grown} more at the end")
    assert load.served > at_first["served"]
    if not is_sanitized(server):
        assert grown < GROWTH_KB
    # The last reload has been told of, so nothing is under way any more.
    prompts, tools = heard.told.count("prompts"), heard.told.count("tools")
    assert prompts == ROUNDS * TURNS.count("prompts") and prompts + tools == len(heard.told)
    assert 2 * ROUNDS <= tools <= 3 * ROUNDS, heard.told
    assert list(marked(f"{files.mark}-steady")) == [steady]
    wait_until(lambda: len(marked(f"{files.mark}-moving")) == 1, what="one server that moves")
    assert has_ended(moving)


# Only files that were there at the start were watched.
def test_a_new_prompt_file_is_noticed(start_pillion, make_client, service, tmp_path):
    files = Files(tmp_path, service)
    server = start_pillion("--config", files.config, "--root", tmp_path / "root")
    client = make_client("E", server).open()
    files.write("prompts")
    wait_until(lambda: "other" in names(client, "prompts"), what="the prompt of the new file")
