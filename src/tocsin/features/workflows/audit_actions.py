"""The audit entries of workflows."""

from tocsin.core.audit.actions import ENDED_RUN, AuditAction, AuditField

_WORKFLOW = AuditField("workflow", "the name of the workflow")
_RETRY_OF = AuditField("retry_of", "the ID of the run that it continues")
_PARENT = AuditField("parent", "the ID of the run of the workflow that started it")

_CREATED = AuditField("created", "whether there was none of that name")

WORKFLOW_SAVE = AuditAction(
    "workflow.save", "The file of a workflow was written.", (_WORKFLOW, _CREATED), (), "never its content"
)
WORKFLOW_RUN = AuditAction(
    "workflow.run",
    "A workflow has run, or its run was skipped. Skills, messages and child workflows that it started have entries "
    "of their own.",
    (_WORKFLOW, *ENDED_RUN),
    (_RETRY_OF, _PARENT),
    "never parameters, commands or output",
)
