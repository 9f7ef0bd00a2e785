"""The page of cron jobs."""

from tocsin.features.pages import FirstStep, MenuGroup, PageSpec, RunSubject, SearchList, Shortcut

PAGE = PageSpec(
    name="cron",
    title="Cron",
    group=MenuGroup.OPERATE,
    place=200,
    key="c",
    details={"/new": "edit", "/:id": "job", "/:id/edit": "edit"},
    often=True,
    subsystem="cron",
    runs=(RunSubject(kind="cron", label="Cron job", key="subject_id"),),
    lists=(SearchList(path="/api/cron/jobs", label="Cron jobs", key="id", can_run=True),),
    shortcuts=(
        Shortcut(
            label="New cron job",
            address="#/cron/new",
            command='tocsin cron add disk-check "every 15m" "df -h"',
            on_home=True,
        ),
    ),
    upcoming="/api/cron/upcoming",
    first_step=FirstStep(
        title="Create the first job",
        hint="Choose a command, a schedule and a destination for its output.",
        action="New job",
        address="#/cron/new",
        count="jobs",
    ),
)
