"""Argument types of options, validated by the rules of the model."""

import argparse
from collections.abc import Callable
from typing import TypeVar

from tocsin.core.reading.fields import seconds_in
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.terminal.text import readable

T = TypeVar("T")


def argument(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return `read` as an argument type, whose ValueError becomes the usage error."""

    def parse(text: str) -> T:
        try:
            return read(readable(text))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def number(check: Callable[[float], float], rule: str = "") -> Callable[[str], float]:
    """Return a parser of numbers for `argument`; `rule` replaces the error of `check`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"expected {rule or 'a number'}") from None
        try:
            return check(value)
        except ValueError:
            if rule:
                raise ValueError(f"expected {rule}") from None
            raise

    return parse


def forever_or(read: Callable[[str], float]) -> Callable[[str], float | None]:
    """Return an argument type that parses a number of days, or `never`."""
    return lambda text: None if text == "never" else read(text)


def expiry(text: str) -> Callable[[float], float]:
    """Parse a time, or a duration such as `12h`; return a function from the current time to the expiry."""
    if seconds := seconds_in(text):
        return lambda now: now + seconds
    try:
        at = parse_timestamp(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a duration such as 12h or 90d, or {error}") from None
    return lambda _: at
