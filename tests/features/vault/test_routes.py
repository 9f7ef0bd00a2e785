"""The operations on the vault, as a program calls them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tocsin.features.vault.feature import FEATURE
from tocsin.testing.dashboard import DashboardClient
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature

DAY_S = 86_400


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[FeatureBench]:
    async with open_feature(FEATURE, tmp_path, clock=FakeClock()) as bench:
        yield bench


async def test_without_a_vault_there_is_a_status_and_no_list(client: DashboardClient):
    status = await client.get("/api/vault/status")
    assert (status.status, status.json()["initialized"], status.json()["key_count"]) == (200, False, None)
    assert status.json()["permissions_ok"] is True
    keys = await client.get("/api/vault/keys")
    assert (keys.status, keys.json()["code"]) == (503, "not-ready")
    assert "tocsin vault init" in keys.json()["detail"]


async def test_names_and_ages_are_told_and_never_a_value(client: DashboardClient, bench: FeatureBench):
    vault = bench.service.vault
    vault.init(source="cli")
    for name in ("OLD", "FADING", "NEW"):
        vault.set(name, f"value-of-{name}", source="cli")
        bench.app.clock.advance({"OLD": 20, "FADING": 75, "NEW": 0}[name] * DAY_S)
    written = bench.audit()
    keys, answer = await client.get("/api/vault/keys"), await client.get("/api/vault/status")
    assert keys.json() == {"keys": ["FADING", "NEW", "OLD"], "count": 3}
    status = answer.json()
    rotation = status["rotation"]
    assert {state: rotation[state] for state in ("ok", "warning", "expired")} == {"ok": 1, "warning": 1, "expired": 1}
    assert [(item["name"], item["status"], item["age_days"]) for item in rotation["items"]] == [
        ("FADING", "warning", 75),
        ("NEW", "ok", 0),
        ("OLD", "expired", 95),
    ]
    assert {name: value for name, value in status.items() if name not in {"rotation", "updated_at"}} == {
        "initialized": True, "locked": False, "backend": "pyrage", "vault_mode": "0600", "identity_mode": "0600",
        "permissions_ok": True, "key_count": 3, "problem": None,
    }  # fmt: skip
    assert b"value-of" not in keys.body + answer.body
    assert bench.audit() == written


async def test_a_vault_that_cannot_be_read_says_why(client: DashboardClient, bench: FeatureBench):
    vault = bench.service.vault
    vault.init(source="cli")
    vault.store.identity.chmod(0o644)
    status = (await client.get("/api/vault/status")).json()
    assert (status["initialized"], status["locked"], status["permissions_ok"]) == (True, True, False)
    assert "chmod 600" in status["problem"]
    keys = await client.get("/api/vault/keys")
    assert (keys.status, keys.json()["code"]) == (503, "not-ready")
