"""`pillion init`: a configuration to begin with, in which every line that is offered works."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from http_client import Connection
from server_process import Server, fixture_bin, pillion_bin, run_program

OFFERED = re.compile(r"^( *)#(\S.*)$", re.MULTILINE)


def written(tmp_path, program=None):
    """The starter, in a folder with the files that it names."""
    done = run_program(program or pillion_bin(), "init", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == b"" and done.stderr == b"", done
    return (tmp_path / "pillion.yaml").read_text(encoding="utf-8")


def check(tmp_path, text, program=None):
    path = tmp_path / "tried.yaml"
    path.write_text(text, encoding="utf-8")
    return run_program(program or pillion_bin(), "check", path, cwd=tmp_path)


@pytest.fixture
def folder(authority, tmp_path):
    shutil.copy(authority.cert, tmp_path / "cert.pem")
    shutil.copy(authority.key, tmp_path / "key.pem")
    done = run_program(pillion_bin(), "token", "list", "ci", "--append", "keys.txt", cwd=tmp_path)
    assert done.returncode == 0, done
    return tmp_path


def test_as_written_it_is_good_and_serves(folder):
    text = written(folder)
    done = run_program(pillion_bin(), "check", "pillion.yaml", cwd=folder)
    assert done.returncode == 0, done
    said = yaml.safe_load(text)
    assert said["http"]["listen"] == ["127.0.0.1:8080"]
    server = Server(pillion_bin(), "--config", "pillion.yaml", "--port", "0", cwd=folder)
    with Connection(server.address) as connection:
        assert connection.request("GET", "/ready").status == 200
    server.stop()


@pytest.mark.parametrize("program", [pillion_bin, fixture_bin])
def test_every_line_that_is_offered_works(folder, program):
    text = written(folder, program())
    offered = list(OFFERED.finditer(text))
    # Of a server without options of its own, still most of them.
    assert len(offered) >= 18
    for one in offered:
        tried = text[:one.start()] + one[1] + one[2] + text[one.end():]
        done = check(folder, tried, program())
        assert done.returncode == 0, (one[0], done.stderr.decode())


def test_all_of_them_at_once(folder):
    text = OFFERED.sub(r"\1\2", written(folder))
    done = check(folder, text)
    assert done.returncode == 0, done.stderr.decode()


def test_what_is_said_of_it_is_true(folder):
    """Prose is prose: a # with a blank; and each section of the file is one of the schema."""
    text = written(folder)
    schema = run_program(pillion_bin(), "check", "--schema").stdout.decode()
    sections = yaml.safe_load(OFFERED.sub(r"\1\2", text))
    known = yaml.safe_load(schema)["properties"]
    assert not set(sections) - set(known)
    for line in text.splitlines():
        assert len(line) <= 125 and line == line.rstrip(), line
        assert not line.lstrip().startswith("#") or re.match(r" *#( |\S|$)", line), line
    assert "{" not in re.sub(r"\$\{.*?\}|\{name\}", "", "".join(
        line for line in text.splitlines() if re.match(r" *# ", line)))


def test_it_never_overwrites(tmp_path):
    path = tmp_path / "pillion.yaml"
    path.write_text("mine", encoding="ascii")
    for arguments in ([], ["pillion.yaml"], [str(path)]):
        done = run_program(pillion_bin(), "init", *arguments, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1
        assert b"is there already" in done.stderr
    link = tmp_path / "link.yaml"
    os.symlink(tmp_path / "target", link)
    assert run_program(pillion_bin(), "init", link).returncode == 1
    assert path.read_text(encoding="ascii") == "mine" and not (tmp_path / "target").exists()


def test_elsewhere_and_to_stdout(tmp_path):
    path = tmp_path / "other.yaml"
    assert run_program(pillion_bin(), "init", path).returncode == 0
    assert str(path) in path.read_text(encoding="utf-8")
    done = run_program(pillion_bin(), "init", "-", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(b"# Configuration of pillion.\n")
    assert sorted(os.listdir(tmp_path)) == ["other.yaml"]
    done = run_program(pillion_bin(), "init", tmp_path / "none" / "x.yaml")
    assert done.returncode == 1 and b"No such file" in done.stderr
    with open("/dev/full", "wb") as full:
        assert subprocess.run([pillion_bin(), "init", "-"], stdout=full, check=False,
                              stderr=subprocess.DEVNULL).returncode == 1


def test_a_server_with_options_of_its_own(folder):
    text = written(folder, fixture_bin())
    assert re.search(r"^options:$", text, re.MULTILINE)
    assert text.startswith("# Configuration of ")
    assert run_program(fixture_bin(), "init", "--bad").returncode == 2
    assert b"never overwrites" in run_program(fixture_bin(), "init", "--help").stdout
