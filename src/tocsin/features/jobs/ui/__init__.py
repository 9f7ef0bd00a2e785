"""The page of task jobs."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject

PAGE = PageSpec(
    name="jobs",
    title="Tasks",
    group=MenuGroup.OPERATE,
    place=600,
    key="j",
    details={"/:id": "job"},
    runs=(RunSubject(kind="job", label="Task", key="subject_id"),),
)
