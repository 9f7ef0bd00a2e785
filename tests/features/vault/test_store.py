"""The files of the vault: every write is all or nothing, every bad file is told with what to do."""

import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.features.vault.conftest import BACKENDS, Strongroom
from tests.features.vault.test_cipher import vectors
from tests.features.vault.writers import forked, write_at_the_same_time

from tocsin.core.errors import TocsinError
from tocsin.core.storage.files import WriteError, write_atomically
from tocsin.features.vault.cipher import AgeCipher, Cipher, KeyPair, PyrageCipher
from tocsin.features.vault.model import NoVaultError, OlderVaultError, VaultContent, VaultError
from tocsin.features.vault.store import MAX_VAULT_BYTES, VaultStore
from tocsin.testing.fakes import FakeClock

FILES = ("identity.txt", "vault.counter", "vault.enc", "vault.lock")


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def add(name: str) -> Callable[[VaultContent], VaultContent]:
    return lambda content: content.with_secret(name, f"value of {name}", 1.0)


@BACKENDS
def test_a_new_vault_is_two_files_that_only_their_owner_can_use(cipher: Cipher, tmp_path: Path):
    before = os.umask(0)
    try:
        VaultStore(tmp_path / "data", cipher).init()
    finally:
        os.umask(before)
    assert mode(tmp_path / "data/vault.enc") == mode(tmp_path / "data/identity.txt") == 0o600
    assert mode(tmp_path / "data") == 0o700


@BACKENDS
def test_what_one_backend_stores_the_other_reads_and_changes(cipher: Cipher, tmp_path: Path):
    VaultStore(tmp_path, cipher).init()
    other = VaultStore(tmp_path, AgeCipher() if isinstance(cipher, PyrageCipher) else PyrageCipher())
    other.change(add("A"))
    VaultStore(tmp_path, cipher).change(add("B"))
    assert sorted(other.read().secrets) == ["A", "B"]


def test_a_second_init_leaves_the_vault_alone(strongroom: Strongroom):
    with pytest.raises(VaultError, match="vault"):
        strongroom.store.init()
    assert strongroom.store.read().secrets["TOKEN"].value == "first-value"


def test_an_init_that_was_killed_after_the_identity_is_completed_by_the_next(tmp_path: Path):
    store = VaultStore(tmp_path, PyrageCipher())
    recipient = store.init()
    store.vault.unlink()
    with pytest.raises(VaultError, match=r"vault\.enc is missing"):
        store.read()
    assert store.init() == recipient
    assert store.read().secrets == {}


def test_without_a_vault_the_error_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(NoVaultError, match="vault") as told:
        VaultStore(tmp_path, PyrageCipher()).read()
    assert "tocsin vault init" in told.value.hint


def test_without_its_identity_a_vault_stays_and_is_told(strongroom: Strongroom):
    strongroom.store.identity.unlink()
    for use in (strongroom.store.read, lambda: strongroom.store.change(add("A")), strongroom.store.rekey):
        with pytest.raises(VaultError, match=r"identity\.txt"):
            use()


# --- bad files


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def bit_flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def of_another_identity(file: Path) -> None:
    file.write_bytes(PyrageCipher().encrypt(b"{}", [PyrageCipher().generate().recipient]))


def of_a_passphrase(file: Path) -> None:
    file.write_bytes(vectors()["scrypt"][1])


def of_100_megabytes(file: Path) -> None:
    os.truncate(file, 100_000_000)


def of_another_program(file: Path) -> None:
    identity = file.with_name("identity.txt")
    file.write_bytes(PyrageCipher().encrypt(b"canary", [PyrageCipher().read_recipient(identity)]))


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir(mode=0o700)


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
BAD_FILES: list[Any] = [
    (truncated, "the vault is damaged and cannot be decrypted"),
    (bit_flipped, "the vault is damaged and cannot be decrypted"),
    (of_another_identity, "the vault was encrypted for another identity"),
    (of_a_passphrase, "the vault is encrypted with a passphrase"),
    (of_100_megabytes, "has 100,000,000 bytes, more than any vault has"),
    (of_another_program, "was not written by Tocsin"),
    (a_directory, "is not a regular file"),
    (a_pipe, "is not a regular file"),
    (lambda file: file.write_bytes(b""), "the vault is an empty file"),
    (lambda file: file.write_bytes(b"PK\x03\x04"), "not an age file"),
    (lambda file: file.write_bytes(b"-----BEGIN AGE ENCRYPTED FILE-----\n"), "not an age file"),
    (lambda file: file.chmod(0o640), "other users can access .*vault\\.enc \\(mode 0640\\)"),
    (lambda file: file.chmod(0o602), "other users can access .*vault\\.enc \\(mode 0602\\)"),
    (
        lambda file: file.with_name("identity.txt").chmod(0o644),
        "other users can access .*identity\\.txt \\(mode 0644\\)",
    ),
    (lambda file: file.with_name("identity.txt").write_text(""), "must contain exactly one age identity"),
    pytest.param(lambda file: os.chown(file, 12345, -1), "belongs to another user", marks=NEEDS_ROOT),
]


