#!/usr/bin/env python3
"""The house rules that a compiler does not check: sizes, layers, banned names, shape of the tree.

Usage: tools/tidy.py [--self-test]. Prints "path:line: message" and exits 1 if there is any.
"""

import ast
import pathlib
import re
import subprocess
import sys

import cpp_text
import lint_names

COLUMNS_MAX = 100
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
MACROS_MAX = 10
FOLDERS = ("src", "include", "bench", "tests", "tools")
TOP_LEVEL = {"meson.build", "src", "include", "subprojects", "bench", "tests", "tools",
             "README.md", "CHANGELOG.md", "LICENSE"}

# What each folder of src may include besides itself and include/pillion. "*" is everything.
LAYERS = {
    "base": set(),
    "coro": {"base"},
    "io": {"coro", "base"},
    "json": {"base"},
    "schema": {"json", "base"},
    "crypto": {"base"},
    "auth": {"crypto", "json", "base"},
    "tls": {"crypto", "io", "coro", "base"},
    "http": {"io", "coro", "base"},
    "client": {"tls", "http", "crypto", "io", "coro", "base"},
    "rpc": {"json", "base"},
    "mcp": {"auth", "rpc", "schema", "crypto", "http", "json", "io", "coro", "base"},
    "process": {"io", "coro", "base"},
    "sidecar": {"mcp", "process", "client", "auth", "rpc", "schema", "tls", "http", "json", "io",
                "coro", "base"},
    "files": {"mcp", "auth", "rpc", "schema", "http", "json", "io", "coro", "base"},
    "app": {"*"},
}

# (paths it holds for, paths it does not, pattern on code without comments and literals, message)
BANNED = [
    (r"(src|include)/", r"src/(io|base|process)/", r"\b(clock_gettime|getpid|usleep)\b|\brand\s*\(|"
     r"_clock::now\b|\bthis_thread::sleep", "time, randomness and process ids come from src/io or"
     " src/base, so that a simulated run can replace them"),
    (r"(src|include)/", None, r"\bstd::w?regex\b|#\s*include\s*<regex>", "std::regex is banned"),
    (r"src/(http|json|rpc)/", None, r"\bstd::function\b", "std::function allocates; not on the hot"
     " path"),
    (r"(src|include)/", None, r"#\s*include\s*<iostream>|\bstd::(cout|cerr|cin)\b",
     "iostream is banned"),
    (r".*\.hpp$", None, r"\busing\s+namespace\b", "no `using namespace` in a header"),
    (r"(src|include)/", None, r"\b(v?sprintf|strcpy|strcat)\s*\(", "unbounded C string function"),
    (r"(src|include)/", r"src/io/uring_[^/]*\.cpp$", r"#\s*include\s*<liburing",
     "<liburing…> only in src/io/uring_*.cpp"),
    (r"(src|include)/", r"src/(schema/regex|files/search)\.cpp$", r"#\s*include\s*<re2/",
     "<re2/…> only in src/schema/regex.cpp and src/files/search.cpp"),
    (r"(src|include)/", r"src/(tls|crypto)/", r"#\s*include\s*<(mbedtls|psa)/",
     "<mbedtls/…> only in src/tls and src/crypto"),
    (r"(src|include)/", r"src/app/yaml_tree\.cpp$", r"#\s*include\s*<yaml-cpp/",
     "<yaml-cpp/…> only in src/app/yaml_tree.cpp"),
]
# Spelt in pieces, so that this file passes its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def is_cpp(path):
    return path.endswith((".cpp", ".hpp"))


