"""What assistant skills are to the rest of the program."""

from tocsin.features.assistant_skills.audit_actions import SKILL_APPLY, SKILL_ASSIST
from tocsin.features.assistant_skills.schema import MIGRATIONS
from tocsin.features.assistant_skills.settings import SKILLS_AUTO_APPLY, SKILLS_CALLS_PER_HOUR, SKILLS_WATCH
from tocsin.features.contract import Feature, FeatureCommand

FEATURE = Feature(
    name="assistant_skills",
    package=__package__,
    summary="instructions for a model, or fixed rules, that check files when they change",
    page="assistant_skills.md",
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
