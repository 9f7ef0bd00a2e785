"""The summary of a run that its notification profile gets."""

from collections.abc import Collection, Sequence

from tocsin.core.text.strings import number_of
from tocsin.features.workflows.language.model import Workflow
from tocsin.runs.model import ENDED_BADLY, SUCCESSFUL, Run, RunResult, RunStatus, StepRun

SHOWN = 10  # steps


def is_wanted(workflow: Workflow, status: RunStatus, before: Run | None) -> bool:
    """Whether a profile is told of a run that ended so; `before` is the one before it that ran."""
    wanted: Collection[str] = workflow.notify_on
    if "always" in wanted:
        return True
    if status not in SUCCESSFUL:
        return "failure" in wanted
    return "success" in wanted or ("recovery" in wanted and before is not None and before.status in ENDED_BADLY)


def summary(workflow: Workflow, run_id: str, result: RunResult, steps: Sequence[StepRun], took_s: float) -> str:
    """Return the summary: how it ended, which steps did not succeed, and where to read on."""
    lines = [f"{workflow.name} {_WORDS.get(result.status, str(result.status))} after {_length(took_s)}"]
    bad = [step for step in steps if step.status in ENDED_BADLY]
    lines += [f"{step.name}: {(step.error or {}).get('message', str(step.status))}" for step in bad[:SHOWN]]
    if len(bad) > SHOWN:
        lines.append(f"and {len(bad) - SHOWN} more steps")
    if result.reason and not bad:
        lines.append(result.reason)
    good = sum(step.status is RunStatus.SUCCEEDED for step in steps)
    skipped = sum(step.status is RunStatus.SKIPPED for step in steps)
    lines.append(f"{good} of {number_of(len(steps), 'step')} succeeded{f', {skipped} skipped' if skipped else ''}")
    lines.append(f"run {run_id}")
    return "\n".join(lines)


_WORDS = {RunStatus.PARTIALLY_SUCCEEDED: "succeeded in part", RunStatus.TIMED_OUT: "took too long"}


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
