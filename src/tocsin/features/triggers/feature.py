"""What triggers are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCommand, Subsystem
from tocsin.features.triggers.audit_actions import TRIGGER_RUN, TRIGGERS

FEATURE = Feature(
    name="triggers",
    package=__package__,
    summary="rules that run a command, a skill or a model for a received message",
    page="triggers.md",
    audit_actions=(TRIGGER_RUN,),
    audit_sources=(TRIGGERS,),
    commands=(FeatureCommand("triggers", "list the trigger rules, and show which one matches a message"),),
    subsystems=(Subsystem("messaging", "Messaging"),),
    run_kinds=("trigger",),
)
