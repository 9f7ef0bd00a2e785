"""The page of workflows."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList

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
)
