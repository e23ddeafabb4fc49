#!/usr/bin/env python3
"""Forbids what g++ 12 to 16 are known to miscompile in coroutines, and frames that grow too large.

Usage: tools/lint_coro.py [--self-test] [FILE...]; without files, the C++ of src, include, tests,
bench and tools/examples. Prints "path:line: message" and exits 1 if there is any. The rules:
  R1  one full expression with co_await or co_yield holds no brace initialiser, no ?:, no `new` and
      no lambda with captures (GCC 98401, 95599, 99576: destructors run twice)
  R2  no structured binding directly on co_await (GCC 124584)
  R3  no .destroy() in await_suspend and await_resume (GCC 121961)
  R5  a lambda with captures that is a coroutine goes through coro::invoke, or an owner keeps it
      and says so: `// lint: owned` on the line of its `[`
  R7  no alignas above 16 in an awaiter
  R8  no local array above 256 bytes in a coroutine
A file that shows the traps on purpose says `lint: traps` in its first line. The tree is formatted
by clang-format, and this reads it so: a space stands before the brace of a block only.
"""

import pathlib
import re
import sys

import cpp_text

FOLDERS = ("src", "include", "tests", "bench", "tools/examples")
FRAME_ARRAY_MAX = 256
AWAITER_ALIGN_MAX = 16

TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9][\w.']*|::|->|&&|[^\s]")
PAIRS = {")": "(", "]": "[", "}": "{"}
CORO = {"co_await", "co_yield", "co_return"}
CONTROL = {"if", "while", "for", "switch", "catch", "constexpr"}
# After these tokens a brace begins a value, whatever the space before it.
BEFORE_VALUE = set("=(,[?<") | {"return", "co_return", "co_yield", "co_await", "&&", "|", "+", "-"}
# After these a bracket opens a subscript or an array, not a lambda.
BEFORE_SUBSCRIPT = {")", "]", '"', "operator", "delete", "[", ">"}
KEYWORDS_BEFORE_LAMBDA = {"return", "co_return", "co_await", "co_yield", "else", "do", "case"}
BYTES = {"char": 1, "byte": 1, "uint8_t": 1, "char8_t": 1, "uint16_t": 2, "int": 4, "uint32_t": 4,
         "int32_t": 4, "size_t": 8, "uint64_t": 8, "int64_t": 8, "string_view": 16, "iovec": 16}


class source:
    """The tokens of a file, their brackets, and what each brace and bracket is."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.code = cpp_text.blank_directives(cpp_text.blank(text))
        found = list(TOKEN.finditer(self.code))
        self.tokens = [match.group() for match in found]
        self.offsets = [match.start() for match in found]
        self.match, self.parent = {}, []
        self.kind = {}  # of an opening brace: block, value, lambda; of a bracket: lambda, binding
        self.body = {}  # of a lambda's bracket: its brace, and the other way round
        self._pair()
        for index, token in enumerate(self.tokens):
            if token == "[" and index in self.match:
                self.kind[index] = self._bracket_kind(index)
                if self.kind[index] == "lambda":
                    self._find_body(index)
        for index, token in enumerate(self.tokens):
            if token == "{" and index not in self.kind:
                self.kind[index] = self._brace_kind(index)

    def token(self, index):
        return self.tokens[index] if 0 <= index < len(self.tokens) else ""

    def line(self, index):
        return cpp_text.line_of(self.code, self.offsets[index])

    def _pair(self):
        stack = []
        for index, token in enumerate(self.tokens):
            if token in PAIRS:
                if stack and self.tokens[stack[-1]] == PAIRS[token]:
                    opener = stack.pop()
                    self.match[opener], self.match[index] = index, opener
                self.parent.append(stack[-1] if stack else None)
            else:
                self.parent.append(stack[-1] if stack else None)
                if token in PAIRS.values():
                    stack.append(index)

    def _bracket_kind(self, index):
        before = index - 1
        while self.token(before) in ("&", "&&"):
            before -= 1
        if self.token(before) == "auto":
            return "binding"
        token = self.token(index - 1)
        name = re.match(r"\w", token) and token not in KEYWORDS_BEFORE_LAMBDA
        if name or token in BEFORE_SUBSCRIPT or self.token(index + 1) == "[":
            return "other"
        return "lambda"

    def _find_body(self, index):
        at = self.match[index] + 1
        while self.token(at) not in ("", ";", ",", ")", "}"):
            if self.token(at) == "{":
                self.kind[at], self.body[index], self.body[at] = "lambda", at, index
                return
            at = self.match.get(at, at) + 1

    def _brace_kind(self, index):
        before, parent = self.token(index - 1), self.parent[index]
        if before in BEFORE_VALUE or (parent is not None and self.kind.get(parent) == "value"):
            return "value"
        if before == ":" and parent is not None and self.tokens[parent] == "(":
            return "value"  # for (auto x : {1, 2})
        spaced = index == 0 or self.code[self.offsets[index] - 1].isspace()
        return "block" if spaced or before in (")", ";", "{", "}") else "value"

    def is_control(self, paren):
        return self.tokens[paren] == "(" and self.token(paren - 1) in CONTROL

    def _ends_statement(self, index):
        """Whether the token, met on the way left, belongs to what stands before a statement."""
        if self.tokens[index] == "}":
            return self.kind.get(self.match.get(index)) == "block"
        if self.tokens[index] == ")" and index in self.match:
            return self.is_control(self.match[index])
        return self.tokens[index] in (";", "else", "do")

    def _begins_statement(self, index):
        return self.tokens[index] == ";" or self.kind.get(index) == "block"

    def expression(self, index):
        """First and last token of the full expression around a token."""
        left = right = index
        while True:
            opener = self.parent[left]
            while left > 0 and left - 1 != opener and not self._ends_statement(left - 1):
                left = self.match.get(left - 1, left - 1) if self.tokens[left - 1] in PAIRS \
                    else left - 1
            while right + 1 < len(self.tokens) and not self._begins_statement(right + 1) and \
                    (opener is None or right + 1 != self.match.get(opener)):
                right = self.match.get(right + 1, right + 1)
            # Only parentheses of a call and braces of a value are part of a larger expression.
            if opener is None or self.is_control(opener) or \
                    self.tokens[opener] == "{" and self.kind[opener] != "value":
                return left, right
            left, right = opener, self.match.get(opener, right)

    def inside(self, first, last):
        """The tokens from `first` to `last` without those in the bodies of lambdas."""
        index = first
        while index <= last:
            yield index
            body = self.tokens[index] == "{" and self.kind[index] == "lambda"
            index = self.match.get(index, index + 1) if body else index + 1

    def function_of(self, index):
        """The brace of the innermost function or lambda that a token stands in."""
        brace = None
        while (index := self.parent[index]) is not None:
            if self.tokens[index] == "{" and self.kind[index] == "lambda":
                return index
            if self.tokens[index] == "{" and self.kind[index] == "block":
                if self._is_scope(index):
                    break
                brace = index
        return brace

    def _is_scope(self, brace):
        """Whether a block brace opens a class or a namespace."""
        at = brace - 1
        while at >= 0 and self.tokens[at] not in ("{", "}", ";", ")"):
            if self.tokens[at] in ("namespace", "class", "struct", "union", "enum", "extern"):
                return True
            at -= 1
        return False


def check_expression(src, index):
    first, last = src.expression(index)
    for at in src.inside(first, last):
        token = src.tokens[at]
        if token == "{" and src.kind[at] == "value":
            yield at, "R1: brace initialiser in one expression with co_await; name it first"
        elif token == "?":
            yield at, "R1: ?: in one expression with co_await; use if and else"
        elif token == "new":
            yield at, "R1: `new` in one expression with co_await; await first"
        elif token == "[" and src.kind.get(at) == "lambda" and src.match[at] > at + 1:
            yield at, "R1: lambda with captures in one expression with co_await; name it first"
        elif token == "[" and src.kind.get(at) == "binding" and \
                src.token(src.match[at] + 1) != ":":
            yield at, "R2: structured binding on co_await; name the value, then bind to it"


def check_lambda(src, bracket):
    if src.match[bracket] == bracket + 1 or "// lint: owned" in src.lines[src.line(bracket) - 1]:
        return
    parent = src.parent[bracket]
    if parent is not None and src.tokens[parent] == "(" and src.token(parent - 1) == "invoke":
        return
    name = src.token(bracket - 2) if src.token(bracket - 1) == "=" else ""
    end = src.offsets[src.match.get(src.body[bracket], bracket)]
    if name and re.compile(rf"\binvoke\(\s*(std::move\(\s*)?{name}\b").search(src.code, end):
        return
    yield bracket, "R5: a lambda with captures that is a coroutine; use coro::invoke"


def check_frame(src, brace):
    """Arrays of a coroutine that would lie in its frame."""
    begin, end = src.offsets[brace], src.offsets[src.match.get(brace, brace)]
    for match in re.compile(r"(static\s+)?(?:constexpr\s+|const\s+)*(?:std::)?(?:array<(?:std::)?"
                            r"(?P<a>\w+),\s*(?P<m>\d[\d']*)>|(?P<b>\w+)\s+\w+\[(?P<n>\d[\d']*)\])"
                            ).finditer(src.code, begin, end):
        size = BYTES.get(match["a"] or match["b"], 8) * int((match["m"] or match["n"])
                                                            .replace("'", ""))
        if size > FRAME_ARRAY_MAX and not match.group(1):
            index = next(i for i in range(brace, len(src.tokens))
                         if src.offsets[i] >= match.start())
            yield index, f"R8: {size} bytes in a coroutine frame, {FRAME_ARRAY_MAX} is the limit"


def check_awaiter(src, index):
    """`index` is the name await_suspend or await_resume."""
    paren = index + 1
    after = src.match.get(paren, paren) + 1
    while src.token(after) not in ("", ";", "{", "}"):
        after += 1
    if src.token(after) == "{" and after in src.match:
        for at in range(after, src.match[after]):
            if src.tokens[at] == "destroy" and src.token(at - 1) in (".", "->"):
                yield at, "R3: a coroutine destroyed while it is being suspended or resumed"
    scope = src.parent[index]
    if scope is not None and src.tokens[scope] == "{" and src.tokens[index] == "await_suspend":
        for at in range(scope, src.match.get(scope, scope)):
            if src.tokens[at] == "alignas" and src.token(at + 2).isdigit() and \
                    int(src.token(at + 2)) > AWAITER_ALIGN_MAX:
                yield at, f"R7: alignas above {AWAITER_ALIGN_MAX} in an awaiter"


def check(text):
    """(line, message) for each finding in the text of one file."""
    if "lint: traps" in text.split("\n", 1)[0]:
        return []
    src = source(text)
    found, coroutines = set(), set()
    for index, token in enumerate(src.tokens):
        if token in CORO and src.token(index - 1) != "operator":
            if token != "co_return":
                found.update(check_expression(src, index))
            coroutines.add(src.function_of(index))
        elif token in ("await_suspend", "await_resume") and src.token(index + 1) == "(":
            found.update(check_awaiter(src, index))
    for brace in coroutines - {None}:
        found.update(check_frame(src, brace))
        if src.kind[brace] == "lambda":
            found.update(check_lambda(src, src.body[brace]))
    return sorted({(src.line(index), message) for index, message in found})


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        import lint_coro_samples
        return lint_coro_samples.run(check)
    root = pathlib.Path(__file__).resolve().parent.parent
    files = [pathlib.Path(name) for name in arguments] or [
        file for folder in FOLDERS for file in sorted((root / folder).rglob("*.[ch]pp"))]
    count = 0
    for file in files:
        for line, message in check(file.read_text(encoding="utf-8")):
            shown = file.relative_to(root) if file.is_relative_to(root) else file
            print(f"{shown}:{line}: {message}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
