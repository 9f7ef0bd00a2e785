"""The audit entries of workflows."""

from tocsin.core.audit.actions import ENDED_RUN, AuditAction, AuditField

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
