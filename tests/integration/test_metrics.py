"""GET /metrics: what Prometheus's own parser makes of it, and whether the numbers are true."""

import collections
import os
import re
import stat

import prometheus_client.parser
import pytest

from http_client import Connection
from mcp_client import Client
from server_process import ROOT, fixture_bin, run_program, wait_until

CALLS = "mcp_server_operation_duration_seconds"


class Page:
    """A page of metrics, parsed; every rule of the format that the parser knows is checked."""

    def __init__(self, text):
        assert text.endswith("\n")
        self.families = {}
        self.samples = {}
        for family in prometheus_client.parser.text_string_to_metric_families(text):
            assert family.name not in self.families, f"{family.name} is there twice"
            assert family.type in ("counter", "gauge", "histogram"), family
            assert family.documentation.endswith((".", "runs.")), family
            self.families[family.name] = family
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples, f"{key} is there twice"
                self.samples[key] = sample.value
        self.check_histograms()

    def check_histograms(self):
        for family in self.families.values():
            if family.type != "histogram":
                continue
            series = collections.defaultdict(list)
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    labels = dict(sample.labels)
                    bound = float(labels.pop("le"))
                    series[frozenset(labels.items())].append((bound, sample.value))
            for labels, buckets in series.items():
                assert buckets == sorted(buckets) and buckets[-1][0] == float("inf")
                assert [n for _, n in buckets] == sorted(n for _, n in buckets)
                assert buckets[-1][1] == self.samples[(family.name + "_count", labels)]
                assert self.samples[(family.name + "_sum", labels)] >= 0

    def value(self, name, **labels):
        return self.samples.get((name, frozenset(labels.items())), 0)

    def calls(self, method="tools/call", **labels):
        return self.value(CALLS + "_count", mcp_method_name=method, **labels)


class Scraper:
    def __init__(self, address):
        self.connection = Connection(address)

    def get(self, method="GET", target="/metrics", headers=()):
        return self.connection.request(method, target, headers)

    def page(self):
        response = self.get()
        assert response.status == 200
        assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert response["Cache-Control"] == "no-store"
        return Page(response.body.decode())


def address_of(server):
    found = re.search(r"address=127\.0\.0\.1:(\d+)", server.wait_for_log("metrics.listening"))
    return ("127.0.0.1", int(found[1]))


@pytest.fixture(params=[1, 3], ids=["1-thread", "3-threads"])
def watched(request, start):
    """A server of its own and its metrics."""
    server = start("--threads", request.param, "--metrics-listen", "127.0.0.1:0",
                   "--log-level", "info")
    scraper = Scraper(address_of(server))
    yield server, scraper, request.param
    scraper.connection.close()


@pytest.mark.row(111)
def test_the_numbers_are_what_a_client_counted(watched, make_client, io):
    server, scraper, threads = watched
    empty = scraper.page()
    assert empty.value("pillion_threads", io=io) == threads
    assert empty.value("pillion_metrics_threads_missing") == 0
    assert empty.value("pillion_http_requests_total") == 0

    # Many connections, so that every thread has some; each says how many answers of which class
    # it got.
    clients = [make_client(rev, of=server).open() for rev in "ABCDE" for _ in range(4)]
    good, failed, unknown = 0, 0, 0
    for number, client in enumerate(clients):
        for _ in range(number % 3 + 1):
            assert client.tool("echo", {"text": "x"}).status == 200
            good += 1
        client.tool("test_error_handling", {})
        failed += 1
        client.call("tools/call", {"name": f"made_up_{number}", "arguments": {}})
        unknown += 1
    late = make_client("E", of=server)
    assert late.tool("test_deadline", {"ms": 20_000}).status == 504
    with Connection(server.address) as lost:
        assert lost.request("GET", "/nowhere").status == 404
        page = scraper.page()
        assert page.value("pillion_http_connections") == len(clients) + 2

    assert page.calls(gen_ai_tool_name="echo") == good
    assert page.calls(gen_ai_tool_name="test_error_handling", error_type="tool_error") == failed
    assert page.calls(gen_ai_tool_name="_other", error_type="not_found") == unknown
    assert page.calls(gen_ai_tool_name="test_deadline", error_type="timeout") == 1
    assert page.calls("initialize") == 16
    assert not any("made_up" in str(key) for key in page.samples)
    assert page.value("mcp_server_sessions") == 16
    assert page.value("mcp_server_deadline_lateness_seconds_count") == 1
    assert page.value("mcp_server_requests_in_flight") == 0
    assert page.value("pillion_http_connections_accepted_total") == len(clients) + 2
    assert page.value("pillion_http_responses_total", **{"class": "5xx"}) == 1
    requests = page.value("pillion_http_requests_total")
    assert requests == sum(page.value("pillion_http_responses_total", **{"class": c})
                           for c in ("2xx", "3xx", "4xx", "5xx"))
    # initialize and its notification, then the calls; scrapes do not count.
    assert requests == 16 * 2 + good + failed + unknown + 2
    assert page.value("pillion_http_received_bytes_total") > 100 * requests
    assert page.value("pillion_memory_bytes", owner="chunks") > 0

    # One that ends while nobody reads the answer.
    connection, _ = late.begin("tools/call", {"name": "test_slow", "arguments": {"ms": 20_000}})
    wait_until(lambda: scraper.page().value("mcp_server_requests_in_flight") == 1, what="a call")
    connection.close()
    wait_until(lambda: scraper.page().calls(gen_ai_tool_name="test_slow",
                                            error_type="disconnected") == 1, what="its end")
    line = server.wait_for_log("target=test_slow")
    assert "status=disconnected" in line

    # The process, against what the system says.
    page = scraper.page()
    resident = page.value("process_resident_memory_bytes") / 1024
    assert abs(resident - server.resident_kb()) < 0.2 * resident
    assert page.value("process_open_fds") == server.descriptors()


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_threads_share_connections(start, tmp_path, transport):
    """Whichever thread the system gives a connection to, they end up with about as many."""
    where = ["--listen", f"unix:{tmp_path}/s"] if transport == "unix" else []
    server = start("--threads", 2, "--metrics-listen", "127.0.0.1:0", "--log-level", "info", *where)
    address = str(tmp_path / "s") if transport == "unix" else server.address
    scraper = Scraper(address_of(server))
    open_ones = [Connection(address) for _ in range(64)]
    for connection in open_ones:
        assert connection.request("GET", "/health").status == 200
    page = scraper.page()
    held = [page.value("pillion_shard_connections", shard=str(n)) for n in range(2)]
    assert sum(held) == page.value("pillion_http_connections") == 64
    assert 0.4 * 64 <= held[0] <= 0.6 * 64, held
    for connection in open_ones:
        assert connection.request("GET", "/health").status == 200
        connection.close()
    wait_until(lambda: scraper.page().value("pillion_http_connections") == 0, what="their end")
    scraper.connection.close()


