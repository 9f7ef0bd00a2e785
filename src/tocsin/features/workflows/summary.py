"""What is told of a run that has ended: a summary to its notification profile, a notice to the operator."""

from collections.abc import Collection, Sequence

from tocsin.core.text.strings import number_of
from tocsin.features.context import Notice
from tocsin.features.run_notices import failing, recovered
from tocsin.features.workflows.language.model import REJECTED, Workflow
from tocsin.runs.document import pointers
from tocsin.runs.model import ENDED_BADLY, FAILING, SUCCESSFUL, Run, RunResult, RunStatus, StepRun

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
    lines.append(pointers(run_id) if result.status in FAILING else f"run {run_id}")
    return "\n".join(lines)


def notice_of(run: Run, before: Run | None, now: float, *, said: str, output: str) -> Notice | None:
    """Return what the operator is told of the first failure, and of the first success after it.

    `before` is the run before this one; `said` is the summary, which `output` has got already. A job, a watcher or
    another workflow that started the run tells of it itself, and who rejects a step knows.
    """
    fails, link = run.status in FAILING and not was_rejected(run), f"#/runs/{run.id}"
    failed_before = before is not None and before.status in FAILING and not was_rejected(before)
    if run.parent_run_id or run.dry_run or fails is failed_before:
        return None
    if fails:
        return failing(
            run, now, category="workflow", link=link, said=said.removesuffix(pointers(run.id)), output=output
        )
    return recovered(run, now, category="workflow", link=link, output=output) if run.ok else None


def was_rejected(run: Run) -> bool:
    """Whether a run failed because a person rejected a step."""
    return (run.error or {}).get("code") == REJECTED


_WORDS = {RunStatus.PARTIALLY_SUCCEEDED: "succeeded in part", RunStatus.TIMED_OUT: "took too long"}


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
