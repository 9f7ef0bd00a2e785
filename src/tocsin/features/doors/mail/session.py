"""Sessions of mail clients: aiosmtpd speaks the protocol, `MailReceiver` decides."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Any, cast

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tocsin.core.errors import StoreUnavailableError
from tocsin.features.doors.mail.receiver import MailClient, MailReceiver, MailRecipient, MailRefusedError

log = logging.getLogger(__name__)
logging.getLogger("mail.log").disabled = True  # aiosmtpd writes whole commands there, with the tokens in addresses

SESSION_S = 900.0
MAX_FAILED_LOGINS = 3
_END = b"\r\n.\r\n"
_CHUNK_BYTES = 64 * 1024
_TRY_LATER = "451 4.3.0 The mail cannot be stored now: try again"
_TOO_MANY = "421 4.7.0 Too many refused requests"


class MailEnvelope(Envelope):
    """A mail that is being received."""

    def __init__(self) -> None:
        super().__init__()
        self.accepted: list[MailRecipient] = []


class MailSession(Session):
    """The state of a connection, which begins anew with TLS."""

    login_data: Any = None  # without the warning that aiosmtpd causes itself
    door = ""  # ID of the door, after a login
    failed_logins = 0


class MailConnection(SMTP):
    """One connection."""

    AuthLoginUsernameChallenge = "Username:"
    AuthLoginPasswordChallenge = "Password:"  # the prompt that every client knows
    is_local = False

    def __init__(
        self,
        receiver: MailReceiver,
        sessions: "set[MailConnection]",
        *,
        max_bytes: int,
        tls: ssl.SSLContext | None,
        admits: Callable[[str], bool],
        hostname: str,
        idle_s: float,
    ) -> None:
        self._receiver = receiver
        self._sessions = sessions
        self._admits = admits
        self._expiry: asyncio.TimerHandle | None = None
        self._max_bytes = max_bytes
        self.is_busy = False
        super().__init__(
            _Hooks(receiver),
            data_size_limit=max_bytes,
            enable_SMTPUTF8=True,
            hostname=hostname,
            ident="Tocsin",
            tls_context=tls,
            timeout=idle_s,
            auth_require_tls=tls is not None or self.is_local,
            authenticator=lambda *given: AuthResult(success=True, auth_data=given[-1]),  # `_logged_in` decides
            loop=asyncio.get_running_loop(),
        )

    @property
    def state(self) -> MailSession:
        """The session, which exists from the connection on."""
        return cast("MailSession", self.session)

    @property
    def client(self) -> MailClient:
        """The client of this session."""
        return MailClient(_address(self.state.peer), self.state.door, self.is_local)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a session, or turn the client away if there are too many."""
        if self not in self._sessions and not self._admits(_address(transport.get_extra_info("peername"))):
            cast("asyncio.WriteTransport", transport).write(b"421 4.3.2 Too many connections: try again\r\n")
            transport.close()
            return
        self._sessions.add(self)
        super().connection_made(transport)
        if transport.get_extra_info("ssl_object") and not self.state.ssl:
            self.state.ssl = {"began": True}  # encrypted from the first byte: TLS cannot begin again within it
        if self._expiry is None:
            self._expiry = asyncio.get_running_loop().call_later(SESSION_S, self.drop)
            # The end of a connection is no error.
            task = cast("asyncio.Task[None]", self._handler_coroutine)
            task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def connection_lost(self, error: Exception | None) -> None:
        """End the session."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._sessions.discard(self)
            super().connection_lost(error)

    def eof_received(self) -> bool | None:
        """End the session: a client that can read no answer sends no mail."""
        return super().eof_received() if self._expiry is not None else False

    def drop(self) -> None:
        """Close the connection."""
        if self.transport is not None:
            self.transport.close()

    def _create_session(self) -> MailSession:
        return MailSession(self.loop)

    def _create_envelope(self) -> MailEnvelope:
        return MailEnvelope()

    async def auth_PLAIN(self, _: Any, args: list[str]) -> AuthResult:  # noqa: N802  # aiosmtpd's name
        """Log in."""
        return await self._logged_in(await super().auth_PLAIN(_, args))

    async def auth_LOGIN(self, _: Any, args: list[str]) -> AuthResult:  # noqa: N802  # aiosmtpd's name
        """Log in."""
        return await self._logged_in(await super().auth_LOGIN(_, args))

    async def _logged_in(self, found: AuthResult) -> AuthResult:
        if not found.success or not isinstance(found.auth_data, LoginPassword):
            return found
        user, token = (each.decode("utf-8", "replace") for each in found.auth_data)
        try:
            door = await self._receiver.login(user, token)
        except StoreUnavailableError:
            return AuthResult(success=False, handled=False, message="454 4.7.0 Temporary failure: try again")
        if door is not None:
            self.state.door = door.id
            return AuthResult(success=True)
        self._receiver.refused["login"] += 1
        self.state.failed_logins += 1
        if self.state.failed_logins >= MAX_FAILED_LOGINS or not self._receiver.counts_refusal(self.client.address):
            await self.push(_TOO_MANY)
            self.drop()
            return AuthResult(success=False, handled=True)
        return AuthResult(success=False, handled=False)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802  # aiosmtpd's name
        """Take the content of a mail; a stop of the service waits for it."""
        envelope = cast("MailEnvelope", self.envelope)
        if arg or not envelope.accepted:
            await self.push("501 Syntax: DATA" if arg else "503 Error: need RCPT command")
            return
        self.is_busy = True
        try:
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            envelope.original_content = await self._content()
            await self.push(await self._call_handler_hook("DATA"))
        finally:
            self.is_busy = False
            self.envelope = self._create_envelope()

    async def _content(self) -> bytes | None:
        """Read a mail to its end; `None` if it is too large.

        aiosmtpd would keep an object for each line: a gigabyte for 30 MiB of line ends.
        """
        found, looked_at, is_too_large = bytearray(b"\r\n"), 0, False
        while (end := found.find(_END, looked_at)) < 0:
            looked_at = max(0, len(found) - len(_END) + 1)
            is_too_large = is_too_large or len(found) > self._max_bytes
            if is_too_large:
                del found[:looked_at]
                looked_at = 0
            if not (chunk := await self._reader.read(_CHUNK_BYTES)):
                raise ConnectionResetError
            found += chunk
        # Commands that the client sent after the mail without waiting for the answer.
        cast("Any", self._reader)._buffer[:0] = found[end + len(_END) :]  # noqa: SLF001  # a reader takes nothing back
        if is_too_large or end > self._max_bytes:
            return None
        return bytes(found[: end + 2].replace(b"\r\n.", b"\r\n")[2:])


class LmtpConnection(LMTP, MailConnection):
    """One connection of a mail server on this machine."""

    is_local = True
    _answers = 1  # to the content of a mail: one per recipient

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802  # aiosmtpd's name
        """Take the content of a mail, and answer for each recipient."""
        try:
            await super().smtp_DATA(arg)
        finally:
            self._answers = 1

    async def push(self, status: Any) -> None:
        """Send a reply."""
        count, text = self._answers, status if isinstance(status, str) else status.decode()
        if text.startswith("354 "):
            self._answers = len(cast("MailEnvelope", self.envelope).rcpt_tos)
        await super().push("\r\n".join([text] * count))


class _Hooks:
    """The handler of aiosmtpd; it defines the names of the methods."""

    def __init__(self, receiver: MailReceiver) -> None:
        self._receiver = receiver

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, session: MailConnection, _state: MailSession, envelope: MailEnvelope, address: str, _options: list[str]
    ) -> str:
        try:
            found = await self._receiver.recipient(session.client, address, envelope.accepted)
        except StoreUnavailableError:
            self._receiver.refused["store"] += 1
            return _TRY_LATER
        except MailRefusedError as error:
            self._receiver.refused["recipient" if error.reply.startswith("550 ") else "limit"] += 1
            if error.reply.startswith("550 ") and not self._receiver.counts_refusal(session.client.address):
                await session.push(_TOO_MANY)
                session.drop()
            return error.reply
        if found.token and session.tls_context and not session.state.ssl:
            return "530 5.7.0 Must issue a STARTTLS command first"
        envelope.rcpt_tos.append(address)
        envelope.accepted.append(found)
        return "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802  # aiosmtpd's name
        self, session: MailConnection, _state: MailSession, envelope: MailEnvelope
    ) -> str:
        if (content := envelope.original_content) is None:
            self._receiver.refused["size"] += 1
            return "552 5.3.4 The mail is too large"
        try:
            await self._receiver.store(session.client, envelope.mail_from or "", content, envelope.accepted)
        except StoreUnavailableError as error:
            self._receiver.refused["store"] += 1
            log.warning("a mail could not be stored", extra={"client": session.client.address, "reason": str(error)})
            return _TRY_LATER
        except MailRefusedError as error:
            return error.reply
        return "250 2.0.0 OK stored"

    async def handle_exception(self, error: Exception) -> str:
        log.error("a mail session failed", exc_info=error)
        return "451 4.3.0 Internal error: try again"


def _address(peer: Any) -> str:
    return str(peer[0]) if isinstance(peer, tuple) else "local"
