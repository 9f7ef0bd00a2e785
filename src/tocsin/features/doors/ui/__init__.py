"""The page of doors."""

import json
from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, SearchList, Tour, TourDemo, TourStop

_REQUESTS: tuple[Mapping[str, str], ...] = (
    {"title": "Disk is full", "text": "/srv has 91 % used.", "severity": "warning", "key": "nas/srv"},
    {"status": "failed", "project": "shop", "job": "deploy", "url": "https://ci.example.org/shop/812"},
    {"title": "Disk is fine again", "text": "/srv has 60 % used.", "severity": "ok", "key": "nas/srv"},
)


def _send_to_a_door(demo: TourDemo) -> Mapping[str, str]:
    from urllib.request import urlopen

    demo.call("POST", "doors", name="code", profile="oncall", preset="github")
    address = demo.call("POST", "doors/nas/rotate")["url"]
    for each in _REQUESTS:
        urlopen(address, json.dumps(each).encode(), timeout=30).close()  # noqa: S310  # of the demo

    def is_processed() -> bool:
        return all(each["state"] == "sent" for each in demo.call("GET", "doors/nas/requests"))

    demo.wait_until(is_processed, "the requests to a door")
    return {"request": demo.call("GET", "doors/nas/requests")[1]["id"]}


PAGE = PageSpec(
    name="doors",
    title="Doors",
    group=MenuGroup.TALK,
    place=250,
    key="f",
    details={"/new": "edit", "/:id": "door", "/:id/edit": "edit", "/:id/rule": "rule"},
    subsystem="doors",
    lists=(SearchList(path="/api/doors", label="Doors", key="name"),),
    tour=Tour(
        stops=(
            TourStop(name="doors", address="doors"),
            TourStop(name="door", address="doors/nas", theme="dark"),
            TourStop(name="door-rule", address="doors/nas/rule?request={request}", wait_for=".door__preview dd"),
        ),
        prepare=_send_to_a_door,
    ),
)
