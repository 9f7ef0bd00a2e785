"""The declaration of task jobs."""

from tocsin.core.audit.actions import ACTOR, OK, REASON, RUN, STATUS, AuditAction, AuditField, AuditSource
from tocsin.features.contract import BotCommand, Feature, FeatureCommand, LiveTopic
from tocsin.features.jobs.schema import MIGRATIONS
from tocsin.features.jobs.settings import JOB_HOOKS, JOB_REPOSITORIES, JOB_TIMEOUT_S

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

FEATURE = Feature(
    name="jobs",
    package=__package__,
    summary="task jobs: units of work with a state, each on its own git branch and work tree",
    page="jobs.md",
    variables=(JOB_REPOSITORIES, JOB_HOOKS, JOB_TIMEOUT_S),
    tables={"jobs": MIGRATIONS},
    audit_actions=(JOB_CREATE, JOB_START, JOB_COMPLETE, JOB_DELETE),
    audit_sources=(JOBS,),
    commands=(FeatureCommand("jobs", "create, start, complete and delete task jobs, and show their git branches"),),
    bot_commands=(BotCommand("jobs", "list task jobs, newest first"),),
    live=(
        LiveTopic("jobs", "job", tells_new=True),
        LiveTopic("branches", "branch"),
    ),
    run_kinds=("job",),
)
