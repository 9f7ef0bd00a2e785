"""The page of folders of backups."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList, Tour, TourStop

PAGE = PageSpec(
    name="freshness",
    title="Backups",
    group=MenuGroup.OPERATE,
    place=700,
    key="f",
    subsystem="freshness",
    runs=(RunSubject(kind="freshness", label="Backup check"),),
    lists=(SearchList(path="/api/freshness/folders", label="Backups", can_run=True),),
    tour=Tour(stops=(TourStop(name="backups", address="freshness"),)),
)
