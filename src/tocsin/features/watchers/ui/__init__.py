"""The page of watched folders."""

from tocsin.features.pages import PageSpec, RunSubject

PAGE = PageSpec(
    name="watchers",
    title="Watchers",
    place=100,
    key="e",
    details={"/:name": "watcher"},
    subsystem="watchers",
    runs=(RunSubject(kind="watcher", label="Watcher", key="subject_name"),),
)
