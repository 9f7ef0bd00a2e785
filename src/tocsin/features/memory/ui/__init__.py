"""The page of stored notes."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, Tour, TourDemo, TourStop

_MEMORIES = (
    ("backup.target", "Backups go to the store in Falkenstein, every night at 03:00.", "fact"),
    ("deploy.freeze", "No deployments on Fridays after 15:00.", "preference"),
    ("incident.2026-11", "The disk of db1 was full because of old binary logs; they are rotated now.", "event"),
)


def _remember(demo: TourDemo) -> Mapping[str, str]:
    for key, value, kind in _MEMORIES:
        demo.call("POST", "memory", key=key, value=value, type=kind, tags=["demo"])
    return {}


PAGE = PageSpec(
    name="memory",
    title="Memory",
    group=MenuGroup.KNOWLEDGE,
    place=100,
    key="y",
    details={"/:key": "page"},
    subsystem="memory",
    tour=Tour(stops=(TourStop(name="memory", address="memory"),), prepare=_remember),
)
