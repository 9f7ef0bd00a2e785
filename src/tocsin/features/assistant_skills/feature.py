"""The declaration of assistant skills."""

from tocsin.core.audit.actions import ENDED_RUN, RUN, SKILL, AuditAction, AuditField
from tocsin.features.assistant_skills.schema import MIGRATIONS
from tocsin.features.assistant_skills.settings import SKILLS_AUTO_APPLY, SKILLS_CALLS_PER_HOUR, SKILLS_WATCH
from tocsin.features.contract import Feature, FeatureCommand, WrittenFile

_FINDINGS = AuditField("findings", "number of findings")
_CHANGES = AuditField("changes", "number of files with proposed or written changes")
_APPLIED = AuditField("applied", "whether the changes were written automatically")

SKILL_ASSIST = AuditAction(
    "skill.assist",
    "An assistant skill has looked at files. If a task job or a trigger ran it, the entry of that run is the only one; "
    "a plan has an `intake.task_completed` instead.",
    (SKILL, *ENDED_RUN),
    (_FINDINGS, _CHANGES, _APPLIED),
    "The findings and paths are not recorded.",
)
SKILL_APPLY = AuditAction("skill.apply", "The changes proposed by a run were written.", (RUN, SKILL, _CHANGES))

FEATURE = Feature(
    name="assistant_skills",
    package=__package__,
    summary="instructions for a model, or fixed rules, that check files when they change",
    page="assistant_skills.md",
    files=(
        WrittenFile(
            "assistant_skill",
            "skills/*/SKILL.md",
            "the front matter of an assistant skill",
            "tocsin.core.reading.front_matter:front_matter_schema",
        ),
    ),
    variables=(SKILLS_WATCH, SKILLS_AUTO_APPLY, SKILLS_CALLS_PER_HOUR),
    tables={"assistant_skills": MIGRATIONS},
    audit_actions=(SKILL_APPLY, SKILL_ASSIST),
    commands=(
        FeatureCommand("apply", "apply the changes that a run proposed", under="skills"),
        FeatureCommand("why", "explain why a skill is or is not active for a file", under="skills"),
        FeatureCommand("which", "list the skills that are active for a file", under="skills"),
        FeatureCommand("watch", "watch folders, and run skills on changed files", under="skills"),
    ),
    run_kinds=("skill",),
    provides=("assistants",),
)
