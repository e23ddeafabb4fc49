#!/usr/bin/env python3
"""Every header compiles alone, and the public ones show nothing of what is below them.

Usage: header_independence.py ROOT FOLDER COMPILER...; FOLDER, made if it is not there, is for the
sources and objects.

A header of src that some source includes before anything else is proven by the build (tests.py sees
to it that every source is built); only the others are compiled here. A public header is compiled
with include/ alone on the path, and no header of POSIX, liburing or Mbed TLS may be included by one
of ours. (The standard library includes some of them for itself.)
"""

import os
import pathlib
import re
import sys

from toolchain import report, toolchain

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wnon-virtual-dtor",
            "-Wold-style-cast", "-Wcast-align", "-Werror"]
INCLUDE = re.compile(r'^#include\s*["<]([^">]+)[">]', re.MULTILINE)
# What -H says: a dot for each level of inclusion, and the file.
ENTERED = re.compile(r"^(\.+) (.*)$", re.MULTILINE)
SYSTEM = re.compile(r"/(?:liburing|mbedtls|psa|CLI)\b|/(?:sys|linux|netinet|arpa|net|asm)/[^/]*$"
                    r"|/(?:unistd|fcntl|pthread|poll|signal|dirent|netdb|sched|dlfcn)\.h$")


def included_first(root):
    """The headers of src that a source begins with."""
    found = (INCLUDE.search(source.read_text(encoding="utf-8"))
             for source in (root / "src").rglob("*.cpp"))
    return {match.group(1) for match in found if match}


def leaks(entered, include):
    """The system headers that a file below `include` itself includes."""
    stack = []
    for level, name in entered:
        del stack[level - 1:]
        if stack and stack[-1].startswith(f"{include}/") and SYSTEM.search(name):
            yield f"{stack[-1].removeprefix(f'{include}/')} includes {name}"
        stack.append(name)


def main():
    root, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    compiler = toolchain(sys.argv[3:])
    folder.mkdir(exist_ok=True)
    public = sorted(str(path.relative_to(root / "include"))
                    for path in (root / "include").rglob("*.hpp"))
    proven = included_first(root)
    private = sorted({str(path.relative_to(root / "src"))
                      for path in (root / "src").rglob("*.hpp")} - proven)

    def judge(header):
        inside = [] if header in public else ["-I", root / "src"]
        source = folder / (header.replace("/", "-") + ".cpp")
        source.write_text(f"#include <{header}>\n#include <{header}>\n", encoding="utf-8")
        good, said = compiler.compile([*WARNINGS, "-H", "-I", root / "include", *inside], source)
        if not good:
            return f"{header} does not compile alone:\n{said}"
        if header in public:
            # Made absolute, for ccache may have made them relative.
            entered = [(len(match.group(1)), os.path.abspath(match.group(2)))
                       for match in ENTERED.finditer(said)]
            if (1, f"{root}/include/{header}") not in entered:
                return f"{header}: cannot read which headers are included"
            return "\n".join(leaks(entered, root / "include"))
        return None

    print(f"{len(public)} public headers, {len(private)} of src that no source begins with")
    return report("headers", public + private, judge)


if __name__ == "__main__":
    sys.exit(main())
