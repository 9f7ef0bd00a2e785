"""The page of browsers."""

from collections.abc import Mapping

from tocsin.features.pages import PageSpec, Tour, TourDemo, TourStop


def _write_profiles(demo: TourDemo) -> Mapping[str, str]:
    file = demo.home / "browser_profiles.yaml"
    file.touch(mode=0o600)
    file.write_text("profiles:\n  - {name: office, default: true}\n  - {name: shop}\n")
    return {}


PAGE = PageSpec(
    name="browser",
    title="Browser",
    place=200,
    key="b",
    subsystem="browser",
    integration="Browser profiles",
    tour=Tour(stops=(TourStop(name="browser", address="browser"),), prepare=_write_profiles),
)
