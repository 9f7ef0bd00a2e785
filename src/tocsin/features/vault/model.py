"""The content of the vault: secrets with their age, and further recipients of the file."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError

VERSION = 1
MAX_NAME = 128
MAX_VALUE_BYTES = 1024 * 1024
MAX_NOTE = 100
MAX_RECIPIENTS = 20

_LIST = "`tocsin vault list` shows the names"
_RECIPIENTS = "`tocsin vault recipients list` shows the recipients"
_ENCODE = "encode binary data first, for example with base64"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class VaultError(TocsinError):
    """The vault cannot be read or changed; its content is unchanged."""

    code = "vault"


class NoVaultError(VaultError):
    """There is no vault in this data directory."""

    code = "no-vault"


class OlderVaultError(VaultError):
    """The vault is a copy from before its last change."""

    code = "vault-older"


class InvalidSecretError(VaultError):
    """The name or the value of a secret is invalid."""

    code = "validation-failed"


class ProgramFailedError(VaultError):
    """A program exited with a code other than 0; the message is the first line of its error output."""


class UnknownSecretError(VaultError):
    """The vault has no secret with that name."""

    code = "unknown-secret"


# Named tuples and not dataclasses: those take ten times as long to create, and `tocsin vault get` creates them each
# time.
class Secret(NamedTuple):
    """One value; times in Unix seconds."""

    value: str
    created_at: float
    rotated_at: float  # when the value was set: its age starts here

    def __repr__(self) -> str:
        return f"Secret(created_at={self.created_at}, rotated_at={self.rotated_at})"


class Recipient(NamedTuple):
    """A further recipient of the vault: an age public key, and a label."""

    key: str
    note: str = ""


class VaultContent(NamedTuple):
    """The clear text of the vault; it exists in memory only."""

    secrets: Mapping[str, Secret] = MappingProxyType({})
    recipients: tuple[Recipient, ...] = ()  # in addition to the own identity
    writes: int = 0  # number of writes of the file: an older copy has fewer

    def with_secret(self, name: str, value: str, now: float) -> "VaultContent":
        """Return the content with a new value, set at `now`, for a new or existing name."""
        known = self.secrets.get(name)
        secret = Secret(value, known.created_at if known else now, now)
        return self._replace(secrets={**self.secrets, name: secret})

    def without(self, name: str) -> "VaultContent":
        """Return the content without a name; raise UnknownSecretError."""
        self.secret(name)
        return self._replace(secrets={other: kept for other, kept in self.secrets.items() if other != name})

    def with_recipient(self, key: str, note: str) -> "VaultContent":
        """Return the content with one more recipient; raise VaultError if it exists, or there are too many."""
        if key in {other.key for other in self.recipients}:
            raise VaultError("this recipient can already read the vault", hint=_RECIPIENTS)
        if len(self.recipients) >= MAX_RECIPIENTS:
            raise VaultError(f"the vault already has {MAX_RECIPIENTS} recipients", hint="remove one first")
        return self._replace(recipients=(*self.recipients, Recipient(key, note)))

    def without_recipient(self, key: str) -> "VaultContent":
        """Return the content without a recipient; raise VaultError if it has none with this key."""
        kept = tuple(other for other in self.recipients if other.key != key)
        if len(kept) == len(self.recipients):
            raise VaultError("the vault has no additional recipient with this key", hint=_RECIPIENTS)
        return self._replace(recipients=kept)

    def secret(self, name: str) -> Secret:
        """Return a secret; raise UnknownSecretError."""
        if name not in self.secrets:
            raise UnknownSecretError(f"the vault has no secret {shown(name)}", hint=_LIST)
        return self.secrets[name]


def validate_name(name: str) -> str:
    """Validate the name of a secret; raises InvalidSecretError."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidSecretError(
            f"{shown(name)} is not a valid secret name",
            hint=f"use letters, digits and _, not starting with a digit, at most {MAX_NAME} characters",
        )
    return name


def shown(name: str) -> str:
    """Return a name for quotation in errors, shortened and escaped."""
    return repr(name[:40] + ("…" if len(name) > 40 else ""))


def validate_value(value: str) -> str:
    """Validate a value; raises InvalidSecretError if it is empty, too long or not encodable."""
    if not value:
        raise InvalidSecretError("the value is empty", hint="enter a value; `tocsin vault delete` removes a secret")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidSecretError("the value is not UTF-8 text", hint=_ENCODE) from None
    if "\0" in value:
        raise InvalidSecretError("the value contains a NUL character", hint=_ENCODE)
    if size > MAX_VALUE_BYTES:
        hint = "keep large data in a file"
        raise InvalidSecretError(f"the value has {size:,} bytes, limit {MAX_VALUE_BYTES:,}", hint=hint)
    return value


def encode(content: VaultContent) -> bytes:
    document: dict[str, Any] = {
        "version": VERSION,
        "secrets": {
            name: {"value": s.value, "created_at": timestamp(s.created_at), "rotated_at": timestamp(s.rotated_at)}
            for name, s in sorted(content.secrets.items())
        },
    }
    if content.writes:
        document["writes"] = content.writes
    if content.recipients:
        document["recipients"] = [{"key": other.key, "note": other.note} for other in content.recipients]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def decode(data: bytes) -> VaultContent:
    """Decode the clear text; raise VaultError for anything that `encode` does not write, without quoting it."""
    try:
        document = json.loads(data)
        if document["version"] != VERSION:
            raise VaultError(
                "the vault was written by a newer version of Tocsin", hint="upgrade Tocsin on this machine"
            )
        secrets = {name: _secret(name, entry) for name, entry in document["secrets"].items()}
        recipients = tuple(Recipient(str(o["key"]), str(o.get("note", ""))) for o in document.get("recipients", ()))
        writes = int(document.get("writes", 0))  # the `age` programs, and other writers, have no counter
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VaultError(
            "the decrypted content was not written by Tocsin", hint="restore the file from a backup"
        ) from None
    return VaultContent(secrets, recipients, writes)


def _secret(name: str, entry: Mapping[str, Any]) -> Secret:
    if not _NAME.fullmatch(name) or not isinstance(entry["value"], str):
        raise ValueError("not a secret as `encode` writes it")
    created_at = _seconds(entry["created_at"])
    rotated_at = entry.get("rotated_at")  # other writers omit it for a value that was never rotated
    return Secret(entry["value"], created_at, created_at if rotated_at is None else _seconds(rotated_at))


def timestamp(seconds: float) -> str:
    """Format a time for documents."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(timestamp: str) -> float:
    moment = datetime.fromisoformat(timestamp)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
