"""The page of skills."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList

PAGE = PageSpec(
    name="skills",
    title="Skills",
    group=MenuGroup.KNOWLEDGE,
    place=200,
    key="k",
    details={"/:name": "skill"},
    subsystem="skills",
    runs=(RunSubject(kind="skill", label="Skill", key="subject_name"),),
    lists=(SearchList(path="/api/skills", label="Skills"),),
)
