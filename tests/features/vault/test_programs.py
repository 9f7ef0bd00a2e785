"""Where the identity is, and what the keychain of macOS keeps of it: a path, by a stand-in for `security`."""

from pathlib import Path

import pytest

from tocsin.core.config.settings import Settings
from tocsin.features.vault.declarations import BACKEND, IDENTITY
from tocsin.features.vault.hooks import open_store
from tocsin.features.vault.model import ProgramFailedError, VaultError
from tocsin.features.vault.programs import find_identity, note_identity, run_program

SECURITY = """\
#!/bin/sh
echo "$@" >> "$0.log"
case $1 in
  add-generic-password) while [ "$1" != -w ]; do shift; done; echo "$2" > "$0.kept" ;;
  find-generic-password) cat "$0.kept" ;;
esac
"""


@pytest.fixture
def security(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the keychain's command."""
    program = tmp_path / "bin" / "security"
    program.parent.mkdir()
    program.write_text(SECURITY)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def test_on_macos_the_keychain_remembers_the_path_of_an_identity_and_never_the_key(tmp_path: Path, security: Path):
    data_dir, elsewhere = tmp_path / "data", tmp_path / "usb disk" / "key.txt"
    usual = data_dir / "identity.txt"
    assert find_identity(data_dir, usual) == usual  # there is no such item yet
    note_identity(data_dir, elsewhere)
    assert find_identity(data_dir, usual) == elsewhere
    assert security.with_name("security.kept").read_text() == f"{elsewhere}\n"
    assert "AGE-SECRET" not in security.with_name("security.log").read_text()


def test_a_file_in_its_usual_place_wins_over_the_keychain(tmp_path: Path, security: Path):
    usual = tmp_path / "identity.txt"
    note_identity(tmp_path, tmp_path / "noted")
    usual.touch()
    assert find_identity(tmp_path, usual) == usual


def test_elsewhere_no_keychain_is_asked_and_the_setting_names_the_identity(tmp_path: Path, security: Path):
    variables = [BACKEND, IDENTITY]
    chosen = Settings.load(variables, environ={"VAULT_IDENTITY": str(tmp_path / "chosen")}, data_dir=tmp_path)
    assert open_store(tmp_path, chosen).identity == tmp_path / "chosen"
    assert open_store(tmp_path, Settings.load(variables, environ={}, data_dir=tmp_path)).identity.name == "identity.txt"
    assert not security.with_name("security.log").exists()


def test_a_keychain_that_refuses_names_the_setting_instead(tmp_path: Path, security: Path):
    security.write_text("#!/bin/sh\necho 'User interaction is not allowed.' >&2; exit 36\n")
    with pytest.raises(VaultError, match="interaction") as told:
        note_identity(tmp_path, tmp_path / "key")
    assert "VAULT_IDENTITY" in told.value.hint


def test_a_program_that_hangs_is_ended():
    with pytest.raises(ProgramFailedError, match=r"0\.05 s"):
        run_program(["sleep", "60"], b"", 0.05)
