"""A block of shell commands can be pasted: each command has a line of its own."""

import re

from tests.docs.pages import blocks

_COMMAND = re.compile(r"\btocsin [a-z]+")


def test_every_command_of_a_block_has_a_line_of_its_own():
    lines = [(block.page, line) for block in blocks("sh") for line in block.text.splitlines()]
    assert lines
    assert [found for found in lines if is_run_together(found[1])] == []


def test_commands_that_were_run_together_are_found():
    assert is_run_together("tocsin doctor     # finds what is wrong tocsin test slack     # verifies")
    assert is_run_together('"Backup done" tocsin send telegram 1001 hi tocsin channels')
    assert not is_run_together("tocsin send slack '#ops' hi   # as `tocsin send` does")
    assert not is_run_together("tocsin test slack && tocsin send slack '#ops' hi")


def is_run_together(line: str) -> bool:
    """Whether a second command stands in the line without anything that separates it from the first."""
    plain = re.sub(r"`[^`]*`", "", line)
    return len(_COMMAND.findall(re.split(r"&&|;|\||\$\(", plain)[-1])) > 1
