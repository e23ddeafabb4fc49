#!/usr/bin/env python3
"""Misuse of the public interface that the compiler must refuse, each beside what it must accept.

Usage: must_not_compile.py ROOT COMPILER...
"""

import pathlib
import re
import sys
import tempfile

from snippets import PRELUDE, SNIPPETS
from toolchain import report, toolchain


def judge_all(root, compiler, prelude):
    options = ["-Wall", "-Wextra", "-Werror=unused-result", "-I", root / "include"]
    prelude.write_text(PRELUDE, encoding="utf-8")
    compiler.precompile(options, prelude)
    jobs = [(name, accepted, None) for name, accepted, _, _ in SNIPPETS]
    jobs += [(name, refused, expected) for name, _, refused, expected in SNIPPETS]

    def judge(job):
        name, code, expected = job
        good, diagnostics = compiler.check(options, code, prelude)
        if expected is None:
            return None if good else f"{name}: refused what is right:\n{diagnostics}"
        if good:
            return f"{name}: accepted what is wrong"
        errors = [line for line in diagnostics.split("\n") if re.search(r"\berror:", line)]
        if not any(re.search(expected, line) for line in errors):
            return f"{name}: no error matches '{expected}':\n{diagnostics}"
        return None

    return report("snippets", jobs, judge)


def main():
    with tempfile.TemporaryDirectory() as folder:
        return judge_all(pathlib.Path(sys.argv[1]).resolve(), toolchain(sys.argv[2:]),
                         pathlib.Path(folder) / "prelude.hpp")


if __name__ == "__main__":
    sys.exit(main())
