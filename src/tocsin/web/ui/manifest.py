"""The manifest: the pages of this installation, for the browser, generated from the features' declarations."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.core.errors import ConfigError
from tocsin.features.contract import Feature, load_module
from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, Shortcut

log = logging.getLogger(__name__)

_PATH = re.compile(r'<path d="([^"]+)"')

RESERVED: Final = frozenset({"login"})  # addresses of the frame
# The filters on the page of the audit log, in addition to the features' actions.
CORE_FAMILIES: Final = ("access", "bot", "dashboard", "intake", "msg", "run", "token")
CORE_SOURCES: Final = ("api", "bot", "bus", "cli", "dashboard", "gateway", "notifications", "queue")
CORE_PAGES: Final = (
    PageSpec(
        name="home",
        title="Home",
        group=MenuGroup.OPERATE,
        place=100,
        key="h",
        badge="attention",
        often=True,
    ),
    PageSpec(
        name="runs",
        title="Runs",
        group=MenuGroup.OPERATE,
        place=400,
        key="r",
        badge="runs.active",
        details={"/:id": "run"},
    ),
    PageSpec(
        name="msg",
        title="Messaging",
        group=MenuGroup.TALK,
        place=100,
        key="m",
        often=True,
        subsystem="messaging",
        shortcuts=(Shortcut(label="Send a message", icon="msg", address="#/msg"),),
    ),
    PageSpec(
        name="deliveries",
        title="Deliveries",
        group=MenuGroup.TALK,
        place=200,
        key="d",
        details={"/:id": "delivery"},
    ),
    PageSpec(name="access", title="Access", group=MenuGroup.TALK, place=600, key="p"),
    PageSpec(
        name="audit",
        title="Audit",
        group=MenuGroup.SECURE,
        place=100,
        key="a",
        subsystem="audit",
    ),
    PageSpec(name="settings", title="Settings", group=MenuGroup.SYSTEM, place=900, key="o"),
)


class FeatureUi(NamedTuple):
    """The page of a feature, and the folder of its modules."""

    feature: Feature
    page: PageSpec
    folder: Path
    icon: str  # the path of `icon.svg`, drawn in the text colour

    @property
    def prefix(self) -> str:
        """Return the path prefix of the modules in the browser."""
        return f"features/{self.feature.name}"


@lru_cache(maxsize=1)  # the settings list integrations by them, and each problem is logged once
def feature_pages(features: tuple[Feature, ...]) -> tuple[FeatureUi, ...]:
    """Return the pages of the features; a page that cannot be loaded is logged and omitted."""
    found: list[FeatureUi] = []
    taken = {page.name for page in CORE_PAGES} | RESERVED
    for feature in features:
        try:
            ui = _ui_of(feature)
        except Exception:  # a plug-in may have any bug: the other pages are still shown
            log.exception("the page of a plug-in cannot be shown", extra={"feature": feature.name})
            continue
        if ui and ui.page.name in taken:
            log.error("two pages have the same name", extra={"feature": feature.name, "page": ui.page.name})
        elif ui:
            taken.add(ui.page.name)
            found.append(ui)
    return tuple(found)


def _ui_of(feature: Feature) -> FeatureUi | None:
    module = load_module(feature, "ui")
    if module is None or not module.__file__:
        return None
    if not isinstance(module.PAGE, PageSpec):
        raise TypeError("PAGE is not a tocsin.features.pages.PageSpec")
    if module.PAGE.header and module.PAGE.header.count(":") != 1:
        raise ConfigError(f"the header of the page {module.PAGE.name} is not `module:Component`")
    folder = Path(module.__file__).parent
    icon = _PATH.search((folder / "icon.svg").read_text(encoding="utf-8"))
    if not icon:
        raise ConfigError(f"{folder / 'icon.svg'} has no path", hint="Draw it as one path in a viewBox of 20 by 20.")
    return FeatureUi(feature, module.PAGE, folder, icon[1])


def build_manifest(features: Sequence[Feature], pages: Sequence[FeatureUi]) -> dict[str, Any]:
    """Return the manifest for the browser: see `lib/manifest.js`."""
    entries = _menu(pages)
    icons = {ui.page.name: ui.icon for ui in pages}
    keys: dict[str, str] = {}
    for page, _ in sorted(entries, key=lambda entry: entry[1] != "pages"):  # those of the core are documented
        keys.setdefault(page.key, page.name)
    live = [topic for feature in features for topic in feature.live]
    families = {action.name.partition(".")[0] for feature in features for action in feature.audit_actions}
    sources = {source.name for feature in features for source in feature.audit_sources}
    return {
        "pages": [
            _entry(page, place)
            | {"icon": icons.get(page.name, ""), "key": page.key if keys[page.key] == page.name else ""}
            for page, place in entries
        ],
        "run_kinds": {kind.kind: _kind(kind, page, place) for page, place in entries for kind in page.runs},
        "lists": [{"page": page.name, **asdict(one)} for page, _ in entries for one in page.lists],
        "shortcuts": [asdict(one) for page, _ in entries for one in page.shortcuts],
        "upcoming": next(({"page": page.name, "path": page.upcoming} for page, _ in entries if page.upcoming), None),
        "first_steps": [
            {"subsystem": page.subsystem, **asdict(step), "form": f"{place}/{step.form}"}
            for page, place in entries
            if (step := page.first_step)
        ],
        "topics": sorted({topic.topic for topic in live}),
        "events": sorted({topic.event for topic in live}),
        "audit": {
            "families": sorted({*CORE_FAMILIES, *families}),
            "sources": sorted({*CORE_SOURCES, *sources}),
        },
    }


def header_items(pages: Iterable[FeatureUi]) -> str:
    """Return the module `shell/header_items.js` with the components that pages have in the header."""
    items = [(ui.prefix, *ui.page.header.split(":")) for ui in pages if ui.page.header]
    imports = [f'import {{ {component} }} from "../{prefix}/{module}.js";\n' for prefix, module, component in items]
    return f"{''.join(imports)}export const HEADER_ITEMS = [{', '.join(component for *_, component in items)}];\n"


def _menu(pages: Iterable[FeatureUi]) -> list[tuple[PageSpec, str]]:
    """Return all pages in menu order, with the location of their modules in the browser."""
    entries = [(page, "pages") for page in CORE_PAGES] + [(ui.page, ui.prefix) for ui in pages]
    order = list(MenuGroup)
    return sorted(entries, key=lambda entry: (order.index(entry[0].group), entry[0].place, entry[0].name))


def _entry(page: PageSpec, place: str) -> dict[str, Any]:
    main = f"{place}/page" if place != "pages" else f"pages/{page.name}"
    return {
        "name": page.name,
        "title": page.title,
        "group": str(page.group),
        "often": page.often,
        "subsystem": page.subsystem,
        "badge": page.badge,
        "routes": {"": main, **{path: f"{place}/{module}" for path, module in page.details.items()}},
    }


def _kind(kind: RunSubject, page: PageSpec, place: str) -> dict[str, str]:
    part = f"{place}/{kind.part}" if kind.part else ""
    return {"label": kind.label, "page": page.name if kind.key else "", "key": kind.key, "part": part}
