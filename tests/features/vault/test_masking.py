"""Every value of the vault is masked in everything that is written, whether or not the process has used it."""

import json
import logging
from io import StringIO
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, cli
from tests.features.vault.conftest import BACKENDS, Strongroom
from tests.waiting import until

from tocsin.assembly.audit import audit_trail
from tocsin.assembly.light import load_settings
from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.settings import Settings
from tocsin.core.text.redaction import MASK
from tocsin.features.vault.cipher import Cipher

__all__ = ["cli"]

VALUE = "correct-horse-battery"


def settings_of(strongroom: Strongroom, **environ: str) -> Settings:
    return load_settings(data_dir=strongroom.data_dir, environ=environ, env_file=Path("/dev/null"))[0]


def written(strongroom: Strongroom, settings: Settings, detail: str) -> dict[str, object]:
    """Write an audit entry as any process does, and return the line."""
    trail = audit_trail(settings)
    trail.record(AuditAction("memory.set", "", {}), detail, source="cli", metadata={"key": detail})
    trail.log.close()
    line: dict[str, object] = json.loads((strongroom.data_dir / "audit.log").read_text().splitlines()[-1])
    return line


def test_a_value_that_no_process_has_used_is_in_no_audit_line_output_or_error(cli: Cli):
    cli("vault", "init")
    cli("vault", "set", "UNUSED", stdin=VALUE.encode())
    done = [
        cli("memory", "set", f"note-{VALUE}", "text"),
        cli("memory", "set", "note", f"it is {VALUE}"),
        cli("cron", "add", f"job-{VALUE}", "@daily", f"echo {VALUE}"),
        cli("cron", "list"),
        cli("send", "teamchat", f"#{VALUE}", "text"),
        cli("vault", "set", VALUE.replace("-", "_"), stdin=b"another"),
    ]
    assert VALUE not in (cli.data_dir / "audit.log").read_text()
    assert VALUE not in "".join(each.out + each.err for each in done)
    assert MASK in (cli.data_dir / "audit.log").read_text()


@BACKENDS
def test_a_value_that_another_process_sets_meanwhile_is_masked(tmp_path: Path, cipher: Cipher):
    strongroom = Strongroom(tmp_path / "data", cipher)
    settings = settings_of(strongroom, VAULT_BACKEND=cipher.name)
    assert settings.redact(VALUE) == VALUE  # there is no vault yet
    strongroom.vault.init(source="cli")
    strongroom.vault.set("LATER", VALUE, source="cli")
    until(lambda: settings.redact(VALUE) == MASK, "the change is seen within a millisecond")
    assert written(strongroom, settings, f"note-{VALUE}")["detail"] == f"note-{MASK}"
    strongroom.vault.rotate("LATER", "another-value", source="cli")
    until(lambda: settings.redact("another-value") == MASK)
    assert settings.redact(VALUE) == MASK  # it may still be in use


def test_a_log_line_of_debug_masks_a_value_that_the_age_program_has_to_decrypt(strongroom: Strongroom):
    settings = settings_of(strongroom, VAULT_BACKEND="age")
    said = StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(logging.Formatter())
    handler.format = lambda record: settings.redact(record.getMessage())  # type: ignore[method-assign]
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        strongroom.vault.set("LATER", VALUE, source="cli")
        until(lambda: logging.getLogger("tocsin.any").debug("it is %s", VALUE) or MASK in said.getvalue())
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def test_each_line_of_a_key_is_masked_where_it_is_printed_line_by_line(strongroom: Strongroom):
    key = "-----BEGIN KEY-----\nAAAAB3NzaC1yc2E\nbbbbbbbbbbbb\n-----END KEY-----\n"
    strongroom.vault.set("KEY", key, source="cli")
    redact = settings_of(strongroom).redact
    assert [redact(line) for line in key.splitlines()] == [MASK] * 4


def test_entries_of_a_process_that_cannot_read_the_vault_say_so_until_it_can(strongroom: Strongroom):
    settings = settings_of(strongroom)
    assert "masking" not in written(strongroom, settings, "before")["metadata"]
    strongroom.vault.set("LATER", VALUE, source="cli")
    strongroom.store.identity.chmod(0o644)
    started_later = settings_of(strongroom)
    assert written(strongroom, started_later, "text")["metadata"]["masking"] == "incomplete"
    assert settings.redact("first-value") == MASK  # what it has read before stays masked
    strongroom.store.identity.chmod(0o600)
    for each in (settings, started_later):
        until(lambda each=each: each.redact(VALUE) == MASK)
        line = written(strongroom, each, VALUE)
        assert (line["detail"], "masking" in line["metadata"]) == (MASK, False)


@pytest.mark.parametrize("what", ["deleted", "never made"])
def test_without_a_vault_masking_is_complete(strongroom: Strongroom, tmp_path: Path, what: str):
    place = strongroom if what == "deleted" else Strongroom(tmp_path / "other")
    settings = settings_of(place)
    place.store.vault.unlink(missing_ok=True)
    place.store.identity.unlink(missing_ok=True)
    assert "masking" not in written(place, settings, "text")["metadata"]
