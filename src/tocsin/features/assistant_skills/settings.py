"""The settings of assistant skills."""

from pathlib import Path

from tocsin.core.config.variables import Variable, directory, integer


def _directories(value: str) -> tuple[Path, ...]:
    try:
        return tuple(directory(item) for item in value.split(",") if item.strip())
    except ValueError:
        raise ValueError("directories separated by commas, written from the root") from None


SKILLS_WATCH: Variable[tuple[Path, ...]] = Variable(
    "SKILLS_WATCH",
    _directories,
    (),
    "Directories in which assistant skills look at every change, separated by commas.",
    shown_default="none",
)
SKILLS_AUTO_APPLY: Variable[tuple[Path, ...]] = Variable(
    "SKILLS_AUTO_APPLY",
    _directories,
    (),
    "Directories in and below which changes that skills propose are written at once, separated by commas.",
    shown_default="none",
)
SKILLS_CALLS_PER_HOUR = Variable(
    "SKILLS_CALLS_PER_HOUR",
    integer(1, 100_000),
    60,
    "Questions an hour that skills may ask the chat model because files changed, over all processes.",
)
