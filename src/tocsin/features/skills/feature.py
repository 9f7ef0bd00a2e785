"""What skills are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCommand, Subsystem
from tocsin.features.skills.audit_actions import SKILL_RUN
from tocsin.features.skills.settings import SKILL_HOME_MIB

FEATURE = Feature(
    name="skills",
    package=__package__,
    summary="programs that people and models run by name, sandboxed where required",
    page="skills.md",
    variables=(SKILL_HOME_MIB,),
    audit_actions=(SKILL_RUN,),
    commands=(FeatureCommand("skills", "list, check, show and run skills"),),
    subsystems=(Subsystem("skills", "Skills", 600, "skills"),),
    provides=("skills",),
    run_kinds=("skill",),
)
