"""The page of rules for received messages."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, Tour, TourStop

PAGE = PageSpec(
    name="triggers",
    title="Triggers",
    group=MenuGroup.TALK,
    place=500,
    key="i",
    runs=(RunSubject(kind="trigger", label="Trigger"),),
    tour=Tour(stops=(TourStop(name="triggers", address="triggers", typed={"Test a message": "weather Oslo"}),)),
)
