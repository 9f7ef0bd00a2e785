"""What the vault records, reveals, and tells the operator."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.facts import mentions
from tests.features.vault.conftest import Strongroom

from tocsin.core.records.as_json import to_json
from tocsin.core.storage.database import Database
from tocsin.features.context import FeatureContext, Notice
from tocsin.features.vault.checks import check_vault
from tocsin.features.vault.cipher import PyrageCipher
from tocsin.features.vault.feature import MIGRATIONS
from tocsin.features.vault.hooks import (
    OpenVault,
    check_subsystem,
    notify_of_age,
)
from tocsin.features.vault.model import NoVaultError, UnknownSecretError, VaultError
from tocsin.features.vault.service import generate_value


@dataclass
class Around:
    """What the vault gets of the program, and what it does with that."""

    strongroom: Strongroom
    database: Database
    notices: list[Notice] = field(default_factory=list)

    def opened(self, *, killed: bool = False) -> OpenVault:
        async def notify(notice: Notice) -> None:
            if killed:
                raise asyncio.CancelledError
            self.notices.append(notice)

        context = SimpleNamespace(
            database=self.database,
            clock=self.strongroom.clock,
            abilities=SimpleNamespace(notices=SimpleNamespace(notify=notify)),
        )
        return OpenVault(self.strongroom.vault, cast("FeatureContext", context))

    async def findings(self) -> list[dict[str, Any]]:
        return [finding.as_dict() async for finding in check_vault(self.opened())]


@pytest.fixture
async def around(strongroom: Strongroom) -> AsyncIterator[Around]:
    database = Database(strongroom.data_dir / "tocsin.db", {"vault": MIGRATIONS})
    yield Around(strongroom, database)
    await database.aclose()


# --- the audit log


def test_every_operation_writes_one_entry_with_names_and_never_a_value(strongroom: Strongroom):
    vault = strongroom.vault
    friend = PyrageCipher().generate().recipient
    vault.set("B", "canary-1", source="cli")
    assert vault.get("B", source="cli", reader="cli") == "canary-1"
    vault.reveal(None, source="vault", reader="skill:backup")
    vault.rotate("B", "canary-2", source="cli")
    vault.add_recipient(friend, "note", source="cli")
    vault.remove_recipient(friend, source="cli")
    vault.rekey(source="cli")
    vault.import_values({"C": "canary-3"}, origin="/x/.env", source="cli")
    vault.delete("B", source="cli")
    entries = strongroom.audit()[2:]
    assert [(entry.action, entry.source, entry.metadata.get("names")) for entry in entries] == [
        ("vault.set", "cli", ["B"]),
        ("vault.get", "cli", ["B"]),
        ("vault.get", "vault", ["B", "TOKEN"]),
        ("vault.rotate", "cli", ["B"]),
        ("vault.recipients", "cli", None),
        ("vault.recipients", "cli", None),
        ("vault.rekey", "cli", None),
        ("vault.set", "cli", ["C"]),
        ("vault.delete", "cli", ["B"]),
    ]
    assert entries[2].metadata["reader"] == "skill:backup"
    assert "canary" not in strongroom.log.path.read_text()


def test_what_fails_leaves_no_entry(strongroom: Strongroom):
    before = len(strongroom.audit())
    for attempt in (
        lambda: strongroom.vault.set("A-B", "x", source="cli"),
        lambda: strongroom.vault.set("A", "", source="cli"),
        lambda: strongroom.vault.get("MISSING", source="cli", reader="cli"),
        lambda: strongroom.vault.rotate("MISSING", "x", source="cli"),
        lambda: strongroom.vault.rotate("TOKEN", "first-value", source="cli"),
        lambda: strongroom.vault.delete("MISSING", source="cli"),
        lambda: strongroom.vault.init(source="cli"),
        lambda: strongroom.vault.add_recipient("age1x", "", source="cli"),
        lambda: strongroom.vault.add_recipient(strongroom.store.recipient(), "", source="cli"),
        lambda: strongroom.vault.remove_recipient("age1x", source="cli"),
    ):
        with pytest.raises(VaultError):
            attempt()
    assert len(strongroom.audit()) == before


def test_a_recipient_is_added_once_and_there_are_at_most_20(strongroom: Strongroom):
    keys = [PyrageCipher().generate().recipient for _ in range(21)]
    for key in keys[:20]:
        strongroom.vault.add_recipient(key, "", source="cli")
    with pytest.raises(VaultError, match="vault"):
        strongroom.vault.add_recipient(keys[0], "", source="cli")
    with pytest.raises(VaultError, match="already has 20 recipients"):
        strongroom.vault.add_recipient(keys[20], "", source="cli")
    with pytest.raises(VaultError, match="the note"):
        strongroom.vault.add_recipient(keys[20], "a\nb", source="cli")


# --- age


def test_set_and_rotate_start_the_age_anew_and_import_of_the_same_value_does_not(strongroom: Strongroom):
    strongroom.vault.set("B", "x", source="cli")
    strongroom.days(80)
    strongroom.vault.import_values({"TOKEN": "first-value"}, origin=".env", source="cli")
    strongroom.vault.rotate("B", "y", source="cli")
    assert [(age.name, age.age_days, str(age.status)) for age in strongroom.vault.ages()] == [
        ("B", 0, "ok"),
        ("TOKEN", 80, "warning"),
    ]
    strongroom.vault.set("TOKEN", "first-value", source="cli")
    assert [age.age_days for age in strongroom.vault.ages()] == [0, 0]


def test_a_broken_edit_of_the_policies_leaves_the_last_good_ones_in_force(strongroom: Strongroom):
    file = strongroom.data_dir / "rotation_policies.yaml"
    file.write_text("default_max_age_days: 10\n")
    strongroom.days(9)
    assert str(strongroom.vault.ages()[0].status) == "warning"
    file.write_text("default_max_age_days: ten\n")
    assert str(strongroom.vault.ages()[0].status) == "warning"
    assert "expected" in str(strongroom.vault.policies()[1])


def test_the_status_has_the_fields_of_the_record(strongroom: Strongroom):
    strongroom.days(100)
    document = to_json(strongroom.vault.status())
    rotation = cast("dict[str, Any]", document.pop("rotation"))
    assert str(document.pop("updated_at")).endswith("Z")
    assert document == {
        "initialized": True, "locked": False, "backend": "pyrage", "vault_mode": "0600", "identity_mode": "0600",
        "permissions_ok": True, "key_count": 1, "problem": None,
    }  # fmt: skip
    assert (rotation["ok"], rotation["warning"], rotation["expired"]) == (0, 0, 1)
    assert rotation["items"] == [
        {
            "name": "TOKEN",
            "status": "expired",
            "age_days": 100,
            "max_age_days": 90,
            "warn_at": "2024-01-25T22:13:20.000Z",
            "expires_at": "2024-02-12T22:13:20.000Z",
        }
    ]


def test_the_status_of_a_locked_vault_says_why(strongroom: Strongroom):
    strongroom.store.identity.chmod(0o644)
    document = to_json(strongroom.vault.status())
    assert (document["locked"], document["permissions_ok"], document["key_count"]) == (True, False, None)
    assert "chmod 600" in str(document["problem"])


def test_the_status_without_a_vault_says_so(tmp_path: Path):
    document = to_json(Strongroom(tmp_path).vault.status())
    assert (document["initialized"], document["locked"], document["key_count"]) == (False, False, None)


# --- abilities


async def test_a_run_that_reads_several_secrets_writes_one_entry(around: Around):
    around.strongroom.vault.set("B", "b-value", source="cli")
    before = len(around.strongroom.audit())
    values = await around.opened().reveal_several(["B", "TOKEN"], reader="workflow:deploy")
    assert values == {"B": "b-value", "TOKEN": "first-value"}
    [entry] = around.strongroom.audit()[before:]
    assert (entry.action, entry.source, entry.metadata["names"]) == ("vault.get", "vault", ["B", "TOKEN"])


async def test_all_secrets_of_no_vault_are_none_but_a_named_one_is_missed(tmp_path: Path):
    database = Database(tmp_path / "tocsin.db", {"vault": MIGRATIONS})
    opened = Around(Strongroom(tmp_path), database).opened()
    assert await opened.reveal_several(reader="skill:x") == {}
    with pytest.raises(NoVaultError):
        await opened.reveal_several(["A"], reader="skill:x")
    with pytest.raises(NoVaultError):
        await opened.reveal("A", reader="skill:x")
    await database.aclose()


async def test_an_unknown_name_stops_the_run_and_a_locked_vault_too(around: Around):
    with pytest.raises(UnknownSecretError, match="'NOPE'"):
        await around.opened().reveal_several(["TOKEN", "NOPE"], reader="skill:x")
    around.strongroom.store.vault.write_bytes(b"broken")
    with pytest.raises(VaultError, match="file"):
        await around.opened().reveal_several(reader="skill:x")


async def test_names_are_listed_without_reading_a_value_and_not_known_while_the_vault_is_locked(around: Around):
    around.strongroom.vault.set("B", "b-value", source="cli")
    before = len(around.strongroom.audit())
    assert await around.opened().names() == ["B", "TOKEN"]
    assert len(around.strongroom.audit()) == before
    around.strongroom.store.vault.write_bytes(b"broken")
    assert await around.opened().names() is None


def test_generated_values_differ_and_have_256_bits():
    assert len({generate_value() for _ in range(50)}) == 50
    assert len(generate_value()) == 43


# --- telling the operator


async def test_old_secrets_are_told_once_a_day_by_one_process(around: Around):
    around.strongroom.vault.set("YOUNG", "x", source="cli")
    around.strongroom.days(75)
    around.strongroom.vault.set("YOUNG", "y", source="cli")
    for _ in range(3):
        await notify_of_age(around.opened())
    [notice] = around.notices
    assert ("Secrets" in notice.title, str(notice.level), notice.category) == (True, "warning", "vault")  # fmt: skip
    assert mentions(notice.body, "TOKEN", "75 of", "90 days", "NAME")
    around.strongroom.days(20)
    await notify_of_age(around.opened())
    assert ("Secrets" in around.notices[1].title, str(around.notices[1].level)) == (True, "error")
    assert "first-value" not in repr(around.notices)


async def test_what_a_killed_process_did_not_tell_is_told_by_the_next_one(around: Around):
    around.strongroom.days(75)
    with pytest.raises(asyncio.CancelledError):
        await notify_of_age(around.opened(killed=True))
    await notify_of_age(around.opened())
    assert around.notices == []  # the other one may be about to tell
    around.strongroom.clock.advance(3600)
    for _ in range(2):
        await notify_of_age(around.opened())
    assert len(around.notices) == 1


async def test_nobody_is_told_of_young_secrets_or_of_no_vault(around: Around, tmp_path: Path):
    await notify_of_age(around.opened())
    await notify_of_age(Around(Strongroom(tmp_path / "none"), around.database).opened())
    assert around.notices == []


async def test_doctor_tells_states_and_fixes(around: Around):
    (around.strongroom.data_dir / "rotation_policies.yaml").write_text("secrets:\n  TOKEM: {max_age_days: 5}\n")
    around.strongroom.vault.set("B", "x", source="cli")
    around.strongroom.days(75)
    around.strongroom.vault.set("B", "y", source="cli")
    found = [(finding["state"], finding["detail"], finding["fix"]) for finding in await around.findings()]
    assert [
        (state, mentions(detail, fact), fix)
        for (state, detail, fix), fact in zip(found, ("75 of 90 days", "'TOKEN'", "2 secrets"), strict=True)
    ] == [("warning", True, "tocsin vault rotate TOKEN"), ("warning", True, found[1][2]), ("ok", True, "")]


async def test_doctor_tells_a_locked_vault_and_a_broken_policy_file(around: Around):
    (around.strongroom.data_dir / "rotation_policies.yaml").write_text("secrets: 7\n")
    around.strongroom.store.vault.chmod(0o644)
    found = await around.findings()
    assert [finding["state"] for finding in found] == ["error", "error"]
    assert "expected a mapping" in found[0]["detail"]
    assert found[1]["fix"].startswith("chmod 600")


async def test_doctor_tells_that_the_counter_is_missing(around: Around):
    around.strongroom.store.counter.unlink()
    found = await around.findings()
    assert [(finding["state"], "vault.counter is missing" in finding["detail"]) for finding in found] == [
        ("warning", True),
        ("ok", False),
    ]


async def test_the_overall_status_names_what_needs_a_person(around: Around, tmp_path: Path):
    assert (await check_subsystem(around.opened())).summary == "1 secret"
    around.strongroom.days(91)
    status = await check_subsystem(around.opened())
    assert (str(status.status), status.summary) == ("degraded", "1 secret, 1 expired")
    assert [item.message for item in status.attention] == ["TOKEN has expired (91 of 90 days)"]
    around.strongroom.store.vault.chmod(0o644)
    status = await check_subsystem(around.opened())
    assert (str(status.status), "chmod 600" in status.attention[0].message) == ("error", True)
    none = await check_subsystem(Around(Strongroom(tmp_path / "none"), around.database).opened())
    assert str(none.status) == "unconfigured"
