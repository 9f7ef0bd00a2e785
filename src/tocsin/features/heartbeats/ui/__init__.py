"""The page of heartbeats."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, SearchList, Tour, TourDemo, TourStop


def _add_heartbeats(demo: TourDemo) -> Mapping[str, str]:
    demo.call("POST", "heartbeats", name="nightly-backup", schedule="0 3 * * *", grace="30m", tags=["backup"])
    demo.call("POST", "heartbeats", name="sensor", period="5m", grace="2m", description="the greenhouse")
    demo.call("POST", "heartbeats", name="mirror", period="1d", grace="2h")
    demo.call("POST", "heartbeats/mirror/pause")
    return {}


PAGE = PageSpec(
    name="heartbeats",
    title="Heartbeats",
    group=MenuGroup.OPERATE,
    place=250,
    key="u",
    details={"/new": "edit", "/:id": "heartbeat", "/:id/edit": "edit"},
    subsystem="heartbeats",
    lists=(SearchList(path="/api/heartbeats", label="Heartbeats", key="name"),),
    tour=Tour(stops=(TourStop(name="heartbeats", address="heartbeats"),), prepare=_add_heartbeats),
)
