"""The operations on the vault: names and ages; none accepts or returns a value."""

from asyncio import to_thread
from dataclasses import dataclass
from typing import Annotated, Any

from tocsin.core.records.marks import Time
from tocsin.features.vault.hooks import OpenVault
from tocsin.features.vault.rotation import RotationState
from tocsin.rest.operations import Operations, operation


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultKeys:
    """Names of all secrets."""

    keys: list[str]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAgeRecord:
    """Age of a secret."""

    name: str
    status: RotationState
    age_days: int
    max_age_days: int
    warn_at: Time
    expires_at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationRecord:
    """Number of secrets by state, and the age of each secret."""

    ok: int
    warning: int
    expired: int
    items: list[SecretAgeRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatusRecord:
    """State of the vault."""

    initialized: bool
    locked: Annotated[bool, "Whether the vault cannot be read; `problem` has the reason."]
    backend: str
    vault_mode: str | None
    identity_mode: str | None
    permissions_ok: bool
    key_count: int | None
    updated_at: Time | None
    problem: str | None
    rotation: RotationRecord


class VaultRoutes:
    """The operations on the vault."""

    def __init__(self, opened: OpenVault) -> None:
        self._vault = opened.vault

    @operation("GET", "/api/vault/keys", answer=VaultKeys)
    async def list_vault_keys(self) -> Any:
        """List the names of the secrets; values are never returned."""
        names = [age.name for age in await to_thread(self._vault.ages)]
        return {"keys": names, "count": len(names)}

    @operation("GET", "/api/vault/status", answer=VaultStatusRecord)
    async def get_vault_status(self) -> Any:
        """Get the state of the vault, and the age of its secrets."""
        return await to_thread(self._vault.document)


def vault_operations(opened: OpenVault) -> Operations:
    """Return the operations."""
    return Operations("vault", VaultRoutes(opened))
