"""Both backends write the format age v1, read each other's files, and refuse what is not for them."""

import subprocess
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import pyrage
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.vault.conftest import BACKENDS

from tocsin.features.vault.cipher import AgeCipher, Cipher, KeyPair, PyrageCipher
from tocsin.features.vault.model import VaultError

VECTORS = Path(__file__).with_name("age_vectors.zip")
# docs/decisions/0034-vault.md says what each of them is about.
MISSED = {"armor_whitespace_outside", "stanza_missing_body", "stanza_missing_final_line"}
# pyrage computes for most of a minute; the vault refuses every file of a passphrase, see below.
TOO_COSTLY = {"scrypt_work_factor_23"}


@pytest.fixture
def pair(tmp_path: Path) -> KeyPair:
    made = PyrageCipher().generate()
    identity_file(tmp_path, made.identity)
    return made


def identity_file(place: Path, *identities: str) -> Path:
    file = place / "identity.txt"
    file.write_text("".join(f"# a comment\n{identity}\n" for identity in identities))
    file.chmod(0o600)
    return file


def vectors() -> dict[str, tuple[dict[str, list[str]], bytes]]:
    """Return the published test vectors by name: their header and the encrypted file."""
    found = {}
    with zipfile.ZipFile(VECTORS) as archive:
        for name in archive.namelist():
            if name == "LICENSE.md":
                continue
            head, _, body = archive.read(name).partition(b"\n\n")
            header: dict[str, list[str]] = {}
            for line in head.decode().splitlines():
                key, _, value = line.partition(": ")
                header.setdefault(key, []).append(value)
            found[name] = header, zlib.decompress(body) if "compressed" in header else body
    return found


def decided_as_published(header: dict[str, list[str]], body: bytes) -> bool:
    try:
        if "passphrase" in header:
            clear = pyrage.passphrase.decrypt(body, header["passphrase"][0])
        else:
            identities = [pyrage.x25519.Identity.from_str(key) for key in header.get("identity", ())]
            clear = pyrage.decrypt(body, identities)
    except pyrage.DecryptError:
        return header["expect"] != ["success"]
    return header["expect"] == ["success"] and [sha256(clear).hexdigest()] == header["payload"]


def test_the_backend_decides_120_of_the_124_published_vectors_as_they_say():
    found = vectors()
    wrong = {name for name, vector in found.items() if name not in TOO_COSTLY and not decided_as_published(*vector)}
    assert (len(found), wrong) == (124, MISSED)


@BACKENDS
def test_a_vector_for_a_key_decrypts_through_the_vaults_own_reader(cipher: Cipher, tmp_path: Path):
    for name in ("x25519", "x25519_multiple_recipients", "x25519_grease", "stream_two_chunks"):
        header, body = vectors()[name]
        file = identity_file(tmp_path, *header["identity"][:1])
        assert sha256(cipher.decrypt(body, file)).hexdigest() == header["payload"][0]


@BACKENDS
def test_a_costly_passphrase_is_refused_without_computing_it(cipher: Cipher, tmp_path: Path, pair: KeyPair):
    _, body = vectors()["scrypt_work_factor_23"]
    with pytest.raises(VaultError, match="passphrase"):
        cipher.decrypt(body, tmp_path / "identity.txt")


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(PyrageCipher(), AgeCipher()), (AgeCipher(), PyrageCipher()), (AgeCipher(), AgeCipher())],
    ids=["pyrage to age", "age to pyrage", "age to age"],
)
@pytest.mark.parametrize("clear", [b"", b"x", "\0ü€".encode() * 40_000, "ö\r\n".encode()], ids=len)
def test_each_backend_reads_what_the_other_wrote(
    writer: Cipher, reader: Cipher, clear: bytes, tmp_path: Path, pair: KeyPair
):
    other = reader.generate()
    data = writer.encrypt(clear, [pair.recipient, other.recipient])
    assert reader.decrypt(data, tmp_path / "identity.txt") == clear
    assert reader.decrypt(data, identity_file(tmp_path, other.identity)) == clear