def text_rules(path, text):
    """Rules of every file that people write."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns, {COLUMNS_MAX} is the limit"
        if "\t" in line and path.endswith((".cpp", ".hpp", ".py")):
            yield number, "tab"
        if UNFINISHED.search(line):
            yield number, "a word that marks unfinished work"
    if (is_cpp(path) and path.startswith(("src/", "include/", "bench/", "tests/"))
            and len(lines) - 1 > FILE_LINES_MAX and not lines[0].startswith("// generated")):
        yield FILE_LINES_MAX + 1, f"{len(lines) - 1} lines, {FILE_LINES_MAX} is the limit"


def header_rules(path, text, code):
    """A header says what it is and guards itself."""
    if not path.endswith(".hpp"):
        return
    if path.startswith(("src/", "include/")) and not text.startswith("//"):
        yield 1, "a header begins with a comment: what it is, who owns what, which thread"
    # Precompiled headers have no other choice than a macro.
    if not re.match(r"\s*#pragma once\n", code) and not path.startswith("tests/pch/"):
        yield 1, "#pragma once must follow the comment at the head"


def include_rules(path, text, code):
    """Which folder may see which."""
    folder = path.split("/")[1] if path.startswith("src/") and path.count("/") > 1 else "app"
    if folder not in LAYERS:
        yield 1, f"src/{folder} is not in the table of layers in tools/tidy.py"
        return
    for match in INCLUDE.finditer(text):
        if "#" not in code[match.start():match.end()]:
            continue  # in a comment or a literal
        number, name = cpp_text.line_of(text, match.start(2)), match.group(2)
        if path.startswith("include/"):
            standard = match.group(1) == "<" and re.fullmatch(r"[a-z_0-9]+", name)
            if not standard and not name.startswith("pillion/"):
                yield number, f"include/ may include only <std> and pillion/…, not {name}"
        elif path.startswith("src/") and match.group(1) == '"' and "/" in name:
            target = name.split("/")[0]
            if target not in LAYERS[folder] | {folder, "pillion"} and "*" not in LAYERS[folder]:
                yield number, f"src/{folder} may not depend on {target}"


def banned_rules(path, code):
    for where, but, pattern, message in BANNED:
        if re.match(where, path) and not (but and re.match(but, path)):
            for match in re.finditer(pattern, code):
                yield cpp_text.line_of(code, match.start()), message


def opens_scope(header):
    """Whether the text before a brace begins a class or a namespace."""
    previous = None
    while previous != header:  # template arguments and attributes nest
        previous, header = header, re.sub(r"<[^<>]*>|\[[^\[\]]*\]", "", header)
    return re.match(r"\s*(template\s*)?(requires\b.*?)?(inline\s+)?"
                    r"(namespace|class|struct|union|enum)\b", header, re.DOTALL)


def function_rules(path, code):
    """Length of functions: braces that follow a parameter list, outside of any function."""
    if not path.startswith("src/"):
        return
    code = cpp_text.blank_directives(code)
    # `scopes` has kind and place of the open braces; the current header begins at `start`.
    kind, scopes, start, parens = "scope", [], 0, 0
    for match in re.finditer(r"[(){};]", code):
        at, char = match.start(), match.group()
        inside = bool(scopes) and scopes[-1][0] != "scope"
        if char in "()" and not inside:
            parens += 1 if char == "(" else -1
        elif char == "{":
            header = code[start:at]
            initialiser = not header[-1:].isspace() or header.rstrip()[-1:] in "=,"
            if inside or parens > 0 or initialiser:
                kind = "value"  # also a block inside a function
            else:
                kind = "function" if "(" in header and not opens_scope(header) else "scope"
            scopes.append((kind, at))
        elif char == "}" and scopes:
            kind, begin = scopes.pop()
            length = code.count("\n", begin, at) + 1
            if kind == "function" and length > FUNCTION_LINES_MAX:
                yield (cpp_text.line_of(code, begin),
                       f"a function of {length} lines, {FUNCTION_LINES_MAX} is the limit")
        # A brace initialiser is part of the header it stands in (`x() : a_{1} {`).
        if char == ";" or char in "{}" and kind != "value":
            start = at + 1


def import_rules(path, text):
    """Python's imports that nothing in their file uses."""
    if not path.endswith(".py") and not text.startswith("#!/usr/bin/env python3"):
        return
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError as fault:
        yield fault.lineno or 1, "no valid Python"
        return
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    # pytest's fixtures are used by the name of a parameter.
    used |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in node.names:
                if (name.asname or name.name).split(".")[0] not in used:
                    yield node.lineno, f"nothing uses the import {name.asname or name.name}"


def changelog_rules(text):
    """The shape of keepachangelog.com."""
    lines = text.split("\n")
    if lines[0] != "# Changelog":
        yield 1, "the first line must be '# Changelog'"
    releases = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            releases += 1
            if not re.fullmatch(r"## \[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)\]?", line):
                yield number, "a release is '## [Unreleased]' or '## [1.2.3] - 2026-01-31'"
        elif line.startswith("### ") and line[4:] not in (
                "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"):
            yield number, "a section is Added, Changed, Deprecated, Removed, Fixed or Security"
    if releases == 0:
        yield 1, "no release heading"


def tree_rules(files):
    """`files` maps every path of the tree to its text (None where it was not read)."""
    for name in sorted({path.split("/")[0] for path in files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield name, 1, "not one of the top-level entries: " + " ".join(sorted(TOP_LEVEL))
    macros = {}
    for path, text in sorted(files.items()):
        if path == "CHANGELOG.md":
            yield from ((path, *found) for found in changelog_rules(text))
        if text is None or path.split("/")[0] not in FOLDERS:
            continue
        yield from ((path, *found) for found in text_rules(path, text))
        yield from ((path, *found) for found in import_rules(path, text))
        if not is_cpp(path):
            continue
        code = cpp_text.blank(text)
        for rule in (header_rules(path, text, code), include_rules(path, text, code),
                     banned_rules(path, code), function_rules(path, code)):
            yield from ((path, *found) for found in rule)
        for match in DEFINE.finditer(code):
            number = cpp_text.line_of(code, match.start(1))
            macros.setdefault(match.group(1), (path, number))
            if not match.group(1).startswith("PILLION_"):
                yield path, number, f"macro {match.group(1)} does not begin with PILLION_"
    sources = {path: text for path, text in files.items() if text and is_cpp(path)}
    yield from lint_names.rules(sources)
    for name, (path, number) in list(macros.items())[MACROS_MAX:]:
        yield path, number, f"macro {name} is one more than the {MACROS_MAX} allowed"


def read_tree(root):
    """Tracked files and new ones that are not ignored. Only text that people write is read."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout
    files = {}
    for path in filter(None, listed.split("\0")):
        file = root / path
        if not file.is_file():
            continue  # deleted, not yet committed
        script = not file.suffix and file.read_bytes()[:2] == b"#!"
        wanted = script or path == "CHANGELOG.md" or path.endswith(
            (".cpp", ".hpp", ".py", ".sh", "meson.build"))
        files[path] = file.read_text(encoding="utf-8") if wanted else None
    return files


def main():
    if "--self-test" in sys.argv[1:]:
        import tidy_samples
        return tidy_samples.run(tree_rules)
    found = list(tree_rules(read_tree(pathlib.Path(__file__).resolve().parent.parent)))
    for path, number, message in sorted(found):
        print(f"{path}:{number}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
