"""What the vault is to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
from tocsin.features.vault.audit_actions import ACTIONS, VAULT
from tocsin.features.vault.settings import BACKEND, IDENTITY
from tocsin.terminal.command_table import RECORDS

# On which days the operator was told of old secrets; `claimed_until` is null when that is done.
MIGRATIONS = (
    "CREATE TABLE vault_notices (day TEXT PRIMARY KEY) WITHOUT ROWID",
    "ALTER TABLE vault_notices ADD COLUMN claimed_until REAL",
)

FEATURE = Feature(
    name="vault",
    summary="secrets in one encrypted file, for settings and skills, with an eye on their age",
    page="vault.md",
    variables=(BACKEND, IDENTITY),
    tables={"vault": MIGRATIONS},
    audit_actions=ACTIONS,
    audit_sources=(VAULT,),
    commands=(
        FeatureCommand(
            "vault",
            "keep secrets encrypted and watch their age",
            "tocsin.features.vault.commands:configure_vault",
            group=RECORDS,
        ),
    ),
    settings_layer="tocsin.features.vault.layer:VaultSecrets",
    open="tocsin.features.vault.opening:open_vault",
    checks=(FeatureCheck("tocsin.features.vault.checks:check_vault", at_start=True),),
    subsystems={"vault": "tocsin.features.vault.opening:subsystem_status"},
    dashboard_routes="tocsin.features.vault.routes:vault_operations",
    hourly="tocsin.features.vault.opening:notify_of_age",
    provides={
        "reveal_secret": "tocsin.features.vault.opening:reveal_secret_of",
        "reveal_secrets": "tocsin.features.vault.opening:reveal_secrets_of",
        "secret_names": "tocsin.features.vault.opening:secret_names_of",
    },
)
