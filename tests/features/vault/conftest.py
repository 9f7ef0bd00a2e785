"""A vault in a data directory of its own, with a clock that the test moves."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.audit_entries import check_audit_log

from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.storage.files import WatchedFile
from tocsin.features.vault.cipher import AgeCipher, Cipher, PyrageCipher
from tocsin.features.vault.rotation import FILE_NAME, RotationPolicies, parse_policies
from tocsin.features.vault.service import Vault
from tocsin.features.vault.store import VaultStore
from tocsin.testing.fakes import FakeClock

BACKENDS = pytest.mark.parametrize("cipher", [PyrageCipher(), AgeCipher()], ids=["pyrage", "age"])


@dataclass
class Strongroom:
    """The vault of a data directory, and what it leaves behind."""

    data_dir: Path
    cipher: Cipher = field(default_factory=PyrageCipher)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.store = VaultStore(self.data_dir, self.cipher)
        self.log = AuditLog(self.data_dir / "audit.log")
        path = self.data_dir / FILE_NAME
        policies = WatchedFile(path, lambda content: parse_policies(content, path), RotationPolicies())
        self.vault = Vault(self.store, lambda: AuditTrail(self.log), policies.read, self.clock.now)

    def days(self, days: float) -> None:
        self.clock.advance(days * 86400)

    def audit(self) -> list[AuditEntry]:
        check_audit_log(self.log)
        return list(reversed(self.log.tail(1000)))


@pytest.fixture
def strongroom(tmp_path: Path) -> Strongroom:
    """A vault with one secret."""
    made = Strongroom(tmp_path / "data")
    made.vault.init(source="cli")
    made.vault.set("TOKEN", "first-value", source="cli")
    return made
