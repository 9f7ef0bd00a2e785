"""The audit entries of task jobs."""

from tocsin.core.audit.actions import ACTOR, OK, REASON, RUN, STATUS, AuditAction, AuditField, AuditSource

JOBS = AuditSource("jobs", "the run of a task job", (RUN,))

_JOB = AuditField("job", "ID of the job")
_REPO = AuditField("repo", "path of the git repository, or `null` for a job without one")
_BRANCH = AuditField("branch", "branch of the job, or `null` for a job without one")
_BRANCH_DELETED = AuditField("branch_deleted", "whether its branch was also deleted")

JOB_CREATE = AuditAction(
    "job.create", "A task job was created.", (_JOB, _REPO, _BRANCH), (ACTOR,), "The title and command are not recorded."
)
JOB_START = AuditAction(
    "job.start", "A task job was started.", (_JOB,), (RUN, ACTOR), "`run` if the job has a command or a skill"
)
JOB_COMPLETE = AuditAction(
    "job.complete", "A task job ended.", (_JOB, STATUS), (RUN, OK, REASON, ACTOR), "`ok` if its run ended it"
)
JOB_DELETE = AuditAction(
    "job.delete", "A task job and its work tree were deleted.", (_JOB, _BRANCH, _BRANCH_DELETED), (ACTOR,)
)
