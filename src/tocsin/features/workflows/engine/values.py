"""The values of a running workflow, and the scope of one step."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.expression import ExpressionScope
from tocsin.core.expressions.template import Placeholder, Template
from tocsin.core.text.shell import format_value
from tocsin.features.workflows.language.model import WorkflowStep
from tocsin.features.workflows.language.names import STATES
from tocsin.features.workflows.language.outputs import OutputRuleError, json_of
from tocsin.runs.model import ENDED_BADLY, StepRun

MAX_ITEMS = 1_000  # of `for_each`


class ValueMissingError(TocsinError):
    """A value that a step refers to does not exist in this run."""

    code = "unknown-variable"


@dataclass(slots=True)
class RunValues:
    """The values that all steps of a run share; `steps` grows as they end."""

    params: Mapping[str, Any]
    run: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    steps: dict[str, StepRun] = field(default_factory=dict)
    forgiven: set[str] = field(default_factory=set)  # failed steps after which the run goes on
    is_masked: bool = False  # the record of the run lacks a value of it, which is a secret


@dataclass(frozen=True, slots=True)
class StepScope(ExpressionScope):
    """The scope in which the texts and the condition of one step are evaluated."""

    values: RunValues
    before: Collection[str]  # the steps that decide on `success()` and `failure()`
    blockers: Collection[str]  # the steps whose failure keeps it from running
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    item: Any = None

    def with_env(self, env: Mapping[str, str]) -> "StepScope":
        """Return the scope with the step's own variables as well."""
        return replace(self, env=env)

    def value_of(self, path: str) -> Any:
        """Return the value of a name; raises ValueMissingError."""
        root, *rest = path.split(".")
        try:
            match root, rest:
                case "item", _:
                    return self.item
                case "params", [name]:
                    return self.values.params[name]
                case "run", [name]:
                    return self.values.run[name]
                case "env", [name]:
                    return {**self.values.env, **self.env}[name]
                case "steps", [name, *parts]:
                    return self._of_step(self.values.steps.get(name), parts)
        except KeyError:
            pass
        raise ValueMissingError(f"{path} has no value in this run")

    def _of_step(self, step: StepRun | None, parts: list[str]) -> Any:
        if parts == ["status"]:
            return str(step.status) if step else "skipped"
        if parts == ["exit_code"]:
            return step.exit_code if step else None
        return step.outputs.get(parts[1]) if step else None

    def failed(self, names: Collection[str]) -> list[str]:
        """Return those of some steps that failed and stop the run."""
        found = [(name, self.values.steps.get(name)) for name in names]
        return [
            name for name, step in found if step and step.status in ENDED_BADLY and name not in self.values.forgiven
        ]

    def state(self, name: str) -> bool:
        """Return the value of `success()`, `failure()` or `always()`."""
        if name == "always":
            return True
        return bool(self.failed(self.before)) is (name == "failure")

    def call(self, function: str, arguments: list[Any]) -> bool:
        """Return the result of a function of a condition; a relative path is relative to the working directory."""
        if function in STATES:
            return self.state(function)
        return (self.folder / str(arguments[0])).exists()

    def text(self, template: Template, spell: Callable[[Any], str] | None = None) -> str:
        """Return a text with its values; `spell` quotes those that are not raw."""
        return template.fill(lambda placeholder: self.text_of(placeholder, spell))

    def text_of(self, placeholder: Placeholder, spell: Callable[[Any], str] | None = None) -> str:
        if placeholder.secret:
            return self.values.secrets[placeholder.path]
        value = self.value_of(placeholder.path)
        return format_value(value) if spell is None or placeholder.raw else spell(value)

    def structure(self, value: Any) -> Any:
        """Return a value of the file with the templates in it filled; one that is a single `${…}` keeps its type."""
        if isinstance(value, Template):
            if len(value.pieces) == 1 and isinstance(piece := value.pieces[0], Placeholder) and not piece.secret:
                return self.value_of(piece.path)
            return self.text(value)
        if isinstance(value, list):
            return [self.structure(each) for each in value]
        if isinstance(value, dict):
            return {name: self.structure(each) for name, each in value.items()}
        return value


def items_of(step: WorkflowStep, scope: StepScope) -> list[Any]:
    """Return the values of `for_each`; raises OutputRuleError, ValueMissingError."""
    values = step.for_each
    if isinstance(values, Template):
        items = scope.structure(values)
        if isinstance(items, str):
            items = _listed(items)
    else:
        items = [scope.structure(each) for each in values or ()]
    if not isinstance(items, list):
        raise OutputRuleError("for_each needs a list")
    if len(items) > MAX_ITEMS:
        raise OutputRuleError(f"for_each accepts at most {MAX_ITEMS:,} values, found {len(items):,}")
    return items


def _listed(text: str) -> list[Any]:
    """Return the list that a text holds: a JSON list, or else its lines."""
    try:
        found = json_of(text)
    except OutputRuleError:
        found = None
    return found if isinstance(found, list) else [line.strip() for line in text.splitlines() if line.strip()]
