"""The audit entries of task jobs."""

from tocsin.core.audit.actions import ACTOR, OK, REASON, RUN, STATUS, AuditAction, AuditField, AuditSource

JOBS = AuditSource("jobs", "a task job whose run has ended", (RUN,))

_JOB = AuditField("job", "the ID of the job")
_REPO = AuditField("repo", "the path of the git repository, `null` for a job without one")
_BRANCH = AuditField("branch", "the branch of the job, `null` for a job without one")
_BRANCH_DELETED = AuditField("branch_deleted", "whether its branch was deleted, too")

JOB_CREATE = AuditAction(
    "job.create", "A task job was created.", (_JOB, _REPO, _BRANCH), (ACTOR,), "never its title and command"
)
JOB_START = AuditAction(
    "job.start", "A task job was started.", (_JOB,), (RUN, ACTOR), "`run` where it has a command or a skill"
)
JOB_COMPLETE = AuditAction(
    "job.complete", "A task job has ended.", (_JOB, STATUS), (RUN, OK, REASON, ACTOR), "`ok` where its run ended it"
)
JOB_DELETE = AuditAction(
    "job.delete", "A task job was deleted, with its work tree.", (_JOB, _BRANCH, _BRANCH_DELETED), (ACTOR,)
)
