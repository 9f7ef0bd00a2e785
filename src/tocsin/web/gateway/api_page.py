"""GET /docs/api.html: the page that shows and tries the operations of the gateway."""

import mimetypes
from asyncio import to_thread
from pathlib import PurePosixPath

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from tocsin.rest.problems import HttpProblemError
from tocsin.web.documentation.files import API_PAGE, load_api_page, load_file
from tocsin.web.http.responses import FILE_HEADERS, PAGE_HEADERS


async def api_page(scope: Scope, receive: Receive) -> ASGIApp:
    """GET /docs/{name}: the page, or a file that it loads. It contains no data, and needs no token."""
    name = scope["path_params"]["name"]
    if name == API_PAGE:
        page = await to_thread(load_api_page, "/openapi.json", API_PAGE)
        return Response(page, headers=PAGE_HEADERS, media_type="text/html")
    text = await to_thread(load_file, name)
    if text is None:
        raise HttpProblemError("not-found", f"Unknown page. GET /docs/{API_PAGE} is the page of the API.")
    media_type = mimetypes.types_map[PurePosixPath(name).suffix]
    return Response(text, headers={**FILE_HEADERS, "Cache-Control": "no-cache"}, media_type=media_type)
