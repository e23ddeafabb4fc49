#!/usr/bin/env python3
"""Every header compiles alone, and the public ones show nothing of what is below them.

Usage: header_independence.py ROOT COMPILER...

A header of src that some source includes before anything else is proven by the build (tests.py sees
to it that every source is built); only the others are compiled here. A public header is compiled
with include/ alone on the path, and preprocessed: no header of POSIX, liburing or Mbed TLS may be
included by one of ours. (The standard library includes some of them for itself.)
"""

import pathlib
import re
import sys

from toolchain import report, toolchain

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wnon-virtual-dtor",
            "-Wold-style-cast", "-Wcast-align", "-Werror"]
INCLUDE = re.compile(r'^#include\s*["<]([^">]+)[">]', re.MULTILINE)
# `# line "file" flags`: flag 1 enters a file, flag 2 returns to one.
MARKER = re.compile(r'^# \d+ "([^"]*)"([ \d]*)$', re.MULTILINE)
SYSTEM = re.compile(r"/(?:liburing|mbedtls|psa|CLI)\b|/(?:sys|linux|netinet|arpa|net|asm)/[^/]*$"
                    r"|/(?:unistd|fcntl|pthread|poll|signal|dirent|netdb|sched|dlfcn)\.h$")


def included_first(root):
    """The headers of src that a source begins with."""
    found = (INCLUDE.search(source.read_text(encoding="utf-8"))
             for source in (root / "src").rglob("*.cpp"))
    return {match.group(1) for match in found if match}


def leaks(preprocessed, include):
    """The system headers that a file below `include` itself includes."""
    stack = ["<stdin>"]
    for match in MARKER.finditer(preprocessed):
        name, flags = match.group(1), match.group(2).split()
        if "1" in flags:
            if stack[-1].startswith(f"{include}/") and SYSTEM.search(name):
                yield f"{stack[-1].removeprefix(f'{include}/')} includes {name}"
            stack.append(name)
        elif "2" in flags and len(stack) > 1:
            stack.pop()


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), toolchain(sys.argv[2:])
    public = sorted(str(path.relative_to(root / "include"))
                    for path in (root / "include").rglob("*.hpp"))
    proven = included_first(root)
    private = sorted({str(path.relative_to(root / "src"))
                      for path in (root / "src").rglob("*.hpp")} - proven)

    def judge(header):
        inside = [] if header in public else ["-I", root / "src"]
        good, diagnostics = compiler.check([*WARNINGS, "-I", root / "include", *inside],
                                           f"#include <{header}>\n#include <{header}>\n")
        if not good:
            return f"{header} does not compile alone:\n{diagnostics}"
        if header in public:
            _, text, _ = compiler.run(["-E", "-I", root / "include"], f"#include <{header}>\n")
            if f"/include/{header}\"" not in text:
                return f"{header}: cannot read what the preprocessor says"
            return "\n".join(leaks(text, root / "include"))
        return None

    print(f"{len(public)} public headers, {len(private)} of src that no source begins with")
    return report("headers", public + private, judge)


if __name__ == "__main__":
    sys.exit(main())
