"""The page of secrets."""

from tocsin.features.pages import MenuGroup, PageSpec

PAGE = PageSpec(
    name="vault",
    title="Vault",
    group=MenuGroup.SECURE,
    place=200,
    key="v",
    subsystem="vault",
    integration="Vault",
)
