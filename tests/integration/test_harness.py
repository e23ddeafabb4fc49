"""What tools/test tells of a program that does not end."""

from harness import STANDING_LINES, TAIL_LINES, run, tail


def test_a_program_that_does_not_end_says_where_it_stands():
    # Once a program was killed after ten minutes, and nobody knew what it had waited for.
    code, output = run(["sh", "-c", "echo begun; sleep 1000 & wait"], 3)
    assert code is None
    shown = [line.removeprefix("    | ") for line in tail(output).split("\n")]
    assert shown[0] == "begun" and "killed after 3 s" in shown
    stands = shown[shown.index("killed after 3 s") + 1:]
    assert any(" sh: S," in line for line in stands)
    assert any(" sleep: S," in line for line in stands)


def test_where_many_stand_leaves_room_for_what_was_said_last():
    code, output = run(["sh", "-c", "echo begun; for i in $(seq 60); do sleep 99 & done; wait"], 3)
    assert code is None
    assert STANDING_LINES < TAIL_LINES and "begun" in tail(output)


def test_a_program_that_ends_says_what_it_said():
    assert run(["sh", "-c", "echo all; exit 3"], 10) == (3, "all\n")
