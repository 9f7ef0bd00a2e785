"""Text for a shell takes numbers and booleans only; all other values reach it as variables of the environment.

Every parameter is a variable `PARAM_<NAME>`, every output of an earlier step `STEP_<STEP>_<OUTPUT>`.
"""

import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tocsin.core.expressions.template import Placeholder, Template
from tocsin.core.text.shell import variable_name
from tocsin.core.text.shell_scan import COMPARE_AS_TEXT, evaluated_variables
from tocsin.features.workflows.language.model import DEFAULT_SHELL, ParamRule

# Their texts cannot hold code: digits, a sign and a dot; true or false.
_NUMERIC = frozenset({"integer", "number", "boolean"})
_SHELL = re.compile(r"(?:.*/)?(?:[bd]?a|m?k|z)?sh")
_INTERPRETER = re.compile(r"(?:.*/)?(?:(?:[bd]?a|m?k|z|fi|t?c)?sh|su|python[\d.]*|perl|ruby|node|php|lua)")
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ceErR]|--(?:command|eval|print|run)")


def variable_of(path: str) -> str:
    """Return the variable that carries a value, or replaces a placeholder, in a shell."""
    match path.split("."):
        case "params", name:
            return variable_name("PARAM", name)
        case "steps", step, "outputs", output:
            return variable_name("STEP", step, output)
        case "steps", step, part:
            return variable_name(part, "OF", step)  # STEP_… may be an output of that name
        case "env", name:
            return name
        case words:
            return variable_name(*words)


def value_paths(params: Iterable[str], outputs: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the paths of parameters, and of the outputs of steps by their names: each is a variable of every shell."""
    yield from (f"params.{name}" for name in params)
    yield from (f"steps.{step}.outputs.{name}" for step, names in outputs.items() for name in names)


def is_numeric(params: Mapping[str, ParamRule], path: str) -> bool:
    """Whether a path names a parameter whose text cannot be code."""
    root, _, name = path.partition(".")
    return root == "params" and name in params and params[name].type in _NUMERIC


def is_shell(words: Sequence[str]) -> bool:
    """Whether a command line starts a shell that reads the language of POSIX."""
    return any(_SHELL.fullmatch(word) for word in words or DEFAULT_SHELL)


def script_word(words: Sequence[str]) -> int | None:
    """Return the index of the word that an interpreter executes as code, such as the one after `sh -c`."""
    first = next((number for number, word in enumerate(words) if _INTERPRETER.fullmatch(word)), len(words))
    found = False
    for number, word in enumerate(words[first + 1 :], first + 1):
        if word[:1] in {"-", "+"}:
            found = found or _CODE_FOLLOWS.fullmatch(word) is not None
        elif found:
            return number
        elif words[number - 1][:1] not in {"-", "+"} and not words[first].endswith("su"):
            return None  # a file with the script, whose options follow
    return None


def executes_stdin(words: Sequence[str]) -> bool:
    """Whether a command is a shell or another interpreter without a script, such as `bash -s`."""
    return bool(words) and bool(_INTERPRETER.fullmatch(words[0])) and all(word.startswith("-") for word in words[1:])


def replacement(placeholder: Placeholder) -> tuple[str, str]:
    """Return the variable that replaces a placeholder in shell text, and the line that sets it."""
    if placeholder.secret:
        return placeholder.path, f'env: {{{placeholder.path}: "{placeholder.spelled()}"}}'
    name = variable_of(placeholder.path)
    return name, f'env: {{{name}: "${{{placeholder.path}}}"}}'


class TextVariables:
    """The variables of a workflow whose values are text, each with its placeholder."""

    def __init__(
        self, params: Mapping[str, ParamRule], outputs: Mapping[str, Collection[str]], env: Mapping[str, Template]
    ) -> None:
        self._params = params
        texts = [path for path in value_paths(params, outputs) if not is_numeric(params, path)]
        own = {variable_of(path): f"${{{path}}}" for path in texts}
        self._names = {**own, **self._texts_of(env)}

    def evaluated(self, script: Template, env: Mapping[str, Template]) -> Iterator[str]:
        """Yield a warning for each variable that a script evaluates; `env` are the variables of its step."""
        known = ChainMap(self._texts_of(env), self._names)
        text = "".join(piece if isinstance(piece, str) else "0" for piece in script.pieces)
        for name, place in evaluated_variables(text, known).items():
            root, _, param = known[name][2:-1].partition(".")
            fix = f"declare {param} with type: integer" if root == "params" else COMPARE_AS_TEXT
            yield f"bash may execute the text in ${name}, {known[name]}, as code in {place}: {fix}"

    def _texts_of(self, env: Mapping[str, Template]) -> dict[str, str]:
        """Return the variables that hold text of a parameter, an output, an item or a secret."""
        return {
            name: each.spelled()
            for name, template in env.items()
            for each in template.placeholders()
            if each.secret or (_is_text(each.path) and not is_numeric(self._params, each.path))
        }


def _is_text(path: str) -> bool:
    """Whether a value may be any text: an ID, a status and an exit code may not."""
    return path.startswith(("params.", "item", "env.")) or ".outputs." in path
