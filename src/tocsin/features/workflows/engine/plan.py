"""The plan of a run: every step with its wave, condition and command, as far as they are known in advance."""

import re
import shlex
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.template import Placeholder, Template
from tocsin.core.text.redaction import redact_json
from tocsin.core.text.shell import format_value
from tocsin.features.workflows.engine.values import RunValues, StepScope, items_of
from tocsin.features.workflows.language.graph import waves
from tocsin.features.workflows.language.model import DEFAULT_SHELL, StepType, Workflow, WorkflowStep
from tocsin.features.workflows.language.params import InputProblem, take_params
from tocsin.features.workflows.language.scripts import is_shell, value_paths, variable_of
from tocsin.features.workflows.requests import PlannedStep

_BUILT_IN = frozenset({
    ".", ":", "[", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "false",
    "for", "function", "getopts", "hash", "if", "local", "printf", "pwd", "read", "readonly", "return", "set", "shift",
    "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "(",
    "!", "echo", "source",
})  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class _UndecidedError(TocsinError):
    """A condition depends on the outcome of earlier steps."""


@dataclass(frozen=True, slots=True)
class _PlanScope(StepScope):
    """The scope of a step that does not run: the outputs of other steps are unknown."""

    left_out: Collection[str] = field(default=())

    def value_of(self, path: str) -> Any:
        if path.partition(".")[0] == "item":
            raise _UndecidedError("it differs for each value")
        return StepScope.value_of(self, path)

    def _of_step(self, step: Any, parts: list[str]) -> Any:
        if step is None:
            raise _UndecidedError("it depends on the previous steps")
        return StepScope._of_step(self, step, parts)  # noqa: SLF001  # its own parent

    def state(self, name: str) -> bool:
        if name == "always":
            return True
        if any(each not in self.values.steps for each in self.before):
            raise _UndecidedError("it depends on the previous steps")
        return StepScope.state(self, name)


@dataclass(frozen=True, slots=True)
class PlanSurroundings:
    """The surroundings of a run: where programs are looked for, and the workflows that it starts."""

    folder: Path
    path: str | None  # PATH
    children: Mapping[str, Workflow | str]  # by name; a text says why one cannot be run


def plan(workflow: Workflow, values: RunValues, around: PlanSurroundings, redact: Any) -> tuple[PlannedStep, ...]:
    """Return every step in the order in which it can start at the earliest."""
    found: list[PlannedStep] = []
    offset = 0
    groups = {
        "steps": workflow.steps,
        "on_success": workflow.on_success,
        "on_failure": workflow.on_failure,
        "on_finish": workflow.on_finish,
    }
    for group, steps in groups.items():
        needs = {step.name: step.needs for step in steps}
        wave_of = waves(needs)
        everything = [step.name for step in workflow.steps] if group != "steps" else list(needs)
        scope = _PlanScope(values, everything, (), around.folder)
        planned = [_planned(step, group, offset + wave_of[step.name], scope, around) for step in steps]
        found += sorted(planned, key=lambda each: each.wave)
        offset += max(wave_of.values(), default=0)
    return tuple(
        replace(
            each,
            command=redact(each.command),
            variables=redact_json(each.variables, redact),
            items=redact_json(each.items, redact),
        )
        for each in found
    )


def _planned(step: WorkflowStep, group: str, wave: int, scope: StepScope, around: PlanSurroundings) -> PlannedStep:
    would_run, problem = _would_run(step, scope)
    items, wrong_items = _known_items(step, scope)
    if group in {"on_success", "on_failure"}:
        would_run = None if would_run else would_run
    kept = step.name in scope.values.steps
    child = "" if kept or would_run is False else _child_problem(step, scope, around.children)
    problems = [text for text in (problem, wrong_items, _missing_program(step, around.path), child) if text]
    hosts = (*step.option("hosts", []), *(f"group:{name}" for name in step.option("groups", [])))
    return PlannedStep(
        step=step.name,
        type=str(step.type),
        wave=wave,
        group=group,
        would_run=False if kept else would_run,
        when=step.when.text if step.when else None,
        command=shown_command(step, scope),
        variables=_known_variables(step, scope),
        for_each=step.for_each.text if isinstance(step.for_each, Template) else "",
        items=items,
        depends_on=step.needs,
        hosts=hosts,
        problems=tuple(problems),
    )


def _would_run(step: WorkflowStep, scope: StepScope) -> tuple[bool | None, str]:
    if step.when is None:
        return True, ""
    try:
        return step.when.holds(scope), ""
    except _UndecidedError:
        return None, ""
    except TocsinError as error:
        return False, f"when: {error.sentence()}"


def shown_command(step: WorkflowStep, scope: StepScope) -> str:
    """Return the command of a step with the values that are known; others stay as they are written."""
    if isinstance(step.command, tuple):
        return shlex.join(_filled(word, scope) for word in step.command)
    if step.type is StepType.HTTP:
        return f"{step.option('method', 'GET')} {_filled(step.options['url'], scope)}"
    if step.type is StepType.WAIT:
        chosen = {name: step.option(name) for name in ("duration", "until", "approval") if step.option(name)}
        return ", ".join(f"{name} {value:g} s" if name == "duration" else f"{name} {value}" for name, value in
                         chosen.items()).replace("approval True", "approval")  # fmt: skip
    return _filled(step.command, scope)


def _filled(template: Template, scope: StepScope) -> str:
    def shown(placeholder: Placeholder) -> str:
        try:
            return placeholder.spelled() if placeholder.secret else format_value(scope.value_of(placeholder.path))
        except TocsinError:
            return placeholder.spelled()

    return template.fill(shown)


def _known_items(step: WorkflowStep, scope: StepScope) -> tuple[list[Any] | None, str]:
    """Return the values of `for_each` as far as they are known, and their problem."""
    if isinstance(step.for_each, tuple):
        return [_shown_value(each, scope) for each in step.for_each], ""
    if step.for_each is None:
        return None, ""
    try:
        return items_of(step, scope), ""
    except _UndecidedError:
        return None, ""
    except TocsinError as error:
        return None, error.sentence()


def _shown_value(value: Any, scope: StepScope) -> Any:
    """Return a value of the file; a text that depends on other steps stays as it is written."""
    if isinstance(value, list):
        return [_shown_value(each, scope) for each in value]
    if isinstance(value, dict):
        return {name: _shown_value(each, scope) for name, each in value.items()}
    try:
        return scope.structure(value)
    except TocsinError:
        return value.text


def _known_variables(step: WorkflowStep, scope: StepScope) -> dict[str, str]:
    """Return the variables for parameters and of env that the script of a step names."""
    if step.type not in {StepType.SHELL, StepType.SSH} or isinstance(step.command, tuple):
        return {}
    named = set(_WORD.findall(step.command.text))
    params = {variable_of(path): format_value(scope.value_of(path)) for path in value_paths(scope.values.params, {})}
    own = {name: _filled(template, scope) for name, template in step.env.items()}
    return {name: value for name, value in {**scope.values.env, **own, **params}.items() if name in named}


def _child_problem(step: WorkflowStep, scope: StepScope, children: Mapping[str, Workflow | str]) -> str:
    """Return why the workflow that a step starts cannot be run, as far as its parameters are known."""
    if step.type is not StepType.WORKFLOW:
        return ""
    name = shown_command(step, scope).strip()
    child = children.get(name, "")
    if isinstance(child, str):
        return child
    wrong = _wrong_params(step, scope, child)
    return f"workflow {name} cannot run: {'; '.join(each.detail for each in wrong)}" if wrong else ""


def _wrong_params(step: WorkflowStep, scope: StepScope, child: Workflow) -> list[InputProblem]:
    known: dict[str, Any] = {}
    later: set[str] = set()
    for name, value in step.params.items():
        try:
            known[name] = scope.structure(value)
        except TocsinError:
            later.add(name)
    rules = {name: rule for name, rule in child.params.items() if name not in later}
    return take_params(rules, {**known, **dict.fromkeys(later - child.params.keys())})[1]


def _missing_program(step: WorkflowStep, path: str | None) -> str:
    """Return the problem of the program that a step starts, if it is known."""
    if step.type is not StepType.SHELL:
        return ""
    if isinstance(step.command, tuple):
        program = step.command[0].literal()
    else:
        shell = step.option("shell")
        if shell and not shutil.which(shell[0], path=path):
            return f"shell {shell[0]} is not installed"
        program = _first_word(step.command) if is_shell(shell or DEFAULT_SHELL) else ""
    if not program or program in _BUILT_IN or "/" in program or "=" in program or "$" in program:
        return ""
    return "" if shutil.which(program, path=path) else f"program {program} is not installed"


def _first_word(script: Template) -> str:
    """Return the first word of a script if it certainly is a program."""
    first = script.pieces[0] if script.pieces else ""
    if not isinstance(first, str):
        return ""
    line = next((line for line in first.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    word = line.split(maxsplit=1)[0] if line.split() else ""
    whole = len(script.pieces) == 1 or word != line.strip()
    return word if whole and word.replace("-", "").replace("_", "").replace(".", "").isalnum() else ""
