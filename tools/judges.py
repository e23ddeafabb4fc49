"""The independent judges beside the repository (../shared/judges): runs them against the fixture
server and counts each check that they report."""

import os
import re

import bridge_judge
import examples_judge
import oauth_judge
import openapi_judge
from free_port import free_port
from harness import ROOT, SHARED, run, server

FIXTURE = ROOT / "build/release/fixture-server"
FILTER = ROOT / "build/release/schema-filter"
JUDGES = SHARED / "judges"
HOME = ROOT / "build/cache/judges"
JUDGE_S = 900  # time limit of one judge; all together take about two minutes

# What conformance.sh is asked for; nothing is excepted. The lists of requirements contain all
# scenarios of their revision, that of 2026-07-28 the tasks as well.
PROFILES = ("0.1.16", "2025-06-18", "req-2025-11-25", "req-2026-07-28")
# The SDK judge leaves out checks that do not fit the transport or a limit of the server. Those that
# it leaves out for one of these reasons missed something in the server.
MISSED = re.compile(r": (tool \S+ not listed|no \S+ capability|no session id)$")

SUMMARY = re.compile(r"^  (\S+): (\d+) scenarios, (\d+) passed, (\d+) failed, (\d+) warnings")
FINDING = re.compile(r"^    (FAILURE|WARNING) (\S+) (.*)")
TOTAL = re.compile(r"^\S+: passed (\d+) of (\d+)", re.MULTILINE)
CHECK = re.compile(r"^ +(FAIL|FAILURE|WARNING|skip) +(?:sdk1/\w+ )?(.*)")


def run_judge(environment, script, *arguments):
    return run(["bash", JUDGES / script, *arguments], JUDGE_S,
               env={**environment, "JUDGES_HOME": str(HOME), "STRICT": "1"})[1]


def count_conformance(count, title, output, profiles, known=()):
    """Counts the checks of conformance.sh: per profile a summary, below it what did not pass.
    Findings that begin as one of `known` are as they should be."""
    seen, expected, found, profile = set(), 0, 0, None
    for line in output.split("\n"):
        summary, finding = SUMMARY.match(line), FINDING.match(line)
        if summary:
            profile = summary.group(1)
            seen.add(profile)
            count.ok(int(summary.group(3)))
            expected += int(summary.group(4)) + int(summary.group(5))
        elif finding:
            found += 1
            text = " ".join(finding.groups())
            if text.startswith(known):
                count.ok()
            else:
                count.fail(f"{title} {profile}: {text}")
    missing = [name for name in profiles if name not in seen]
    if missing or found != expected or not TOTAL.search(output):
        count.fail(f"{title}: its report cannot be read (no {missing}, {found} of {expected} "
                   "findings)", output)


def count_checks(count, title, output, least):
    """Counts the checks of a judge that prints a line for each that did not pass, and a total."""
    total = TOTAL.search(output)
    if not total:
        count.fail(f"{title}: no total", output)
        return
    passed, checks = int(total.group(1)), int(total.group(2))
    count.ok(passed)
    named = 0
    for line in output.split("\n"):
        match = CHECK.match(line)
        if match and (match.group(1) != "skip" or MISSED.search(line)):
            named += match.group(1) != "skip"
            count.fail(f"{title}: {line.strip()}")
    if checks - passed > named:
        count.fail(f"{title}: more, which the judge did not name", times=checks - passed - named)
    if checks < least:
        count.fail(f"{title}: only {checks} of {least} checks were made", output)


def judges(count, node):
    """Everything against the default I/O back end, the two newest revisions against epoll too."""
    environment = {"PATH": f"{os.path.dirname(node)}:{os.environ['PATH']}"}
    HOME.mkdir(parents=True, exist_ok=True)

    def judge(title, least, script, *arguments):
        output = run_judge(environment, script, *arguments)
        count_checks(count, title, output, least)

    def conformance(title, url, profiles, known=()):
        output = run_judge(environment, "conformance.sh", url, *profiles)
        count_conformance(count, title, output, profiles, known)

    def sdk_tasks(way, *target):
        """Our own judge, on the SDK that the one before has installed."""
        _, output = run([node, ROOT / "tests/clients/sdk_tasks.mjs", *target], JUDGE_S,
                        env={**environment, "SDK_DIR": str(HOME / "npm/sdk1")})
        count_checks(count, f"tasks of the SDK client over {way}", output, 8)

    with server(count, [FIXTURE]) as fixture:
        if fixture.listening:
            conformance("conformance", fixture.url, PROFILES)
            sse = fixture.url.replace("/mcp", "/sse")
            judge("SDK client over http", 38, "sdk-v1-client.sh", "http", fixture.url)
            sdk_tasks("http", "http", fixture.url)
            judge("SDK client over sse", 35, "sdk-v1-client.sh", "sse", sse)
            judge("inspector over http", 13, "inspector-cli.sh", "http", fixture.url)
            judge("inspector over sse", 13, "inspector-cli.sh", "sse", sse)
            judge("JSONTestSuite", 652, "jsontestsuite.sh", fixture.url)
    bridge_judge.bridge(count, conformance)
    oauth_judge.oauth(count, node, HOME, environment, count_checks)
    openapi_judge.openapi(count, HOME)
    examples_judge.examples(count, node, HOME, environment)
    for draft, cases in (("draft2020-12", 1299), ("draft7", 927)):
        judge(f"JSON Schema {draft}", cases, "jsonschema-suite.sh", "-d", draft, "--", FILTER)
    judge("SDK client over stdio", 34, "sdk-v1-client.sh", "stdio", FIXTURE, "stdio")
    sdk_tasks("stdio", "stdio", FIXTURE, "stdio")
    judge("inspector over stdio", 13, "inspector-cli.sh", "stdio", FIXTURE, "stdio")
    judge("conformance over stdio", 25, "conformance-stdio.sh", str(free_port()), FIXTURE, "stdio")
    with server(count, [FIXTURE, "--io", "epoll"]) as fixture:
        if fixture.listening:
            conformance("conformance on epoll", fixture.url, ["req-2025-11-25", "req-2026-07-28"])
