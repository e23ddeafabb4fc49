"""What tests of bridged servers share: a server with another one behind it, as a program or at a
URL, and calls of its tools."""

import pathlib
import subprocess
import sys

import pytest

from mcp_client import RpcError
from server_process import wait_until

SCRIPT = pathlib.Path(__file__).with_name("bridged_server.py")
REVISIONS = "ABCDE"
NAME = {"action": "accept", "content": {"name": "Ada"}}
ABLE = {"elicitation": {"form": {}}}
HTTP_SCRIPT = pathlib.Path(__file__).with_name("bridged_http_server.py")


class Bridged:
    """A server with one behind it."""

    def __init__(self, start, folder, inner, more=""):
        self.journal_file = folder / "journal"
        self.config = folder / "config.yaml"
        self.write(inner, more)
        self.folder = folder
        # What is written down while a test runs is no resource of the server's own: it would tell
        # of changes that the test has not made.
        root = folder / "root"
        root.mkdir(exist_ok=True)
        # Its home is one of two threads; clients are on both.
        self.server = start("--config", self.config, "--root", root, "--threads", 2)

    def write(self, inner, more=""):
        self.config.write_text(
            f"servers:\n  inner:\n    command: {sys.executable}\n"
            f"    args: ['{SCRIPT}', '{inner}', '{self.journal_file}']\n{more}", encoding="utf-8")

    def journal(self):
        if not self.journal_file.exists():
            return []
        return self.journal_file.read_text(encoding="utf-8").splitlines()

    def wait_for(self, line):
        wait_until(lambda: line in self.journal(), what=f"{line!r} in {self.journal()}")

    def children(self):
        return children_of(self.server.pid)


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            found += (task / "children").read_text(encoding="ascii").split()
        except (FileNotFoundError, ProcessLookupError):
            pass  # the thread has ended meanwhile; its children are another's now
    return found


class Remote:
    """A server of one revision behind a URL, and one of ours before it."""

    def __init__(self, start, folder, revision):
        self.revision = revision
        self.journal_file = folder / "journal"
        self.start_it()
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])
        self.config = folder / "config.yaml"
        self.root = folder / "root"
        self.root.mkdir()
        self.start_ours = start

    def start_it(self, port=0):
        self.process = subprocess.Popen(
            [sys.executable, HTTP_SCRIPT, self.revision, self.journal_file, str(port)],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def serve(self, more=""):
        self.config.write_text(f"servers: {{inner: {{url: '{self.url}', {more}}}}}\n",
                               encoding="utf-8")
        self.server = self.start_ours("--config", self.config, "--root", self.root,
                                      "--threads", 2)
        return self

    def journal(self):
        return self.journal_file.read_text(encoding="utf-8").splitlines()

    def wait_for(self, line):
        wait_until(lambda: any(one.startswith(line) for one in self.journal()),
                   what=f"{line!r} in {self.journal()}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def text_of(result):
    return result["content"][0]["text"]


def called(client, name, arguments=None):
    return text_of(client.request("tools/call", {"name": name, "arguments": arguments or {}}))


def failed(client, name, arguments=None):
    with pytest.raises(RpcError) as caught:
        called(client, name, arguments)
    return caught.value
