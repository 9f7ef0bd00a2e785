"""The routes of the dashboard's page, its files, and the documentation.

`ui_routes` returns the routes for the dashboard's application: the document at `/`, which a browser revalidates each
time, files below `/static/<version>/`, which it caches forever, and the documentation below `/docs/`. None of them
needs a login: they contain no data.
"""

from asyncio import to_thread
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tocsin.features.contract import Feature
from tocsin.web.documentation.files import API_PAGE, load_api_page
from tocsin.web.documentation.site import DOCS, FIRST, load_text
from tocsin.web.http.responses import FILE_HEADERS, PAGE_HEADERS
from tocsin.web.installed.routes import installed_routes
from tocsin.web.ui.assets import Asset, Assets, load_assets, make_asset, media_type

STATIC_PREFIX: Final = "/static/"
DOCS_PREFIX: Final = "/docs/"
_KEPT_HEADERS = {**FILE_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}


def ui_routes(features: Sequence[Feature]) -> Sequence[BaseRoute]:
    """Return the routes of the page and its files, with the pages of `features`."""
    known = _read_once(tuple(features))

    async def document(request: Request) -> Response:
        return _answer(request, known.for_strangers if _is_stranger(request) else known.document, PAGE_HEADERS)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        asset = known.files.get(name) if request.path_params["version"] == known.version else None
        if asset is None:  # also for a file of another version: mixing two versions would break the page
            return Response("This file does not exist in this version.\n", 404, FILE_HEADERS, "text/plain")
        return _answer(request, asset, _KEPT_HEADERS)

    return (
        Route("/", document, methods=["GET"]),
        *installed_routes(),
        Route(DOCS_PREFIX.rstrip("/"), _to_documentation, methods=["GET"]),
        Route(DOCS_PREFIX + "{name:path}", _documentation, methods=["GET"]),
        Route(STATIC_PREFIX + "{version}/{name:path}", file, methods=["GET"]),
    )


async def _to_documentation(request: Request) -> Response:
    return RedirectResponse(request.url.path.rsplit("/", 1)[-1] + "/", 301, FILE_HEADERS)


async def _documentation(request: Request) -> Response:
    name = request.path_params["name"] or f"{FIRST}.html"
    if asset := await to_thread(_load_documentation, name):
        is_page = name.endswith(".html")
        return _answer(request, asset, PAGE_HEADERS if is_page else {**FILE_HEADERS, "Cache-Control": "no-cache"})
    if attached := DOCS.attachment(name):
        return FileResponse(attached, headers={**FILE_HEADERS, "Cache-Control": "no-cache"})
    return Response("This documentation page does not exist.\n", 404, FILE_HEADERS, "text/plain")


@lru_cache(maxsize=16)
def _load_documentation(name: str) -> Asset | None:
    text = load_api_page("/api/openapi.json", DOCS_PREFIX) if name == API_PAGE else load_text(name)
    return None if text is None else make_asset(text, media_type(name))


@cache
def _read_once(features: tuple[Feature, ...]) -> Assets:
    return load_assets(features)  # once per process: they do not change while it runs


def _is_stranger(request: Request) -> bool:
    """Return True if the browser is signed out: the page then shows the login and makes no rejected call."""
    return getattr(request.scope.get("tocsin.refusal"), "code", "") in {"unauthenticated", "invalid-credentials"}


def _answer(request: Request, asset: Asset, headers: dict[str, str]) -> Response:
    found = {**headers, "ETag": asset.etag, "Content-Type": asset.media_type}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=found)
    if not _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(asset.body, headers=found)
    return Response(asset.compressed, headers={**found, "Content-Encoding": "gzip"})


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip().lower() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
