"""What workflows are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCommand, Subsystem
from tocsin.features.workflows.audit_actions import WORKFLOW_RUN, WORKFLOW_SAVE
from tocsin.features.workflows.settings import HTTP_ALLOW_PRIVATE

FEATURE = Feature(
    name="workflows",
    package=__package__,
    summary="steps in a YAML file, run in sequence or as a graph",
    page="workflows.md",
    variables=(HTTP_ALLOW_PRIVATE,),
    audit_actions=(WORKFLOW_RUN, WORKFLOW_SAVE),
    commands=(FeatureCommand("workflows", "list, check, plan and run workflows"),),
    subsystems=(Subsystem("workflows", "Workflows", 400, "workflows"),),
    run_kinds=("workflow",),
)
