"""`Idempotency-Key`: a repeated request gets the first response and has no further effect."""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from tocsin.core.errors import TocsinError
from tocsin.messaging.outbound.idempotency import IdempotencyKeys, KeyReusedError, StillRunningError, keep_lease
from tocsin.rest.headers import header_values, idempotency_key
from tocsin.rest.problems import HttpProblemError

log = logging.getLogger(__name__)

_KEPT_HEADERS = ("location", "etag", "preference-applied")
# 504: the request may have taken effect, so it must not be repeated.
_KEPT_STATUSES = frozenset({200, 201, 202, 204, 207, 504})


def read_key(request: Request) -> str:
    """Return the idempotency key of a request, or an empty text."""
    return idempotency_key(header_values(request.scope, b"idempotency-key"))


async def answer_once(
    request: Request,
    keys: IdempotencyKeys,
    key: str,
    answer: Callable[[], Awaitable[Response]],
    unkept: Sequence[str] = (),
) -> Response:
    """Return the stored response of the key, or the new one, which is stored without the values of `unkept`."""
    body = await request.body()
    files = repr(request.scope.get("tocsin.files", "")).encode()  # of a form
    text = b"\0".join((request.method.encode(), request.url.path.encode(), request.url.query.encode(), body + files))
    mine = f"dashboard:{request.scope.get('tocsin.user', '')}:{key}"
    try:
        known = await keys.begin(mine, sha256(text).hexdigest())
    except KeyReusedError:
        detail = "This Idempotency-Key was already used with a different request."
        raise HttpProblemError("idempotency-key-reused", detail) from None
    except StillRunningError:
        detail = "The request with this Idempotency-Key is still being processed."
        raise HttpProblemError("conflict", detail, headers={"Retry-After": "1"}) from None
    if known is not None:
        if known.status is None:
            detail = "The service stopped during the first request with this key. Check its effect, then use a new key."
            raise HttpProblemError("upstream-timeout", detail)
        return _replayed(known.status, known.body)
    try:
        async with keep_lease(keys, mine):
            response = await answer()
    except (HttpProblemError, RequestValidationError, TocsinError):  # a corrected request may use the same key
        await _settle(keys, mine, None)
        raise
    # Any other error may have come after the effect: the key stays taken, and a repeated request gets an error.
    await _settle(keys, mine, response, unkept)
    return response


async def _settle(keys: IdempotencyKeys, key: str, response: Response | None, unkept: Sequence[str] = ()) -> None:
    try:
        if response is not None and response.status_code in _KEPT_STATUSES:
            headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
            kept = json.dumps({"headers": headers, "body": _kept_body(response, unkept)})
            await keys.finish(key, response.status_code, kept)
        else:
            await keys.forget(key)
    except TocsinError as error:  # the error does not undo the operation
        reason = {"reason": error.sentence()}
        log.error("the response for an Idempotency-Key could not be stored", extra=reason)  # noqa: TRY400  # the reason says it all


def _kept_body(response: Response, unkept: Sequence[str]) -> str:
    body = bytes(response.body).decode()
    return json.dumps({**json.loads(body), **dict.fromkeys(unkept)}) if unkept else body


def _replayed(status: int, kept: str) -> Response:
    found = json.loads(kept)
    headers = {**found["headers"], "Idempotent-Replayed": "true"}
    if not found["body"]:
        return Response(None, status, headers)
    return Response(found["body"], status, headers, "application/json")
