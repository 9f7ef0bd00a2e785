"""Settings from the vault: secrets that neither the environment nor a file sets."""

import os
from collections.abc import Mapping
from pathlib import Path

from tocsin.core.config.settings import Values


def secrets_in_vault(data_dir: Path, settings: Values) -> Mapping[str, str]:
    """Return all values by name, none where there is no vault; raise VaultError for one that cannot be read."""
    if not os.path.lexists(data_dir / "vault.enc"):  # without importing what reads it: every start comes here
        return {}
    from tocsin.features.vault.opening import store_of

    return {name: secret.value for name, secret in store_of(data_dir, settings).read().secrets.items()}
