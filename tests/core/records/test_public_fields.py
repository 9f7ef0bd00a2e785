"""The public fields of records that hold a secret, or stand beside one.

A field of a record is public unless it is `Private`. Before you add a new field of these records here, check that it
reveals no secret.
"""

from typing import Any

import pytest

from tocsin.bot.door.access import Change, Listed
from tocsin.core.records.reading import public_fields
from tocsin.features.browser.model import BrowserLook
from tocsin.features.ssh.model import Identity, SshHost
from tocsin.features.vault.rotation import RotationRecord, SecretAgeRecord
from tocsin.features.vault.routes import VaultKeys
from tocsin.features.vault.service import VaultStatusRecord
from tocsin.web.access.tokens import ApiToken
from tocsin.web.dashboard.operations.settings import (
    IntegrationRecord,
    SecurityRecord,
    SettingRecord,
    SettingsOverview,
)
from tocsin.web.dashboard.operations.tokens import CreatedToken

PUBLIC: dict[Any, str] = {
    ApiToken: "id name scopes created_at last_used_at profiles",
    CreatedToken: "id name scopes created_at last_used_at profiles token",
    VaultKeys: "keys count",
    SecretAgeRecord: "name status age_days max_age_days warn_at expires_at",
    RotationRecord: "ok warning expired items",
    VaultStatusRecord: (
        "initialized locked backend vault_mode identity_mode permissions_ok key_count updated_at problem rotation"
    ),
    Listed: "chat_id state origin changed_at details",
    Change: "chat_id before state",
    SettingRecord: "key value source restart_required description secret",
    SettingsOverview: (
        "version python platform pid uptime_seconds environment data_dir "
        "timezone base_url dashboard_url security limits storage values"
    ),
    SecurityRecord: "force_https webhook_require_signature warnings",
    IntegrationRecord: "id name kind configured status missing docs latency_ms checked_at error",
    SshHost: (
        "name hostname port user groups tags description "
        "jump_host identity host_key source enabled status last_checked_at"
    ),
    Identity: "kind ref",
    BrowserLook: (
        "name browser driver user_data_dir cdp_endpoint headless default proxy status pid size_bytes last_used_at error"
    ),
}


@pytest.mark.parametrize("record", PUBLIC, ids=lambda record: record.__name__)
def test_a_record_beside_secrets_has_no_further_public_field(record: Any):
    assert list(public_fields(record)) == PUBLIC[record].split()
