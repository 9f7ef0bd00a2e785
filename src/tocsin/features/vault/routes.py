"""The operations on the vault: names and ages; none accepts or returns a value."""

from asyncio import to_thread
from dataclasses import dataclass
from typing import Any

from tocsin.features.vault.hooks import OpenVault
from tocsin.features.vault.service import VaultStatusRecord
from tocsin.rest.operations import operation, operations_of


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultKeys:
    """Names of all secrets."""

    keys: list[str]
    count: int


class VaultRoutes:
    """The operations on the vault."""

    def __init__(self, opened: OpenVault) -> None:
        self._vault = opened.vault

    @operation("GET", "/api/vault/keys", answer=VaultKeys)
    async def list_vault_keys(self) -> Any:
        """List the names of the secrets; values are never returned."""
        names = [age.name for age in await to_thread(self._vault.ages)]
        return VaultKeys(keys=names, count=len(names))

    @operation("GET", "/api/vault/status", answer=VaultStatusRecord)
    async def get_vault_status(self) -> Any:
        """Get the state of the vault, and the age of its secrets."""
        return await to_thread(self._vault.status)


OPERATIONS = operations_of("vault", VaultRoutes)
