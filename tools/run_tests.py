#!/usr/bin/env python3
"""Runs the test suites and closes with one line: "N passed, M failed[, K skipped]".

Usage: tools/test [--list] [--fast] [SUITE...]. Without names every suite runs; --fast leaves out
the sanitizers, the run as an ordinary user and the independent judges. Exit code 0 only if nothing
failed; with CI=true and ../shared present nothing may be skipped either.

Meson's tests are told apart by their suite: `unit` is a GoogleTest program whose cases are counted
one by one, `other` is any other program and counts one; besides, `threads` marks those that run
under ThreadSanitizer, and `user` those that run again as an ordinary user. The pytest files of
tests/integration take the programs from PILLION_BIN and FIXTURE_BIN; those marked `asan` run again,
each on one back end, on the sanitized programs, those marked `user` as an ordinary user. With a
newer Mbed TLS all unit tests and fuzzers run again, and all pytest files, each test on one back
end.

With PILLION_LONG=1 the faults of test_fault_cycles.py happen a thousand times each (fifty where
one takes long by its nature), and test_reload_cycles.py reloads 210 times; else forty and 28.
Alone: `cd tests/integration; PILLION_LONG=1 python3 -m pytest -q -n 2 -rP test_fault_cycles.py`.

The suites run in lanes at the same time, one more than there are processors, the longest first:
many tests wait more than they compute. What is not built yet is built meanwhile, one kind after
the other, and gives way to tests.
"""

import ast
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

import judges
from harness import ROOT, SHARED, run, tally

PROGRAM_S = 600  # time limit of one test program
BUILD_S = 3600
FILES_BYTES = 4 << 30  # more than all files of tests at a time
PYTHON = sys.executable
USER, GROUP = 65534, 65534  # nobody
MEMLOCK_BYTES = 8 << 20  # the usual limit of an ordinary user

