"""Steps of the type shell: a script, or a program with its arguments; and the variables that shells get."""

import re
from collections.abc import Mapping

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.template import Placeholder, Template
from tocsin.core.text.shell import MAX_VARIABLE_BYTES, as_variable, format_value, shell_argv, variable_bytes
from tocsin.features.workflows.engine.step_call import StepCall, StepLog, StepOutcome
from tocsin.features.workflows.engine.values import StepScope, ValueMissingError
from tocsin.features.workflows.language.model import DEFAULT_SHELL, Workflow, WorkflowStep
from tocsin.features.workflows.language.scripts import value_paths, variable_of
from tocsin.runs.model import Command
from tocsin.runs.recorder import RunHandle, command


class ValueTooLargeError(TocsinError):
    """A value that a script names is too large for a variable."""

    code = "value-too-large"


async def run_shell(call: StepCall) -> StepOutcome:
    argv, env = command_of(call)
    accepted = tuple(call.step.option("success_exit_codes", [0]))
    limit, stdin = call.step.timeout_s or 0.0, call.option("stdin")
    child = Command(argv, env, call.scope.folder, limit, stdin, success_exit_codes=accepted)
    handle: RunHandle = call.log  # type: ignore[assignment]  # it has all that a command asks of one
    ended = await command(child)(handle)
    reason, code = ended.reason or "", (ended.error or {}).get("code", "")
    return StepOutcome(ended.status, reason, code, ended.exit_code, call.log.kept("stdout"), call.log.kept("stderr"))


def command_of(call: StepCall) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the words and the environment of the program that a step starts."""
    if isinstance(call.step.command, tuple):
        return tuple(call.scope.text(word) for word in call.step.command), call.env
    shell = call.step.option("shell", DEFAULT_SHELL)
    return shell_argv(script_of(call, call.step.command), call.step.name, shell=shell), call.env


def script_of(call: StepCall, template: Template) -> str:
    """Return a script with its numbers; raises ValueMissingError for any other value, which could be code."""

    def number(placeholder: Placeholder) -> str:
        value = call.scope.value_of(placeholder.path)
        if value is not None and not isinstance(value, int | float):
            raise ValueMissingError(f"{placeholder.path} is not a number")
        return format_value(value)

    return template.fill(number)


def shell_variables(workflow: Workflow, step: WorkflowStep, scope: StepScope, log: StepLog) -> dict[str, str]:
    """Return the variables for the parameters and for the outputs of the steps before.

    A value that no variable can hold is left out, unless the step names it: then this raises ValueTooLargeError.
    """
    before = {*scope.before, *scope.blockers}
    outputs = {each.name: each.output_names for each in workflow.all_steps() if each.name in before}
    words = step.command if isinstance(step.command, tuple) else (step.command,)
    found = {}
    for path in value_paths(workflow.params, outputs):
        name, value = variable_of(path), as_variable(scope.value_of(path))
        if (size := variable_bytes(name, value)) <= MAX_VARIABLE_BYTES:
            found[name] = value
            continue
        said = f"{path} has {size // 1024} KiB, but a variable can have at most {MAX_VARIABLE_BYTES // 1024}"
        if any(re.search(rf"\b{name}\b", word.text) for word in words):
            raise ValueTooLargeError(said, hint="pass it in a file or on standard input")
        log.write("system", f"{name} is not set: {said}")
    return found
