"""pillion-bench as the tests run it."""

import json
import pathlib

from server_process import pillion_bin, run_program

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")


def bench_bin():
    return str(pathlib.Path(pillion_bin()).with_name("pillion-bench"))


def report_of(io, *arguments):
    """Its exit code and its report. A server on stdio stands behind "--", and options before."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    words[at:at] = ["--io", io, "--json", "-", "-q"]
    done = run_program(bench_bin(), *words)
    assert done.stderr == b"", done.stderr
    return done.returncode, json.loads(done.stdout)


def fails(code, *arguments):
    """It ends with `code` and one line on stderr."""
    done = run_program(bench_bin(), *arguments)
    assert done.returncode == code and done.stdout == b"", done
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("pillion-bench: "), lines
    return lines[0]


def brief(requests, connections=1):
    return ("-n", requests, "-c", connections, "--warm-up", "0s", "--timeout", "5s")
