"""What is shown of a test that failed: the last lines of the servers that it started, and what its
scripted servers were asked. A failure that comes once in a thousand runs leaves nothing else."""

LINES = 15
LINE_BYTES = 300

_told_by = []  # of the test that runs: a title, and what returns its lines


def keep(title, lines):
    """`lines()` is asked when the test has failed."""
    _told_by.append((title, lines))


def forget():
    """A new test begins."""
    _told_by.clear()


def add_to(failure):
    """To what pytest prints of a failure."""
    for title, lines in _told_by:
        text = "\n".join(line[:LINE_BYTES] for line in lines()[-LINES:])
        failure.addsection(title, text or "nothing")
