"""Operations for signing in and out."""

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import ValidationError

from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import Time
from tocsin.core.time.timestamps import timestamp
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.headers import JSON
from tocsin.rest.operations import operation
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.reading import read_media_type
from tocsin.rest.refusals import problem_of_validation, refuse
from tocsin.web.access.cookies import no_cookie, read_session_id, session_cookie
from tocsin.web.access.layers import read_visitor
from tocsin.web.access.links import PATH as LINK_PATH
from tocsin.web.access.refusals import login_refusal
from tocsin.web.access.sessions import LoginSession
from tocsin.web.access.sign_in import SignIns
from tocsin.web.http.clients import is_local_host

FORM = "application/x-www-form-urlencoded"
HOME = "/#/home"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest(RequestBody):
    """User name and password."""

    username: Annotated[str, text(1000, examples=("operator",)), "The value of DASHBOARD_USER."]
    password: Annotated[str, text(4096, examples=("a long random password",)), "The password."]
    remember: Annotated[bool, FLAG, "Stay signed in until 30 days without use have passed, instead of 12 hours."] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """The new session; its cookie is in the headers."""

    user: str
    expires_at: Time


# The form is described in the text: with two body types of one schema, client generators produce broken code.
_REQUEST = {"requestBody": {"required": True, "content": {JSON: {"schema": SignInRequest.json_schema()}}}}
_TO_THE_PAGE: dict[int | str, dict[str, Any]] = {
    303: {"description": "For a submitted form: the page, with the cookie"}
}
_REFUSED = ("invalid-credentials",)


class LoginRoutes:
    """The operations of the login."""

    def __init__(self, sign_ins: SignIns) -> None:
        self._sign_ins = sign_ins

    @operation(
        "POST",
        "/login",
        scope="",
        problems=(*_REFUSED, "validation-failed"),
        answer=SignedIn,
        media=(JSON, FORM),
        responses=_TO_THE_PAGE,
        openapi_extra=_REQUEST,
    )
    async def sign_in(self, request: Request) -> Any:
        """Sign in.

        The body may also be a form (`application/x-www-form-urlencoded`) with the same fields, which is answered with
        a redirect (303). The response sets the session cookie; an earlier session of the browser ends. After 5 wrong
        passwords from one address, or 50 for one user name, within 5 minutes, further attempts get 429.
        """
        asked = await _read(request)
        try:
            session = await self._sign_ins.by_password(
                asked.username,
                asked.password,
                read_visitor(request.scope),
                remember=asked.remember,
                replacing=read_session_id(request.scope),
            )
        except TocsinError as error:
            raise login_refusal(request.scope, error) from None
        if read_media_type(request) == FORM:
            return _with_session(request, session, RedirectResponse(HOME, 303))
        answer = {"user": session.user, "expires_at": timestamp(session.expires_at)}
        return _with_session(request, session, JSONResponse(answer))

    @operation("POST", "/logout", scope="", status=204)
    async def sign_out(self, request: Request) -> Response:
        """Sign out; without a session, this has no effect."""
        if session_id := read_session_id(request.scope):
            await self._sign_ins.sign_out(session_id, read_visitor(request.scope))
        return Response(status_code=204, headers={"Set-Cookie": no_cookie(request.scope), "Cache-Control": "no-store"})

    @operation(
        "GET",
        LINK_PATH + "{code}",
        scope="",
        extension=True,
        problems=_REFUSED,
        status=303,
        response_class=RedirectResponse,
    )
    async def sign_in_by_link(self, request: Request, code: str) -> Response:
        """Sign in with a link from `tocsin dashboard link`.

        The link works once, within 10 minutes, and only on the machine itself.
        """
        _require_local_host(request)
        if request.scope.get("tocsin.is_head"):  # a request that only checks the link must not use it up
            return Response(headers={"Cache-Control": "no-store"})
        try:
            session = await self._sign_ins.by_link(
                code, read_visitor(request.scope), replacing=read_session_id(request.scope)
            )
        except TocsinError as error:
            raise login_refusal(request.scope, error) from None
        return _with_session(request, session, RedirectResponse(HOME, 303))


def _with_session(request: Request, session: LoginSession, response: Response) -> Response:
    response.headers["Set-Cookie"] = session_cookie(request.scope, session)
    response.headers["Cache-Control"] = "no-store"
    return response


def _require_local_host(request: Request) -> None:
    # A host name that others can reach implies a proxy on this machine, with unknown clients behind it.
    if not all(is_local_host(host) for host in request.headers.getlist("host")):
        raise HttpProblemError("forbidden", "Sign-in links work only on the machine itself, through its own address.")


async def _read(request: Request) -> SignInRequest:
    """Parse a JSON body or a form; raise the problem of an invalid one."""
    if read_media_type(request) == FORM:
        fields = _form_fields(await request.body())
    elif not await request.body():
        raise refuse((), "missing-key", "The body must contain username and password")
    else:
        fields = await request.json()
    try:
        return SignInRequest.read(fields)
    except ValidationError as error:
        # Without the input, which contains a password.
        found = error.errors(include_input=False, include_url=False)
        wrong = RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found])
        raise problem_of_validation(wrong, SignInRequest.names()) from None


def _form_fields(raw: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=10
        )
    except ValueError:
        raise HttpProblemError("invalid-request", "The body is not a UTF-8 form.") from None
    fields: dict[str, Any] = dict(pairs)
    if len(fields) < len(pairs):
        raise HttpProblemError("invalid-request", "A field of the form is repeated.")
    if "remember" in fields:  # a ticked box sends `on`, an unticked one is absent
        fields["remember"] = fields["remember"] in {"on", "true", "1"}
    return fields
