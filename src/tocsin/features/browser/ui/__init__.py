"""The page of browsers."""

from tocsin.features.pages import PageSpec

PAGE = PageSpec(
    name="browser",
    title="Browser",
    place=200,
    key="b",
    subsystem="browser",
    integration="Browser profiles",
)
