"""The settings of task jobs."""

from pathlib import Path

from tocsin.core.config.variables import Variable, boolean, directory, integer


def _directories(value: str) -> tuple[Path, ...]:
    try:
        return tuple(directory(item) for item in value.split(",") if item.strip())
    except ValueError:
        raise ValueError("directories separated by commas, written from the root") from None


JOB_REPOSITORIES: Variable[tuple[Path, ...]] = Variable(
    "JOB_REPOSITORIES",
    _directories,
    (),
    "Directories below which task jobs may use git repositories, separated by commas.",
    shown_default="none",
)
JOB_HOOKS = Variable(
    "JOB_HOOKS",
    boolean,
    False,
    "Let hooks and filters of these repositories run, such as those of Git LFS.",
)
JOB_TIMEOUT_S = Variable(
    "JOB_TIMEOUT_S",
    integer(1, 2_592_000),
    86_400,
    "Seconds after which the command of a task job is ended.",
)
