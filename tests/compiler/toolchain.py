"""What the tests of this folder share: running the compiler on pieces of text, and counting."""

import concurrent.futures
import os
import subprocess

COMPILE_S = 120


class toolchain:
    """A compiler command, as Meson gives it."""

    def __init__(self, command):
        self.cached = command
        # ccache has no answers for what is only checked, nor for what is refused.
        self.command = [word for word in command if os.path.basename(word) != "ccache"]

    def compile(self, arguments, source):
        """Compiles the file `source` to an object beside it, which ccache remembers from run to
        run. Returns whether it compiles, and what the compiler says."""
        return self._run([*self.cached, *arguments, "-c", source, "-o", f"{source}.o"])

    def precompile(self, options, header):
        """Makes `-include header` quick under the same options."""
        good, diagnostics = self._run([*self.command, *options, "-x", "c++-header", header,
                                       "-o", f"{header}.gch"])
        if not good:
            raise RuntimeError(f"{header} does not compile:\n{diagnostics}")

    def check(self, options, text, header=None):
        """Returns whether `text`, behind a precompiled header, compiles, and what the compiler
        says about it."""
        behind = ["-include", header] if header else []
        return self._run([*self.command, *options, *behind, "-fsyntax-only", "-x", "c++", "-"],
                         text)

    def _run(self, command, text=""):
        done = subprocess.run([*map(str, command), "-std=c++20"], input=text,
                              capture_output=True, text=True, timeout=COMPILE_S,
                              env={**os.environ, "LC_ALL": "C"})
        return done.returncode == 0, done.stderr


def report(title, jobs, judge):
    """Calls `judge` on every job, two at a time; it returns a text where something is wrong. Prints
    those and a summary. Returns the exit code."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        findings = [found for found in pool.map(judge, jobs) if found]
    for found in findings:
        print(found)
    print(f"{title}: {len(jobs) - len(findings)} of {len(jobs)}")
    return 1 if findings or not jobs else 0
