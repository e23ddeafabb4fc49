"""What the scripts of bench/hostile share: a server on core 0, hostile-load on core 1."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def add_options(parser):
    parser.add_argument("--io", nargs="+", default=["uring", "epoll"])
    parser.add_argument("--real-time", action="store_true",
                        help="the server at real-time priority, for machines with other work")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")


def compile_programs(options):
    subprocess.run(["ninja", "-C", options.build, "fixture-server", "bench/hostile/hostile-load"],
                   check=True, stdout=subprocess.DEVNULL)


class Server:
    """A fresh fixture-server on core 0."""

    def __init__(self, options, io, *arguments, config=""):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        (path / "server.yaml").write_text(config, encoding="utf-8")
        more = ["--config", path / "server.yaml"] if config else []
        self.log = open(path / "log", "w+", encoding="utf-8")
        # Calls are logged as they would be in service, to a file.
        self.process = subprocess.Popen(
            [*(["chrt", "-f", "1"] if options.real_time else []), "taskset", "-c", "0",
             options.build / "fixture-server", "serve", "--port", "0", "--io", io, *more,
             *map(str, arguments)], stderr=self.log)
        self.port = self._port()

    def _port(self):
        while self.process.poll() is None:
            with open(self.log.name, encoding="utf-8") as log:
                if found := re.search(r"listening on http://[^/]*:(\d+)", log.read()):
                    return found[1]
        raise SystemExit("the server does not start: " + open(self.log.name).read())

    def peak_mib(self):
        """The most memory it ever had resident."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def cpu_s(self):
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        return total / 1e9

    def held_up_s(self):
        """How long its core did something else while the server had something to do: other
        programs, and the host of a virtual machine."""
        waited = sum(int((task / "schedstat").read_text(encoding="ascii").split()[1])
                     for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir())
        stat = pathlib.Path("/proc/stat").read_text(encoding="ascii")
        steal = int(re.search(r"^cpu0 (?:\d+ ){7}(\d+)", stat, re.MULTILINE)[1])
        return waited / 1e9 + steal / os.sysconf("SC_CLK_TCK")

    def load(self, options, **keys):
        done = subprocess.run(
            ["taskset", "-c", "1", options.build / "bench/hostile/hostile-load",
             f"port={self.port}", *(f"{key}={value}" for key, value in keys.items())],
            stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.log.close()
        text = open(self.log.name, encoding="utf-8").read()
        self.folder.cleanup()
        return code, text
