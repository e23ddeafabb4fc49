"""Functions of unnamed namespaces that another file would take for its own.

Several files are compiled as one (see joined in meson.build), where their unnamed namespaces are
the same one. Types and variables of one name are an error there; functions overload each other, or
hide one of a header, and then a file may silently call another file's. So in src, and in a folder
elsewhere, a function of an unnamed namespace has its name alone, and no header declares one of that
name around it.
Used by tidy.py.
"""

import re

import cpp_text

NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s*([\w:]*)\s*$")
# Of one of these every file is a program.
ALONE = ("tests/fuzz/", "tests/fixture/", "tests/compiler/")
OPERATOR = re.compile(r"\boperator\b")
MACRO = re.compile(r"[A-Z_]+\b")


def function_of(head):
    """The name of the function that the text before a brace or semicolon declares, or None."""
    previous = None
    while previous != head:  # template arguments and attributes nest
        previous, head = head, re.sub(r"<[^<>]*>|\[\[[^\[\]]*\]\]", "", head)
    head = re.sub(r"^\s*(?:template\b|inline\b|constexpr\b|static\b|\s)*", "", head)
    before = re.split(r"[=({\[]", head)[0]
    if (before == head or head[len(before)] != "(" or OPERATOR.search(before)
            or MACRO.match(before)):
        return None
    found = re.search(r"[\s&*](\w+)\s*$", before)  # not of a class, which would be after "::"
    return found and found.group(1)


def functions(text):
    """Namespace (without the unnamed ones), whether within an unnamed one, name and offset of what
    is declared outside of classes."""
    code = cpp_text.blank_directives(cpp_text.blank(text))
    scopes, start, parens = [], 0, 0  # the names of open namespaces, None is another brace
    for match in re.finditer(r"[(){};]", code):
        at, char = match.start(), match.group()
        inside = None in scopes
        if char in "()":
            parens += 0 if inside else 1 if char == "(" else -1
        elif char in "{;" and not inside and parens == 0:
            head = code[start:at]
            space = NAMESPACE.match(head) if char == "{" else None
            name = None if space else function_of(head)
            if name:
                path = "::".join(filter(None, scopes)).split("::")
                yield path, "" in scopes, name, at - len(head.lstrip())
            if char == "{":
                scopes.append(space.group(1) if space else None)
            start = at + 1
        elif char == "{":
            scopes.append(None)
        elif char == "}" and scopes:
            scopes.pop()
            if None not in scopes and parens == 0:
                start = at + 1


def rules(files):
    """Path, line and message of all that `files` (path to text) has of these."""
    hidden, first = {}, {}
    for path, text in files.items():
        if path.endswith(".hpp") and path.split("/")[0] in ("src", "include", "tests"):
            for space, unnamed, name, _ in functions(text):
                if not unnamed:
                    hidden.setdefault(name, []).append((space, path))
    for path, text in sorted(files.items()):
        if not path.endswith(".cpp") or path.startswith(ALONE):
            continue
        for space, unnamed, name, at in functions(text):
            if not unnamed:
                continue
            line = cpp_text.line_of(text, at)
            # In a release all of src is one file.
            joined = "src" if path.startswith("src/") else path.rpartition("/")[0]
            home = first.setdefault((joined, *space, name), path)
            if home != path:
                yield path, line, f"{home} has a function {name} too; see tools/lint_names.py"
            for around, header in hidden.get(name, ()):
                # What src includes is not of tests.
                if around == space[:len(around)] and (path.startswith("tests/")
                                                      or not header.startswith("tests/")):
                    yield path, line, f"{name} hides that of {header}; see tools/lint_names.py"
