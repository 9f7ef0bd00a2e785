"""The settings of runnable skills."""

from tocsin.core.config.variables import Variable, integer

SKILL_HOME_MIB = Variable(
    "SKILL_HOME_MIB",
    integer(1, 65_536),
    256,
    "MiB that the home directory of a sandboxed skill may hold; while it runs, they are in memory.",
)
