"""Decides about the steps of a run whose process ended: keep, continue, run again, or interrupt."""

from collections.abc import Mapping
from dataclasses import replace

from tocsin.features.workflows.language.model import StepType, Workflow, WorkflowStep
from tocsin.runs.model import TERMINAL, Run, RunStatus, StepRun

MAX_INTERRUPTS = 3  # attempts at a step with `on_interrupt: retry`: it may be what ends the process
_CUT_OFF = {"code": "interrupted", "message": "Tocsin stopped during the step"}
_HIDDEN = {
    "code": "value-not-stored",
    "message": (
        "Tocsin stopped before the step, and a value of this run is a secret that is not stored: run the workflow again"
    ),
}


class LeftSteps:
    """`kept` are the ended steps, `begun` those that continue, by name."""

    def __init__(self, workflow: Workflow, run: Run, *, is_masked: bool, now: float) -> None:
        """`is_masked`: a value that steps may use was masked when it was stored."""
        self.kept: dict[str, StepRun] = {}
        self.begun: dict[str, StepRun] = {}
        self._now = now
        recorded = {step.name: step for step in run.steps}
        main = {step.name for step in workflow.steps}
        for step in workflow.all_steps():
            if found := recorded.get(step.name):
                self._sort(step, found)
            if is_masked and step.name in main and step.name not in self.kept:
                queued = StepRun(step.name, str(step.type))
                self.kept[step.name] = self._interrupted(found or queued, _HIDDEN)
                self.begun.pop(step.name, None)

    def _sort(self, step: WorkflowStep, found: StepRun) -> None:
        if found.status in TERMINAL:
            self.kept[step.name] = found
        elif found.status is not RunStatus.RUNNING or step.type in {StepType.WAIT, StepType.WORKFLOW}:
            self.begun[step.name] = found
        elif step.retry_interrupted and found.attempt < MAX_INTERRUPTS:
            self.begun[step.name] = replace(found, status=RunStatus.QUEUED, attempt=found.attempt + 1)
        else:
            self.kept[step.name] = self._interrupted(found, _CUT_OFF)

    def _interrupted(self, step: StepRun, error: Mapping[str, str]) -> StepRun:
        return replace(step, status=RunStatus.INTERRUPTED, finished_at=self._now, error=error)
