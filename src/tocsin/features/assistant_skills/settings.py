"""The settings of assistant skills."""

from pathlib import Path

from tocsin.core.config.variables import Variable, directories, integer

SKILLS_WATCH: Variable[tuple[Path, ...]] = Variable(
    "SKILLS_WATCH",
    directories,
    (),
    "Directories in which assistant skills check every change, separated by commas.",
    shown_default="none",
)
SKILLS_AUTO_APPLY: Variable[tuple[Path, ...]] = Variable(
    "SKILLS_AUTO_APPLY",
    directories,
    (),
    "Directories in which changes proposed by skills are written automatically, separated by commas.",
    shown_default="none",
)
SKILLS_CALLS_PER_HOUR = Variable(
    "SKILLS_CALLS_PER_HOUR",
    integer(1, 100_000),
    60,
    "Questions per hour that skills may ask the chat model about changed files, over all processes.",
)
