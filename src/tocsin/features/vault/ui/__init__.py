"""The page of secrets."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, Tour, TourDemo, TourStop


def _keep_a_secret(demo: TourDemo) -> Mapping[str, str]:
    demo.tocsin("vault", "init")
    demo.tocsin("vault", "set", "BACKUP_KEY", given="not a real secret\n")
    return {}


PAGE = PageSpec(
    name="vault",
    title="Vault",
    group=MenuGroup.SECURE,
    place=200,
    key="v",
    subsystem="vault",
    integration="Vault",
    tour=Tour(stops=(TourStop(name="vault", address="vault"),), prepare=_keep_a_secret),
)
