"""The values of the vault as a layer of settings that are not set elsewhere, and as secrets to mask in output."""

import os
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from tocsin.core.config.settings import Values
from tocsin.core.errors import TocsinError


class VaultSecrets:
    """The values of the vault: implements `SecretStore`.

    They are read on first use, and after each change of the files.

    This class logs nothing: masking a log line needs these values.
    """

    def __init__(self, data_dir: Path, settings: Values) -> None:
        """Read and import nothing yet: every start creates this object, most of them without a vault."""
        self._data_dir = data_dir
        self._settings = settings
        self._name = f"{data_dir}/vault.enc"
        self._looked_in = -1  # the millisecond
        self._seen: object = None
        self._identity = ""  # of an unreadable vault
        self._new: Collection[str] = ()

    def by_name(self) -> Mapping[str, str]:
        """Return all values; empty if there is no vault. Raises VaultError if it cannot be read."""
        self._seen = self._look()
        return {} if self._seen is None else self._read()

    def further(self) -> Collection[str]:
        """Return the values read since the last call; values that were once in the vault stay known."""
        if (now := time.monotonic_ns() // 1_000_000) != self._looked_in:
            self._looked_in = now
            self._refresh()
        new, self._new = self._new, ()
        return new

    def unreadable(self) -> bool:
        """Return True if the vault could not be read at the last call of `further` or `by_name`."""
        return bool(self._identity)

    def _refresh(self) -> None:
        if (seen := self._look()) == self._seen:
            return
        self._seen = seen
        if seen is None:
            self._identity = ""
            return
        with suppress(TocsinError):  # `unreadable` reports it
            self._read()

    def _look(self) -> object:
        """Return a value that changes with the vault; `None` without one. If it is unreadable, its identity counts."""
        vault = _state_of(self._name)
        if vault is None and not os.path.lexists(self._name):
            return None
        return vault, self._identity and _state_of(self._identity)

    def _read(self) -> Mapping[str, str]:
        from tocsin.features.vault.hooks import open_store

        store = open_store(self._data_dir, self._settings)
        try:
            counted = store.counted()
            content = store.decrypt_any()
            values = {name: secret.value for name, secret in content.secrets.items()}
            self._new = (*self._new, *values.values())  # of an older copy, too
            store.refuse_older(content, counted)
        except TocsinError:
            self._identity = str(store.identity)
            raise
        self._identity = ""
        return values


def _state_of(name: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116  # half of Path.stat's time
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size
