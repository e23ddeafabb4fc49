#!/usr/bin/env python3
"""Misuse of the public interface that the compiler must refuse, each beside what it must accept.

Usage: must_not_compile.py ROOT COMPILER...
"""

import pathlib
import re
import sys

from snippets import PRELUDE, SNIPPETS
from toolchain import report, toolchain


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), toolchain(sys.argv[2:])
    options = ["-Wall", "-Wextra", "-Werror=unused-result", "-I", root / "include"]
    jobs = [(name, accepted, None) for name, accepted, _, _ in SNIPPETS]
    jobs += [(name, refused, expected) for name, _, refused, expected in SNIPPETS]

    def judge(job):
        name, code, expected = job
        good, diagnostics = compiler.check(options, PRELUDE + code)
        if expected is None:
            return None if good else f"{name}: refused what is right:\n{diagnostics}"
        if good:
            return f"{name}: accepted what is wrong"
        errors = [line for line in diagnostics.split("\n") if re.search(r"\berror:", line)]
        if not any(re.search(expected, line) for line in errors):
            return f"{name}: no error matches '{expected}':\n{diagnostics}"
        return None

    return report("snippets", jobs, judge)


if __name__ == "__main__":
    sys.exit(main())
