"""The settings of doors: mail received by SMTP and LMTP."""

from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.config.variables import Variable, file_path, integer, port, text

if TYPE_CHECKING:
    from tocsin.core.config.settings import Values


def _port_or_off(value: str) -> int:
    try:
        return 0 if value.strip().lower() in {"off", "0"} else port(value)
    except ValueError as error:
        raise ValueError(f"off, or {error}") from None


SMTP_IN_PORT = Variable(
    "SMTP_IN_PORT", _port_or_off, 0, "Port at which doors of the protocol mail take mail.", shown_default="off"
)
SMTP_IN_TLS_PORT = Variable(
    "SMTP_IN_TLS_PORT", _port_or_off, 0, "Port for clients that begin with TLS, such as 465.", shown_default="off"
)
SMTP_IN_HOST = Variable("SMTP_IN_HOST", text, "127.0.0.1", "Address on which SMTP_IN_PORT and SMTP_IN_TLS_PORT listen.")
SMTP_IN_TLS_CERT: Variable[Path | None] = Variable(
    "SMTP_IN_TLS_CERT", file_path, None, "Certificate chain for TLS; with it, tokens are taken only encrypted."
)
SMTP_IN_TLS_KEY: Variable[Path | None] = Variable(
    "SMTP_IN_TLS_KEY", file_path, None, "Private key of SMTP_IN_TLS_CERT, without a passphrase."
)
SMTP_IN_MAX_MB = Variable("SMTP_IN_MAX_MB", integer(1, 100), 30, "Largest mail, in MiB.")
LMTP_IN_SOCKET: Variable[Path | None] = Variable(
    "LMTP_IN_SOCKET",
    file_path,
    None,
    "Unix socket at which a mail server delivers by LMTP, without a token; its mode is 0660.",
    shown_default="off",
)

VARIABLES = (
    SMTP_IN_PORT,
    SMTP_IN_TLS_PORT,
    SMTP_IN_HOST,
    SMTP_IN_TLS_CERT,
    SMTP_IN_TLS_KEY,
    SMTP_IN_MAX_MB,
    LMTP_IN_SOCKET,
)


def takes_mail(settings: "Values") -> bool:
    """Whether doors take mail."""
    return bool(settings[SMTP_IN_PORT] or settings[SMTP_IN_TLS_PORT] or settings[LMTP_IN_SOCKET])
