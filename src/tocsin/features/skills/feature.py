"""What skills are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
from tocsin.features.skills.audit_actions import SKILL_RUN
from tocsin.features.skills.settings import SKILL_HOME_MIB

FEATURE = Feature(
    name="skills",
    summary="programs that people and models run by name, confined where they must be",
    page="skills.md",
    variables=(SKILL_HOME_MIB,),
    audit_actions=(SKILL_RUN,),
    commands=(
        FeatureCommand(
            "skills", "list, check, show and run skills", "tocsin.features.skills.commands:configure_skills"
        ),
    ),
    open="tocsin.features.skills.opening:open_skills",
    checks=(FeatureCheck("tocsin.features.skills.checks:check_skills", at_start=True),),
    subsystems={"skills": "tocsin.features.skills.opening:subsystem_of"},
    on_start="tocsin.features.skills.opening:tell_sandbox",
    dashboard_routes="tocsin.features.skills.routes:skill_operations",
    provides={
        "list_skills": "tocsin.features.skills.opening:list_skills_of",
        "run_skill": "tocsin.features.skills.opening:run_skill_of",
    },
    run_types={"skill": "tocsin.features.skills.opening:run_type_of"},
    starts={"skill": "tocsin.features.skills.opening:start_skill"},
)
