"""The output of a run as a text for a chat, at most 4,000 characters."""

import re

from tocsin.core.text.strings import normalise, split, truncate
from tocsin.runs.model import Run, RunStatus

MAX_ANSWER = 4_000  # code points
READ_CHARS = 64_000  # of the output: colours and cursor moves are left out before the rest is counted
CUT = "\n… (output cut)"
# A line end that is further away is no border any more: too much would be lost.
_REACH = 400

# Colours and cursor moves (ECMA-48), titles of windows, and what else a chat cannot show.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])?")
_CONTROLS = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")


def answer_of(run: Run, output: str) -> str:
    """Return the output of a command, with its end if that was unusual."""
    shown = _legible(output)
    ending = _ending_of(run)
    if not ending:
        return shorten_lines(shown, MAX_ANSWER) or "done (exit code 0)"
    if not shown:
        return truncate(ending, MAX_ANSWER)
    last = f"\n({truncate(ending, MAX_ANSWER // 2)})"
    return shorten_lines(shown, MAX_ANSWER - len(last)) + last


def shorten_lines(text: str, limit: int) -> str:
    """Cut a text at a line end, else between two characters, and say so within the limit."""
    if len(text) <= limit:
        return text
    room = limit - len(CUT)
    border = text.rfind("\n", room - _REACH, room + 1)
    return (text[:border] if border > 0 else truncate(text, room, ellipsis="")).rstrip() + CUT


def shorten_markdown(text: str) -> str:
    """Cut the answer of a model at a paragraph, a line or a sentence; an open code fence is closed."""
    parts = split(text, MAX_ANSWER)
    if len(parts) <= 1:
        return "".join(parts)
    return split(text, MAX_ANSWER - len(CUT))[0] + CUT


def _legible(output: str) -> str:
    text = _CONTROLS.sub("", _ESCAPES.sub("", normalise(output)))
    return text.strip("\n").rstrip()


def _ending_of(run: Run) -> str:
    """Return how a run ended; empty if it succeeded."""
    match run.status:
        case RunStatus.SUCCEEDED:
            return ""
        case RunStatus.TIMED_OUT:
            return f"stopped: {run.reason or 'it timed out'}"
        case RunStatus.FAILED if run.exit_code is not None and run.exit_code > 0:
            return f"exit code {run.exit_code}"
        case RunStatus.FAILED if run.signal:
            return f"ended by {run.signal}"
        case _:
            said = run.reason or (run.error or {}).get("message", "")
            return f"{run.status}: {said}" if said else str(run.status)
