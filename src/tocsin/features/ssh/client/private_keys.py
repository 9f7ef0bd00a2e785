"""Private keys: why one is of no use to `ssh`."""

import base64
import binascii
import os
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import read_limited

# OpenSSH, PROTOCOL.key: these bytes, then the name of the cipher with its length before it.
_MAGIC, _PLAIN = b"openssh-key-v1\0", b"\0\0\0\4none"


def private_key_problem(path: Path) -> str:
    """Return the problem of a private key file, or an empty text."""
    try:
        found = path.stat()
    except OSError as error:
        return error.strerror or "it is not readable"
    if found.st_mode & 0o077:
        return "other users can read it, and ssh rejects such keys"
    return "" if os.access(path, os.R_OK) else "it is not readable"


def needs_passphrase(path: Path) -> bool:
    """Whether a private key file is encrypted; False also if it is not a key."""
    try:
        content = read_limited(path)
    except ConfigError:
        return False
    if b"-----BEGIN OPENSSH PRIVATE KEY-----" not in content:
        return b"ENCRYPTED" in content  # the older formats, by OpenSSL
    try:
        key = base64.b64decode(b"".join(line for line in content.splitlines() if not line.startswith(b"-")))
    except binascii.Error:
        return False
    return key.startswith(_MAGIC) and not key.startswith(_MAGIC + _PLAIN)
