"""Tokens for scripts and agents: shown once, stored as a hash, each with its scopes."""

import re
import secrets
import sqlite3
import string
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, ClassVar, Literal

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import NotFoundError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.records.marks import Converted, Time
from tocsin.core.scopes import ALL_SCOPES, SCOPES, allowed_by
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.messaging.outbound.caller import Caller
from tocsin.web.access.audit_actions import TOKEN_CREATE, TOKEN_REVOKE

# The prefix lets scanners find tokens that were published by mistake.
PREFIX = "tcs_"
_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 43  # 256 random bits
_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9]{{{_LENGTH}}}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
# The last use of a token is stored at most once in this time.
_NOTED_EVERY_S = 60.0


class InvalidTokenError(TocsinError):
    """The name or the scopes of a token are invalid."""

    code = "validation-failed"


class TokenNameTakenError(TocsinError):
    """A token with that name exists."""

    code = "name-taken"


class UnknownTokenError(NotFoundError):
    """There is no token with that name or ID."""


ScopeWord = Literal["read", "send", "run", "answer", "admin"]


@dataclass(frozen=True, slots=True)
class ApiToken:
    """The record of a token, without the token itself."""

    schema_name: ClassVar[str] = "TokenRecord"

    id: str
    name: str
    scopes: Annotated[tuple[str, ...], Converted(list, list[ScopeWord])]
    created_at: Time
    last_used_at: Time | None
    profiles: Annotated[tuple[str, ...], Converted(list, list[str])] = ()  # the only ones it may send to, if any

    @property
    def user(self) -> str:
        """The name under which its requests are counted and recorded."""
        return f"token:{self.name}"

    @property
    def allows(self) -> frozenset[str]:
        """All scopes that it grants, including implied ones."""
        return allowed_by(self.scopes)


class ApiTokens:
    """The tokens, shared by all processes: a token revoked in one is invalid in all of them immediately."""

    def __init__(self, database: Database, clock: Clock, audit: AuditTrail) -> None:
        self._database = database
        self._clock = clock
        self._audit = audit

    async def create(
        self, name: str, scopes: Iterable[str], caller: Caller, profiles: Iterable[str] = ()
    ) -> tuple[ApiToken, str]:
        """Create a token; return its record, and the token, which cannot be shown again.

        With `profiles`, it sends to these only, and to no other target.

        Raises InvalidTokenError and TokenNameTakenError.
        """
        chosen = set(scopes)
        if not _NAME.fullmatch(name):
            form = "start with a letter or digit; then use letters, digits, `.`, `_` and `-`, up to 100 characters"
            raise InvalidTokenError("invalid token name", hint=form)
        if not chosen or chosen - ALL_SCOPES:
            raise InvalidTokenError("a token needs at least one scope", hint=f"choose from {', '.join(SCOPES)}")
        only = tuple(dict.fromkeys(profiles))
        if not all(_NAME.fullmatch(each) for each in only):
            raise InvalidTokenError("invalid profile name", hint="`tocsin profiles` shows the profiles")
        text = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        made = ApiToken(new_id(), name, tuple(s for s in SCOPES if s in chosen), self._clock.now(), None, only)

        sql = "INSERT INTO access_tokens VALUES (?, ?, ?, ?, ?, NULL, ?) ON CONFLICT (name) DO NOTHING"
        row = [made.id, name, _hash(text), " ".join(made.scopes), made.created_at, " ".join(only)]
        if not await self._database.execute(sql, row):
            raise TokenNameTakenError(
                f"a token named {name} already exists", hint="revoke it first, or choose another name"
            )
        self._record(TOKEN_CREATE, made, caller)
        return made, text

    async def list(self) -> list[ApiToken]:
        """Return all tokens, by name."""
        return await self._database.read(
            lambda connection: [
                _token_of(row) for row in connection.execute("SELECT * FROM access_tokens ORDER BY name")
            ]
        )

    async def get(self, name: str) -> ApiToken:
        """Return the token with this name or ID. Raises UnknownTokenError."""
        for token in sorted(await self.list(), key=lambda token: token.name != name):
            if name in {token.name, token.id}:
                return token
        raise _unknown(name)

    async def revoke(self, name: str, caller: Caller) -> ApiToken:
        """Revoke the token with this name or ID. Raises UnknownTokenError."""

        def delete(connection: sqlite3.Connection) -> ApiToken | None:
            for column in ("name", "id"):
                rows = connection.execute(
                    f"DELETE FROM access_tokens WHERE {column} = ? RETURNING *",  # noqa: S608  # one of the two above
                    [name],
                ).fetchall()
                if rows:
                    return _token_of(rows[0])
            return None

        gone = await self._database.write(delete)
        if gone is None:
            raise _unknown(name)
        self._record(TOKEN_REVOKE, gone, caller)
        return gone

    async def is_good(self, text: str) -> bool:
        """Return True if a token has not been revoked."""
        return await self.find(text) is not None

    async def find(self, text: str) -> ApiToken | None:
        """Return the token that a caller presents; `None` if unknown, revoked or expired."""
        if not _TOKEN.fullmatch(text):
            return None
        hashed = _hash(text)
        row = await self._database.read(
            lambda connection: connection.execute("SELECT * FROM access_tokens WHERE hash = ?", [hashed]).fetchone()
        )
        if row is None:
            return None
        found, now = _token_of(row), self._clock.now()
        if found.last_used_at is None or now - found.last_used_at >= _NOTED_EVERY_S:
            await self._database.execute("UPDATE access_tokens SET last_used_at = ? WHERE id = ?", [now, found.id])
        return found

    def _record(self, action: AuditAction, token: ApiToken, caller: Caller) -> None:
        facts = {**caller.facts, "token": token.name}
        if action is TOKEN_CREATE:
            facts["scopes"] = list(token.scopes)
            if token.profiles:
                facts["profiles"] = list(token.profiles)
        self._audit.record(action, f"token {token.name}", source=caller.source, metadata=facts)


def is_api_token(text: str) -> bool:
    """Return True if the text has the format of an API token; GATEWAY_TOKEN may not."""
    return text.startswith(PREFIX)


def _token_of(row: sqlite3.Row) -> ApiToken:
    scopes, profiles = (tuple(row[column].split()) for column in ("scopes", "profiles"))
    return ApiToken(row["id"], row["name"], scopes, row["created_at"], row["last_used_at"], profiles)


def _unknown(name: str) -> UnknownTokenError:
    return UnknownTokenError(f"unknown token: {name}", hint="`tocsin tokens list` shows the tokens")


def _hash(token: str) -> bytes:
    # A fast hash suffices: the token is 256 random bits.
    return sha256(token.encode()).digest()
