"""Blanks the comments and literals of C++ text, so that a lint sees only code.

Shared by tidy.py and lint_coro.py. The result has the length and the line breaks of its input, so
that offsets and line numbers fit both.
"""

import re

# In order: comments, raw strings, strings, characters. A digit separator (10'000) is matched first,
# as part of its number, lest it open a character literal.
_PIECE = re.compile(
    r"""(?P<number>\b[0-9][0-9a-zA-Z_.]*(?:'[0-9a-zA-Z_.]+)*)
      | (?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?(?:\)(?P=tag)"|\Z))
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE)
_VISIBLE = re.compile(r"[^\n]")


def blank(text):
    """Comments become spaces, string and character literals become quotes around spaces."""

    def replace(match):
        kind, piece = match.lastgroup, match.group()
        if kind == "number":
            return piece
        if kind in ("line", "block"):
            return _VISIBLE.sub(" ", piece)
        return '"' + _VISIBLE.sub(" ", piece[1:-1]) + '"'

    return _PIECE.sub(replace, text)


def blank_directives(blanked):
    """Also blanks preprocessor lines (with their continuations); takes what blank() returned."""
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: _VISIBLE.sub(" ", m.group()), blanked,
                  flags=re.MULTILINE)


def line_of(text, offset):
    """The number, from 1, of the line that holds `offset`."""
    return text.count("\n", 0, offset) + 1
