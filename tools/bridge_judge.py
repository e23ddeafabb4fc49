"""The conformance suites through the bridge: our program before the fixture server, which is a
child of it, behind a URL, or behind one of HTTP+SSE. Part of the suite `judges`."""

import contextlib
import pathlib
import tempfile

from harness import ROOT, server

PROGRAM = ROOT / "build/release/pillion"
FIXTURE = ROOT / "build/release/fixture-server"
PROFILES = ("0.1.16", "2025-06-18", "2025-11-25", "2026-07-28")
# The fixture's tools say that a list has changed when it has not, and clients of the bridge hear of
# changes that were made and no others.
NO_CHANGE = ("WARNING server-stateless sep-2575-server-sends-prompts-list-changed-on-subscription",
             "WARNING server-stateless sep-2575-server-sends-tools-list-changed-on-subscription")


def bridge(count, conformance):
    """`conformance(title, url, profiles, known)` runs the suites and counts their checks; findings
    that begin as one of `known` are what is expected."""
    with contextlib.ExitStack() as all_of_it:
        folder = pathlib.Path(all_of_it.enter_context(tempfile.TemporaryDirectory()))
        behind = all_of_it.enter_context(server(count, [FIXTURE]))
        old = behind.url.replace("/mcp", "/sse")
        # The suite of 2026-07-28 asks tools for questions with names that only a server of that
        # revision gives; over HTTP+SSE the fixture is of an earlier one.
        ways = {
            "a child": (f"command: '{FIXTURE}', args: [stdio]", PROFILES),
            "a URL": (f"url: '{behind.url}'", PROFILES),
            "HTTP+SSE": (f"url: '{old}', transport: sse", PROFILES[:-1]),
        }
        for name, (where, profiles) in ways.items():
            config = folder / (name.replace(" ", "-") + ".yaml")
            config.write_text(f"servers: {{fixture: {{{where}, prefix: ''}}}}\n", encoding="utf-8")
            with server(count, [PROGRAM, "--config", config, "--root", folder]) as ours:
                if ours.listening:
                    conformance(f"conformance of a bridge to {name}", ours.url, profiles, NO_CHANGE)