SANITIZERS = {
    # A thread's frames for use after return take 3 MiB, not 11: more than a thousand servers start,
    # and each looks through all of them for leaks at its end.
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:max_uar_stack_size_log=18:"
                    "strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
# In the order in which they are built when they are not: most suites wait for the first.
KINDS = ("release", "asan", "clang", "mbedtls3", "tsan")
SERVERS = {"pillion", "pillion-bench", "fixture-server"}
builds = {}  # kind -> exit code and output, once it is known
build_ended = threading.Condition()


def targets_of(kind):
    """Everything is built; for ThreadSanitizer the programs of the suite threads, which the release
    build can name, for the newer Mbed TLS those of all unit tests and fuzzers, and the servers."""
    if kind not in ("tsan", "mbedtls3"):
        return []
    tests = meson_tests("release", "threads") if kind == "tsan" else tests_with_mbedtls("release")
    programs = {test["cmd"][0].removeprefix(f"{ROOT}/build/release/") for test in tests}
    return sorted(programs | (SERVERS if kind == "mbedtls3" else set()))


def is_built(kind):
    folders = [ROOT / "build" / name for name in ("release", kind)]
    if not all((folder / "build.ninja").is_file() for folder in folders):
        return False
    return "no work to do" in run(["ninja", "-n", "-C", folders[-1], *targets_of(kind)],
                                  PROGRAM_S)[1]


def build_kinds(kinds):
    """Builds one after the other, giving way to tests, and tells the suites that wait."""
    for kind in kinds:
        try:
            result = run(["nice", "-n", "10", "tools/build", "--type", kind, "--",
                          *targets_of(kind)], BUILD_S)
        except Exception as error:  # nobody may wait for ever
            result = 1, f"{type(error).__name__}: {error}"
        with build_ended:
            builds[kind] = result
            build_ended.notify_all()


def build(count, kind):
    """True if the build, which has ended, is there. If not, that is a failed test of this suite."""
    code, output = builds[kind]
    if code != 0:
        builds[kind] = code, "(see above)"
        count.fail(f"build of {kind}", output)
    return code == 0


def meson_tests(kind, suite):
    """The tests of a Meson suite in build/KIND."""
    found = subprocess.run(["meson", "introspect", "--tests", f"build/{kind}"], cwd=ROOT,
                           check=True, capture_output=True, text=True)
    return [test for test in json.loads(found.stdout)
            if suite in (name.split(":")[-1] for name in test["suite"])]


def tests_with_mbedtls(kind):
    """All that runs with another version of Mbed TLS: what compilers and scripts make of us does
    not depend on it."""
    return meson_tests(kind, "unit") + [
        test for test in meson_tests(kind, "other") if test["name"].startswith("fuzz-")]


def run_gtest(count, test, label="", **options):
    """Runs a GoogleTest program and counts its cases."""
    name = label + test["name"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # the program may run as another user
        report = pathlib.Path(folder) / "report.json"
        code, output = run([*test["cmd"], f"--gtest_output=json:{report}"], PROGRAM_S,
                           env={**SANITIZERS, "PILLION_SHARED": str(SHARED), **test["env"]},
                           cwd=test["workdir"] or ROOT, **options)
        try:
            cases = [case for suite in json.loads(report.read_text())["testsuites"]
                     for case in suite["testsuite"]]
        except (OSError, ValueError):
            count.fail(f"{name} ended with {code} before its report", output)
            return
    failures = 0
    for case in cases:
        case_name = f"{name} {case['classname']}.{case['name']}"
        if "failures" in case:
            failures += 1
            count.fail(case_name, "\n".join(found["failure"] for found in case["failures"]))
        elif case.get("result") == "COMPLETED":
            count.ok()
        else:
            count.skip(case_name, case.get("result", case.get("status", "not run")).lower())
    if code != 0 and failures == 0:
        count.fail(f"{name} ended with {code}", output)
    if not cases:
        count.fail(f"{name} has no test case")


def run_meson(count, kind):
    """The suites unit and other of one build."""
    if not build(count, kind):
        return
    unit_tests = meson_tests(kind, "unit")
    if not unit_tests:
        count.fail(f"build/{kind} has no unit tests")
    for test in unit_tests:
        run_gtest(count, test)
    for test in meson_tests(kind, "other"):
        run_other(count, test)


def run_other(count, test, label=""):
    """Runs a program that counts as one test."""
    code, output = run(test["cmd"], PROGRAM_S, env={**SANITIZERS, **test["env"]},
                       cwd=test["workdir"] or ROOT)
    if code == 77:
        count.skip(label + test["name"], "it says so: " + output.strip()[-200:])
    else:
        count.check(f"{label}{test['name']} ended with {code}", code == 0, output)


def run_pytest(count, binaries, marker=None, root=ROOT, shared=SHARED, label="", one_io=False,
               **options):
    """Runs tests/integration, several at a time, and counts its tests. `one_io`: each on one back
    end of the event loop."""
    title = label + (f"pytest -m {marker}" if marker else "pytest")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        report = pathlib.Path(folder) / "report.xml"
        workers = (os.cpu_count() or 1) + (2 if marker != "asan" else 1)
        command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
                   "-p", "xdist", "-n", str(workers),
                   "--basetemp", f"{folder}/tmp", "-o", "junit_family=xunit2",
                   *(["-m", marker] if marker else []), "tests/integration"]
        programs = {"PILLION_BIN": f"{binaries}/pillion",
                    "FIXTURE_BIN": f"{binaries}/fixture-server", "PILLION_SHARED": str(shared),
                    "PILLION_ONE_IO": "1" if one_io else "0"}
        limit_s = (10 if os.environ.get("PILLION_LONG") == "1" else 2) * PROGRAM_S
        code, output = run(command, limit_s, env={**SANITIZERS, **programs}, cwd=root,
                           **options)
        if code == 5:  # pytest's own for "no tests"
            count.skip(title, "no such test in tests/integration")
            return
        try:
            cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError):
            count.fail(f"{title} ended with {code} before its report", output)
            return
    failures = 0
    for case in cases:
        name = f"{title} {case.get('classname', '').split('.')[-1]}.{case.get('name')}"
        outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")),
                       None)
        if outcome is None:
            count.ok()
        elif outcome.tag == "skipped":
            count.skip(name, outcome.get("message", ""))
        else:
            failures += 1
            count.fail(name, outcome.text or outcome.get("message", ""))
    if code != 0 and failures == 0:
        count.fail(f"{title} ended with {code}", output)


