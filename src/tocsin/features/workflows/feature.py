"""What workflows are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
from tocsin.features.workflows.audit_actions import WORKFLOW_RUN, WORKFLOW_SAVE
from tocsin.features.workflows.settings import HTTP_ALLOW_PRIVATE

FEATURE = Feature(
    name="workflows",
    summary="steps in a YAML file, run in order or as a graph, each run one record",
    page="workflows.md",
    variables=(HTTP_ALLOW_PRIVATE,),
    audit_actions=(WORKFLOW_RUN, WORKFLOW_SAVE),
    commands=(
        FeatureCommand(
            "workflows",
            "list, check, plan and run workflows",
            "tocsin.features.workflows.commands:configure_workflows",
        ),
    ),
    open="tocsin.features.workflows.opening:open_workflows",
    subsystems={"workflows": "tocsin.features.workflows.opening:subsystem_of"},
    checks=(FeatureCheck("tocsin.features.workflows.checks:check_workflows", at_start=True),),
    handlers=("tocsin.features.workflows.opening:approval_buttons_of",),
    dashboard_routes="tocsin.features.workflows.routes:workflow_operations",
    starts={"workflow": "tocsin.features.workflows.opening:start_workflow"},
    run_types={"workflow": "tocsin.features.workflows.opening:run_type_of"},
    subjects={"workflow": "tocsin.features.workflows.opening:list_workflows"},
    profile_uses="tocsin.features.workflows.opening:profile_uses",
)
