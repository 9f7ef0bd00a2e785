"""The routes of the manifest, the icons and the service worker. None needs a login: they contain no data.

The service worker is served beside the document, because its place decides which pages it controls; all addresses are
relative, so that a proxy may put the dashboard below a path.
"""

import json
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tocsin.web.http.responses import FILE_HEADERS, PAGE_HEADERS

FOLDER: Final = Path(__file__).parent
WORKER: Final = "service_worker.js"
_ICONS: Final = {"icon-192.png": "192x192", "icon-512.png": "512x512"}
_NAMES: Final = {WORKER: "text/javascript; charset=utf-8", **dict.fromkeys((*_ICONS, "badge.png"), "image/png")}
MANIFEST: Final = {
    "name": "Tocsin",
    "short_name": "Tocsin",
    "id": "./",
    "start_url": "./",
    "scope": "./",
    "display": "standalone",
    "background_color": "#ffffff",
    "theme_color": "#2f56c6",
    # Each fills its square, and has the bell within the part that every mask leaves.
    "icons": [
        {"src": name, "sizes": sizes, "type": "image/png", "purpose": "any maskable"} for name, sizes in _ICONS.items()
    ],
}


def installed_routes() -> Sequence[BaseRoute]:
    files = [Route(f"/{name}", _file, methods=["GET"]) for name in _NAMES]
    return (Route("/manifest.webmanifest", _manifest, methods=["GET"]), *files)


async def _manifest(request: Request) -> Response:
    return _answer(request, json.dumps(MANIFEST).encode(), "application/manifest+json")


async def _file(request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return _answer(request, _read(name), _NAMES[name])


@cache
def _read(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def _answer(request: Request, body: bytes, media_type: str) -> Response:
    """Return a file that a browser revalidates each time: a service worker has the policy of its own response."""
    tag = f'"{sha256(body).hexdigest()[:12]}"'
    policy = {"Content-Security-Policy": PAGE_HEADERS["Content-Security-Policy"]}
    headers = {**FILE_HEADERS, **policy, "Vary": "Accept", "Cache-Control": "no-cache", "ETag": tag}
    headers["Content-Type"] = media_type
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers)
