"""The pages that the `type` of a problem links to: its meaning and remedy."""

from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tocsin.rest.problems import PROBLEMS

PROBLEM_PREFIX = "/problems/"
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<h1>{title}</h1>
<p><code>{code}</code>, status {status}</p>
<p>{advice}</p>
"""
# The page loads nothing and runs no scripts.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def problem_pages() -> list[Route]:
    return [Route(f"{PROBLEM_PREFIX}{{code}}", _show, methods=["GET"])]


async def _show(request: Request) -> Response:
    code = request.path_params["code"]
    if code not in PROBLEMS:
        raise HTTPException(404)
    found = PROBLEMS[code]
    page = _PAGE.format(title=escape(found.title), code=escape(code), status=found.status, advice=escape(found.advice))
    return HTMLResponse(page, headers=_HEADERS)
