"""What the vault holds, for settings that no other place sets, and to be masked in everything that is written."""

import os
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from tocsin.core.config.settings import Values
from tocsin.core.errors import TocsinError


class VaultSecrets:
    """The values of the vault; a `SecretStore`. They are read when one is needed, and after each change of the files.

    Nothing here logs: a log line is masked, which asks for these values.
    """

    def __init__(self, data_dir: Path, settings: Values) -> None:
        """Look at nothing yet, and import nothing: every start comes here, most of them without a vault."""
        self._data_dir = data_dir
        self._settings = settings
        self._name = f"{data_dir}/vault.enc"
        self._looked_in = -1  # the millisecond
        self._seen: object = None
        self._identity = ""  # of a vault that cannot be read
        self._new: Collection[str] = ()

    def by_name(self) -> Mapping[str, str]:
        """Return all values, none where there is no vault; raise VaultError for one that cannot be read."""
        self._seen = self._look()
        return {} if self._seen is None else self._read()

    def further(self) -> Collection[str]:
        """Return the values that were read since the last call; what was once in the vault stays known."""
        if (now := time.monotonic_ns() // 1_000_000) != self._looked_in:
            self._looked_in = now
            self._refresh()
        new, self._new = self._new, ()
        return new

    def unreadable(self) -> bool:
        """Whether there was a vault that could not be read when `further` or `by_name` last looked."""
        return bool(self._identity)

    def _refresh(self) -> None:
        if (seen := self._look()) == self._seen:
            return
        self._seen = seen
        if seen is None:
            self._identity = ""
            return
        with suppress(TocsinError):  # `unreadable` tells
            self._read()

    def _look(self) -> object:
        """Return what changes when the vault does, None without one; while it cannot be read, its identity counts."""
        vault = _state_of(self._name)
        if vault is None and not os.path.lexists(self._name):
            return None
        return vault, self._identity and _state_of(self._identity)

    def _read(self) -> Mapping[str, str]:
        from tocsin.features.vault.hooks import store_of

        store = store_of(self._data_dir, self._settings)
        try:
            counted = store.counted()
            content = store.decrypted()
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
