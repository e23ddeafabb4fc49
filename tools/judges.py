"""The independent judges beside the repository (../shared/judges): runs them against the fixture
server and counts each check that they report."""

import os
import re

from harness import ROOT, SHARED, free_port, run, server

FIXTURE = ROOT / "build/release/fixture-server"
JUDGES = SHARED / "judges"
HOME = ROOT / "build/cache/judges"

# Checks whose failure does not count: what they want is not offered, see README.md. A name that
# ends in "-" stands for all that begin with it.
LEGACY_NOT_OFFERED = ("tools-call-sampling", "tools-call-elicitation",
                      "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
                      "server-sse-polling")
NOT_OFFERED = {
    "0.1.16": LEGACY_NOT_OFFERED,
    "2025-06-18": LEGACY_NOT_OFFERED,
    "2025-11-25": LEGACY_NOT_OFFERED,
    "2026-07-28": ("input-required-result-", "tasks-"),
}
SDK_NOT_OFFERED = ("sampling round trip", "elicitation round trip", "elicitation defaults",
                   "elicitation enums", "resume after the server drops the stream")
# A check that the SDK judge leaves out with this reason is as good as passed: a body of 1 MiB and
# its envelope are above the default limit.
SDK_MAY_SKIP = ("1 MB argument",)

SUMMARY = re.compile(r"^  (\S+): (\d+) scenarios, (\d+) passed, (\d+) failed, (\d+) warnings")
FINDING = re.compile(r"^    (FAILURE|WARNING) (\S+) (.*)")
TOTAL = re.compile(r"^\S+: passed (\d+) of (\d+)", re.MULTILINE)
CHECK = re.compile(r"^  (FAIL|skip) +(?:sdk1/\w+ )?(.*)")


def run_judge(environment, script, *arguments):
    return run(["bash", JUDGES / script, *arguments], 1800,
               env={**environment, "JUDGES_HOME": str(HOME), "STRICT": "1"})[1]


def not_offered(name, allowed):
    """The suite names some scenarios with "server-" before them and some without."""
    return any(name == entry.removeprefix("server-") or name == entry
               or (entry.endswith("-") and name.startswith(entry)) for entry in allowed)


def count_conformance(count, title, output, allowed_by_profile, profiles):
    """Counts the checks of conformance.sh: per profile a summary, below it what did not pass."""
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
            if not not_offered(finding.group(2), allowed_by_profile.get(profile, ())):
                count.fail(f"{title} {profile}: {' '.join(finding.groups())}")
    missing = [name for name in profiles if name not in seen]
    if missing or found != expected or not TOTAL.search(output):
        count.fail(f"{title}: its report cannot be read (no {missing}, {found} of {expected} "
                   "findings)", output)


def count_checks(count, title, output, least, allowed=(), may_skip=()):
    """Counts the checks of a judge that prints ok, FAIL and skip lines and a total."""
    total = TOTAL.search(output)
    if not total:
        count.fail(f"{title}: no total", output)
        return
    passed, checks = int(total.group(1)), int(total.group(2))
    count.ok(passed)
    named = 0
    for line in output.split("\n"):
        match = CHECK.match(line)
        if not match:
            continue
        kind, text = match.groups()
        known = text.startswith(tuple(allowed))
        named += kind == "FAIL"
        # A check without a reason does not apply to this transport; one with a reason missed
        # something in the server.
        missed = kind == "FAIL" or (": " in text and not text.startswith(tuple(may_skip)))
        if missed and not known:
            count.fail(f"{title}: {line.strip()}")
    for _ in range(checks - passed - named):
        count.fail(f"{title}: one more, which the judge did not name")
    if checks < least:
        count.fail(f"{title}: only {checks} of {least} checks were made", output)


def conformance(count, environment, title, url, profiles):
    output = run_judge(environment, "conformance.sh", url, *profiles)
    count_conformance(count, title, output, NOT_OFFERED, profiles)


def conformance_stdio(count, environment):
    """Its script leaves out the summaries of scenarios without a finding, so the total counts."""
    output = run_judge(environment, "conformance-stdio.sh", str(free_port()), FIXTURE, "stdio")
    total = TOTAL.search(output)
    if not total:
        count.fail("conformance over stdio: no total", output)
        return
    passed, checks = int(total.group(1)), int(total.group(2))
    count.ok(passed)
    for _ in range(checks - passed):
        count.fail("conformance over stdio")
    if checks > passed:
        print(output)


def judges(count, node):
    """Everything against the default I/O back end, the two newest revisions against epoll too."""
    environment = {"PATH": f"{os.path.dirname(node)}:{os.environ['PATH']}"}
    HOME.mkdir(parents=True, exist_ok=True)
    with server(count, [FIXTURE]) as fixture:
        if fixture.listening:
            conformance(count, environment, "conformance", fixture.url, list(NOT_OFFERED))
            count_checks(count, "SDK client over http", run_judge(
                environment, "sdk-v1-client.sh", "http", fixture.url), 30, SDK_NOT_OFFERED,
                SDK_MAY_SKIP)
            count_checks(count, "inspector over http", run_judge(
                environment, "inspector-cli.sh", "http", fixture.url), 13)
            count_checks(count, "JSONTestSuite", run_judge(
                environment, "jsontestsuite.sh", fixture.url), 652)
    count_checks(count, "SDK client over stdio", run_judge(
        environment, "sdk-v1-client.sh", "stdio", FIXTURE, "stdio"), 25, SDK_NOT_OFFERED,
        SDK_MAY_SKIP)
    count_checks(count, "inspector over stdio", run_judge(
        environment, "inspector-cli.sh", "stdio", FIXTURE, "stdio"), 13)
    conformance_stdio(count, environment)
    with server(count, [FIXTURE, "--io", "epoll"]) as fixture:
        if fixture.listening:
            conformance(count, environment, "conformance on epoll", fixture.url,
                        ["2025-11-25", "2026-07-28"])
