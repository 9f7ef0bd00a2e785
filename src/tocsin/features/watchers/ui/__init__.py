"""The page of watched folders."""

from tocsin.features.pages import PageSpec, RunSubject, Tour, TourDemo, TourStop


def _drop_a_file(demo: TourDemo) -> None:
    (demo.home / "inbox" / "today").write_text("one\ntwo\n")


PAGE = PageSpec(
    name="watchers",
    title="Watchers",
    place=100,
    key="e",
    details={"/:name": "watcher"},
    subsystem="watchers",
    runs=(RunSubject(kind="watcher", label="Watcher", key="subject_name"),),
    # Late: what it sends begins with a sign that not every machine can draw.
    tour=Tour(stops=(TourStop(name="watchers", address="watchers", before=_drop_a_file),)),
)
