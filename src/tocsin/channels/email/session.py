"""One SMTP session, command by command, so that its progress is always known.

aiosmtplib transports the commands and TLS. Its own sequences are not used, because they try every login method and
hide whether the end of the message was sent.
"""

import asyncio
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import cast

import aiosmtplib

from tocsin.channels.email.attachments import MailWithFiles
from tocsin.core.errors import ChannelError
from tocsin.core.http.departure import note_departure
from tocsin.core.http.transport import CONNECT_TIMEOUT_S
from tocsin.core.text.strings import byte_count

QUIT_TIMEOUT_S = 1.0
CHUNK_BYTES = 65_536
# Between content and final dot: a server that hangs up amid the content is heard of while nothing can be delivered yet.
LISTEN_S = 0.025
END_OF_MESSAGE = b".\r\n"


class Session:
    """A connection to a mail server; `step` is the command that was sent last."""

    listen_s = LISTEN_S

    def __init__(self, host: str, port: int, security: str) -> None:
        self.host = host
        self.port = port
        self.security = security  # starttls, implicit or none
        self.step = "connect"
        self.handed_over = False  # true once the end of the message may have left
        self._client: aiosmtplib.SMTP
        self._link: socket.socket | None = None
        self._transport: asyncio.BaseTransport | None = None

    async def open(self, trust: ssl.SSLContext | None) -> None:
        """Connect and greet; return once the connection has the required security.

        `trust` may be None without TLS.
        """
        self._link = link = await self._connect()
        self.step = "greeting"
        self._client = aiosmtplib.SMTP(
            hostname=self.host,
            sock=link,
            local_hostname=_address_literal(link),
            timeout=None,
            use_tls=self.security == "implicit",
            start_tls=False,
            tls_context=trust,
        )
        await self._client.connect()
        self._transport = self._client.transport
        await self._greet()
        if self.security == "starttls":
            await self._start_tls()

    async def log_in(self, user: str, password: str) -> None:
        """Log in with the first method that both sides support, in a single attempt."""
        methods = {
            "plain": self._client.auth_plain,
            "login": self._client.auth_login,
            "cram-md5": self._client.auth_crammd5,
        }
        offered = self._client.server_auth_methods
        self.step = "AUTH"
        for name, method in methods.items():
            if name in offered:
                await method(user, password)
                return
        raise ChannelError(
            f"{self.host} does not support password login (it supports: {', '.join(offered) or 'none'})",
            hint="use a server that supports it, or check SMTP_PORT and SMTP_TLS",
            provider_code="no AUTH",
        )

    async def submit(self, sender: str, recipient: str, mail: bytes | MailWithFiles) -> None:
        """Send one mail to one address; return when the server has accepted it."""
        self._check_size(len(mail))
        options = [f"SIZE={len(mail)}"] if self._client.supports_extension("size") else []
        if not f"{sender}{recipient}".isascii():
            if not self._client.supports_extension("smtputf8"):
                raise ChannelError(
                    "server does not support SMTPUTF8",
                    hint="use an address with ASCII letters before the @",
                    provider_code="no SMTPUTF8",
                )
            options.append("SMTPUTF8")
        await self._say("MAIL", f"FROM:<{sender}>", *options)
        await self._say("RCPT", f"TO:<{recipient}>")
        await self._say("DATA", expected=3)
        await self._transfer(mail)

    async def quit(self) -> None:
        """Send QUIT, ignoring errors."""
        with suppress(aiosmtplib.SMTPException, OSError):
            async with asyncio.timeout(QUIT_TIMEOUT_S):
                await self._client.execute_command(b"QUIT")

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            cast("asyncio.WriteTransport", self._transport).abort()
        elif self._link is not None:
            # aiosmtplib does not expose a connection before the greeting, and closing TLS would wait for the peer.
            with suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)

    async def _connect(self) -> socket.socket:
        """Connect to the first address that answers."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        if self.security == "none" and not all(_is_private(entry[4][0]) for entry in found):
            raise ChannelError(
                f"SMTP_TLS=none would send the password unencrypted: {self.host} is not a private address",
                hint="set SMTP_TLS=starttls or SMTP_TLS=implicit",
                provider_code="no TLS",
            )
        failure = OSError("no address")
        for family, kind, protocol, _, address in found:
            link = socket.socket(family, kind, protocol)
            try:
                await _dial(link, address)
            except OSError as error:
                failure = error
            else:
                return link
        raise failure

    async def _greet(self) -> None:
        self.step = "EHLO"
        await self._client.ehlo()

    async def _start_tls(self) -> None:
        if not self._client.supports_extension("starttls"):
            raise ChannelError(
                f"{self.host} does not support STARTTLS, so the login was not sent",
                hint="check SMTP_HOST and SMTP_PORT; port 465 uses implicit TLS",
                provider_code="no STARTTLS",
            )
        self.step = "STARTTLS"
        await self._client.starttls()
        self._transport = self._client.transport
        await self._greet()

    async def _say(self, verb: str, *arguments: str, expected: int = 2) -> None:
        """Send a command; raise SMTPResponseException unless the reply starts with `expected`."""
        self.step = verb
        reply = await self._client.execute_command(verb.encode(), *(word.encode() for word in arguments))
        if reply.code // 100 != expected:
            raise aiosmtplib.SMTPResponseException(reply.code, reply.message)

    def _check_size(self, size: int) -> None:
        """Raise ChannelError for a mail that the server announces to refuse: RFC 1870."""
        told = self._client.esmtp_extensions.get("size", "")
        if told.isdecimal() and 0 < int(told) < size:
            raise ChannelError(
                f"the mail has {byte_count(size, ',.1f')}, {self.host} takes {byte_count(int(told))}",
                hint="send smaller files; in a mail, they take a third more",
                provider_code="552",
            )

    async def _transfer(self, mail: bytes | MailWithFiles) -> None:
        """Send the content after DATA; a failure before the final dot certainly delivered nothing."""
        protocol = self._client.protocol
        if protocol is None:
            raise aiosmtplib.SMTPServerDisconnected("Connection lost")
        lead = mail if isinstance(mail, bytes) else mail.lead
        stuffed = lead.replace(b"\r\n.", b"\r\n..")  # RFC 5321, 4.5.2
        for start in range(0, len(stuffed), CHUNK_BYTES):
            await self._write(protocol, stuffed[start : start + CHUNK_BYTES])
        if not isinstance(mail, bytes):
            async for block in mail.blocks():
                await self._write(protocol, block)
        await self._listen()
        protocol.write(END_OF_MESSAGE)  # raises if the connection is lost
        self.handed_over = True
        note_departure(possible=True)
        reply = await protocol.read_response()
        if reply.code // 100 != 2:
            raise aiosmtplib.SMTPDataError(reply.code, reply.message)

    async def _write(self, protocol: aiosmtplib.protocol.SMTPProtocol, data: bytes) -> None:
        protocol.write(data)
        while _waits(protocol.transport):  # noqa: ASYNC110  # aiosmtplib cannot be asked to wait for room
            await asyncio.sleep(0.01)

    async def _listen(self) -> None:
        """Wait for `listen_s`, or until the connection is lost."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.listen_s
        while self._client.is_connected and (left := end - loop.time()) > 0:  # noqa: ASYNC110  # it has no event for it
            await asyncio.sleep(min(left, 0.005))


