"""The page of workflows."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList, Tour, TourStop

PAGE = PageSpec(
    name="workflows",
    title="Workflows",
    group=MenuGroup.OPERATE,
    place=300,
    key="w",
    details={"/:name": "workflow"},
    subsystem="workflows",
    runs=(RunSubject(kind="workflow", label="Workflow", key="subject_name", part="run_steps"),),
    lists=(SearchList(path="/api/workflows", label="Workflows"),),
    tour=Tour(
        stops=(
            TourStop(name="workflows", address="workflows"),
            TourStop(name="workflow", address="workflows/release", wait_for=".graph__box--warn"),
            TourStop(name="run", address="runs/{report}", wait_for=".log__text", theme="dark"),
        ),
        prepare=lambda demo: {"report": demo.run("workflows/disk-report/run", params={})},
    ),
)
