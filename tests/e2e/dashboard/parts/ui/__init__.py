"""The page of all parts."""

from tocsin.features.pages import PageSpec

PAGE = PageSpec(name="parts", title="Parts", place=999)
