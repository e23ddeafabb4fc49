"""The systemd unit: the program runs with the system calls that it lists, and with no others."""

import re
import shutil
import signal
import subprocess

import pytest

from http_client import TlsAddress
from mcp_client import Client
from server_process import ROOT, Server, pillion_bin, run_program
from system_calls import listed as calls_of
from system_calls import numbers, only
from test_auth import ask
from test_metrics_users import basic, line_of, scrape
from tokens import Issuer, listed

pytestmark = [pytest.mark.tls, pytest.mark.user]

UNIT = ROOT / "tools" / "hardening" / "pillion.service"
KEY = "0123456789abcdef0123456789abcdef"


def unit():
    return UNIT.read_text(encoding="utf-8")


def settings():
    return dict(re.findall(r"^(\w+)=(.*)$", unit(), re.MULTILINE))


@pytest.fixture
def filtered(io):
    """Starts the program under the filter, or under another one."""
    running = []

    def run(*arguments, names=None, **more):
        running.append(Server(pillion_bin(), "--io", io, *arguments,
                              **only(names or calls_of(unit())), **more))
        return running[-1]

    yield run
    for one in running:
        if one.alive():
            one.stop()


def client_of(address, headers):
    made = Client(address, "E")
    plain = made.headers
    made.headers = lambda message=None, extra=(): plain(message, [*headers, *extra])
    return made


def test_everything_under_the_filter(filtered, authority, tmp_path, io):
    """TLS, tokens, keys, files that are watched and searched, metrics, a reload, the drain."""
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "note.txt").write_text("one\nneedle\n", encoding="ascii")
    issuer = Issuer(tmp_path)
    keys, users = tmp_path / "keys", tmp_path / "users"
    keys.write_text(listed("ci", KEY), encoding="ascii")
    users.write_text(line_of("ops", "password 1"), encoding="ascii")
    config = tmp_path / "config.yaml"
    config.write_text("limits: {body: 2MiB}\n", encoding="ascii")
    socket = tmp_path / "socket"
    server = filtered("--config", config, "--listen", "localhost:0", "--listen", f"unix:{socket}",
                      "--unix-users", "root", "--root", root, "--threads", 2, *authority.flags,
                      *issuer.flags, "--api-keys", keys, "--metrics-listen", "http://127.0.0.1:0",
                      "--metrics-users", users)
    address = TlsAddress(server.address, authority.trust())
    assert ask(address).status == 401
    assert ask(address, issuer.token()).status == 200
    client = client_of(address, [("X-API-Key", KEY)])
    found = client.request("tools/call", {"name": "search_files",
                                          "arguments": {"pattern": "needle"}})
    assert "note.txt" in str(found)
    listing = client.request("tools/call", {"name": "list_files", "arguments": {}})
    assert "folder" in str(listing)
    (root / "folder" / "new.txt").write_text("needle too\n", encoding="ascii")
    read = client.request("resources/read", {"uri": "pillion://files/folder/new.txt"})
    assert read["contents"][0]["text"] == "needle too\n"
    client.close()
    assert scrape(server, basic("ops", "password 1"))[0] == 200
    config.write_text("limits: {body: 1MiB}\n", encoding="ascii")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_log("config.reloaded")
    assert ask(address, issuer.token("bob")).status == 200
    assert server.wait_for_log("serve.start").count(f"io={io}") == 1
    server.stop()


def test_what_is_not_on_the_list_is_not_made(filtered):
    """The filter of these tests is one: without a call that is needed, the program ends."""
    names = [name for name in calls_of(unit()) if name not in ("listen", "bind")]
    server = filtered("--port", 0, "--root", "/usr/include", names=names, wait=False)
    assert server.wait() == -signal.SIGSYS


def test_the_list_holds_what_is_meant():
    names = calls_of(unit())
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    # Nothing of these: to become somebody else, to look into others, to load code into the kernel.
    for name in ("ptrace", "mount", "setuid", "bpf", "init_module", "kexec_load", "reboot",
                 "process_vm_readv", "unshare", "setns", "userfaultfd", "perf_event_open", "kill",
                 "mkdir", "rename", "symlink", "truncate", "chown"):
        assert name in numbers() and name not in names, name


def test_the_unit_keeps_what_it_promises():
    said = settings()
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "PrivateUsers",
                 "MemoryDenyWriteExecute", "RestrictNamespaces", "RestrictSUIDSGID", "ProtectHome",
                 "LockPersonality"):
        assert said[name] == "yes", name
    assert said["ProtectSystem"] == "strict" and said["CapabilityBoundingSet"] == ""
    assert said["LimitCORE"] == "0" and "LoadCredential" in said
    assert set(said["RestrictAddressFamilies"].split()) == {"AF_INET", "AF_INET6", "AF_UNIX",
                                                            "AF_NETLINK"}


def test_its_command_is_one(authority, tmp_path):
    """The options and variables of the unit are those of the program."""
    command = settings()["ExecStart"].replace("${CREDENTIALS_DIRECTORY}", str(tmp_path)).split()
    shutil.copy(authority.cert, tmp_path / "cert.pem")
    shutil.copy(authority.key, tmp_path / "key.pem")
    (tmp_path / "keys.txt").write_text(listed("ci", KEY), encoding="ascii")
    assert command[:2] == ["/usr/bin/pillion", "serve"]
    env = dict(pair.replace("%d", str(tmp_path)).split("=")
               for pair in settings()["Environment"].split())
    assert set(env) == {"PILLION_TLS_KEY_FILE", "PILLION_API_KEYS_FILE"}
    command[command.index("--root") + 1] = str(tmp_path)
    done = run_program(pillion_bin(), "check", *command[2:], env=env)
    assert done.returncode == 0, done


def test_systemd_reads_it(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    copy = tmp_path / "pillion.service"
    copy.write_text(unit().replace("/usr/bin/pillion", pillion_bin()), encoding="utf-8")
    done = subprocess.run([analyze, "verify", "--man=no", copy], check=False, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and "pillion.service:" not in done.stderr, done
    done = subprocess.run([analyze, "security", "--offline=true", "--threshold=20", copy],
                          check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout  # an exposure of at most 2.0 of 10
