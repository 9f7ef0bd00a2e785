"""The values that a run is given for the parameters of its workflow."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tocsin.core.reading.value import MISSING, UNKNOWN, did_you_mean, near_word
from tocsin.features.workflows.language.model import ParamRule
from tocsin.features.workflows.language.texts import BAD_VALUE

MAX_UNKNOWN = 10  # that are named: finding the likely name of each takes time
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class InputProblem(NamedTuple):
    """A mistake in one value of a run; `at` is its place in a request, such as `("params", "host")`."""

    at: tuple[str, str]
    code: str
    detail: str
    suggestion: str = ""


def take_params(rules: Mapping[str, ParamRule], given: Mapping[str, Any]) -> tuple[dict[str, Any], list[InputProblem]]:
    """Return the values of a run, and a problem for each that is missing or wrong."""
    values: dict[str, Any] = {}
    unknown = [name for name in given if name not in rules][:MAX_UNKNOWN]
    problems = [_unknown(name, near_word(name, rules)) for name in unknown]
    for name, rule in rules.items():
        if name not in given:
            if rule.required and rule.default is None:
                problems.append(InputProblem(("params", name), MISSING, f"parameter {name!r} is required"))
            values[name] = None if rule.default is None else check_param(name, rule, rule.default)[0]
            continue
        values[name], problem = check_param(name, rule, given[name])
        if problem:
            problems.append(InputProblem(("params", name), BAD_VALUE, problem))
    return values, problems


def _unknown(name: str, near: str) -> InputProblem:
    return InputProblem(("params", name), UNKNOWN, f"unknown parameter {name!r}{did_you_mean(near)}", near)


def check_param(name: str, rule: ParamRule, value: Any) -> tuple[Any, str]:
    """Return a value converted by its rule, and its problem; texts of a command line are parsed."""
    converted = _converted(rule.type, value)
    if converted is None:
        return value, f"{name} is not of type {rule.type}"
    if rule.enum and converted not in rule.enum:
        listed = ", ".join(map(str, rule.enum))
        return converted, (
            f"{name} is not one of: {listed}{did_you_mean(near_word(str(converted), map(str, rule.enum)))}"
        )
    if isinstance(converted, int | float) and not isinstance(converted, bool):
        if rule.minimum is not None and converted < rule.minimum:
            return converted, f"{name} must be at least {rule.minimum:g}, found {converted:g}"
        if rule.maximum is not None and converted > rule.maximum:
            return converted, f"{name} must be at most {rule.maximum:g}, found {converted:g}"
    return converted, ""


def _converted(kind: str, value: Any) -> Any:
    """Return the value if it has the type, else `None`."""
    match kind, value:
        case "string", str():
            return value
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "boolean", bool():
            return value
        case "boolean", str():
            return _BOOLEANS.get(value.strip().lower())
        case "list", list():
            return value
        case "list", str():
            return [item.strip() for item in value.split(",") if item.strip()]
        case "integer" | "number", _:
            return _number(kind, value)
    return None


def _number(kind: str, value: Any) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value) if kind == "integer" and not isinstance(value, float) else _whole(kind, float(value))
    except (ValueError, OverflowError):
        return None


def _whole(kind: str, number: float) -> int | float | None:
    if kind == "number":
        return number if number == number and abs(number) != float("inf") else None  # noqa: PLR0124  # not a number
    return int(number) if number.is_integer() else None