@given(clear=st.binary(max_size=200_000))
def test_what_was_encrypted_is_decrypted_the_same(tmp_path_factory: pytest.TempPathFactory, clear: bytes):
    cipher = PyrageCipher()
    made = cipher.generate()
    file = identity_file(tmp_path_factory.mktemp("pair"), made.identity)
    assert cipher.decrypt(cipher.encrypt(clear, [made.recipient]), file) == clear


def test_debians_age_reads_and_writes_the_files_by_hand(tmp_path: Path, pair: KeyPair):
    vault, identity = tmp_path / "vault.enc", tmp_path / "identity.txt"
    vault.write_bytes(PyrageCipher().encrypt(b"from us", [pair.recipient]))
    shown = subprocess.run(["age", "-d", "-i", identity, vault], capture_output=True, check=True)
    assert shown.stdout == b"from us"
    subprocess.run(["age", "-r", pair.recipient, "-o", vault], input=b"from age", check=True)
    assert PyrageCipher().decrypt(vault.read_bytes(), identity) == b"from age"


@BACKENDS
def test_both_know_the_public_key_of_an_identity(cipher: Cipher, tmp_path: Path):
    made = cipher.generate()
    assert cipher.read_recipient(identity_file(tmp_path, made.identity)) == made.recipient
    assert cipher.validate_recipient(f" {made.recipient}\n") == made.recipient


@BACKENDS
@pytest.mark.parametrize(
    "key",
    [
        "",
        "age1",
        "age1" + "q" * 58,
        "ssh-ed25519 AAAA",
        "age1yubikey1qwerty",
        "-i/etc/passwd",
        "age1\n",
        "AGE1" + "Q" * 58,
    ],
)
def test_what_is_not_a_public_key_is_refused(cipher: Cipher, key: str):
    with pytest.raises(VaultError, match="public"):
        cipher.validate_recipient(key)


@BACKENDS
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must contain exactly one age identity"),
        ("AGE-SECRET-KEY-1WRONG\n", "must contain exactly one age identity"),
        ("AGE-PLUGIN-YUBIKEY-1Q\n", "must contain exactly one age identity"),
        ("# nothing but a comment\n", "must contain exactly one age identity"),
        ("ä\n", "must contain exactly one age identity"),
    ],
)
def test_a_file_without_one_identity_is_told(cipher: Cipher, text: str, sentence: str, tmp_path: Path, pair: KeyPair):
    data = cipher.encrypt(b"x", [pair.recipient])
    (tmp_path / "identity.txt").write_text(text)
    with pytest.raises(VaultError, match=sentence):
        cipher.decrypt(data, tmp_path / "identity.txt")
    with pytest.raises(VaultError, match=sentence):
        cipher.read_recipient(tmp_path / "identity.txt")


@BACKENDS
def test_damage_is_told_whatever_byte_it_hits(cipher: Cipher, tmp_path: Path, pair: KeyPair):
    data = cipher.encrypt(b"clear text", [pair.recipient])
    step = 1 if isinstance(cipher, PyrageCipher) else 60
    for place in range(0, len(data), step):
        for damaged in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            with pytest.raises(VaultError, match=r"damaged|not an age file|an empty file"):
                cipher.decrypt(damaged, tmp_path / "identity.txt")


@BACKENDS
def test_another_identity_is_told(cipher: Cipher, tmp_path: Path, pair: KeyPair):
    data = cipher.encrypt(b"clear text", [cipher.generate().recipient])
    with pytest.raises(VaultError, match="encrypted"):
        cipher.decrypt(data, tmp_path / "identity.txt")


def test_a_missing_age_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VaultError, match="age-keygen") as told:
        AgeCipher().generate()
    assert "apt-get install age" in told.value.hint