@pytest.mark.parametrize(("spoil", "sentence"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_a_bad_file_is_told_in_one_sentence_with_a_hint_and_nothing_is_changed(
    strongroom: Strongroom, spoil: Callable[[Path], object], sentence: str
):
    spoil(strongroom.store.vault)
    before = strongroom.store.vault.stat()
    for use in (strongroom.store.read, lambda: strongroom.store.change(add("A")), strongroom.store.rekey):
        with pytest.raises(TocsinError, match=sentence) as told:
            use()
        assert told.value.hint
        assert "canary" not in told.value.sentence()
    after = strongroom.store.vault.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)


def test_the_hint_of_wrong_permissions_can_be_copied(strongroom: Strongroom):
    strongroom.store.vault.chmod(0o644)
    with pytest.raises(VaultError) as told:
        strongroom.store.read()
    subprocess.run(["sh", "-c", told.value.hint], check=True)
    assert strongroom.store.read().secrets["TOKEN"].value == "first-value"


def test_a_vault_that_would_become_too_large_is_not_written(strongroom: Strongroom):
    def fill(content: VaultContent) -> VaultContent:
        for number in range(MAX_VAULT_BYTES // 1024**2 + 1):
            content = content.with_secret(f"N{number}", "x" * 1024**2, 1.0)
        return content

    with pytest.raises(VaultError, match=r"\b3\d,\d{3},\d{3} bytes"):
        strongroom.store.change(fill)
    assert list(strongroom.store.read().secrets) == ["TOKEN"]


# --- writes that fail


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k,mode=0700", "tocsin-test", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.decode()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_leaves_the_vault_as_it_was(small_disk: Path):
    store = VaultStore(small_disk, PyrageCipher())
    store.init()
    store.change(add("A"))
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    for write in (lambda: store.change(add("B")), store.rekey):
        with pytest.raises(WriteError, match="No space left on device") as told:
            write()
        assert "space" in told.value.hint
    assert list(store.read().secrets) == ["A"]
    assert sorted(file.name for file in small_disk.iterdir()) == ["filler", *FILES]
    filler.unlink()
    store.change(add("B"))


def test_a_read_only_disk_can_be_read_and_says_that_it_cannot_be_written(small_disk: Path):
    store = VaultStore(small_disk, PyrageCipher())
    store.init()
    store.change(add("A"))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert list(store.read().secrets) == ["A"]
    with pytest.raises(WriteError, match="Read-only file system"):
        store.change(add("B"))


def test_a_disk_that_gives_back_other_bytes_does_not_get_the_file(tmp_path: Path):
    place = tmp_path / "file"
    write_atomically(place, b"old")
    write_atomically(place, b"new", read_back=True)
    assert (place.read_bytes(), list(tmp_path.iterdir())) == (b"new", [place])


def test_what_a_killed_writer_left_is_removed_by_the_next(strongroom: Strongroom):
    left = [strongroom.data_dir / f".tocsin-{name}-00.tmp" for name in ("vault.enc", "identity.txt")]
    others = strongroom.data_dir / ".tocsin-profiles.yaml-00.tmp"
    for file in (*left, others):
        file.write_text("half")
    strongroom.store.change(add("A"))
    assert [file.exists() for file in (*left, others)] == [False, False, True]


# --- older copies


@BACKENDS
def test_an_older_vault_that_is_put_back_is_refused_until_it_is_accepted(cipher: Cipher, tmp_path: Path):
    store = VaultStore(tmp_path, cipher)
    store.init()
    store.change(add("A"))
    older = store.vault.read_bytes()
    store.change(add("B"))
    newest = store.vault.read_bytes()
    store.vault.write_bytes(older)
    for use in (store.read, lambda: store.change(add("C")), store.rekey):
        with pytest.raises(OlderVaultError, match=r"2 of.*3 changes") as told:
            use()
        assert "tocsin vault accept" in told.value.hint
    assert store.accept().writes == 4
    assert list(store.read().secrets) == ["A"]
    store.vault.write_bytes(newest)
    with pytest.raises(OlderVaultError, match="it has 3 of 4 changes"):
        store.read()


@pytest.mark.parametrize("killed_in", ["change", "rekey", "init"])
def test_a_counter_that_a_kill_left_behind_is_put_right_by_the_next_write(strongroom: Strongroom, killed_in: str):
    store = strongroom.store
    before = store.counter.read_text()
    {"change": lambda: store.change(add("A")), "rekey": store.rekey, "init": store.vault.unlink}[killed_in]()
    store.counter.write_text(before)  # the vault is written first
    if killed_in == "init":
        store.init()
    written = store.change(add("B"))
    assert (written.writes, store.counted()) == (store.read().writes, store.read().writes)
    assert written.writes > int(before)


def test_a_counter_that_is_no_number_is_told_and_written_anew_by_accept(strongroom: Strongroom):
    strongroom.store.counter.write_text("many")
    with pytest.raises(OlderVaultError, match=r"vault\.counter"):
        strongroom.store.read()
    strongroom.store.accept()
    assert strongroom.store.read().secrets["TOKEN"].value == "first-value"


# --- the lock


def test_eight_writers_at_the_same_time_lose_nothing(tmp_path: Path):
    VaultStore(tmp_path, PyrageCipher()).init()
    assert write_at_the_same_time(tmp_path, writers=8, each=5) == 40


def test_a_writer_that_waits_for_too_long_says_so(strongroom: Strongroom):
    clock, holding, done = FakeClock(), threading.Event(), threading.Event()
    waiting = VaultStore(strongroom.data_dir, PyrageCipher(), monotonic=clock.monotonic, sleep=clock.advance)

    def hold(content: VaultContent) -> VaultContent:
        holding.set()
        done.wait()
        return content

    holder = threading.Thread(target=strongroom.store.change, args=[hold])
    holder.start()
    holding.wait()
    try:
        with pytest.raises(VaultError, match="30 s"):
            waiting.change(add("A"))
    finally:
        done.set()
        holder.join()
    waiting.change(add("A"))


def test_a_lock_of_a_dead_process_holds_nobody_up(strongroom: Strongroom):
    def lock_and_die() -> None:
        fcntl.flock(os.open(strongroom.data_dir / "vault.lock", os.O_RDWR), fcntl.LOCK_EX)
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(forked(lock_and_die), 0)
    strongroom.store.change(add("A"))


def test_a_file_system_without_locks_is_refused(strongroom: Strongroom, monkeypatch: pytest.MonkeyPatch):
    def no_locks(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(VaultError, match="system"):
        strongroom.store.change(add("A"))


def test_a_process_that_has_read_the_vault_leaves_no_core_file(strongroom: Strongroom):
    def read_and_crash() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        strongroom.store.read()
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGQUIT)

    _, status = os.waitpid(forked(read_and_crash), 0)
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGQUIT, False)


# --- another identity


@BACKENDS
def test_a_vault_under_a_new_identity_has_all_it_had(cipher: Cipher, tmp_path: Path):
    store = VaultStore(tmp_path, cipher)
    old = store.init()
    store.change(add("A"))
    before = store.identity.read_text()
    new = store.rekey()
    assert new == store.recipient() != old
    assert list(store.read().secrets) == ["A"]
    assert mode(store.identity) == mode(store.vault) == 0o600
    store.identity.write_text(before)
    with pytest.raises(VaultError, match="encrypted"):
        store.read()


def test_a_reader_between_the_two_files_of_a_new_identity_reads_again(strongroom: Strongroom):
    class Slow(PyrageCipher):
        """Gets the file before, and decrypts it after somebody else has put the vault under a new identity."""

        def decrypt(self, data: bytes, identity_file: Path) -> bytes:
            if not rekeyed:
                rekeyed.append(strongroom.store.rekey())
            return super().decrypt(data, identity_file)

    rekeyed: list[str] = []
    content = VaultStore(strongroom.data_dir, Slow()).read()
    assert (list(content.secrets), len(rekeyed)) == (["TOKEN"], 1)


def test_further_recipients_stay_through_every_write_and_can_read_it_alone(strongroom: Strongroom, tmp_path: Path):
    friend: KeyPair = PyrageCipher().generate()
    file = tmp_path / "friend.txt"
    file.write_text(friend.identity)
    strongroom.vault.add_recipient(friend.recipient, "a friend", source="cli")
    strongroom.store.rekey()
    strongroom.store.change(add("A"))
    read = subprocess.run(["age", "-d", "-i", file, strongroom.store.vault], capture_output=True, check=True).stdout
    assert b'"value of A"' in read
    strongroom.vault.remove_recipient(friend.recipient, source="cli")
    with pytest.raises(VaultError, match="another identity"):
        PyrageCipher().decrypt(strongroom.store.vault.read_bytes(), file)


def test_an_identity_elsewhere_is_used_and_stays_there(tmp_path: Path):
    elsewhere = tmp_path / "usb" / "key.txt"
    elsewhere.parent.mkdir()
    store = VaultStore(tmp_path / "data", PyrageCipher(), elsewhere)
    store.init()
    store.rekey()
    assert store.read().secrets == {}
    assert (mode(elsewhere), (tmp_path / "data/identity.txt").exists()) == (0o600, False)
