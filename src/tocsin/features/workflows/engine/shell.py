"""Steps of the type shell: a script, or a program with its arguments."""

from tocsin.features.workflows.engine.step_call import StepCall, StepOutcome
from tocsin.features.workflows.engine.values import spelled
from tocsin.features.workflows.language.model import DEFAULT_SHELL
from tocsin.features.workflows.language.shell_text import shell_text
from tocsin.features.workflows.language.template import Placeholder, Template
from tocsin.runs.model import Command, RunStatus
from tocsin.runs.recorder import RunHandle, command


async def run_shell(call: StepCall) -> StepOutcome:
    """Run the command of a step to its end."""
    argv, env = command_of(call)
    child = Command(argv, env, call.scope.folder, call.step.timeout_s or 0.0, call.option("stdin"))
    handle: RunHandle = call.log  # type: ignore[assignment]  # it has all that a command asks of one
    ended = await command(child)(handle)
    status = ended.status
    accepted = call.step.option("success_exit_codes", [0])
    reason, code = ended.reason or "", (ended.error or {}).get("code", "")
    if ended.exit_code is not None and status in {RunStatus.SUCCEEDED, RunStatus.FAILED}:
        if ended.exit_code in accepted:
            status, reason, code = RunStatus.SUCCEEDED, "", ""
        elif status is RunStatus.SUCCEEDED:
            status, reason, code = RunStatus.FAILED, "it ended with exit code 0", "exit-code"
    return StepOutcome(status, reason, code, ended.exit_code, call.log.kept("stdout"), call.log.kept("stderr"))


def command_of(call: StepCall) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the words and the environment of the program that a step starts."""
    if isinstance(call.step.command, tuple):
        return tuple(call.scope.text(word) for word in call.step.command), dict(call.env)
    script, variables = script_of(call, call.step.command)
    shell = call.step.option("shell", DEFAULT_SHELL)
    return (*shell, "-c", script, call.step.name), {**call.env, **variables}


def script_of(call: StepCall, template: Template) -> tuple[str, dict[str, str]]:
    """Return a script in which values are variables, and these."""
    text = shell_text(template)
    pieces = [_raw(call, piece) if isinstance(piece, Placeholder) else piece for piece in text.pieces]
    variables = {name: call.scope.text_of(placeholder) for name, placeholder in text.variables.items()}
    return "".join(pieces), {name: value.replace("\0", "") for name, value in variables.items()}


def _raw(call: StepCall, placeholder: Placeholder) -> str:
    return spelled(call.scope.value_of(placeholder.path))