def trusted_roots(ca_file: Path | None) -> ssl.SSLContext:
    """Return a context that verifies certificate and host name, by the system's roots or by `ca_file`."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # includes SSLError: the file is not PEM
        reason = error.strerror or "no certificate found"
        hint = "use a readable file of PEM certificates"
        raise ChannelError(f"SMTP_CA_FILE cannot be used: {reason}", hint=hint) from None


async def _dial(link: socket.socket, address: tuple[object, ...]) -> None:
    """Connect, or close the socket."""
    link.setblocking(False)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await asyncio.get_running_loop().sock_connect(link, address)
    except BaseException:
        link.close()
        raise


def _address_literal(link: socket.socket) -> str:
    """Return the local address for EHLO, which needs no look-up and reveals no host name (RFC 5321, 4.1.3)."""
    own = str(link.getsockname()[0]).partition("%")[0]
    return f"[IPv6:{own}]" if ":" in own else f"[{own}]"


def _is_private(address: object) -> bool:
    own = ip_address(str(address).partition("%")[0])
    return own.is_loopback or own.is_private or own.is_link_local


def _waits(transport: asyncio.BaseTransport | None) -> bool:
    """Whether an open connection has unsent bytes."""
    if transport is None or transport.is_closing():
        return False
    return cast("asyncio.WriteTransport", transport).get_write_buffer_size() > 0
