"""Carries out a Dockerfile without a container daemon: its steps run in folders, by chroot(2).

The base image is a system of Debian: one bootstrapped from its packages, or this machine's own
under a layer that takes what is written (overlayfs), which saves the minutes of the bootstrap.
Needs root, and a kernel that lets it mount.

    python3 tests/integration/dockerfile.py [FOLDER]

does the whole of it, long: a bootstrap, the packages, a build from nothing, and prints the times.
"""

import ctypes
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from system_calls import program_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "tools" / "packaging" / "Dockerfile"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NEW_MOUNTS, NEW_NETWORK = 0x00020000, 0x40000000  # of unshare(2) and setns(2)
EXEC_FORM = ("RUN", "CMD", "ENTRYPOINT")
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
         "ENTRYPOINT", "CMD"}


class Step:
    """An instruction: its name, its --options, and its words."""

    def __init__(self, line):
        self.name, _, rest = line.partition(" ")
        assert self.name in KNOWN, f"not understood: {line}"
        self.options = {}
        while match := re.match(r"\s*--([a-z-]+)=(\S+)\s+", rest):
            self.options[match[1]] = match[2]
            rest = rest[match.end():]
        if self.name == "HEALTHCHECK":
            kind, _, rest = rest.strip().partition(" ")
            assert kind == "CMD", line
        if self.name in (*EXEC_FORM, "HEALTHCHECK"):
            # No shell: it is a list of words.
            self.words = json.loads(rest)
            assert isinstance(self.words, list) and self.words, line
        else:
            self.words = shlex.split(rest)


def parse(text):
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Step(line) for line in joined.splitlines() if line.strip()]


