"""The operations on the vault: names and ages; none accepts or returns a value."""

from tocsin.features.hooks import OperationsOf
from tocsin.features.vault.hooks import OpenVault
from tocsin.features.vault.routes.operations import vault_operations

OPERATIONS: OperationsOf[OpenVault] = vault_operations
