"""What goes back to the chat: combined output, at most 4,000 characters."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.features.triggers.answers import CUT, MAX_ANSWER, answer_of, shorten_markdown
from tocsin.runs.model import Run, RunStatus, RunTrigger

DONE = Run(
    id="r1",
    kind="trigger",
    subject_id="1-abc",
    subject_name="x",
    trigger=RunTrigger.WEBHOOK,
    status=RunStatus.SUCCEEDED,
    queued_at=0.0,
    exit_code=0,
)
FAILED = replace(DONE, status=RunStatus.FAILED, exit_code=3)


def answer(output: str, run: Run = DONE) -> str:
    return answer_of(run, output)


def test_output_is_the_answer_without_the_last_line_end():
    assert answer("up 3 days\n") == "up 3 days"
    assert answer("\n\n  a\n   b \n\n") == "  a\n   b"


@pytest.mark.parametrize("output", ["", "\n", " \r\n\t", "\x1b[0m"])
def test_a_command_that_says_nothing_is_answered_all_the_same(output: str):
    assert answer(output) == "done (exit code 0)"


@pytest.mark.parametrize(
    ("run", "ending"),
    [
        (FAILED, "exit code 3"),
        (replace(DONE, status=RunStatus.TIMED_OUT, reason="it did not finish within 120 s", signal="SIGKILL"),
         "stopped: it did not finish within 120 s"),
        (replace(DONE, status=RunStatus.TIMED_OUT), "stopped: it timed out"),
        (replace(FAILED, exit_code=None, signal="SIGKILL"), "ended by SIGKILL"),
        (replace(FAILED, exit_code=None, error={"code": "x", "message": "no such shell"}), "failed: no such shell"),
        (replace(FAILED, exit_code=None, reason="no such folder"), "failed: no such folder"),
        (replace(DONE, status=RunStatus.CANCELLED, exit_code=None), "cancelled"),
    ],
)  # fmt: skip
def test_an_unusual_end_is_the_last_line_and_alone_the_whole_answer(run: Run, ending: str):
    assert answer("partly\n", run) == f"partly\n({ending})"
    assert answer("", run) == ending


def test_what_only_a_terminal_understands_is_left_out():
    assert answer("\x1b[1;31mred\x1b[0m\x07 \x1b]0;title\x07text\x1b(B\r\nnext\rline\0") == "red text\nnext\nline"


def test_4000_characters_are_the_whole_answer_and_one_more_is_cut_and_said():
    assert answer("x" * 4000) == "x" * 4000
    cut = answer("x" * 4001)
    assert (len(cut), cut) == (MAX_ANSWER, "x" * (4000 - len(CUT)) + CUT)


def test_a_cut_falls_between_two_lines_where_there_are_any():
    cut = answer("".join(f"line {n}\n" for n in range(1000)))
    assert len(cut) <= MAX_ANSWER
    assert cut.removesuffix(CUT).splitlines()[-1].startswith("line ")
    assert f"{cut.removesuffix(CUT)}\n" in "".join(f"line {n}\n" for n in range(1000))


def test_a_cut_does_not_halve_what_people_see_as_one_character():
    family = "👨‍👩‍👧"
    assert answer(family * 1000).removesuffix(CUT).replace(family, "") == ""


@given(st.text(alphabet=st.characters(codec=None), min_size=0, max_size=50), st.sampled_from([1, 90, 200]))
def test_no_answer_is_longer_than_4000_characters_or_unfit_to_be_sent(piece: str, times: int):
    for run in (DONE, FAILED, replace(FAILED, exit_code=None, reason="why " * 2000)):
        text = answer(piece * times, run)
        assert 0 < len(text) <= MAX_ANSWER
        assert not set(text) & {"\0", "\x1b", "\r"}
        text.encode()


def test_the_failure_is_told_behind_a_cut_output():
    assert answer("x" * 9000, FAILED).endswith(f"{CUT}\n(exit code 3)")


def test_an_answer_of_a_model_is_cut_at_a_paragraph_and_its_code_fence_is_closed():
    assert shorten_markdown("short **answer**") == "short **answer**"
    assert shorten_markdown("x" * 4000) == "x" * 4000
    cut = shorten_markdown("Here:\n\n```python\n" + "print('x')\n" * 1000 + "```\n")
    assert len(cut) <= MAX_ANSWER
    assert cut.endswith(f"```{CUT}")
    assert shorten_markdown("   \n") == ""