class Layer:
    """A root: a folder, or what is written on top of this machine's."""

    def __init__(self, folder, over_machine=False):
        self.folder = pathlib.Path(folder)
        self.over_machine = over_machine
        self.path = self.folder / "root"
        for name in ("root", *(("upper", "work") if over_machine else ())):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def mount(self):
        if self.over_machine:
            mount("-t", "overlay", "overlay", "-o",
                  f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work", self.path)


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def raise_loopback():
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def run_in(layer, words, *, folder="/", user=None, env=None, others=(), read_only=False,
           network=None, calls=None, outside=False, **more):
    """Starts a process in a root. `network`: "own", or the id of a process whose it shares;
    `calls`: the system calls it may make; `outside`: with the roots mounted, but not in one."""
    # Made out here, where there is a compiler to ask for numbers.
    code = None if calls is None else program_of(calls)

    def enter():
        call("unshare", NEW_MOUNTS)
        mount("--make-rprivate", "/")
        for one in (layer, *others):
            one.mount()
        if network == "own":
            call("unshare", NEW_NETWORK)
            raise_loopback()
        elif network is not None:
            with open(f"/proc/{network}/ns/net", "rb") as shared:
                call("setns", shared.fileno(), NEW_NETWORK)
        if outside:
            return
        for name in ("proc", "dev"):
            (layer.path / name).mkdir(exist_ok=True)
        mount("--rbind", "/dev", layer.path / "dev")
        mount("-t", "proc", "proc", layer.path / "proc")
        if read_only:
            mount("--bind", layer.path, layer.path)
            mount("-o", "remount,bind,ro", layer.path)
        os.chroot(layer.path)
        os.chdir(folder)
        if user is not None:
            os.setgroups([])
            os.setgid(user[1])
            os.setuid(user[0])
        if code is not None:
            kept = ctypes.create_string_buffer(code, len(code))
            head = ctypes.create_string_buffer(
                struct.pack("@HP", len(code) // 8, ctypes.addressof(kept)))
            call("prctl", 38, 1, 0, 0, 0)  # no new privileges
            call("prctl", 22, 2, head, 0, 0)  # the filter
    return subprocess.Popen([str(word) for word in words], preexec_fn=enter,
                            close_fds=calls is None,
                            env={"PATH": PATH, "HOME": "/root", **(env or {})}, **more)


class Image:
    """What the last stage ends as."""

    def __init__(self):
        self.layer = None
        self.folder = "/"
        self.user = None
        self.said = {}

    def start(self, words, **more):
        return run_in(self.layer, words, folder=self.folder, user=self.user, **more)


class Builder:
    """Runs the steps. `base(layer_folder)` makes the root of a Debian base image; `profile` is a
    build whose profile is laid beside the files, so that the compiler's cache has its objects."""

    def __init__(self, folder, base, env=None, tell=None, profile=None):
        self.folder = pathlib.Path(folder)
        self.base = base
        self.env = env
        self.tell = tell or (lambda text, seconds: None)
        self.profile = profile
        self.stages = {}

    def build(self, steps):
        image = None
        for step in steps:
            began = time.monotonic()
            if step.name == "FROM":
                image = self.begin(step)
            else:
                getattr(self, "do_" + step.name.lower(), self.keep)(image, step)
            self.tell(f"{step.name} {' '.join(step.words)}", time.monotonic() - began)
        return image

    def begin(self, step):
        image = Image()
        where = self.folder / f"stage{len(self.stages)}"
        image.layer = Layer(where) if step.words[0] == "scratch" else self.base(where)
        name = step.words[2] if len(step.words) == 3 else str(len(self.stages))
        self.stages[name] = image
        return image

    @staticmethod
    def keep(image, step):
        image.said[step.name] = step

    def do_workdir(self, image, step):
        image.folder = step.words[0]
        self.run(image, ["mkdir", "-p", f"{image.layer.path}{image.folder}"], outside=True)

    @staticmethod
    def do_user(image, step):
        image.user = tuple(int(number) for number in step.words[0].split(":"))

    def do_copy(self, image, step):
        others = []
        source, target = step.words
        if "from" in step.options:
            of = self.stages[step.options["from"]]
            others.append(of.layer)
            source = f"{of.layer.path}{source}"
        else:
            source = str(self.context() / source)
        place = target if target.startswith("/") else f"{image.folder}/{target}"
        place = f"{image.layer.path}{place}"
        if os.path.isfile(source):
            script = 'mkdir -p "$(dirname "$2")" && cp -p "$1" "$2"'
        else:
            script = 'mkdir -p "$2" && cp -a "$1/." "$2/"'
        self.run(image, ["sh", "-c", script, "sh", source, place], outside=True, others=others)

    def do_run(self, image, step):
        words = step.words
        if "/" in words[0] and not words[0].startswith("/"):
            words = [f"{image.folder}/{words[0]}", *words[1:]]
        self.run(image, words, folder=image.folder, user=image.user, env=self.env)

    @staticmethod
    def run(image, words, **more):
        process = run_in(image.layer, words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         stdin=subprocess.DEVNULL, **more)
        output = process.communicate()[0].decode("utf-8", "replace")
        assert process.returncode == 0, f"{words}: {process.returncode}\n{output[-4000:]}"

    def context(self):
        """The files of a clone: what the repository knows, or would know if it were committed."""
        to = self.folder / "context"
        if not to.is_dir():
            names = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT,
                                   check=True, capture_output=True).stdout.decode().split("\0")
            for name in filter(None, names):
                if (ROOT / name).is_file():
                    (to / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, to / name)
            if self.profile is not None:
                of_build = (self.profile / name for name in (".profiled", ".wanted"))
                counts = (path for kind in ("*.gcda", "default.profdata")
                          for path in self.profile.rglob(kind))
                for path in (*of_build, *counts):
                    place = to / "build" / "release" / path.relative_to(self.profile)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, place)
        return to


def machine_base(folder):
    return Layer(folder, over_machine=True)


def why_no_machine_base():
    """Why the steps cannot run here; None when they can."""
    if os.geteuid() != 0:
        return "it needs root"
    if shutil.which("apt-get") is None:
        return "this is no Debian"
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = run_in(Layer(folder, over_machine=True), ["true"])
            return None if tried.wait() == 0 else "a chroot does not run"
        except (OSError, subprocess.SubprocessError) as refusal:
            return f"this machine does not let us mount: {refusal}"


def bootstrapped_base(folder):
    """A minimal system from Debian's packages, from where this machine has its own."""
    layer = Layer(folder)
    uris = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(SUITE)",
                           "Created-By: Packages"], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    archive, suite = next(line.split() for line in uris if re.search(r"/debian/? \w+$", line))
    subprocess.run(["debootstrap", "--variant=minbase", suite, layer.path, archive], check=True,
                   stdout=subprocess.DEVNULL)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", layer.path / "etc" / name)
    return layer


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

    def tell(text, seconds):
        print(f"{seconds:7.1f} s  {text}", flush=True)
    began = time.monotonic()
    image = Builder(folder, bootstrapped_base, tell=tell).build(
        parse(DOCKERFILE.read_text(encoding="utf-8")))
    words = image.said["ENTRYPOINT"].words + image.said["CMD"].words
    server = image.start(words, network="own", read_only=True)
    for _ in range(50):
        asked = image.start(image.said["HEALTHCHECK"].words, network=server.pid, read_only=True)
        if asked.wait() == 0:
            break
        time.sleep(0.1)
    server.send_signal(signal.SIGTERM)
    ended = server.wait()
    tell(f"all of it; health {asked.returncode}, end {ended}", time.monotonic() - began)
    return asked.returncode or ended


if __name__ == "__main__":
    sys.exit(main())
