"""A filter of system calls (seccomp) from the list of a systemd unit, for a process to be started.

What is not on the list kills the process, so that a test cannot miss it; the unit is milder.
"""

import ctypes
import functools
import platform
import re
import struct
import subprocess

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF, of words
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def listed(unit):
    """The names of a unit's SystemCallFilter lines."""
    names = " ".join(re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE)).split()
    assert names and not [name for name in names if not re.fullmatch(r"[a-z0-9_]+", name)], names
    return names


@functools.lru_cache
def numbers():
    """Numbers of all system calls that the headers of this machine know."""
    text = subprocess.run(["g++", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                          check=True, capture_output=True, text=True).stdout
    said = dict(re.findall(r"^#define __NR(?:3264)?_?(\w+) \(?(\w+)\)?$", text, re.MULTILINE))

    def number(name, depth=0):
        value = said.get(name, "")
        if value.isdigit() or depth > 4:
            return int(value) if value.isdigit() else None
        return number(re.sub("^__NR(3264)?_", "", value), depth + 1) if value else None
    found = {name: number(name) for name in said}
    assert found["read"] is not None and found["openat2"] is not None
    return {name: value for name, value in found.items() if value is not None}


def program_of(names):
    """The filter; names that this processor does not have are passed over."""
    known = [numbers()[name] for name in names if name in numbers()]
    steps = [(LOAD, 0, 0, 4), (JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[platform.machine()]),
             (RETURN, 0, 0, KILL_PROCESS), (LOAD, 0, 0, 0)]
    for number in known:
        steps += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, KILL_PROCESS))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def only(names):
    """What Popen needs so that the program can make these system calls and no others."""
    code = program_of(names)
    kept = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        failed = (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
                  libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0))
        if failed:
            raise OSError(ctypes.get_errno(), "no filter of system calls")
    install.code = kept  # `head` holds its address alone
    # Closing what the child shall not inherit would come after the filter, by other calls.
    return {"preexec_fn": install, "close_fds": False}
