"""The page of cron jobs."""

from collections.abc import Mapping

from tocsin.features.pages import (
    FirstStep,
    MenuGroup,
    PageSpec,
    RunSubject,
    SearchList,
    Shortcut,
    Tour,
    TourDemo,
    TourStop,
)


def _run_jobs(demo: TourDemo) -> Mapping[str, str]:
    jobs = {job["name"]: job["id"] for job in demo.call("GET", "cron/jobs")["items"]}
    for name in ("disk-check", "backup", "disk-check"):
        demo.run(f"cron/jobs/{jobs[name]}/run")
    return {"failing": jobs["backup"]}


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
        form="first",
        scope="admin",
        count="jobs",
    ),
    tour=Tour(
        stops=(
            TourStop(name="cron", address="cron"),
            TourStop(name="cron-job", address="cron/{failing}?tab=log", wait_for=".log__text"),
        ),
        prepare=_run_jobs,
    ),
)
