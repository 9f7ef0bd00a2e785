"""What triggers are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
from tocsin.features.triggers.audit_actions import TRIGGER_RUN, TRIGGERS

FEATURE = Feature(
    name="triggers",
    summary="rules that run a command, a skill or a question for a received message",
    page="triggers.md",
    audit_actions=(TRIGGER_RUN,),
    audit_sources=(TRIGGERS,),
    commands=(
        FeatureCommand(
            "triggers",
            "list the trigger rules and show which one a message would fire",
            "tocsin.features.triggers.commands:configure_triggers",
        ),
    ),
    open="tocsin.features.triggers.opening:open_triggers",
    subsystems={"messaging": "tocsin.features.triggers.opening:subsystem_of"},
    checks=(FeatureCheck("tocsin.features.triggers.checks:check_triggers", at_start=True),),
    run_types={"trigger": "tocsin.features.triggers.opening:run_type_of"},
    handlers=("tocsin.features.triggers.opening:handler_of",),
    dashboard_routes="tocsin.features.triggers.routes:trigger_operations",
    last_handlers=("tocsin.features.triggers.opening:tell_unknown_commands",),
)
