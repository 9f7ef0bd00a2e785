"""The declaration of workflows."""

from tocsin.core.audit.actions import ENDED_RUN, AuditAction, AuditField
from tocsin.core.config.variables import Variable, boolean
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

HTTP_ALLOW_PRIVATE = Variable(
    "HTTP_ALLOW_PRIVATE",
    boolean,
    False,
    "Allow http steps of workflows to call this machine and private networks.",
)

_WORKFLOW = AuditField("workflow", "name of the workflow")
_RETRY_OF = AuditField("retry_of", "ID of the run that it continues")
_PARENT = AuditField("parent", "ID of the workflow run that started it")
_CREATED = AuditField("created", "whether the record is new")

WORKFLOW_SAVE = AuditAction(
    "workflow.save", "The file of a workflow was written.", (_WORKFLOW, _CREATED), (), "The content is not recorded."
)
WORKFLOW_RUN = AuditAction(
    "workflow.run",
    "A workflow ran, or its run was skipped. Skills, messages and child workflows that it started have "
    "their own entries.",
    (_WORKFLOW, *ENDED_RUN),
    (_RETRY_OF, _PARENT),
    "Parameters, commands and output are not recorded.",
)

WORKFLOW_FILE = WrittenFile(
    "workflow", "workflows/*.yaml", "a workflow", f"{__package__}.language.published_schema:published_schema"
)

FEATURE = Feature(
    name="workflows",
    package=__package__,
    summary="steps in a YAML file, run in sequence or as a graph",
    page="workflows.md",
    files=(WORKFLOW_FILE,),
    variables=(HTTP_ALLOW_PRIVATE,),
    audit_actions=(WORKFLOW_RUN, WORKFLOW_SAVE),
    commands=(FeatureCommand("workflows", "list, validate, plan and run workflows"),),
    subsystems=(Subsystem("workflows", "Workflows", 400, "workflows"),),
    run_kinds=("workflow",),
)
