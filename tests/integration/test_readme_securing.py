"""The recipes of README.md's "Securing it", run as they are written, but on free ports."""

import re
import subprocess

import pytest

from free_port import free_port
from server_process import ROOT, pillion_bin

pytestmark = pytest.mark.tls

# What they print, by the words they begin with: the status of each question.
EXPECTED = {
    "Loopback": ["200", "403"],
    "Unix socket": ["200"],
    "TLS and API keys": ["401", "200"],
    "OAuth": ["401", "200"],
    "Client certificates": ["200", "000", "not let in"],
}


def section():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(r"^## Securing it\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)[1]


def recipes():
    """The block that comes first, and the recipes by their names."""
    blocks = re.findall(r"^```sh\n(.*?)^```", section(), re.DOTALL | re.MULTILINE)
    named = re.findall(r"^\*\*([^*]+)\*\*:[^`]*(?:`[^`]+`[^`]*)*?\n\n```sh\n(.*?)^```", section(),
                       re.DOTALL | re.MULTILINE)
    assert len(blocks) == len(named) + 1
    return blocks[0], dict(named)


def on_free_ports(text):
    """The same with other ports, each in all its places."""
    for port in sorted(set(re.findall(r"\b8\d{3}\b", text))):
        text = re.sub(rf"\b{port}\b", str(free_port()), text)
    return text


@pytest.fixture
def path(io, tmp_path):
    """A PATH with the program, which takes the back end of the test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "pillion"
    program.write_text(f'#!/bin/sh\nif [ "$1" = serve ]; then\n    shift\n'
                       f'    exec {pillion_bin()} serve --io {io} "$@"\nfi\n'
                       f'exec {pillion_bin()} "$@"\n', encoding="ascii")
    program.chmod(0o755)
    return f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"


def test_there_are_five():
    _, named = recipes()
    assert list(named) == list(EXPECTED)
    for name, text in named.items():  # what the comments promise is what is asserted below
        told = re.findall(r"# (\d{3})", text)
        assert told == [status for status in EXPECTED[name] if status.isdigit()]


@pytest.mark.parametrize("name", EXPECTED)
def test_recipe(path, tmp_path, name):
    first, named = recipes()
    where = tmp_path / "work"
    where.mkdir()
    script = first + on_free_ports(named[name]) + "wait\n"
    done = subprocess.run(["bash", "-eu", "-c", script], cwd=where,
                          env={"PATH": path, "HOME": str(tmp_path)}, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert [line for line in lines if line in ("not let in", "000") or
            re.fullmatch(r"[2-5]\d\d", line)] == EXPECTED[name], done
    assert sum('"protocolVersion":"2025-11-25"' in line for line in lines) == 1, done
    assert "shutdown complete" in done.stderr, done
    for secret in ("keys.txt", "keys/dev.pem"):
        found = where / secret
        assert not found.exists() or found.stat().st_mode & 0o077 == 0, found
