"""The browser's files: read once, joined, compressed and named by their content."""

import gzip
import hashlib
import json
import logging
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tocsin import __version__
from tocsin.features.contract import Feature
from tocsin.web.ui.joining import JoiningError, join_modules
from tocsin.web.ui.manifest import FeatureUi, build_manifest, feature_pages, header_items

log = logging.getLogger(__name__)

ROOT: Final = Path(__file__).parent
ENTRY: Final = "shell/main.js"
# Needed by most pages: they are loaded with the frame.
COMMON: Final = (
    "lib/channels.js",
    "lib/page.js",
    "lib/list.js",
    "lib/run_log.js",
    "parts/action.js",
    "parts/dialog.js",
    "parts/log_view.js",
    "parts/page_head.js",
    "parts/said.js",
    "parts/table.js",
    "parts/tabs.js",
    "parts/time.js",
    "parts/toolbar.js",
)
# In this order: later files use the tokens.
STYLES: Final = ("style/tokens.css", "style/base.css", "style/layout.css", "style/parts.css", "style/pages.css")
STYLE: Final = "style.css"
DOCUMENT: Final = "index.html"
_SERVED = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain"}
_TEXT = "; charset=utf-8"
_REMARK = re.compile(r"/\*.*?\*/\n?", re.DOTALL)
_SPACE = re.compile(r"\s*([{};,])\s*")


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent, plain and compressed."""

    body: bytes
    media_type: str
    compressed: bytes = field(repr=False)
    etag: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All files: the document, and the files that it loads from `/static/<version>/`."""

    version: str
    document: Asset
    for_strangers: Asset  # the document for a browser without a session
    files: dict[str, Asset]

    @property
    def prefix(self) -> str:
        """Return the path prefix of the files of this version."""
        return f"/static/{self.version}"


def load_assets(features: Sequence[Feature]) -> Assets:
    """Read all files of the dashboard and of the pages of `features`; the version is a digest of their contents."""
    pages: Sequence[FeatureUi] = feature_pages(tuple(features))
    try:
        scripts = _scripts(pages)
    except JoiningError:
        pages = _joinable(pages)
        scripts = _scripts(pages)
    texts = read_sources(pages)
    # Comments and indentation are only for readers of the source.
    styles = [*STYLES, *(name for name in texts if name.endswith(".css") and name not in STYLES)]
    style = _SPACE.sub(r"\1", _REMARK.sub("", "\n".join(texts[name] for name in styles)))
    rest = {name: text for name, text in texts.items() if not _is_module(name) and name not in styles}
    served = {**rest, **scripts, STYLE: style}
    # It is embedded in the document as data, which the page's policy allows; a `<` could end the element.
    manifest = json.dumps(build_manifest(features, pages)).replace("<", "\\u003c")
    document = (ROOT / DOCUMENT).read_text(encoding="utf-8").replace("{manifest}", manifest)
    version = _digest("\0".join([document, __version__, *(f"{name}\0{served[name]}" for name in sorted(served))]))
    page = document.replace("{static}", f"/static/{version}").replace("{version}", __version__)
    known, strange = (make_asset(page.replace("{signed_in}", word), "text/html") for word in ("yes", "no"))
    return Assets(version, known, strange, {name: make_asset(text, media_type(name)) for name, text in served.items()})


def _scripts(pages: Sequence[FeatureUi]) -> dict[str, str]:
    """Return the modules as they are served."""
    modules = {name: text for name, text in read_sources(pages).items() if _is_module(name)}
    modules["shell/header_items.js"] = header_items(pages)  # the frame needs them immediately
    return join_modules(ENTRY, modules, COMMON)


def _is_module(name: str) -> bool:
    return name.endswith(".js") and "/" in name


def _joinable(pages: Sequence[FeatureUi]) -> list[FeatureUi]:
    """Return the pages that can be joined with those before them; others, of plug-ins, are logged."""
    found: list[FeatureUi] = []
    for ui in pages:
        try:
            _scripts([*found, ui])
        except JoiningError as error:
            log.error("the page of a plug-in cannot be shown", extra={"feature": ui.feature.name, "reason": str(error)})  # noqa: TRY400  # the reason says all
        else:
            found.append(ui)
    return found


def read_sources(pages: Sequence[FeatureUi]) -> dict[str, str]:
    """Return the source files of the dashboard, and those of features below `features/<name>/`."""
    folders = [("", ROOT), *((f"{ui.prefix}/", ui.folder) for ui in pages)]
    return {
        prefix + path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for prefix, folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in _SERVED
    }


def make_asset(text: str, media_type: str) -> Asset:
    body = text.encode()
    # Without a time in the header, the same text gives the same bytes.
    return Asset(body, media_type + _TEXT, gzip.compress(body, 9, mtime=0), f'"{_digest(text)}"')


def media_type(name: str) -> str:
    """Return the media type of a file by its suffix."""
    suffix = Path(name).suffix
    return _SERVED.get(suffix) or mimetypes.types_map[suffix]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
