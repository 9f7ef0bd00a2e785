"""The page of skills."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList, Tour, TourDemo, TourStop


def _greet(demo: TourDemo) -> Mapping[str, str]:
    demo.run("skills/greet/run", args=["Carol"])
    return {}


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
    tour=Tour(
        stops=(
            TourStop(name="skills", address="skills"),
            TourStop(name="skill", address="skills/code-reviewer", wait_for="h1"),
        ),
        prepare=_greet,
    ),
)
