"""The settings of runnable skills."""

from tocsin.core.config.variables import Variable, integer

SKILL_HOME_MIB = Variable(
    "SKILL_HOME_MIB",
    integer(1, 65_536),
    256,
    "Maximum size of the home directory of a sandboxed skill, in MiB; it is in memory while the skill runs.",
)
