#!/usr/bin/env python3
"""Which tests stand for which row of the corporate standard, as a table in README.md.

Usage: tools/standard_rows.py [--write]. Without it prints what is wrong (the table is stale, a row
has neither a test nor a reason) and exits 1 if there is anything.

Tests name their rows: `@pytest.mark.row(68, 69)` in tests/integration, `// STANDARD rows 68, 69` in
the line above a TEST of tests/unit and tests/sim.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = range(1, 119)
BEGIN = "<!-- made by tools/standard_rows.py -->"
END = "<!-- end of the table -->"
SHOWN_MAX = 3  # tests a row

WITHOUT_TEST = {
    1: "nothing to test: any language will do",
    115: "a rule for releases",
}
TITLES = [
    (1, "Scope, versions"), (13, "Transports"), (20, "HTTP interface"), (37, "Authentication"),
    (56, "Lifecycle, methods"), (68, "Tools"), (82, "Prompts, resources"), (91, "Results, errors"),
    (97, "Limits"), (104, "Observability"), (115, "Contract"),
]


def rows_of_python(path):
    """(row, test) of one pytest file."""
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        for mark in getattr(node, "decorator_list", []):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.row":
                for row in mark.args:
                    yield ast.literal_eval(row), f"{path.stem.removeprefix('test_')}.{node.name}"


def rows_of_cpp(path):
    """(row, test) of one GoogleTest file."""
    marks = re.finditer(r"^// STANDARD rows? ([\d, ]+)\n(?://.*\n)*TEST(?:_F|_P)?\((\w+), (\w+)\)",
                        path.read_text(encoding="utf-8"), re.MULTILINE)
    for mark in marks:
        for row in re.findall(r"\d+", mark[1]):
            yield int(row), f"{mark[2]}.{mark[3]}"


def collect(root):
    """Row → its tests."""
    found = {}
    for folder, pattern, reader in (("tests/integration", "test_*.py", rows_of_python),
                                    ("tests/unit", "**/*_test.cpp", rows_of_cpp),
                                    ("tests/sim", "*_test.cpp", rows_of_cpp)):
        for path in sorted((root / folder).glob(pattern)):
            for row, test in reader(path):
                found.setdefault(row, []).append(test)
    return found


def shown(test):
    """A test by its words, to be read rather than copied."""
    group, name = test.split(".")
    return f"{group.replace('_', ' ')}: {name.removeprefix('test_').replace('_', ' ')}"


def table(found):
    lines = ["| row | tests |", "|---|---|"]
    titles = dict(TITLES)
    first = said_before = None
    for row in ROWS:
        tests = list(dict.fromkeys(shown(test) for test in found.get(row, [])))
        said = "; ".join(tests[:SHOWN_MAX])
        if len(tests) > SHOWN_MAX:
            said += f"; {len(tests) - SHOWN_MAX} more"
        said = said or "– " + WITHOUT_TEST.get(row, "")
        if row in titles:
            lines.append(f"| | **{titles[row]}** |")
            said_before = None
        if said == said_before:  # neighbours share a line
            lines[-1] = f"| {first}–{row} | {said} |"
        else:
            lines.append(f"| {row} | {said} |")
            first, said_before = row, said
    return "\n".join(lines)


def faults(found, readme):
    for row in ROWS:
        if row not in found and row not in WITHOUT_TEST:
            yield f"row {row} has neither a test nor a reason"
        if row in found and row in WITHOUT_TEST:
            yield f"row {row} has tests and a reason to have none"
    for row in found:
        if row not in ROWS:
            yield f"there is no row {row}: {found[row][0]}"
    if f"{BEGIN}\n\n{table(found)}\n\n{END}" not in readme:
        yield "the table in README.md is stale: run tools/standard_rows.py --write"


def main():
    path = ROOT / "README.md"
    readme = path.read_text(encoding="utf-8")
    found = collect(ROOT)
    if "--write" in sys.argv[1:]:
        before, rest = readme.split(BEGIN)
        readme = f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{rest.split(END)[1]}"
        path.write_text(readme, encoding="utf-8")
    wrong = list(faults(found, readme))
    print("".join(f"standard_rows: {fault}\n" for fault in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
