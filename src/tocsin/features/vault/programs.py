"""Running programs from blocking code, and the note in the keychain of macOS."""

from collections.abc import Sequence
from pathlib import Path

from tocsin.core.errors import ProcessError
from tocsin.core.process.blocking import run_blocking
from tocsin.features.vault.model import ProgramFailedError, VaultError

SECURITY_TIMEOUT_S = 10.0
_KEYCHAIN_ITEM = "Tocsin vault identity"


def run_program(argv: Sequence[str], stdin: bytes, timeout_s: float) -> bytes:
    """Return the standard output of a program; raise ProgramFailedError, or ProcessError if it cannot start."""
    try:
        code, stdout, stderr = run_blocking(argv, stdin, timeout_s)
    except TimeoutError:
        raise ProgramFailedError(f"{argv[0]} did not finish within {timeout_s:g} s", hint="try again") from None
    if code != 0:
        reason = stderr.decode("utf-8", "replace").strip().splitlines()
        raise ProgramFailedError(reason[0] if reason else f"{argv[0]} failed", hint="run `tocsin doctor`")
    return stdout


def find_identity(data_dir: Path, usual: Path) -> Path:
    """Return the path of the identity on macOS: the default one, or the one noted in the keychain."""
    if usual.exists():
        return usual
    argv = ["security", "find-generic-password", "-s", _KEYCHAIN_ITEM, "-a", str(data_dir), "-w"]
    try:
        noted = run_program(argv, b"", SECURITY_TIMEOUT_S).decode("utf-8", "replace").strip()
    except (VaultError, ProcessError):  # there is no such item, or the keychain is locked
        return usual
    return Path(noted) if noted else usual


def note_identity(data_dir: Path, identity: Path) -> None:
    """Store the path of the identity in the keychain of macOS; the identity itself stays in its file."""
    item = ["-U", "-s", _KEYCHAIN_ITEM, "-a", str(data_dir), "-w", str(identity)]
    try:
        run_program(["security", "add-generic-password", *item], b"", SECURITY_TIMEOUT_S)
    except (VaultError, ProcessError) as error:
        raise VaultError(f"the keychain rejects the path of the identity: {error}", hint="set VAULT_IDENTITY") from None
