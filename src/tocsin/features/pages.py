"""The description of a dashboard page as data: it defines the menu, the palette, Home and the pages of runs.

The package `ui` in a feature's folder defines `PAGE` and holds the modules of the page. See `docs/writing-a-page.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class MenuGroup(StrEnum):
    """A group of the menu, in display order."""

    OPERATE = "operate"
    TALK = "talk"
    KNOWLEDGE = "knowledge"
    SECURE = "secure"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSubject:
    """How the pages of runs show runs of one kind."""

    kind: str
    label: str  # such as `Cron job`
    key: str = ""  # the field of a run that names its page, `subject_id` or `subject_name`; empty if it has no page
    part: str = ""  # a module of `ui/` whose `RunPart` shows details of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchList:
    """Records that the palette finds by name."""

    path: str  # the path of the operation that lists them
    label: str  # their heading, such as `Cron jobs`
    key: str = "name"  # the field that names the page of a record
    can_run: bool = False  # `POST <path>/<key>/run` starts a record


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """An action in the palette: it opens an address, or calls an operation without a body."""

    label: str
    icon: str = "plus"
    address: str = ""  # such as `#/cron/new`
    post: str = ""
    command: str = ""  # the equivalent command line
    on_home: bool = False  # also a button on Home, with the key `n`


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    """The first step of a new installation: done once the page's subsystem counts at least one of `count`."""

    title: str
    hint: str
    action: str
    address: str
    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpec:
    """A page, its address `#/<name>` and its entry in the menu.

    `ui/page.js` renders it, and `ui/icon.svg` is its icon: one path on a canvas of 20 by 20. `details` maps further
    addresses below it to the modules that render them, as in `{"/:id/edit": "edit"}`.
    """

    name: str
    title: str
    group: MenuGroup = MenuGroup.SYSTEM
    place: int = 500  # position in the group: the lowest comes first
    key: str = ""  # opens the page after `g`
    details: Mapping[str, str] = field(default_factory=dict)
    often: bool = False  # also shown in the bottom bar of a small screen
    subsystem: str = ""  # the subsystem whose state the menu shows
    badge: str = ""  # a number of the status report shown in the menu, such as `runs.active`
    header: str = ""  # a component for the header, as `module:Component` of `ui/`
    runs: tuple[RunSubject, ...] = ()
    lists: tuple[SearchList, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    integration: str = ""  # the name of the subsystem in the list of integrations in the settings
    upcoming: str = ""  # the path of the operation that lists due runs, as `DueRun`s
    first_step: FirstStep | None = None
