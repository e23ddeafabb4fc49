"""What is left of a server under test that did not start."""

import pytest

from server_process import Server


def test_a_server_that_does_not_start_leaves_nothing_open():
    # Its pipes were closed when they were collected, and another test had the warning of that.
    with pytest.raises(AssertionError, match="not ready.*no such luck") as failure:
        Server("/bin/sh", "-c", "echo no such luck >&2; exit 3", command=None)
    server = next(entry.frame.f_locals["self"] for entry in failure.traceback
                  if isinstance(entry.frame.f_locals.get("self"), Server))
    assert server.process.returncode in (3, -9)  # it was sent SIGKILL, perhaps in time
    assert server.process.stdout.closed and server.process.stderr.closed
