"""What task jobs are to the rest of the program."""

from tocsin.features.contract import BotCommand, Feature, FeatureCommand, LiveTopic
from tocsin.features.jobs.audit_actions import JOB_COMPLETE, JOB_CREATE, JOB_DELETE, JOB_START, JOBS
from tocsin.features.jobs.schema import MIGRATIONS
from tocsin.features.jobs.settings import JOB_HOOKS, JOB_REPOSITORIES, JOB_TIMEOUT_S

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
