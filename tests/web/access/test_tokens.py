"""Tokens: shown once, of use until they are revoked, and recorded without their value."""

from pathlib import Path

import pytest

from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.storage.database import Database
from tocsin.core.text.redaction import Redactor
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.fakes import FakeClock
from tocsin.web.access.tokens import ApiTokens, InvalidTokenError, TokenNameTakenError, UnknownTokenError

CALLER = Caller("cli", {"actor": "anna"})


@pytest.fixture
def audit(tmp_path: Path) -> AuditTrail:
    return AuditTrail(AuditLog(tmp_path / "audit.log"))


@pytest.fixture
def tokens(database: Database, clock: FakeClock, audit: AuditTrail) -> ApiTokens:
    return ApiTokens(database, clock, audit)


async def test_a_token_is_found_by_its_text_until_it_is_revoked(tokens: ApiTokens):
    made, text = await tokens.create("backup", ["send", "read"], CALLER)
    assert (made.scopes, made.allows, made.user) == (("read", "send"), {"read", "send"}, "token:backup")
    assert await tokens.find(text) == made
    await tokens.revoke("backup", CALLER)
    assert await tokens.find(text) is None
    with pytest.raises(UnknownTokenError):
        await tokens.revoke("backup", CALLER)


async def test_a_token_can_be_revoked_by_its_id(tokens: ApiTokens):
    made, text = await tokens.create("backup", ["read"], CALLER)
    kept, _ = await tokens.create("other", ["read"], CALLER)
    assert (await tokens.revoke(made.id, CALLER)).name == "backup"
    assert await tokens.list() == [kept]
    assert await tokens.find(text) is None


async def test_admin_includes_every_scope_but_answer(tokens: ApiTokens):
    made, _ = await tokens.create("root", ["admin"], CALLER)
    assert made.allows == {"read", "send", "run", "admin"}


async def test_the_last_use_is_noted_once_a_minute(tokens: ApiTokens, clock: FakeClock):
    _, text = await tokens.create("backup", ["read"], CALLER)
    start, seen = clock.now(), []
    for _ in range(5):
        clock.advance(30)
        await tokens.find(text)
        (listed,) = await tokens.list()
        seen.append((listed.last_used_at or start) - start)
    assert seen == [30, 30, 90, 90, 150]


@pytest.mark.parametrize("name", ["", "-x", "a b", "ü", "a" * 101, "a\n", "a\0"])
async def test_a_name_that_would_not_fit_into_a_path_is_refused(tokens: ApiTokens, name: str):
    with pytest.raises(InvalidTokenError):
        await tokens.create(name, ["read"], CALLER)


@pytest.mark.parametrize("scopes", [[], ["all"], ["read", "write"]])
async def test_a_scope_that_does_not_exist_is_refused(tokens: ApiTokens, scopes: list[str]):
    with pytest.raises(InvalidTokenError):
        await tokens.create("backup", scopes, CALLER)


async def test_a_name_belongs_to_one_token(tokens: ApiTokens, audit: AuditTrail):
    await tokens.create("backup", ["read"], CALLER)
    with pytest.raises(TokenNameTakenError):
        await tokens.create("backup", ["send"], CALLER)
    assert len(audit.log.tail(10)) == 1, "what was refused changed nothing"


@pytest.mark.parametrize("text", ["", "tcs_", "tcs_" + "a" * 43, "tcs_" + "a" * 44, "ü" * 47, "tcs_\0"])
async def test_what_is_no_token_finds_none(tokens: ApiTokens, text: str):
    await tokens.create("backup", ["read"], CALLER)
    assert await tokens.find(text) is None


async def test_each_change_has_one_audit_entry_without_the_token(tokens: ApiTokens, audit: AuditTrail, tmp_path: Path):
    _, text = await tokens.create("backup", ["send"], CALLER)
    await tokens.revoke("backup", CALLER)
    revoked, created = audit.log.tail(10)
    assert (created.action, revoked.action) == ("token.create", "token.revoke")
    assert created.metadata.items() >= {"token": "backup", "scopes": ["send"], "actor": "anna"}.items()
    assert revoked.metadata["token"] == "backup"
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert text.encode() not in stored


async def test_a_token_is_masked_wherever_it_would_be_shown(tokens: ApiTokens):
    _, text = await tokens.create("backup", ["send"], CALLER)
    assert Redactor()(f"it is {text}, really") == "it is [secret], really"


async def test_a_token_keeps_the_profiles_that_it_is_limited_to(tokens: ApiTokens, audit: AuditTrail):
    made, text = await tokens.create("agent", ["send"], CALLER, ["oncall", "oncall", "nightly"])
    assert made.profiles == ("oncall", "nightly")
    found = await tokens.find(text)
    assert found is not None
    assert found.profiles == ("oncall", "nightly")
    assert audit.log.tail(1)[0].metadata["profiles"] == ["oncall", "nightly"]
    with pytest.raises(InvalidTokenError, match="invalid profile name"):
        await tokens.create("other", ["send"], CALLER, ["a b"])
