"""The declaration of skills."""

from tocsin.core.audit.actions import ENDED_RUN, EXIT_CODE, SKILL, AuditAction, AuditField
from tocsin.core.config.variables import Variable, integer
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

SKILL_HOME_MIB = Variable(
    "SKILL_HOME_MIB",
    integer(1, 65_536),
    256,
    "Maximum size of the home directory of a sandboxed skill, in MiB; it is in memory while the skill runs.",
)

_MODE = AuditField("mode", "`sandboxed` or `standard`")
_SANDBOX = AuditField("sandbox", "in the mode `sandboxed`: `bubblewrap` or `limits`")
_SHA256 = AuditField("sha256", "checksum of the skill's files, if it ran from a snapshot")

SKILL_RUN = AuditAction(
    "skill.run",
    "A skill has run, or one of its dependencies was missing. If a cron job, a watcher, a task job or a trigger ran "
    "it, the entry of that run is the only one; a plan has an `intake.task_completed` instead.",
    (SKILL, _MODE, *ENDED_RUN, EXIT_CODE),
    (_SANDBOX, _SHA256),
    "The arguments are not recorded.",
)

FEATURE = Feature(
    name="skills",
    package=__package__,
    summary="programs that people and models run by name, sandboxed where required",
    page="skills.md",
    files=(
        WrittenFile(
            "skill", "skills/*/skill.yaml", "the manifest of a runnable skill", f"{__package__}.model:MANIFEST_FILE"
        ),
    ),
    variables=(SKILL_HOME_MIB,),
    audit_actions=(SKILL_RUN,),
    commands=(FeatureCommand("skills", "list, check, show and run skills"),),
    subsystems=(Subsystem("skills", "Skills", 600, "skills"),),
    provides=("skills",),
    run_kinds=("skill",),
)
