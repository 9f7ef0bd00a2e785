"""The description of a dashboard page as data: it defines the menu, the palette, Home and the pages of runs.

The package `ui` in a feature's folder defines `PAGE` and holds the modules of the page. See `docs/writing-a-page.md`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol


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
    """A step of a new installation, in the list on Home.

    `form` is a module of `ui/` whose `StepForm` the step opens, for callers with `scope`. The step is done once the
    page's subsystem counts at least one of `count`, or the answer of `GET <state>` has `done`.
    """

    title: str
    hint: str
    action: str
    form: str
    scope: Literal["read", "send", "run", "admin"]
    count: str = ""
    state: str = ""  # the path of an operation


class SshServer(NamedTuple):
    """An SSH server on this machine."""

    name: str
    port: int
    key: Path  # a private key that it accepts
    known_hosts: Path


class TourDemo(Protocol):
    """The running demo, as the pages of the tour prepare it for their pictures."""

    @property
    def home(self) -> Path:
        """Return the data directory of the demo."""

    def call(self, method: str, path: str, **body: Any) -> Any:
        """Call an operation of the REST API; return its answer."""

    def run(self, path: str, **body: Any) -> str:
        """Start a run with `POST`, wait for its end and return its ID."""

    def wait_until(self, holds: Callable[[], bool], awaited: str) -> None:
        """Wait until `holds` returns true; the error of a time-out names what was `awaited`."""

    def tocsin(self, *words: str, given: str = "") -> None:
        """Run a command of `tocsin` on the demo's data, with `given` on its standard input."""

    def start_ssh_servers(self, *names: str) -> Sequence[SshServer]:
        """Start SSH servers that end with the demo; none where sshd is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStop:
    """A picture of the tour."""

    name: str  # of the picture
    address: str  # without `#/`; `{report}` stands for a value that the page's `prepare` returned
    wait_for: str = "tbody tr"  # a CSS selector of what is shown once the page is ready
    theme: Literal["light", "dark"] = "light"
    chosen: Mapping[str, str] = field(default_factory=dict)  # by CSS selector of a list: the option
    typed: Mapping[str, str] = field(default_factory=dict)  # by label of a field: the text
    before: Callable[[TourDemo], None] | None = None  # called just before the page is opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """The pictures of a page, and what has to be there before the first picture of the tour is taken."""

    stops: tuple[TourStop, ...]
    prepare: Callable[[TourDemo], Mapping[str, str]] | None = None  # returns values for addresses by name


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
    tour: Tour | None = None  # what `make tour` shows of it
