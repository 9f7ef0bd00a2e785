"""The operations on the vault: names and ages; none takes or gives a value."""

from tocsin.features.vault.routes.operations import vault_operations

__all__ = ["vault_operations"]
