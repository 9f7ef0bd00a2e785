"""The operations on the tokens of scripts and agents."""

from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

from fastapi import Request, Response

from tocsin.core.reading.fields import ChoiceType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Flat
from tocsin.rest.bodies import RequestBody
from tocsin.rest.callers import CallerOf, require_scope
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.headers import require_target
from tocsin.rest.models import MAX_NAME, NAME_PATTERN
from tocsin.rest.operations import operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.web.access.tokens import ApiToken, ApiTokens, ScopeWord


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken(RequestBody):
    """Token to create."""

    name: Annotated[str, Written(TextType(pattern=NAME_PATTERN, max_chars=MAX_NAME), examples=("backup-script",))]
    scopes: Annotated[
        list[ScopeWord],
        Written(ListType(ChoiceType(get_args(ScopeWord)), allow_empty=False, max_items=5)),
        "Scopes of the token. `admin` includes all other scopes except `answer`, which only callers with that scope "
        "can grant.",
    ]
    profiles: Annotated[
        list[str],
        Written(ListType(TextType(max_chars=MAX_NAME), max_items=50)),
        "Limits where it sends.",
    ] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedToken:
    """New token."""

    known: Flat[ApiToken]
    token: Annotated[str | None, "The token, returned only once; null for a repeated Idempotency-Key."]


class TokenRoutes:
    """The operations on tokens."""

    def __init__(self, tokens: ApiTokens) -> None:
        self._tokens = tokens

    @operation(
        "GET",
        "/api/tokens",
        scope="admin",
        extension=True,
        problems=("validation-failed",),
        answer=Page[ApiToken],
    )
    async def list_tokens(self, paging: PagingOf) -> Any:
        """List tokens by name, with their scopes and last use."""
        found = await self._tokens.list()
        page, following = paging.cut(found, lambda token: token.name)
        return paging.page(page, following, len(found))

    @operation(
        "POST",
        "/api/tokens",
        scope="admin",
        once=True,
        unkept=("token",),
        extension=True,
        problems=("validation-failed", "name-taken"),
        status=201,
        answer=CreatedToken,
    )
    async def create_token(self, request: Request, body: NewToken, response: Response, caller: CallerOf) -> Any:
        """Create a token; only this response contains its value."""
        for word in body.scopes:  # a caller cannot grant a scope it lacks
            require_scope(request.scope, word)
        for profile in body.profiles or [""]:  # nor a target that it may not send to
            require_target(request.scope, profile)
        token, text = await self._tokens.create(body.name, body.scopes, caller, body.profiles)
        response.headers["Location"] = f"/api/tokens/{token.name}"
        return tag(response, CreatedToken(known=token, token=text), _version(token))

    @operation("GET", "/api/tokens/{name}", scope="admin", extension=True, problems=("not-found",), answer=ApiToken)
    async def get_token(self, name: str, response: Response) -> Any:
        """Get a token by name or ID, without its value."""
        token = await self._tokens.get(name)
        return tag(response, token, _version(token))

    @operation(
        "DELETE",
        "/api/tokens/{name}",
        scope="admin",
        extension=True,
        problems=("not-found", "precondition-failed"),
    )
    async def revoke_token(self, request: Request, name: str, caller: CallerOf) -> None:
        """Revoke a token immediately; `If-Match` is supported."""
        if "if-match" in request.headers:
            check_unchanged(request, _version(await self._tokens.get(name)))
        await self._tokens.revoke(name, caller)


def _version(token: ApiToken) -> object:
    """Return the version of a token, which differs from a later one of the same name; using it changes nothing."""
    return token.id
