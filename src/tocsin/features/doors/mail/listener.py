"""The listeners for mail of one process, while its front door is open."""

import asyncio
import logging
import socket
import ssl
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.config.security import is_loopback, load_tls, tls_files
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ConfigError
from tocsin.core.service import DRAIN_S, ServiceLoop
from tocsin.features.context import FeatureContext
from tocsin.features.doors.mail.receiver import MailReceiver
from tocsin.features.doors.settings import (
    LMTP_IN_SOCKET,
    SMTP_IN_HOST,
    SMTP_IN_MAX_MB,
    SMTP_IN_PORT,
    SMTP_IN_TLS_CERT,
    SMTP_IN_TLS_KEY,
    SMTP_IN_TLS_PORT,
    takes_mail,
)

if TYPE_CHECKING:
    from tocsin.features.doors.mail.session import MailConnection

log = logging.getLogger(__name__)

IDLE_S = 120.0  # of a command; the whole content of a mail is one
LOOK_S = 60.0  # for a renewed certificate
MAX_CONNECTIONS, MAX_PER_ADDRESS = 100, 20
SOCKET_MODE = 0o660
_MIB = 1024 * 1024
_SERVICE = "the mail listener"


class MailListener:
    """Listens for SMTP and LMTP, if they are on."""

    def __init__(self, context: FeatureContext, receiver: MailReceiver, *, idle_s: float = IDLE_S) -> None:
        self._context = context
        self._settings = context.settings
        self._receiver = receiver
        self._idle_s = idle_s
        self._sessions: set[MailConnection] = set()
        self._servers: dict[str, asyncio.Server] = {}
        self._tls: ssl.SSLContext | None = None
        self._certificate = 0.0  # when it was written
        self._loop = ServiceLoop(_SERVICE, self._step, context.clock)

    @property
    def addresses(self) -> list[str]:
        """The addresses on which it listens."""
        return [str(each.sockets[0].getsockname()) for each in self._servers.values()]

    def stop(self) -> None:
        """Take no more mail."""
        self._loop.stop()

    async def run(self) -> None:
        """Listen until `stop`; mail that is being received may still arrive."""
        if not takes_mail(self._settings):
            return
        try:
            await self._loop.run()
        finally:
            for server in self._servers.values():
                server.close()
            if (path := self._settings[LMTP_IN_SOCKET]) is not None and "LMTP" in self._servers:
                path.unlink(missing_ok=True)
        await self._drain()

    async def _drain(self) -> None:
        clock = self._context.clock
        give_up_at = clock.monotonic() + DRAIN_S
        while any(each.is_busy for each in self._sessions) and clock.monotonic() < give_up_at:
            await clock.sleep(0.05)
        for session in tuple(self._sessions):
            session.drop()

    async def _step(self) -> float:
        """Open what is not open yet, and read a renewed certificate; raises ConfigError."""
        session = import_module(f"{__package__}.session")  # late: its library takes 0.2 s
        self._load_certificate()
        if self._settings[SMTP_IN_PORT] and "SMTP" not in self._servers:
            await self._open("SMTP", session.MailConnection, _port_socket(self._settings, SMTP_IN_PORT), self._tls)
            if warning := bind_warning(self._settings):
                log.warning(warning)
        if self._settings[SMTP_IN_TLS_PORT] and "SMTPS" not in self._servers:
            sock = _port_socket(self._settings, SMTP_IN_TLS_PORT)
            await self._open("SMTPS", session.MailConnection, sock, at_once=self._tls)
        path = self._settings[LMTP_IN_SOCKET]
        if path is not None and "LMTP" not in self._servers:
            await self._open("LMTP", session.LmtpConnection, _unix_socket(path))
        return LOOK_S

    async def _open(
        self,
        name: str,
        kind: "type[MailConnection]",
        sock: socket.socket,
        starttls: ssl.SSLContext | None = None,
        at_once: ssl.SSLContext | None = None,
    ) -> None:
        def session() -> "MailConnection":
            return kind(
                self._receiver,
                self._sessions,
                max_bytes=self._settings[SMTP_IN_MAX_MB] * _MIB,
                tls=starttls,
                admits=self._admits,
                hostname=socket.gethostname(),
                idle_s=self._idle_s,
            )

        server: asyncio.Server = await asyncio.get_running_loop().create_server(session, sock=sock, ssl=at_once)
        self._servers[name] = server
        log.info("listening", extra={"service": f"mail, {name}", "address": self.addresses[-1]})

    def _admits(self, client: str) -> bool:
        """Whether an address may open another connection."""
        own = sum(each.client.address == client for each in self._sessions)
        return len(self._sessions) < MAX_CONNECTIONS and own < MAX_PER_ADDRESS

    def _load_certificate(self) -> None:
        """Read the certificate when it is new; raises ConfigError, and then the old one remains in use."""
        found = mail_tls(self._settings)
        if found is None or (at := max(each.stat().st_mtime for each in found)) == self._certificate:
            return
        if self._tls is None:
            self._tls = load_tls(_SERVICE, *found)
        else:
            load_tls(_SERVICE, *found)  # in a context of its own first: half a pair would break the one in use
            self._tls.load_cert_chain(*found)
        self._certificate = at


def mail_tls(settings: Values) -> tuple[Path, Path] | None:
    """Return certificate and key, like `tls_files`; raises ConfigError without them if SMTP_IN_TLS_PORT needs them."""
    found = tls_files(settings, _SERVICE, SMTP_IN_TLS_CERT, SMTP_IN_TLS_KEY)
    if found is None and settings[SMTP_IN_TLS_PORT]:
        needed = f"{SMTP_IN_TLS_CERT.name} and {SMTP_IN_TLS_KEY.name}"
        raise ConfigError(f"{SMTP_IN_TLS_PORT.name} needs a certificate", hint=f"set {needed}")
    return found


def bind_warning(settings: Values) -> str:
    """Return a warning about tokens that cross a network in clear text; empty without one."""
    host = settings[SMTP_IN_HOST]
    if not settings[SMTP_IN_PORT] or is_loopback(host) or settings[SMTP_IN_TLS_CERT]:
        return ""
    tls = f"{SMTP_IN_TLS_CERT.name} and {SMTP_IN_TLS_KEY.name}"
    return f"the mail listener on {host} has no TLS: tokens of doors are sent unencrypted; set {tls}"


def _port_socket(settings: Values, variable: Variable[int]) -> socket.socket:
    host, port = settings[SMTP_IN_HOST].strip("[]"), settings[variable]
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        hint = f"correct {SMTP_IN_HOST.name} or {variable.name}; ports below 1024 need a privilege"
        raise ConfigError(f"cannot listen for mail on {host} port {port}: {error}", hint=hint) from None


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket bound to a path, with its mode set before anything can connect."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        if path.is_socket() and not _is_in_use(path):
            path.unlink()
        sock.bind(str(path))
        path.chmod(SOCKET_MODE)
    except OSError as error:
        sock.close()
        hint = f"set {LMTP_IN_SOCKET.name} to a path in a directory that Tocsin can write"
        raise ConfigError(f"cannot listen for mail on {path}: {error}", hint=hint) from None
    return sock


def _is_in_use(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
