"""A page of the dashboard, as data: the menu, the palette, Home and the pages about runs are made from it.

The package `ui` in a feature's folder defines `PAGE`, and holds the modules of the page. See `docs/writing-a-page.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class MenuGroup(StrEnum):
    """A group of the menu, in the order in which they are shown."""

    OPERATE = "operate"
    TALK = "talk"
    KNOWLEDGE = "knowledge"
    SECURE = "secure"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSubject:
    """What the pages about runs show of a kind of run."""

    kind: str
    label: str  # such as `Cron job`
    key: str = ""  # the field of a run that names its page, `subject_id` or `subject_name`; empty: it has none
    part: str = ""  # a module of `ui/` whose `RunPart` shows more of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchList:
    """Records that the palette finds by name."""

    path: str  # of the operation that lists them
    label: str  # heads them, such as `Cron jobs`
    key: str = "name"  # the field that names the page of a record
    can_run: bool = False  # `POST <path>/<key>/run` starts one


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """An action that the palette offers: it opens an address, or calls an operation without a body."""

    label: str
    icon: str = "plus"
    address: str = ""  # such as `#/cron/new`
    post: str = ""
    command: str = ""  # does the same on the command line
    on_home: bool = False  # also a button of Home, with the key `n`


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    """What a new installation needs first, done as soon as the subsystem of the page counts one of `count`."""

    title: str
    hint: str
    action: str
    address: str
    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpec:
    """A page, its address `#/<name>` and its entry in the menu.

    `ui/page.js` shows it, and `ui/icon.svg` is its icon: one path on a field of 20 by 20. `details` are further
    addresses below it and the modules that show them, as in `{"/:id/edit": "edit"}`.
    """

    name: str
    title: str
    group: MenuGroup = MenuGroup.SYSTEM
    place: int = 500  # in the group: the lowest comes first
    key: str = ""  # goes there after `g`
    details: Mapping[str, str] = field(default_factory=dict)
    often: bool = False  # also in the bar at the bottom of a small screen
    subsystem: str = ""  # whose state the menu shows
    badge: str = ""  # a number of the status report that the menu shows, such as `runs.active`
    header: str = ""  # a component that stands in the header, as `module:Component` of `ui/`
    runs: tuple[RunSubject, ...] = ()
    lists: tuple[SearchList, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    integration: str = ""  # what the settings call the subsystem among what Tocsin is connected to
    upcoming: str = ""  # the path of the operation that lists what is due, as `DueRun`s
    first_step: FirstStep | None = None
