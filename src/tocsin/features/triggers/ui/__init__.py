"""The page of rules for received messages."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject

PAGE = PageSpec(
    name="triggers",
    title="Triggers",
    group=MenuGroup.TALK,
    place=500,
    key="i",
    runs=(RunSubject(kind="trigger", label="Trigger"),),
)
