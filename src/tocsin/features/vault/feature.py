"""The declaration of the vault feature."""

from typing import TYPE_CHECKING

from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile
from tocsin.features.vault.declarations import ACTIONS, BACKEND, IDENTITY, VAULT
from tocsin.terminal.command_table import RECORDS

if TYPE_CHECKING:
    from pathlib import Path

    from tocsin.core.config.settings import SecretStore, Values

# The days on which the operator was notified of old secrets; `claimed_until` is null once that is done.
MIGRATIONS = (
    "CREATE TABLE vault_notices (day TEXT PRIMARY KEY) WITHOUT ROWID",
    "ALTER TABLE vault_notices ADD COLUMN claimed_until REAL",
)


def _secrets(data_dir: "Path", settings: "Values") -> "SecretStore":
    from tocsin.features.vault.layer import VaultSecrets

    return VaultSecrets(data_dir, settings)


FEATURE = Feature(
    name="vault",
    package=__package__,
    summary="one encrypted file of secrets for settings and skills, with reminders to rotate them",
    page="vault.md",
    files=(
        WrittenFile(
            "rotation_policies",
            "rotation_policies.yaml",
            "maximum age of secrets",
            f"{__package__}.rotation:policies_type",
        ),
    ),
    variables=(BACKEND, IDENTITY),
    tables={"vault": MIGRATIONS},
    audit_actions=ACTIONS,
    audit_sources=(VAULT,),
    commands=(FeatureCommand("vault", "manage encrypted secrets and their age", group=RECORDS),),
    settings_layer=_secrets,
    subsystems=(Subsystem("vault", "Vault", 800, "vault"),),
    provides=("secrets",),
)
