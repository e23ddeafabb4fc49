"""What the tests of this folder share: running the compiler on pieces of text, and counting."""

import concurrent.futures
import os
import subprocess

COMPILE_S = 120


class toolchain:
    """A compiler command, as Meson gives it."""

    def __init__(self, command):
        # ccache has no answers for what is only checked.
        self.command = [word for word in command if os.path.basename(word) != "ccache"]

    def run(self, arguments, text=""):
        """Compiles `text` (given on standard input). Returns the exit code and both outputs."""
        done = subprocess.run([*self.command, "-std=c++20", *arguments, "-x", "c++", "-"],
                              input=text, capture_output=True, text=True, timeout=COMPILE_S,
                              env={**os.environ, "LC_ALL": "C"})
        return done.returncode, done.stdout, done.stderr

    def check(self, arguments, text):
        """Returns whether `text` compiles, and what the compiler says about it."""
        code, _, diagnostics = self.run(["-fsyntax-only", *arguments], text)
        return code == 0, diagnostics


def report(title, jobs, judge):
    """Calls `judge` on every job, two at a time; it returns a text where something is wrong. Prints
    those and a summary. Returns the exit code."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        findings = [found for found in pool.map(judge, jobs) if found]
    for found in findings:
        print(found)
    print(f"{title}: {len(jobs) - len(findings)} of {len(jobs)}")
    return 1 if findings or not jobs else 0
