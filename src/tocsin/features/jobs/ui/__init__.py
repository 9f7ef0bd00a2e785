"""The page of task jobs."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, Tour, TourDemo, TourStop


def _create_jobs(demo: TourDemo) -> Mapping[str, str]:
    demo.call("POST", "jobs", title="Renew the certificate of the shop", priority="normal", labels=["ops"])
    started = demo.call("POST", "jobs", title="Move mail to the new host", priority="high", labels=["ops"])
    demo.call("POST", f"jobs/{started['id']}/start")
    return {}


PAGE = PageSpec(
    name="jobs",
    title="Tasks",
    group=MenuGroup.OPERATE,
    place=600,
    key="j",
    details={"/:id": "job"},
    runs=(RunSubject(kind="job", label="Task", key="subject_id"),),
    tour=Tour(stops=(TourStop(name="jobs", address="jobs?view=board", wait_for="h1"),), prepare=_create_jobs),
)
