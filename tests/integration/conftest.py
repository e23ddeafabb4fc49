"""Servers and clients for the tests. Both back ends of the event loop run every test.

With PILLION_ONE_IO=1 each test runs on one of them, half of the tests on either: under sanitizers,
where it is memory that is judged, and both would take twice as long.
"""

import os
import sys
import zlib

import pytest

import evidence
from bench_program import report_of
from http_client import Connection
from mcp_client import Client, LegacySse, Stdio
from scripted_server import ScriptedServer
from server_process import ROOT, Server, fixture_bin, pillion_bin, uring_refusal
from tls_authority import Authority
from wire_schema import LEGACY

sys.path.insert(0, str(ROOT / "tools"))  # what the suites share with tools/test


def pytest_collection_modifyitems(config, items):
    if os.environ.get("PILLION_ONE_IO") != "1":
        return
    left, other = [], []
    for item in items:
        io_of = getattr(item, "callspec", None) and item.callspec.params.get("io")
        without = item.nodeid.replace(io_of, "") if io_of else ""
        wanted = "uring" if zlib.crc32(without.encode()) % 2 else "epoll"
        (left if not io_of or io_of == wanted else other).append(item)
    config.hook.pytest_deselected(items=other)
    items[:] = left


def pytest_runtest_setup():
    evidence.forget()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    outcome = yield
    report = outcome.get_result()
    if report.failed and hasattr(report.longrepr, "addsection"):
        evidence.add_to(report.longrepr)


@pytest.fixture(scope="session", params=["uring", "epoll"])
def io(request):
    if request.param == "uring":
        refusal = uring_refusal()
        if refusal is not None:
            pytest.skip(f"this kernel offers no io_uring: {refusal}")
    return request.param


@pytest.fixture(scope="session")
def server(io):
    """The fixture server on two threads, shared by all tests that leave it as it was."""
    # Tests count its descriptors, which a process without core dumps shows to root alone.
    seen = () if os.geteuid() == 0 else ("--core-dumps",)
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--threads", 2, *seen)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate authority with a certificate for localhost."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def bench(io):
    """Runs the load tester; returns its exit code and its report."""
    return lambda *arguments: report_of(io, *arguments)


@pytest.fixture
def scripted():
    """Starts servers whose answers a function writes."""
    running = []

    def run(script, **more):
        running.append(ScriptedServer(script, **more))
        return running[-1]

    yield run
    for one in running:
        one.stop()


@pytest.fixture
def start(io):
    """Starts a fixture server of one's own; it is stopped, and judged, at the end."""
    running = []

    def run(*arguments, **more):
        if "--port" not in arguments and "--listen" not in arguments:
            arguments = ("--port", 0, *arguments)
        running.append(Server(fixture_bin(), "--io", io, *arguments, **more))
        return running[-1]

    yield run
    for one in running:
        one.stop()


@pytest.fixture
def start_pillion(io):
    """The same with the server that ships."""
    running = []

    def run(*arguments, **more):
        if "--port" not in arguments and "--listen" not in arguments:
            arguments = ("--port", 0, *arguments)
        running.append(Server(pillion_bin(), "--io", io, *arguments, **more))
        return running[-1]

    yield run
    for one in running:
        one.stop()


@pytest.fixture
def connect(server):
    """Opens raw connections to the shared server."""
    opened = []

    def run(address=None):
        opened.append(Connection(address or server.address))
        return opened[-1]

    yield run
    for connection in opened:
        connection.close()


@pytest.fixture
def make_client(server):
    """Makes clients of the shared server (or of another)."""
    made = []

    def run(rev, of=None, **more):
        made.append(Client((of or server).address, rev, **more))
        return made[-1]

    yield run
    for client in made:
        client.close()


@pytest.fixture
def make_sse(server):
    """Opens streams of the transport of 2024-11-05 on the shared server (or another)."""
    made = []

    def run(rev="A", of=None, **more):
        made.append(LegacySse((of or server).address, rev, **more))
        return made[-1]

    yield run
    for client in made:
        client.close()


@pytest.fixture(params="ABCDE")
def rev(request):
    return request.param


@pytest.fixture(params=LEGACY)
def legacy_rev(request):
    return request.param


@pytest.fixture
def client(make_client, rev):
    """A client that has been introduced, of each revision in turn."""
    return make_client(rev).open()


@pytest.fixture
def legacy(make_client, legacy_rev):
    """The same, of the revisions with sessions."""
    return make_client(legacy_rev).open()


@pytest.fixture
def modern(make_client):
    """A client of 2026-07-28."""
    return make_client("E").open()


@pytest.fixture
def stdio(io):
    """Starts fixture servers behind pipes."""
    running = []

    def run(*arguments, rev="D", capabilities=None):
        running.append(Stdio(fixture_bin(), "--io", io, *arguments, rev=rev,
                             capabilities=capabilities))
        return running[-1]

    yield run
    for one in running:
        if one.process.poll() is None or not one.process.stdout.closed:
            one.close()


@pytest.fixture(scope="session")
def corporate(io):
    """A server of the corporate profile that offers only what that allows."""
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--conforming", "--profile",
                     "corporate", "--insecure-no-auth")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def leaking(io):
    """The same in the generic profile."""
    running = Server(fixture_bin(), "--io", io, "--port", 0, "--conforming")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def shipped(io, tmp_path_factory):
    """The server that ships, over a small directory."""
    root = tmp_path_factory.mktemp("shipped")
    (root / "note.txt").write_text("one\ntwo\n", encoding="utf-8")
    (root / "bytes.bin").write_bytes(bytes(range(256)))
    running = Server(pillion_bin(), "--io", io, "--port", 0, "--root", root)
    yield running
    running.stop()
