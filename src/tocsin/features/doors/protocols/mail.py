"""Mail, received by SMTP or LMTP."""

import base64
import json
import secrets
import socket
from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlsplit

from tocsin.core.config.core_variables import FRONT_DOOR_URL
from tocsin.core.config.settings import Values
from tocsin.features.doors.mail.addresses import MailTarget, read_targets
from tocsin.features.doors.mail.reading import ReadMail, read_mail
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest
from tocsin.features.doors.protocols.protocol import DoorProtocol, ProtocolRoute
from tocsin.features.doors.settings import LMTP_IN_SOCKET, SMTP_IN_HOST, SMTP_IN_PORT, SMTP_IN_TLS_PORT
from tocsin.features.doors.severity import severity_of

_TOKEN_BYTES = 20
_ANY_ADDRESS = {"0.0.0.0", "::", ""}  # noqa: S104  # compared, not listened on


class MailProtocol(DoorProtocol):
    """One message per recipient of a mail. It has no routes: the request is the mail, as it came."""

    name: ClassVar[str] = "mail"
    label: ClassVar[str] = "Mail"
    routes: ClassVar[Sequence[ProtocolRoute]] = ()

    def mint(self) -> str:
        """Return 32 lower-case letters and digits: a local part has at most 64, and some senders lose capitals."""
        return base64.b32encode(secrets.token_bytes(_TOKEN_BYTES)).decode().lower()

    def base_url(self, settings: Values) -> str:
        """Return the address of the mail server; without a port while doors take no mail."""
        host, path = settings[SMTP_IN_HOST].strip("[]"), settings[LMTP_IN_SOCKET]
        port = settings[SMTP_IN_PORT] or settings[SMTP_IN_TLS_PORT]
        if not port and path:
            return f"lmtp:unix:{path}"
        if host in _ANY_ADDRESS:
            host = urlsplit(settings[FRONT_DOOR_URL]).hostname or socket.gethostname()
        shown = f"[{host}]" if ":" in host else host
        return f"smtp://{shown}:{port}" if port else f"smtp://{shown}"

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of the mail server: clients have fields of their own for user and password."""
        return base_url

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Return a message for each recipient."""
        mail = _kept(request.body) or read_mail(request.body)
        return [_message(mail, target) for target in read_targets(request.path.get("to", ""))]

    def spelled(self, messages: Sequence[DoorMessage]) -> str:
        """Return what was read of the mail: its body may be encoded."""
        return json.dumps(messages[0].payload, ensure_ascii=False)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return what to enter in mail clients."""
        server = urlsplit(address.base_url)
        if server.scheme == "lmtp":
            return {"Postfix, main.cf": f"mailbox_transport = {address.base_url}"}
        host, port, to = server.hostname or "", server.port, f"{address.profile or address.name}@tocsin"
        if port is None:
            return {"Tocsin": "Mail is not received yet: set SMTP_IN_PORT, such as 2525, and start again."}
        user, token = address.name, address.token
        fields = f"server {host}, port {port}, user {user}, password {token}, recipient {to}"
        return {
            "any product": f"{fields}\nSTARTTLS, or TLS at SMTP_IN_TLS_PORT, with a certificate; else none",
            "products without a login": f"server {host}, port {port}, recipient {to.replace('@', f'+{token}@')}",
            "msmtp, ~/.msmtprc": (
                f"account tocsin\nhost {host}\nport {port}\nauth plain\nuser {user}\npassword {token}\n"
                "from tocsin@localhost\ntls off  # or: tls on, tls_starttls on"
            ),
            "Proxmox VE": f"Datacenter, Notifications, Add, SMTP: encryption None, STARTTLS or TLS, {fields}",
            "Sonarr, Radarr": f"Settings, Connect, Email: {fields}",
            "TrueNAS": f"System, General, Email: outgoing mail server {host}, port {port}, Plain or TLS (STARTTLS), "
            f"SMTP authentication with user {user} and password {token}; recipient {to}",
            "swaks": f"swaks --server {host}:{port} --auth PLAIN --auth-user {user} --auth-password {token} --to {to}",
        }


def _kept(body: bytes) -> ReadMail | None:
    """Return what was read of a mail that was processed before; `None` for a mail."""
    try:
        found = json.loads(body) if body.startswith(b"{") else None
    except ValueError:
        return None
    return ReadMail(found) if isinstance(found, dict) else None


def _message(mail: ReadMail, target: MailTarget) -> DoorMessage:
    title, text = str(mail.payload.get("subject", "")), str(mail.payload.get("text", ""))
    names = ", ".join(each.name for each in mail.files[:10])
    return DoorMessage(
        payload={**mail.payload, "profile": target.profile, "severity": target.severity},
        title=title,
        text=text or (f"You received a file: {names}" if names else "" if title else "(empty)"),
        severity=severity_of(target.severity),
        profile=target.profile,
        files=mail.files,
        note=mail.note,
    )
