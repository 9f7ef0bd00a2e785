"""What assistant skills are to the rest of the program."""

from tocsin.features.assistant_skills.audit_actions import SKILL_APPLY, SKILL_ASSIST
from tocsin.features.assistant_skills.schema import MIGRATIONS
from tocsin.features.assistant_skills.settings import SKILLS_AUTO_APPLY, SKILLS_CALLS_PER_HOUR, SKILLS_WATCH
from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand

_COMMANDS = "tocsin.features.assistant_skills.commands:"

FEATURE = Feature(
    name="assistant_skills",
    summary="instructions by which a model, or fixed rules, look at files when they change",
    page="assistant_skills.md",
    variables=(SKILLS_WATCH, SKILLS_AUTO_APPLY, SKILLS_CALLS_PER_HOUR),
    tables={"assistant_skills": MIGRATIONS},
    audit_actions=(SKILL_APPLY, SKILL_ASSIST),
    commands=(
        FeatureCommand("apply", "write the changes that a run proposed", f"{_COMMANDS}configure_apply", "skills"),
        FeatureCommand("why", "say why a skill acts on a file, or does not", f"{_COMMANDS}configure_why", "skills"),
        FeatureCommand("which", "list the skills that act on a file", f"{_COMMANDS}configure_which", "skills"),
        FeatureCommand(
            "watch", "watch folders, and have skills look at every change", f"{_COMMANDS}configure_watch", "skills"
        ),
    ),
    run_types={"skill": "tocsin.features.assistant_skills.opening:run_type_of"},
    open="tocsin.features.assistant_skills.opening:open_assistant_skills",
    checks=(FeatureCheck("tocsin.features.assistant_skills.checks:check_assistant_skills", at_start=True),),
    services=("tocsin.features.assistant_skills.opening:watch_service_of",),
    hourly="tocsin.features.assistant_skills.opening:prune",
    dashboard_routes="tocsin.features.assistant_skills.routes:assistant_operations",
    provides={
        "describe_assistant": "tocsin.features.assistant_skills.opening:describe_assistant_of",
        "start_assistant": "tocsin.features.assistant_skills.opening:start_assistant_of",
        "list_assistants": "tocsin.features.assistant_skills.opening:list_assistants_of",
        "assistant_names": "tocsin.features.assistant_skills.opening:assistant_names_of",
        "run_assistant": "tocsin.features.assistant_skills.opening:run_assistant_of",
    },
)