def sources(*patterns):
    """Files of the tree that match, tracked or new, relative to its root."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard", "--", *patterns],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in sorted(set(listed.split("\0"))) if (ROOT / name).is_file()]


def suite_lint(count):
    """house rules, coroutine rules, formatting, syntax of scripts"""
    for command in (["tools/tidy.py"], ["tools/tidy.py", "--self-test"],
                    ["tools/lint_coro.py"], ["tools/lint_coro.py", "--self-test"],
                    ["tools/standard_rows.py"]):
        code, output = run([PYTHON, *command], PROGRAM_S)
        count.check(" ".join(command), code == 0, output)
    code, version = run(["tools/setup", "clang"], BUILD_S)
    cpp = sources("*.cpp", "*.hpp")
    if code == 0 and cpp:
        code, output = run([f"clang-format-{version.strip()}", "--dry-run", "-Werror", *cpp],
                           PROGRAM_S)
        wrong = sorted({line.split(":")[0] for line in output.split("\n") if ": error:" in line})
        count.check("clang-format", code == 0, "run clang-format on " + " ".join(wrong))
    else:
        count.fail("clang-format", version)
    for name in sources("*.py"):
        try:
            ast.parse((ROOT / name).read_text(encoding="utf-8"), name)
            count.ok()
        except SyntaxError as error:
            count.fail(f"syntax of {name}", str(error))
    for name in sources("tools", "tests", "bench", ".ci"):
        first = (ROOT / name).open("rb").readline()
        if first.startswith(b"#!") and first.rstrip().endswith((b"bash", b"/sh")):
            code, output = run(["bash", "-n", name], PROGRAM_S)
            count.check(f"syntax of {name}", code == 0, output)


def suite_unit(count):
    """unit tests of the release build"""
    run_meson(count, "release")


def suite_integration(count):
    """tests/integration on the release build"""
    if build(count, "release"):
        run_pytest(count, ROOT / "build/release")


def suite_asan(count):
    """unit tests under g++ ASan and UBSan"""
    run_meson(count, "asan")


def suite_wire(count):
    """marked tests of tests/integration under g++ ASan and UBSan"""
    if build(count, "asan"):
        run_pytest(count, ROOT / "build/asan", "asan", one_io=True)


def suite_clang(count):
    """unit tests under clang's ASan and UBSan"""
    run_meson(count, "clang")


def suite_tsan(count):
    """tests of the Meson suite threads under ThreadSanitizer"""
    if build(count, "tsan"):
        tests = meson_tests("tsan", "threads")
        if not tests:
            count.skip("tsan", "no test is of the Meson suite threads")
        for test in tests:
            # ThreadSanitizer of g++ 12 and 13 cannot live with much address randomisation.
            run_gtest(count, {**test, "cmd": ["setarch", "-R", *test["cmd"]]})


def suite_mbedtls3(count):
    """unit tests and tests/integration with version 3 of Mbed TLS, where the system has 2.28"""
    code, output = builds["mbedtls3"]
    if code == 3:
        count.skip("mbedtls3", output.strip()[-200:])
        return
    if not build(count, "mbedtls3"):
        return
    label = "Mbed TLS 3 "
    tests = tests_with_mbedtls("mbedtls3")
    if not tests:
        count.fail("build/mbedtls3 has no tests")
    for test in tests:
        if test["name"].startswith("fuzz-"):
            run_other(count, test, label)
        else:
            run_gtest(count, test, label)
    # Both back ends carry the same bytes to it: each test meets it once.
    run_pytest(count, ROOT / "build/mbedtls3", label=label, one_io=True)


def suite_user(count):
    """marked tests as an ordinary user with the usual memlock limit"""
    if os.geteuid() != 0:
        count.ok()  # the other suites did it
        return
    if not build(count, "release"):
        return
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        shutil.copytree(ROOT / "tests/integration", place / "tests/integration")
        shutil.copytree(ROOT / "tools/hardening", place / "tools/hardening")
        for shared in ("free_port.py", "harness.py"):
            shutil.copy2(ROOT / "tools" / shared, place / "tools")
        # That user may not be able to read the original.
        if SHARED.is_dir():
            shutil.copytree(SHARED / "spec/schemas", place / "shared/spec/schemas")
        tests = meson_tests("release", "user")
        (place / "bin").mkdir()
        release = ROOT / "build/release"
        for program in {release / "pillion", release / "fixture-server",
                        *(pathlib.Path(test["cmd"][0]) for test in tests)}:
            shutil.copy2(program, place / "bin")
        for path in (place, *place.rglob("*")):
            os.chown(path, USER, GROUP)

        def limit_memlock():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK_BYTES, MEMLOCK_BYTES))

        options = {"user": USER, "group": GROUP, "extra_groups": [], "preexec_fn": limit_memlock}
        if not tests:
            count.skip("unit tests", "no test is of the Meson suite user")
        for test in tests:
            program = place / "bin" / pathlib.Path(test["cmd"][0]).name
            run_gtest(count, {**test, "cmd": [program, *test["cmd"][1:]], "workdir": folder},
                      "as user ", **options)
        run_pytest(count, place / "bin", "user", place, place / "shared", **options)


