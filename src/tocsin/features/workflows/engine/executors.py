"""Maps each type of step to the function that executes it."""

from collections.abc import Awaitable, Callable, Mapping

from tocsin.features.workflows.engine.children import ChildSteps
from tocsin.features.workflows.engine.http import HttpSteps
from tocsin.features.workflows.engine.messages import MessageSteps
from tocsin.features.workflows.engine.shell import run_shell
from tocsin.features.workflows.engine.step_call import Execute, StepCall, StepOutcome
from tocsin.features.workflows.engine.waiting import WaitSteps
from tocsin.features.workflows.language.model import StepType


def executing(http: HttpSteps, messages: MessageSteps, waiting: WaitSteps, children: ChildSteps) -> Execute:
    """Return the executor of each type of step."""
    known: Mapping[StepType, Callable[[StepCall], Awaitable[StepOutcome]]] = {
        StepType.SHELL: run_shell,
        StepType.SSH: children.ssh,
        StepType.SKILL: children.skill,
        StepType.PROMPT: messages.prompt,
        StepType.NOTIFY: messages.notify,
        StepType.HTTP: http.run,
        StepType.WAIT: waiting.run,
        StepType.WORKFLOW: children.workflow,
    }

    async def execute(call: StepCall) -> StepOutcome:
        return await known[call.step.type](call)

    return execute
