"""The entry of a receiver in `targets.yaml`."""

from base64 import b64decode
from urllib.parse import urlsplit

from tocsin.channels.targets import secret_text
from tocsin.core.reading.fields import BooleanType, Field, MappingType, OneOrManyType, RecordType

_OWN = ("content-", "host", "transfer-", "connection", "webhook-", "user-agent")


def check_url(text: str) -> None:
    """Raise ValueError unless a text is the address of a receiver."""
    try:
        parts = urlsplit(text)
        port_is_valid = parts.port != 0
    except ValueError:
        port_is_valid = False
    valid = port_is_valid and parts.scheme in {"http", "https"} and parts.hostname and not parts.fragment
    if not valid or parts.username is not None or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("not the address of a receiver: write https://…, without user and fragment")


def key_of(secret: str) -> bytes:
    """Return the key of a signing secret; raise ValueError for a text of another form."""
    head, _, body = secret.partition("_")
    try:
        key = b64decode(body, validate=True)
    except ValueError:
        key = b""
    if head != "whsec" or not 24 <= len(key) <= 64:
        raise ValueError("not a signing secret: write `whsec_` and 24 to 64 random bytes in base64")
    return key


def _check_header(value: str) -> None:
    if not (value.isascii() and value.isprintable()):
        raise ValueError("not the value of a header: use printable ASCII characters")


TARGET = RecordType(
    (
        Field(
            "url",
            secret_text(check_url),
            required=True,
            doc="Address of the receiver: https, or http with allow_private",
        ),
        Field(
            "secret",
            OneOrManyType(secret_text(key_of), allow_empty=False),
            required=True,
            doc="Signing secret `whsec_…`, or a list of the new and the old one while they change",
        ),
        Field(
            "headers",
            MappingType(
                secret_text(_check_header),
                key_pattern=rf"(?i:(?!{'|'.join(_OWN)})[A-Za-z0-9-]{{1,64}})",
                key_rule="not a header that you can set: use letters, digits and '-'; not those of the protocol",
                max_keys=20,
            ),
            doc="Further headers, such as `Authorization`",
        ),
        Field(
            "allow_private",
            BooleanType(),
            default=False,
            doc="Whether the address may be of this machine or of a private network",
        ),
    )
)
