"""The page of devices."""

from tocsin.features.pages import MenuGroup, PageSpec, Tour, TourStop

PAGE = PageSpec(
    name="devices",
    title="Devices",
    group=MenuGroup.TALK,
    place=650,
    key="x",
    tour=Tour(stops=(TourStop(name="devices", address="devices"),)),
)
