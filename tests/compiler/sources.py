#!/usr/bin/env python3
"""No source is forgotten: every .cpp of src and tests belongs to a target of the build, and every
program made of *_test.cpp files is run as a test.

Usage: sources.py ROOT BUILD [EXCEPT...]; EXCEPT are paths that this kind of build leaves out.
"""

import json
import pathlib
import re
import sys


def joined(path):
    """The files that a unity build compiles as this one."""
    return (pathlib.Path(name).resolve()
            for name in re.findall(r"#include ?<(.+)>", path.read_text(encoding="utf-8")))


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    left_out = {(root / word).resolve() for word in sys.argv[3:]}
    targets = json.loads((build / "meson-info/intro-targets.json").read_text())
    tests = json.loads((build / "meson-info/intro-tests.json").read_text())
    run = {word for test in tests for word in test["cmd"]}
    built, findings = set(), []
    for target in targets:
        sources = {pathlib.Path(name) for group in target["target_sources"]
                   for name in group.get("sources", ())}
        for group in target["target_sources"]:
            for name in group.get("generated_sources", ()):
                if re.search(r"-unity\d+\.cpp$", name):
                    sources.update(joined(pathlib.Path(name)))
        built |= sources
        if (any(path.name.endswith("_test.cpp") for path in sources)
                and not run & set(target["filename"])):
            findings.append(f"{target['name']} is built of tests but no test runs it")
    wanted = {*(root / "src").rglob("*.cpp"), *(root / "tests/fixture").rglob("*.cpp"),
              *(root / "tests/sim").rglob("*.cpp"), *(root / "tests").rglob("*_test.cpp")}
    findings += [f"{path.relative_to(root)} is in no meson.build"
                 for path in sorted(wanted - built - left_out)]
    findings += [f"{path.relative_to(root)} is left out, but it is built or does not exist"
                 for path in sorted(left_out) if path in built or path not in wanted]
    for found in findings:
        print(found)
    print(f"sources: {len(wanted & built)} of {len(wanted) - len(left_out)} built")
    return 1 if findings or not built else 0


if __name__ == "__main__":
    sys.exit(main())
