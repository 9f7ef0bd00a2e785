"""Shell scripts with values as arguments or environment variables, never as part of the script."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

# Linux: MAX_ARG_STRLEN, include/uapi/linux/binfmts.h; for `NAME=value` with the final NUL.
MAX_VARIABLE_BYTES = 128 * 1024
MAX_COMMAND = 10_000  # characters of a rule's command; longer is a script, which belongs in a file


def read_command(text: str) -> str:
    """Return the command of a rule; raises ValueError if it is too long or cannot be run."""
    if "\0" in text:
        raise ValueError("a command must not contain a NUL character")
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command can have at most {MAX_COMMAND:,} characters; put longer commands into a file")
    return text


def variable_name(*words: str) -> str:
    """Return the name of the variable for a value, such as `STEP_DUMP_SIZE`: upper case, with `_` for a dash."""
    return "_".join(words).upper().replace("-", "_")


def format_value(value: Any) -> str:
    """Return a value as text: empty for `None`, all digits for `1e16`, JSON for lists and mappings."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        from decimal import Decimal  # takes a millisecond to import, and few values are fractions

        return format(Decimal(str(value)).normalize(), "f")
    return json.dumps(value, ensure_ascii=False)


def as_variable(value: Any) -> str:
    """Return a value as a variable can store it: without NUL and lone surrogates."""
    return format_value(value).replace("\0", "").encode(errors="replace").decode()


def variable_bytes(name: str, value: str) -> int:
    """Return the size of a variable, to compare with MAX_VARIABLE_BYTES."""
    return len(name) + len(value.encode(errors="replace")) + 2


def shell_argv(script: str, name: str, *arguments: str, shell: Sequence[str] = ("/bin/sh",)) -> tuple[str, ...]:
    """Return the arguments that run a script, with `name` as `$0` and the arguments as `$1` and on."""
    return (*shell, "-c", script, name, *arguments)


def params_problem(params: Collection[str], env: Collection[str]) -> str:
    """Return which parameter of a command has no distinct variable, and why; empty if each has one."""
    names: dict[str, str] = {}
    for param in params:
        name = variable_name("PARAM", param)
        if not re.fullmatch(r"[A-Z0-9_]+", name):
            return f"{param!r} is not a valid parameter name: use letters, digits, '_' and '-'"
        if name in env:
            return f"{param!r} becomes the variable {name}, which is also set in env: rename one"
        if name in names:
            return f"{param!r} and {names[name]!r} become the same variable {name}: rename one"
        names[name] = param
    return ""
