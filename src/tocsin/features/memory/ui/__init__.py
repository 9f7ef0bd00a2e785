"""The page of stored notes."""

from tocsin.features.pages import MenuGroup, PageSpec

PAGE = PageSpec(
    name="memory",
    title="Memory",
    group=MenuGroup.KNOWLEDGE,
    place=100,
    key="y",
    details={"/:key": "page"},
    subsystem="memory",
)
