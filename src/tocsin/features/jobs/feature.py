"""What task jobs are to the rest of the program."""

from tocsin.features.contract import BotCommand, Feature, FeatureCheck, FeatureCommand, LiveTopic
from tocsin.features.jobs.audit_actions import JOB_COMPLETE, JOB_CREATE, JOB_DELETE, JOB_START, JOBS
from tocsin.features.jobs.schema import MIGRATIONS
from tocsin.features.jobs.settings import JOB_HOOKS, JOB_REPOSITORIES, JOB_TIMEOUT_S

_FOLDER = "tocsin.features.jobs"

FEATURE = Feature(
    name="jobs",
    summary="task jobs: work with a state, on a git branch and in a work tree of its own",
    page="jobs.md",
    variables=(JOB_REPOSITORIES, JOB_HOOKS, JOB_TIMEOUT_S),
    tables={"jobs": MIGRATIONS},
    audit_actions=(JOB_CREATE, JOB_START, JOB_COMPLETE, JOB_DELETE),
    audit_sources=(JOBS,),
    commands=(
        FeatureCommand(
            "jobs",
            "create, start, complete and delete task jobs, and show their git branches",
            f"{_FOLDER}.commands:configure_jobs",
        ),
    ),
    open=f"{_FOLDER}.opening:open_jobs",
    checks=(FeatureCheck(f"{_FOLDER}.checks:check_jobs"),),
    status=f"{_FOLDER}.opening:status_of",
    services=(f"{_FOLDER}.opening:watch_of",),
    bot_commands=(BotCommand("jobs", "list the newest task jobs", f"{_FOLDER}.opening:jobs_command"),),
    dashboard_routes=f"{_FOLDER}.routes:job_operations",
    live=(
        LiveTopic("jobs", "job", f"{_FOLDER}.opening:live_jobs", tells_new=True),
        LiveTopic("branches", "branch", f"{_FOLDER}.opening:live_branches"),
    ),
    run_types={"job": f"{_FOLDER}.opening:run_type_of"},
    starts={"job": f"{_FOLDER}.opening:start_job"},
    subjects={"job": f"{_FOLDER}.opening:startable_jobs"},
)
