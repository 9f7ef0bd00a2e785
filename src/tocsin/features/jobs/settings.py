"""The settings of task jobs."""

from pathlib import Path

from tocsin.core.config.variables import Variable, boolean, directories, integer

JOB_REPOSITORIES: Variable[tuple[Path, ...]] = Variable(
    "JOB_REPOSITORIES",
    directories,
    (),
    "Directories with the git repositories that task jobs may use, separated by commas.",
    shown_default="none",
)
JOB_HOOKS = Variable(
    "JOB_HOOKS",
    boolean,
    False,
    "Allow hooks and filters of these repositories, such as those of Git LFS.",
)
JOB_TIMEOUT_S = Variable(
    "JOB_TIMEOUT_S",
    integer(1, 2_592_000),
    86_400,
    "Time limit of the command of a task job, in seconds.",
)
