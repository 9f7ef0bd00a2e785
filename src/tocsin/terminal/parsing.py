"""Argument parsing: a usage error is one sentence, with the likely intended command."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from tocsin.core.errors import TocsinError
from tocsin.core.reading.value import did_you_mean, near_word


class UsageError(TocsinError):
    """The command was called incorrectly; `prog` is the part that was understood, as in `tocsin audit tail`."""

    code: ClassVar[str] = "wrong-usage"

    def __init__(self, message: str, *, prog: str, hint: str = "") -> None:
        super().__init__(message, hint=hint or f"see {prog} --help")
        self.prog = prog


class Parser(argparse.ArgumentParser):
    """Raises UsageError for invalid arguments, and accepts `-100123/7` as a target.

    A command whose last argument is a text names it with `set_defaults(free_text=…)`: the error about an unquoted text
    shows the call with quotes. A command that asks for a secret sets `set_defaults(asks_for_secret=True)`: unexpected
    arguments may be that secret, and are not repeated.
    """

    _adds = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"-\d[\d/.]*$")
        self.set_defaults(parser=self)  # of the innermost command that was parsed

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        """Add an argument.

        To check it, argparse creates a formatter, which determines the width of the terminal: the import for that takes
        2 ms.
        """
        self._adds = True
        try:
            return super().add_argument(*args, **kwargs)
        finally:
            self._adds = False

    def _get_formatter(self) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog=self.prog, width=80) if self._adds else super()._get_formatter()

    def add_subparsers(self, **kwargs: Any) -> Any:
        """Add subcommands and store them, so that a feature can add one to another feature's command."""
        self.subcommands = super().add_subparsers(**kwargs)
        return self.subcommands

    def parse_args(  # type: ignore[override]  # the overloads of the standard library say the same
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse all of `args`; raise UsageError if some are left over."""
        arguments, extra = self.parse_known_args(args, namespace)
        if extra:
            raise _left_over(arguments, extra, list(args))
        return arguments

    def long_options(self) -> list[str]:
        return [option for option in self._option_string_actions if option.startswith("--")]

    def error(self, message: str) -> NoReturn:
        """Raise argparse's error as UsageError."""
        raise UsageError(_plainly(message), prog=self.prog)


def asks_for_json(argv: Sequence[str]) -> bool:
    """Whether the options include `--json`, even if others are invalid."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return any(len(word) > 2 and "--json".startswith(word) for word in options)


def _left_over(arguments: argparse.Namespace, extra: list[str], argv: list[str]) -> UsageError:
    if getattr(arguments, "asks_for_secret", False):
        sentence = "secret values are not accepted as arguments: other users can read them in the process list"
        hint = "type it at the prompt, or pipe it in; replace the value if others may have seen it"
        return UsageError(sentence, prog=arguments.parser.prog, hint=hint)
    name = getattr(arguments, "free_text", "")
    if not name or any(word.startswith("-") for word in extra):
        prog = arguments.parser.prog
        of_text = name and not any(word.startswith("--") for word in extra)  # `-rf` is rather a word of `rm -rf /`
        hint = f"put a {name.rstrip('_')} of several words in quotes, or see {prog} --help" if of_text else ""
        return UsageError(_unrecognized(extra, arguments.parser.long_options(), argv), prog=prog, hint=hint)
    from shlex import join

    words = [getattr(arguments, name), *extra]
    starts = [at for at in range(len(argv)) if argv[at : at + len(words)] == words]
    text = " ".join(words)
    # If options are between the words, do not suggest a corrected call.
    corrected = ["tocsin", *argv[: starts[-1]], text, *argv[starts[-1] + len(words) :]] if starts else [text]
    return UsageError(
        f"unexpected arguments after the {name.rstrip('_')}: {' '.join(extra)}",
        prog=arguments.parser.prog,
        hint=f"put text of several words in quotes: {join(corrected)}",
    )


def _unrecognized(extra: Sequence[str], known: Sequence[str], argv: Sequence[str]) -> str:
    """Return the sentence about unrecognised arguments, with the option that was likely intended, or its place."""
    options = [word for word in extra if word.startswith("--")]
    unknown = [name for word in options if (name := word.partition("=")[0]) not in known]
    if options and not unknown:
        is_behind = options[0] in argv[argv.index("--") :] if "--" in argv else False
        place = "precede `--`" if is_behind else "follow the name of the command"
        return f"unrecognized arguments: {' '.join(extra)} (options must {place})"
    near = _suggest(unknown[0].lstrip("-"), [name.lstrip("-") for name in known], "--") if unknown else ""
    return f"unrecognized arguments: {' '.join(extra)}{near}"


def _plainly(message: str) -> str:
    """Return argparse's message about an invalid choice, with the word that was likely intended."""
    argument, invalid, rest = message.partition("invalid choice: ")
    if not invalid:
        return message
    word, _, listed = rest.partition(" (choose from ")
    choices = [choice.strip("') ") for choice in listed.split(",")]
    noun = argument.removeprefix("argument ").rstrip(": ").lower()
    hint = _suggest(word.strip("'"), choices) or f" (choose from: {', '.join(choices)})"
    return f"invalid {noun}: {word}{hint}" if noun.startswith("-") else f"unknown {noun}: {word}{hint}"


def _suggest(word: str, choices: Sequence[str], prefix: str = "") -> str:
    near = near_word(word, choices)
    return did_you_mean(near and f"{prefix}{near}")
