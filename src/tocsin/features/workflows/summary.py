"""The texts about an ended run: a summary for its notification profile, a notice for the operator."""

from collections.abc import Collection

from tocsin.core.text.strings import number_of
from tocsin.features.context import Notice
from tocsin.features.run_notices import failing, recovered
from tocsin.features.workflows.language.model import REJECTED
from tocsin.runs.document import pointers
from tocsin.runs.model import ENDED_BADLY, FAILING, SUCCESSFUL, Run, RunStatus

SHOWN = 10  # steps


def is_wanted(wanted: Collection[str], status: RunStatus, before: Run | None) -> bool:
    """Whether `notify_on` asks for a message about this end; `before` is the run before it that ran."""
    if "always" in wanted:
        return True
    if status not in SUCCESSFUL:
        return "failure" in wanted
    return "success" in wanted or ("recovery" in wanted and before is not None and before.status in ENDED_BADLY)


def summary(run: Run) -> str:
    """Return the summary of an ended run: its status, the steps that did not succeed, and where its log is."""
    steps, took_s = run.steps, (run.finished_at or run.queued_at) - (run.started_at or run.queued_at)
    lines = [f"{run.subject_name} {_WORDS.get(run.status, str(run.status))} after {_length(took_s)}"]
    bad = [step for step in steps if step.status in ENDED_BADLY]
    lines += [f"{step.name}: {(step.error or {}).get('message', str(step.status))}" for step in bad[:SHOWN]]
    if len(bad) > SHOWN:
        lines.append(f"and {len(bad) - SHOWN} more steps")
    if run.reason and not bad:
        lines.append(run.reason)
    good = sum(step.status is RunStatus.SUCCEEDED for step in steps)
    skipped = sum(step.status is RunStatus.SKIPPED for step in steps)
    lines.append(f"{good} of {number_of(len(steps), 'step')} succeeded{f', {skipped} skipped' if skipped else ''}")
    lines.append(pointers(run.id) if run.status in FAILING else f"run {run.id}")
    return "\n".join(lines)


def notice_of(run: Run, before: Run | None, now: float, *, said: str, output: str) -> Notice | None:
    """Return the notice about the first failure, or about the first success after one.

    `before` is the previous run, `said` the summary, `output` the destination that has already received it. Return
    `None` for a run that another run started, which reports it, and for a run that failed because a step was rejected.
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


_WORDS = {RunStatus.PARTIALLY_SUCCEEDED: "partly succeeded", RunStatus.TIMED_OUT: "timed out"}


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
