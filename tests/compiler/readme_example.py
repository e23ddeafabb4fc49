#!/usr/bin/env python3
"""The examples of README.md work as printed: compiled by the command line given there, with
nothing but the public headers, the first one answers a client over a pipe, and the one that asks is
answered in every revision. The others compile.

Usage: readme_example.py ROOT FOLDER ARCHIVES SANITIZERS COMPILER...; FOLDER, made if it is not
there, is for what is compiled; ARCHIVES are those of libpillion, with colons between; SANITIZERS is
Meson's b_sanitize.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

from toolchain import toolchain

HEADING = "## Embed it"
PROGRAM_S = 60


class broken(Exception):
    """README.md promises what does not hold."""


def first(pattern, text, what):
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if not match:
        raise broken(f"README.md: {what} under the heading '{HEADING}'")
    return match.group(1)


# Answers the handler that asks, as a client of each revision.
ASKED = """
#include <cstdio>
#include <pillion/testing.hpp>

#define EXPECT(is)                                             \\
    if (!(is)) {                                               \\
        std::printf("%s: %s\\n", revision, #is);               \\
        return 1;                                              \\
    }

int main() {
    server s("asks", "1");
    s.tool("book").about("Books a room.").run(book);
    for (const char* revision : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        for (const bool yes : {true, false}) {
            pillion::testing::client_options able;
            able.revision(revision).on("elicitation/create", [yes](json::view params) {
                return std::string(R"({"action":"accept","content":)") +
                       (params["message"].str() == "Which city?" ? R"({"city":"Oslo"}})"
                        : yes                                    ? R"({"yes":true}})"
                                                                 : R"({"yes":false}})");
            });
            pillion::testing::client c(s, able);
            EXPECT(c.call("book").text() ==
                   (yes ? "Booked a room in Oslo" : "Nothing was booked."));
        }
        pillion::testing::client_options declines;
        declines.revision(revision).on("elicitation/create", [](json::view) {
            return std::string(R"({"action":"decline"})");
        });
        pillion::testing::client c(s, declines);
        EXPECT(c.call("book").text() == "As you like.");
    }
    for (const char* revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        pillion::testing::client c(s, pillion::testing::client_options().revision(revision));
        EXPECT(c.call("book").result()["isError"].boolean());
    }
    const char* revision = "2026-07-28";
    pillion::testing::client c(s, pillion::testing::client_options().revision(revision));
    EXPECT(c.call("book").error_code() == -32021);
}
"""


def compilers(words):
    """`words` with the compiler of the library; then with the one that the README names, since
    coroutines of one go on in code of the other. Sanitizers belong to their compiler."""
    _, _, sanitizers, *command = words
    other = sanitizers == "none" and not any("g++" in word and "clang" not in word
                                             for word in command)
    return [words, *([[*words[:3], "g++"]] if other else [])]


def compile_example(section, words, folder, code):
    """Compiles a program as the section says. Returns its path."""
    root = pathlib.Path(words[0]).resolve()
    archives = [str(pathlib.Path(word).resolve()) for word in words[1].split(":")]
    sanitizers, compiler = words[2], words[3:]
    line = first(r"`(g\+\+\s[^`]*)`", section, "there is no `g++ …` command line")
    (folder / "greet.cpp").write_text(code, encoding="utf-8")
    here = {"g++": compiler, "-Iinclude": [f"-I{root}/include"],
            "greet.cpp": [str(folder / "greet.cpp")],
            "build/release/libpillion.a": ["-Wl,--start-group", *archives, "-Wl,--end-group"]}
    given = shlex.split(line)
    missing = [word for word in here if word not in given]
    if missing:
        raise broken(f"README.md: its command line lacks {' '.join(missing)}")
    command = [new for word in given for new in here.get(word, [word])]
    if sanitizers != "none":
        command += [f"-fsanitize={sanitizers}", "-g"]
    program = folder / "greet"
    done = subprocess.run([*command, "-Wall", "-Wextra", "-Werror", "-o", program],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise broken(f"README.md: the example does not compile:\n{done.stderr}")
    return program


def compile_snippets(text, words, folder):
    """Every other ```cpp block compiles, behind the usual lines unless it brings its own. Returns
    how many there are."""
    blocks = re.findall(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    snippets = [block for block in blocks if "int main(" not in block]
    options = [f"-I{words[0]}/include", "-Wall", "-Wextra", "-Werror"]
    compiler = toolchain(words[3:])
    for number, snippet in enumerate(snippets):
        usual = "#include <pillion/server.hpp>\nusing namespace pillion;\n"
        source = folder / f"snippet{number}.cpp"
        source.write_text(snippet if "#include" in snippet else usual + snippet,
                          encoding="utf-8")
        good, said = compiler.compile(options, source)
        if not good:
            raise broken(f"README.md: a block does not compile:\n{snippet}\n{said}")
    return len(snippets)


def block_with(text, word):
    """The one ```cpp block in which that word stands."""
    blocks = [block for block in re.findall(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
              if word in block]
    if len(blocks) != 1:
        raise broken(f"README.md: {len(blocks)} blocks with {word}")
    return blocks[0]


def ask(section, text, words, folder):
    """The handler that asks gets its answers."""
    usual = "#include <pillion/server.hpp>\nusing namespace pillion;\n"
    program = compile_example(section, words, folder,
                              usual + block_with(text, "elicit_request") + ASKED)
    done = subprocess.run([program], capture_output=True, text=True, timeout=PROGRAM_S)
    if done.returncode != 0:
        raise broken(f"README.md: the handler that asks: {done.stdout}{done.stderr}")


class client:
    """The other end of the pipes of a server in stdio mode."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "stdio"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.last_id = 0
        self.notes = []

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        """The result of a request; what comes before it is kept in `notes`."""
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last_id:
                if "result" not in message:
                    raise broken(f"{method}: {message}")
                return message["result"]
            self.notes.append(message)
        raise broken(f"the example ended before it answered {method}")

    def end(self):
        """The client goes: so does the server, with exit code 0."""
        self.process.stdin.close()
        return self.process.wait(PROGRAM_S)


def expect(what, got, wanted):
    if got != wanted:
        raise broken(f"{what}: {got!r}, not {wanted!r}")


def talk(program):
    peer = client(program)
    try:
        hello = peer.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                         clientInfo={"name": "readme", "version": "1"})
        expect("its name", hello["serverInfo"]["name"], "greeter")
        expect("the revision", hello["protocolVersion"], "2025-11-25")
        peer.send(method="notifications/initialized")
        tools = peer.ask("tools/list")["tools"]
        expect("its tools", [tool["name"] for tool in tools], ["greet"])
        expect("required arguments", tools[0]["inputSchema"]["required"], ["name"])
        expect("the hint", tools[0]["annotations"]["readOnlyHint"], True)
        answer = peer.ask("tools/call", name="greet", arguments={"name": "Zoë"},
                          _meta={"progressToken": "p"})
        expect("the greeting", answer["content"], [{"type": "text", "text": "Hello, Zoë!"}])
        expect("the progress", [note["params"] for note in peer.notes],
               [{"progressToken": "p", "progress": 1, "total": 2, "message": "thinking"}])
        refused = peer.ask("tools/call", name="greet", arguments={"name": ""})
        expect("an empty name is an error", refused.get("isError"), True)
        expect("exit code", peer.end(), 0)
    finally:
        peer.process.kill()
        peer.process.wait()


def main():
    readme = pathlib.Path(sys.argv[1]) / "README.md"
    try:
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        section = first(rf"^{HEADING}\n(.*?)(?=^## |\Z)", text, "there is nothing")
        folder = pathlib.Path(sys.argv[2]).resolve()
        folder.mkdir(exist_ok=True)
        words = [sys.argv[1], *sys.argv[3:]]
        code = first(r"^```cpp\n(.*?)^```$", section, "there is no ```cpp block")
        for with_compiler in compilers(words):
            talk(compile_example(section, with_compiler, folder, code))
            ask(section, text, with_compiler, folder)
        snippets = compile_snippets(text, words, folder)
    except broken as reason:
        print(reason)
        return 1
    print(f"README.md: the example compiled and gave 4 answers as expected, the one that "
          f"asks got its own in every revision; {snippets} further "
          "blocks compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
