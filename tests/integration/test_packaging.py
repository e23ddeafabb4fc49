"""What a package of the program is made of: the portable build, the image, units, a manifest."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
import yaml

import dockerfile
from http_client import Connection
from server_process import ROOT, Server, pillion_bin, run_program, wait_until
from system_calls import listed as calls_of
from system_calls import numbers, only
from tokens import listed

PACKAGING = ROOT / "tools" / "packaging"
UNIT = ROOT / "tools" / "hardening" / "pillion.service"
BUILD_S = 1500  # from nothing, on a small machine
GLIBC_MAX = (2, 34)
GLIBC = re.compile(r"ld-linux.*\.so\.\d+|lib(c|m|pthread|dl|rt)\.so\.\d+")
KEY = "0123456789abcdef0123456789abcdef"


def said_by(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True,
                          text=True, **more).stdout


def allowed_calls():
    profile = json.loads((PACKAGING / "seccomp.json").read_text(encoding="utf-8"))
    assert [one["action"] for one in profile["syscalls"]] == ["SCMP_ACT_ALLOW"]
    return profile["syscalls"][0]["names"]


@pytest.fixture(scope="session")
def portable():
    """tools/build takes turns by itself where two ask for it."""
    done = subprocess.run([ROOT / "tools" / "build", "--type", "portable", "--quiet", "--",
                           "pillion"], check=False, capture_output=True, text=True,
                          timeout=BUILD_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return ROOT / "build" / "portable" / "pillion"


# ---- the portable build ----

def test_it_needs_glibc_alone(portable):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said_by("readelf", "-d", portable))
    assert needed and all(GLIBC.fullmatch(name) for name in needed), needed


def test_it_does_without_libm(portable):
    """A call of std::ceil() had all of it mapped at each start: 0.3 MiB (rounding.o)."""
    assert "[libm." not in said_by("readelf", "-d", portable)
    assert "GLIBC_PRIVATE" not in said_by("objdump", "-T", portable)


def test_it_starts_with_glibc_2_34(portable):
    newest = {}
    for line in said_by("objdump", "-T", portable).splitlines():
        if match := re.search(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\)? +(\S+)$", line):
            newest.setdefault((int(match[1]), int(match[2])), []).append(match[3])
        else:
            # Versions of other libraries, of libstdc++ for one, must not turn up at all.
            assert "GLIBCXX" not in line and "GCC_" not in line and "CXXABI" not in line, line
    assert newest and max(newest) <= GLIBC_MAX, {
        version: names for version, names in newest.items() if version > GLIBC_MAX}


def test_exceptions_are_caught_in_it(portable, tmp_path):
    """Its unwinder finds its way without _dl_find_object() of glibc 2.35."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("http: {port: [1\n", encoding="ascii")
    for _ in range(2):
        done = run_program(portable, "check", bad)  # yaml-cpp throws
        assert done.returncode == 2 and f"{bad}:".encode() in done.stderr, done
    assert run_program(portable, "serve", "--nonsense").returncode == 2  # CLI11 throws


def test_it_serves(portable, authority, tmp_path):
    server = Server(portable, "--listen", "localhost:0", "--root", tmp_path, *authority.flags)
    done = run_program(portable, "healthcheck", f"https://localhost:{server.port}", "--ca",
                       authority.ca)
    assert done.returncode == 0, done
    server.stop()


@pytest.mark.parametrize("name", ["re2", "uring"])
def test_a_missing_archive_is_an_error(tmp_path, name):
    """A compiler whose folder of libraries has all but one: its .so is there, its .a is not."""
    libraries = tmp_path / "lib"
    libraries.mkdir()
    dirs = re.search(r"^libraries: =(.*)$", said_by("g++", "--print-search-dirs"), re.MULTILINE)[1]
    for folder in map(pathlib.Path, dirs.split(":")):
        for file in (*folder.glob("lib*.a"), *folder.glob("lib*.so")):
            link = libraries / file.name
            if file.name != f"lib{name}.a" and not link.exists():
                link.symlink_to(file)
    assert (libraries / f"lib{name}.so").exists()
    wrapper = tmp_path / "c++"
    wrapper.write_text('#!/bin/sh\ncase "$*" in\n*--print-search-dirs*) '
                       f'echo "libraries: ={libraries}" ;;\n*) exec g++ "$@" ;;\nesac\n',
                       encoding="ascii")
    wrapper.chmod(0o755)
    done = subprocess.run(["meson", "setup", tmp_path / "build", ROOT, "-Dprefer_static=true"],
                          env={**os.environ, "CXX": str(wrapper)}, check=False,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert f"A portable program needs lib{name}.a, which is not here" in done.stdout


# ---- the image ----

def steps():
    return dockerfile.parse((PACKAGING / "Dockerfile").read_text(encoding="utf-8"))


def test_the_dockerfile_says_what_is_meant():
    all_steps = steps()
    last = max(i for i, step in enumerate(all_steps) if step.name == "FROM")
    bases = [step.words[0] for step in all_steps if step.name == "FROM"]
    final = {step.name: step for step in all_steps[last:]}
    assert len(bases) == 2 and bases[0].startswith("debian:") and bases[1] == "scratch"
    user, group = final["USER"].words[0].split(":")
    assert int(user) > 0 and int(group) > 0
    assert final["EXPOSE"].words == ["8080"] and final["STOPSIGNAL"].words == ["SIGTERM"]
    assert final["HEALTHCHECK"].words[:2] == [*final["ENTRYPOINT"].words, "healthcheck"]
    # The file that is served is the file by which the server is asked.
    assert final["CMD"].words[-2:] == final["HEALTHCHECK"].words[-2:]
    ignored = (PACKAGING / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert {".git", "build"} <= set(ignored)


@pytest.fixture(scope="module")
def image(tmp_path_factory, portable):
    """The image, made by the steps of the Dockerfile over this machine as its base. `portable`
    comes first, so that the compiler's cache knows most of it."""
    assert portable
    refusal = dockerfile.why_no_machine_base()
    if refusal is not None:
        pytest.skip(f"the steps of the Dockerfile cannot run here: {refusal}")
    folder = tmp_path_factory.mktemp("image")
    # The language is of the key by which the cache finds what it has.
    env = {name: value for name, value in os.environ.items()
           if name in ("CCACHE_DIR", "LANG") or name.startswith("LC_")}
    env.update(CCACHE_BASEDIR="/src", CCACHE_NOHASHDIR="1")
    # To train there once more and to compile all of it twice took 436 s of an idle machine, and
    # more than pytest's limit beside other suites; dockerfile.py by itself does it.
    release = dockerfile.ROOT / "build" / "release"
    profile = release if (release / ".profiled").is_file() else None
    yield dockerfile.Builder(folder, dockerfile.machine_base, env, profile=profile).build(steps())
    shutil.rmtree(folder)


def test_the_image_is_small_and_holds_no_other_program(image):
    root = image.layer.path
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < 16e6
    programs = {str(path.relative_to(root)) for path in files if path.stat().st_mode & 0o111}
    assert "usr/bin/pillion" in programs
    assert all(GLIBC.fullmatch(pathlib.Path(name).name) for name in programs - {"usr/bin/pillion"})
    assert not [path for path in files if path.stat().st_mode & 0o022]  # nobody else writes


def ask_until_healthy(image, server):
    def healthy():
        asked = image.start(image.said["HEALTHCHECK"].words, network=server.pid, read_only=True,
                            calls=allowed_calls(), stderr=subprocess.PIPE)
        asked.communicate()
        return asked.returncode == 0
    wait_until(healthy, 15, "healthy")


@pytest.mark.parametrize("backend", ["uring", "epoll"])
def test_the_image_serves_and_is_healthy(image, backend):
    """As a container would: read-only, an ordinary user, its own network, the profile's calls."""
    words = image.said["ENTRYPOINT"].words + image.said["CMD"].words + ["--io", backend]
    server = image.start(words, network="own", read_only=True, calls=allowed_calls(),
                         stderr=subprocess.PIPE)
    try:
        ask_until_healthy(image, server)
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
        assert re.search(r"^Uid:\t65532\t65532\t65532", status, re.MULTILINE)
        assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
        assert re.search(r"^Seccomp:\t2$", status, re.MULTILINE)
        server.send_signal(getattr(signal, image.said["STOPSIGNAL"].words[0]))
        log = server.communicate(timeout=20)[1].decode()
        assert server.returncode == 0 and f"io={backend}" in log, log
        asked = image.start(image.said["HEALTHCHECK"].words, network="own", read_only=True,
                            stderr=subprocess.PIPE)
        assert b"it cannot be reached" in asked.communicate()[1] and asked.returncode == 1
    finally:
        if server.poll() is None:
            server.kill()
            server.communicate()


# ---- system calls ----

def test_the_profile_is_the_list_of_the_unit():
    assert sorted(allowed_calls()) == sorted(calls_of(UNIT.read_text(encoding="utf-8")))
    assert (said_by(PACKAGING / "make_seccomp") ==
            (PACKAGING / "seccomp.json").read_text(encoding="utf-8"))
    assert {"io_uring_setup", "io_uring_enter", "io_uring_register"} <= set(allowed_calls())
    assert not set(allowed_calls()) - set(numbers()) - {"fstatat64"}


def test_the_program_runs_with_the_profile(io, authority, tmp_path):
    (tmp_path / "keys").write_text(listed("ci", KEY), encoding="ascii")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        server = Server(pillion_bin(), "--io", io, "--root", tmp_path, "--listen", "localhost:0",
                        *authority.flags, "--api-keys", tmp_path / "keys", "--threads", 2,
                        env={"NOTIFY_SOCKET": str(tmp_path / "notify")}, **only(allowed_calls()))
        assert manager.recv(64) == b"READY=1"
        done = run_program(pillion_bin(), "healthcheck", f"https://localhost:{server.port}",
                           "--ca", authority.ca, **only(allowed_calls()))
        assert done.returncode == 0, done
        server.stop()


# ---- systemd ----

def unit_settings(path):
    return re.findall(r"^(\w+)=(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_unit_is_as_hard_as_the_other():
    ours, other = (unit_settings(folder / "pillion.service") for folder in (PACKAGING, UNIT.parent))
    differ = {name for name, _ in set(ours) ^ set(other)}
    assert differ == {"Type", "ExecStart", "Requires", "Also"}
    assert dict(ours)["Type"] == "notify" and dict(ours)["Requires"] == "pillion.socket"
    assert "--port" not in dict(ours)["ExecStart"] and "--listen" not in dict(ours)["ExecStart"]


def test_systemd_reads_the_units(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    for name in ("pillion.service", "pillion.socket"):
        text = (PACKAGING / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/usr/bin/pillion", pillion_bin()),
                                     encoding="utf-8")
    done = subprocess.run([analyze, "verify", "--man=no", tmp_path / "pillion.socket",
                           tmp_path / "pillion.service"], check=False, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and "pillion." not in done.stderr, done


def passed_on(sockets, *arguments, listen_pid="$$", listen_fds=None, **more):
    """The server with sockets from descriptor 3 on, as sd_listen_fds(3) has it."""
    count = len(sockets) if listen_fds is None else listen_fds
    script = f'LISTEN_PID={listen_pid} LISTEN_FDS={count} exec "$0" "$@"'

    def place():
        kept = [os.dup(one.fileno()) for one in sockets]
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate(kept)]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i, inheritable=True)
    return Server("/bin/sh", "-c", script, pillion_bin(), "serve", *arguments, command=None,
                  preexec_fn=place, close_fds=False, **more)


def listening(path=None):
    made = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    made.bind(str(path) if path else ("127.0.0.1", 0))
    made.listen()
    return made


def test_sockets_that_are_passed_on_are_served(io, tmp_path):
    path = tmp_path / "socket"
    with listening() as one, listening(path) as other:
        server = passed_on([one, other], "--io", io, "--root", tmp_path)
        server.wait_until_ready(2)
        assert server.address == one.getsockname()
        for address in (one.getsockname(), str(path)):
            with Connection(address) as connection:
                assert connection.request("GET", "/health").status == 200
        server.stop()
        assert path.exists()  # it is not ours


def test_a_socket_that_is_named_for_metrics_is_for_nothing_else(io, tmp_path):
    """It was served as an endpoint as well, so that whoever scraped it met one or the other."""
    with listening() as one, listening() as other:
        server = passed_on([one, other], "--io", io, "--root", tmp_path, "--metrics-listen", "fd:4")
        server.wait_until_ready()
        with Connection(other.getsockname()) as connection:
            assert connection.request("GET", "/metrics").status == 200
            assert connection.request("GET", "/health").status == 404
        with Connection(one.getsockname()) as connection:
            assert connection.request("GET", "/health").status == 200
        server.stop()
        assert len(server.urls) == 1 and server.address == one.getsockname()


def test_who_says_where_to_listen_is_obeyed(io, tmp_path):
    with listening() as one:
        server = passed_on([one], "--io", io, "--root", tmp_path, "--port", "0")
        assert server.address != one.getsockname()
        server.stop()
        server = passed_on([one], "--io", io, "--root", tmp_path, "--listen", "fd:3")
        assert server.address == one.getsockname()
        server.stop()


def test_sockets_of_somebody_else_are_left_alone(tmp_path):
    with listening() as one:
        config = tmp_path / "c.yaml"
        config.write_text("http: {port: 0}\n", encoding="ascii")
        server = passed_on([one], "--root", tmp_path, "--config", config, listen_pid="1")
        assert server.address != one.getsockname()
        server.stop()


def test_a_descriptor_that_is_no_socket_is_refused(tmp_path):
    with open(tmp_path / "file", "w", encoding="ascii") as file:
        server = passed_on([file], "--root", tmp_path, wait=False)
        assert server.wait() in (1, 2)
        assert any("fd:3" in line or "listen" in line for line in server.log), server.log


def test_what_is_passed_on_needs_authentication_too(tmp_path):
    """A socket for other machines is one, whoever opened it."""
    with socket.socket() as wide:
        wide.bind(("0.0.0.0", 0))
        wide.listen()
        server = passed_on([wide], "--root", tmp_path, wait=False)
        assert server.wait() == 2
        assert any("refusing to serve other machines" in line for line in server.log)


def test_systemd_itself_passes_them_on(tmp_path):
    """systemd-socket-activate starts the program at the first connection."""
    tool = shutil.which("systemd-socket-activate")
    if tool is None:
        pytest.skip("no systemd-socket-activate here")
    path = tmp_path / "socket"
    starter = subprocess.Popen([tool, "-l", path, pillion_bin(), "serve", "--root", tmp_path],
                               stderr=subprocess.DEVNULL)
    try:
        wait_until(path.exists)
        wait_until(lambda: run_program(pillion_bin(), "healthcheck", f"unix:{path}").returncode
                   == 0, 20)
        assert os.readlink(f"/proc/{starter.pid}/exe") == os.path.realpath(pillion_bin())
        starter.send_signal(signal.SIGTERM)
        assert starter.wait(20) == 0
    finally:
        if starter.poll() is None:
            starter.kill()
            starter.wait()


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told(start_pillion, tmp_path, abstract):
    """sd_notify(3): ready once it serves, stopping once it drains."""
    name = f"@pillion-{os.getpid()}-{time.monotonic_ns()}" if abstract else str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0", 1))
        manager.settimeout(10)
        server = start_pillion("--root", tmp_path, env={"NOTIFY_SOCKET": name})
        assert manager.recv(64) == b"READY=1"
        with Connection(server.address) as connection:
            assert connection.request("GET", "/ready").status == 200
        server.process.send_signal(signal.SIGTERM)
        assert manager.recv(64) == b"STOPPING=1"
        server.stop()


def test_a_manager_that_is_gone_is_nobodys_concern(start_pillion, tmp_path):
    for name in (str(tmp_path / "none"), "relative", "", "@", "/" + 200 * "x"):
        server = start_pillion("--root", tmp_path, env={"NOTIFY_SOCKET": name})
        server.stop()


# ---- Kubernetes ----

def documents():
    return {one["kind"]: one for one in yaml.safe_load_all(
        (PACKAGING / "kubernetes.yaml").read_text(encoding="utf-8"))}


def test_the_manifest_says_what_is_meant():
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    ours = next(one for one in pod["containers"] if one["name"] == "pillion")
    assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= set(ours)
    secure = ours["securityContext"]
    assert secure["runAsNonRoot"] and secure["readOnlyRootFilesystem"]
    assert secure["allowPrivilegeEscalation"] is False
    assert secure["capabilities"] == {"drop": ["ALL"]}
    assert secure["seccompProfile"]["type"] == "Localhost"
    assert pod["terminationGracePeriodSeconds"] > 10
    user = next(step for step in steps() if step.name == "USER").words[0]
    context = pod["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    # The folder that both see is where the upstream's socket is.
    config = yaml.safe_load(documents()["ConfigMap"]["data"]["pillion.yaml"])
    shared = [{mount["mountPath"] for mount in one["volumeMounts"] if mount["name"] == "socket"}
              for one in pod["containers"]]
    assert shared[0] == shared[1] == {os.path.dirname(config["upstreams"]["notes"]["socket"])}
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert "emptyDir" in volumes["socket"] and "configMap" in volumes["config"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        port = ours[probe]["httpGet"]["port"]
        assert port in [one["name"] for one in ours["ports"]]


def test_the_configuration_in_the_manifest_is_good(tmp_path):
    text = documents()["ConfigMap"]["data"]["pillion.yaml"]
    keys = tmp_path / "keys.txt"
    keys.write_text(listed("agents", KEY), encoding="ascii")
    (tmp_path / "pillion.yaml").write_text(
        text.replace("/etc/pillion/keys/keys.txt", str(keys)).replace("root: /srv",
                                                                      f"root: {tmp_path}"),
        encoding="utf-8")
    done = run_program(pillion_bin(), "check", tmp_path / "pillion.yaml")
    assert done.returncode == 0, done


def kubernetes_folder():
    """Kubernetes' API as types and validators, from npm, once."""
    folder = ROOT / "build" / "cache" / "kubernetes"
    if not (folder / ".ok").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private":true}', encoding="ascii")
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                               "--loglevel=error", "kubernetes-models@4", "typescript@5"],
                              cwd=folder, check=False, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            return None, done.stderr[-200:]
        (folder / ".ok").touch()
    return folder, ""


def judged(folder, tmp_path, all_documents):
    """Of which documents, by their places, the types of the API (with no name that it does not
    know) or its validators have something to say."""
    here = folder / f"tried-{os.getpid()}-{tmp_path.name}"
    here.mkdir()
    checks = []
    for i, one in enumerate(all_documents):
        kind, module = one["kind"], f"kubernetes-models/{one['apiVersion']}"
        (here / f"d{i}.ts").write_text(f'import {{ I{kind} }} from "{module}/{kind}";\n'
                                       f"export const d: I{kind} = {json.dumps(one)};\n",
                                       encoding="utf-8")
        checks.append(f'try {{ new (require("{module}").{kind})({json.dumps(one)}).validate(); }}\n'
                      f'catch (fault) {{ console.log("d{i}.ts(" + fault); }}\n')
    (here / "all.js").write_text("".join(checks), encoding="utf-8")
    (here / "tsconfig.json").write_text(json.dumps({"include": ["*.ts"], "compilerOptions": {
        "strict": True, "noEmit": True, "skipLibCheck": True, "types": []}}), encoding="ascii")
    try:
        types = subprocess.run([folder / "node_modules" / ".bin" / "tsc", "-p", here], check=False,
                               capture_output=True, text=True, timeout=150).stdout
        values = said_by("node", here / "all.js")
    finally:
        shutil.rmtree(here)
    said = types + values
    found = {int(number) for number in re.findall(r"d(\d+)\.ts\(", said)}
    assert found or not said.strip(), said
    return found, said


def test_the_manifest_is_of_kubernetes(tmp_path):
    folder, refusal = kubernetes_folder()
    if folder is None:
        pytest.skip(f"npm cannot install Kubernetes' API: {refusal}")
    tried = list(documents().values())
    good = len(tried)
    # Names that are none, values of another type, and what is missing are found.
    for kind, change in (
            ("Deployment", lambda d: d["spec"]["template"]["spec"]["containers"][1].update(x=1)),
            ("Deployment", lambda d: d["spec"].update(replicas="two")),
            ("Deployment", lambda d: d["spec"]["template"]["spec"]["containers"][0].pop("name")),
            ("Service", lambda d: d["spec"]["ports"][0].pop("port"))):
        changed = documents()[kind]
        change(changed)
        tried.append(changed)
    found, said = judged(folder, tmp_path, tried)
    assert found == set(range(good, len(tried))), said