def test_only_metrics_and_only_to_read(start):
    server = start("--metrics-listen", "127.0.0.1:0")
    scraper = Scraper(address_of(server))
    assert scraper.get("HEAD").status == 200
    assert scraper.get(target="/mcp").status == 404
    assert scraper.get(target="/").status == 404
    refused = scraper.get("DELETE")
    assert (refused.status, refused["Allow"]) == (405, "GET, HEAD")
    # No page of the web reads it, by its own name or by a name that was bent to this address.
    assert scraper.get(headers=[("Origin", "https://evil.example")]).status == 403
    assert scraper.get(headers=[("Host", "evil.example")]).status == 403
    assert scraper.get(headers=[("X-Request-Id", "mine")])["X-Request-Id"] == "mine"
    # Not where the clients are.
    with Connection(server.address) as client:
        assert client.request("GET", "/metrics").status == 404
    scraper.connection.close()


def test_on_a_unix_socket(start, tmp_path):
    path = str(tmp_path / "metrics.sock")
    server = start("--metrics-listen", f"unix:{path}")
    server.wait_for_log("metrics.listening")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    scraper = Scraper(path)
    assert scraper.page().value("pillion_threads", io=server.arguments[3]) == 1
    scraper.connection.close()
    server.stop()
    assert not os.path.exists(path)


def test_not_for_other_machines():
    refused = run_program(fixture_bin(), "serve", "--port", "0", "--metrics-listen", "0.0.0.0:0")
    assert refused.returncode == 2
    assert b"--metrics-listen: refusing to serve other machines" in refused.stderr


def test_an_address_that_is_taken(start):
    server = start("--metrics-listen", "127.0.0.1:0")
    host, port = address_of(server)
    refused = run_program(fixture_bin(), "serve", "--port", "0",
                          "--metrics-listen", f"{host}:{port}")
    assert refused.returncode == 1 and b"cannot listen on" in refused.stderr


def test_a_thread_that_does_not_answer_is_left_out(start, make_client):
    """The page comes all the same, and says that one is missing."""
    server = start("--threads", 2, "--metrics-listen", "127.0.0.1:0")
    scraper = Scraper(address_of(server))
    assert scraper.page().value("pillion_loop_stalls_total") == 0
    # Connections until one is on the thread that does not serve the metrics: a scrape waits for
    # its own thread, and is content with what it has when another does not answer.
    stalls, missing = 0, 0
    while not missing:
        client = make_client("E", of=server)
        connection, identifier = client.begin(
            "tools/call", {"name": "test_block_loop", "arguments": {"ms": 1500}})
        page = scraper.page()
        missing = page.value("pillion_metrics_threads_missing")
        client.read_reply(connection, identifier)
        stalls += 1
        assert stalls < 30
    assert page.value("pillion_threads", io=server.arguments[3]) == 1
    page = scraper.page()
    assert page.value("pillion_metrics_threads_missing") == 0
    # A machine that is busy with other things adds some.
    assert page.value("pillion_loop_stalls_total") >= stalls
    assert 1.5 <= page.value("pillion_loop_stall_longest_seconds") < 15
    assert page.calls(gen_ai_tool_name="test_block_loop") == stalls
    scraper.connection.close()


def test_the_table_of_the_readme_is_complete(start, authority):
    server = start(*authority.flags, "--metrics-listen", "http://127.0.0.1:0")
    client = Client(authority.address(server), "D").open()
    client.tool("echo", {"text": "x"})
    client.close()
    scraper = Scraper(address_of(server))
    shown = {name + ("_total" if family.type == "counter" else "")
             for name, family in scraper.page().families.items()}
    table = re.findall(r"^\| (`(?:mcp|pillion|process)_.*?) \|", (ROOT / "README.md").read_text(),
                       re.MULTILINE)
    told = {name for row in table for name in re.findall(r"`(\w+)`", row)}
    assert shown == told
    scraper.connection.close()
