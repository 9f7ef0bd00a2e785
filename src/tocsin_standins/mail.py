"""A mail server that accepts all mail and delivers none: STARTTLS, implicit TLS or neither."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import shutil
import ssl
import tempfile
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tocsin_standins.faults import Fault, FaultScript
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import abort

Mode = Literal["starttls", "implicit", "plain"]

USER, PASSWORD = "tocsin@mail.example", "stand-in-password"
BAD_LOGIN = "535 5.7.8 Authentication credentials invalid"

# Predefined faults for `MailServer.faults.push`; `Fault.error(code=…).only(verb)` makes any other.
NO_SUCH_USER = Fault.error("550 5.1.1 No such user here").only("RCPT")
TRY_LATER = Fault.error("451 4.3.0 Try again later").only("MAIL")
LOGIN_REFUSED = Fault.error(BAD_LOGIN).only("AUTH")
DROP_BEFORE_MAIL = Fault.reset().only("MAIL")
DROP_AFTER_RCPT = Fault.reset_after_accept().only("RCPT")
DROP_IN_DATA = Fault.reset().only("DATA")
DROP_AFTER_FINAL_DOT = Fault.reset_after_accept().only("DATA")


class MailServer:
    """One SMTP server on one loopback port.

    A login is required before MAIL. Faults are told apart by SMTP verb: `error` answers that line instead,
    `reset` drops the connection (in DATA: amid the content), `reset_after_accept` in RCPT drops after the
    recipient was taken, in DATA after the final dot, with the message recorded. `stall` delays the verb.
    `smtputf8` may be switched between connections.
    """

    channel = "email"

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        mode: Mode = "starttls",
        user: str = USER,
        password: str = PASSWORD,
        smtputf8: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.recorder = Recorder() if recorder is None else recorder
        self.faults = FaultScript()
        self.mode, self.user, self.password, self.smtputf8 = mode, user, password, smtputf8
        self.host, self.port = host, port
        self.ca_file = Path()
        self._closing = asyncio.Event()
        self.sessions: set[_Smtp] = set()
        self._authority: trustme.CA | None = None
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; after a `stop`, with the same port and certificates."""
        self._closing.clear()
        await asyncio.to_thread(self._prepare_certificates)
        implicit = self._tls if self.mode == "implicit" else None
        self._server = await asyncio.get_running_loop().create_server(self._session, self.host, self.port, ssl=implicit)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Drop open sessions and stop listening."""
        self._closing.set()
        if self._server is not None:
            self._server.close()
        tasks = [session.task for session in self.sessions if session.task]
        for session in tuple(self.sessions):
            session.drop()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._authority is not None:
            await asyncio.to_thread(shutil.rmtree, self.ca_file.parent, ignore_errors=True)

    def _prepare_certificates(self) -> None:
        if self._authority is None:
            self._authority = trustme.CA()
            self._authority.issue_cert("localhost", "127.0.0.1", "::1").configure_cert(self._tls)
            self.ca_file = Path(tempfile.mkdtemp(prefix="tocsin-mail-")) / "ca.pem"
        self.ca_file.parent.mkdir(mode=0o700, exist_ok=True)
        self._authority.cert_pem.write_to_path(str(self.ca_file))

    def _session(self) -> _Smtp:
        return _Smtp(self, self._tls if self.mode == "starttls" else None)

    def admits(self, login: bytes, password: bytes) -> bool:
        given, right = (login, password), (self.user.encode(), self.password.encode())
        return all(hmac.compare_digest(*pair) for pair in zip(given, right, strict=True))

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the server stops."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def record(self, envelope: Envelope, login: str, fault: str) -> None:
        """Record one message per recipient, raw and parsed."""
        raw = envelope.original_content or b""
        mail = message_from_bytes(raw, policy=policy.default)
        for recipient in envelope.rcpt_tos:
            self.recorder.add(
                self.channel,
                recipient,
                plain_body(mail),
                id=str(mail.get("Message-ID", "")),
                account=login,
                subject=str(mail.get("Subject", "")),
                fault=fault,
                headers={"mail_from": envelope.mail_from or "", **{k: str(v) for k, v in mail.items()}},
                body=raw.decode("utf-8", "surrogateescape"),
            )


class _Session(Session):
    """A session without the deprecation warning that aiosmtpd causes itself at every login."""

    login_data: Any = None


class _Smtp(SMTP):
    """One connection: aiosmtpd speaks the protocol, `_Hooks` decides."""

    def __init__(self, server: MailServer, tls: ssl.SSLContext | None) -> None:
        self.hooks = _Hooks(server, self.drop)
        self._sessions = server.sessions
        super().__init__(
            self.hooks,
            hostname="mail.example",
            ident="stand-in ESMTP",
            tls_context=tls,
            require_starttls=tls is not None,
            auth_require_tls=tls is not None,
            enable_SMTPUTF8=server.smtputf8,
            authenticator=self.hooks.check_login,
            loop=asyncio.get_running_loop(),
        )

    @property
    def task(self) -> asyncio.Task[None] | None:
        return self._handler_coroutine

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._sessions.discard(self)
        super().connection_lost(error)

    def _create_session(self) -> Session:
        return _Session(self.loop)

    def drop(self) -> None:
        transport = self._original_transport or self.transport
        if transport is not None and not transport.is_closing():
            abort(cast(asyncio.WriteTransport, transport))

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802  # aiosmtpd's name
        if not (self.envelope and self.envelope.rcpt_tos):
            await super().smtp_DATA(arg)
            return
        refusal = await self.hooks.meet("DATA")
        if self.hooks.met("reset"):
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            await self._reader.readuntil(b"\r\n")
            await self.hooks.gone()
        elif refusal:
            await self.push(refusal)
        else:
            await super().smtp_DATA(arg)


class _Hooks:
    """Login, recording and faults of one connection; method names are aiosmtpd's."""

    def __init__(self, server: MailServer, drop: Callable[[], None]) -> None:
        self._server = server
        self._drop = drop
        self._fault: Fault | None = None

    async def meet(self, verb: str) -> str:
        """Apply the next fault of this verb; return the answer to send, or `""` to continue."""
        self._fault = fault = self._server.faults.take(verb)
        if fault is None:
            return ""
        if fault.kind == "stall":
            await self._server.pause(fault.seconds)
        if fault.kind == "reset" and verb != "DATA":
            return await self.gone()
        return reply_line(fault) if fault.kind == "error" else ""

    def met(self, kind: str) -> bool:
        return self._fault is not None and self._fault.kind == kind

    async def gone(self) -> str:
        """Drop the connection, which cancels this task; the returned text is never sent."""
        self._drop()
        await asyncio.sleep(1)
        return "421 4.3.2 Gone"

    def check_login(
        self, connection: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        fault = self._server.faults.take("AUTH")
        if fault and fault.kind == "error":
            return AuthResult(success=False, handled=False, message=reply_line(fault))
        if fault and fault.kind == "reset":
            self._drop()
            return AuthResult(success=False, handled=True)
        if not isinstance(data, LoginPassword):
            return AuthResult(success=False, handled=False)
        right = self._server.admits(data.login, data.password)
        return AuthResult(success=right, handled=False, auth_data=data if right else None)

    async def handle_MAIL(  # noqa: N802  # the name that aiosmtpd calls
        self, connection: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not session.authenticated:
            return "530 5.7.0 Authentication required"
        if refusal := await self.meet("MAIL"):
            return refusal
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802  # the name that aiosmtpd calls
        self, connection: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refusal := await self.meet("RCPT"):
            return refusal
        envelope.rcpt_tos.append(address)
        return await self.gone() if self.met("reset_after_accept") else "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802  # the name that aiosmtpd calls
        self, connection: SMTP, session: Session, envelope: Envelope
    ) -> str:
        known: Any = session.auth_data
        login = known.login.decode() if isinstance(known, LoginPassword) else ""
        self._server.record(envelope, login, self._fault.kind if self._fault else "")
        return await self.gone() if self.met("reset_after_accept") else "250 2.0.0 OK queued"


def reply_line(fault: Fault) -> str:
    """Return the reply line of an `error`: `code` holds all of it, or `text` the rest."""
    return f"{fault.code} {fault.text}".strip()


def plain_body(mail: EmailMessage) -> str:
    """Return the plain text of a mail, with newlines as line ends."""
    part = mail.get_body(("plain", "html"))
    return part.get_content().replace("\r\n", "\n").rstrip("\n") if part else ""