def suite_judges(count):
    """the independent judges of ../shared, if it is there"""
    if not judges.JUDGES.is_dir():
        count.skip("judges", "no ../shared/judges beside the repository")
        return
    code, node = run(["tools/setup", "node"], BUILD_S)
    if code != 0:
        count.fail("node >= 22", node)
    elif build(count, "release"):
        judges.judges(count, node.strip())


def next_suite(names):
    """Takes the first suite whose build has ended, or waits for one; None when all are taken."""
    with build_ended:
        while names:
            for name in names:
                if BUILT.get(name, "release") in (None, *builds):
                    names.remove(name)
                    return name
            build_ended.wait()
    return None


def run_lane(names, counts):
    """Runs suites, one after the other, until there are no more."""
    while name := next_suite(names):
        print(f"{name}: {SUITES[name].__doc__}", flush=True)
        count, begin = tally(name), time.monotonic()
        try:
            SUITES[name](count)
        except Exception as error:  # one suite's trouble must not hide the others' results
            count.fail(f"the driver itself: {type(error).__name__}: {error}")
        counts.append(count)
        print(f"  {name}: {count.passed} ok, {count.failed} not, {count.skipped} left out, "
              f"{time.monotonic() - begin:.1f} s", flush=True)


SUITES = {name.removeprefix("suite_"): function for name, function in list(globals().items())
          if name.startswith("suite_")}
# What they run on, if not on the release build.
BUILT = {"asan": "asan", "wire": "asan", "clang": "clang", "tsan": "tsan", "mbedtls3": "mbedtls3",
         "lint": None}
FAST = ("lint", "unit", "integration")
# The longest first, so that none is left alone at the end; those that wait much come between.
ORDER = ("asan", "clang", "wire", "integration", "mbedtls3", "judges", "unit", "user", "tsan",
         "lint")


def use_memory_for_files():
    """Tests make many small files, which on a disk cost a third of their time."""
    memory = pathlib.Path("/dev/shm")
    if "TMPDIR" not in os.environ and memory.is_dir() and os.access(memory, os.W_OK):
        about = os.statvfs(memory)
        if (about.f_bavail * about.f_frsize >= FILES_BYTES and not about.f_flag & os.ST_NOEXEC):
            os.environ["TMPDIR"] = str(memory)


def main():
    names = [argument for argument in sys.argv[1:] if argument not in ("--list", "--fast")]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"tools/test: unknown: {' '.join(unknown)}; there are {' '.join(SUITES)}",
              file=sys.stderr)
        return 2
    if "--list" in sys.argv[1:]:
        for name, function in SUITES.items():
            print(f"{name:12} {function.__doc__}")
        return 0
    # Children are ended at exit, and a signal must lead there.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    use_memory_for_files()
    counts = []
    wanted = names or (FAST if "--fast" in sys.argv[1:] else SUITES)
    queue = sorted(wanted, key=ORDER.index)
    kinds = {kind for kind in (BUILT.get(name, "release") for name in wanted) if kind}
    kinds |= {"release"} if kinds & {"tsan", "mbedtls3"} else set()
    # What is built is known to be in a moment; then the order is the one wanted.
    there = [kind for kind in KINDS if kind in kinds and is_built(kind)]
    build_kinds(there)
    missing = [kind for kind in KINDS if kind in kinds and kind not in there]
    lanes = [threading.Thread(target=build_kinds, args=(missing,), daemon=True)]
    lanes += [threading.Thread(target=run_lane, args=(queue, counts), daemon=True)
              for _ in range((os.cpu_count() or 1) + 1)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    passed, failed, skipped = (sum(getattr(count, field) for count in counts)
                               for field in ("passed", "failed", "skipped"))
    if skipped and os.environ.get("CI") == "true" and SHARED.is_dir():
        print(f"{skipped} left out where nothing may be: counted as failed")
        failed, skipped = failed + skipped, 0
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
