"""email: SMTP submission with a login. Source: docs/facts/email.md."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.channels.contract import (
    COMMONMARK,
    ChannelSpec,
    OutboundAdapter,
    Part,
    RetryPolicy,
    Sent,
    Shown,
    Tools,
    visible,
)
from tocsin.channels.email.message import (
    ONE_ADDRESS,
    Mailbox,
    MailContents,
    MailThread,
    compose,
    follow,
    read_address,
    read_mailbox,
    subject_of,
)
from tocsin.channels.model import degraded, native
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, choice, directory, password, port, text
from tocsin.core.errors import ChannelError
from tocsin.core.http.addresses import is_address
from tocsin.core.http.departure import note_departure, upload_s

if TYPE_CHECKING:
    import ssl

    from tocsin.channels.email.attachments import MailWithFiles
    from tocsin.channels.email.session import Session

_HOST = r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?"


def host(value: str) -> str:
    """Read the name or IP address of a server."""
    stripped = value.strip().removeprefix("[").removesuffix("]")
    if not re.fullmatch(_HOST, stripped) and not is_address(stripped):
        raise ValueError("a host name or an IP address, without scheme and port")
    return stripped


def sender(value: str) -> Mailbox | None:
    """Read the sender's address, with or without a name."""
    try:
        return read_mailbox(value)
    except ValueError:
        raise ValueError(f"{ONE_ADDRESS} or Alerts <alerts@example.org>") from None


HOST = Variable("SMTP_HOST", host, "", "Mail server for outgoing email.", required=True)
PORT = Variable("SMTP_PORT", port, 587, "Port of the mail server: 587 for STARTTLS, 465 for implicit TLS.")
USER = Variable("SMTP_USER", text, "", "User name for the mail server.", login=True, required=True)
PASSWORD = Variable(
    "SMTP_PASS",
    password,
    "",
    "Password for the mail server; many providers require an app password.",
    secret=True,
    required=True,
)
FROM: Variable[Mailbox | None] = Variable(
    "SMTP_FROM",
    sender,
    None,
    "Sender address, with or without a name.",
    shown_default="value of SMTP_USER",
)
TLS = Variable(
    "SMTP_TLS",
    choice("auto", "starttls", "implicit", "none"),
    "auto",
    "`auto` uses implicit TLS on port 465 and STARTTLS otherwise; `none` requires a loopback or private address.",
)
CA_FILE: Variable[Path | None] = Variable(
    "SMTP_CA_FILE",
    directory,
    None,
    "PEM file of root certificates to trust instead of the system's.",
    shown_default="none",
)

# The adapter's deadline precedes the contract's by this much, because only the adapter knows whether the message may
# have arrived.
MARGIN_S = 0.25


class EmailAdapter(OutboundAdapter):
    """Sends each mail to one address over a new connection; Markdown adds an HTML part."""

    spec = ChannelSpec(
        kind="email",
        label="E-mail",
        product="SMTP",
        aliases=("mail", "smtp"),
        schemes=("mailto", "mailtos"),
        secrets=(PASSWORD,),
        options=(HOST, PORT, USER, FROM, TLS, CA_FILE),
        target_format="name@example.org",
        arrival=(
            "The mail is not in the spam folder.",
            "The address is spelled correctly, and no mail about a failed delivery came back to SMTP_FROM.",
            "The mail app fetches new mail by itself and notifies you about it.",
        ),
        retry=RetryPolicy(rate_limited=0),
        abilities={
            "title": native("the subject; cut at 200 characters"),
            "priority": native("the headers Importance and X-Priority"),
            "type": degraded("a coloured bar in the HTML part"),
            "click": degraded("a line; a link in the HTML part"),
            "actions": degraded("lines; links in the HTML part"),
            "attach": native("attachments, checked against the limit of the mail server"),
            "thread": native("a thread with the subject of its first mail"),
            "key": degraded("a later mail with it is a new one in the same thread"),
        },
        send_timeout_s=15.0,
        test_timeout_s=10.0,
    )

    dressing = "tocsin.channels.email.links:MailDressing"
    layouts = "tocsin.channels.email.layout:layout_of"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._sender = config[FROM] or _sender_by_login(config[USER])
        self._trust: ssl.SSLContext | None = None

    def check_target(self, target: str) -> str:
        """Accept exactly one bare address; a domain with non-ASCII letters becomes `xn--…`."""
        try:
            return read_address(target).address
        except ValueError as error:
            hint = _target_hint(target, str(error))
            raise ChannelError(f"{target!r} is not a single email address", hint=hint) from None

    def parts_of(self, text: str, parse_mode: str) -> list[Shown]:
        """Return the text unsplit and unrendered; `compose` does the rest."""
        return [(visible(text), ())]

    async def deliver(self, part: Part) -> Sent:
        """Hand the mail to the server; the note is the Message-ID, the same for every attempt.

        Mails with one key or one thread belong together: the ID of the first is made from its name, and later ones are
        replies to it.
        """
        mail, message_id, subject = self._mail(part)
        async with self._logged_in(
            self.spec.send_timeout_s + upload_s(sum(each.size for each in part.files))
        ) as session:
            await session.submit(self._sender.address, read_address(part.target).address, mail)
        return Sent(f"message-id={message_id}", {"subject": subject} if subject else {})

    def body(self, part: Part) -> bytes:
        """Return the mail, without its files."""
        mail = self._mail(part)[0]
        return mail if isinstance(mail, bytes) else mail.lead + mail.tail

    def _mail(self, part: Part) -> "tuple[bytes | MailWithFiles, str, str]":
        """Return the mail, its Message-ID, and its subject if it has a key or a thread."""
        recipient, content, keyed = read_address(part.target), part.content, part.keyed
        title, markdown = content.title if content else "", part.parse_mode == COMMONMARK
        message_id, thread = self._message_id(part.key, part.target), None
        subject = ""
        if keyed or part.thread:
            name = f"thread {part.thread.name}" if part.thread else f"key {keyed.key if keyed else ''}"
            root, first = (
                self._message_id(name, part.target),
                part.thread.ref if part.thread else keyed.ref if keyed else {},
            )
            subject = first.get("subject") or subject_of(part.text, markdown=markdown, title=title)
            message_id, thread = (message_id, MailThread(root, subject)) if first else (root, None)
        try:
            mail = compose(
                part.text or ", ".join(file.name for file in part.files),
                sender=self._sender,
                recipient=recipient,
                message_id=message_id,
                unix_time=self.clock.now(),
                markdown=markdown,
                title=title,
                dress=partial(self._dress, part=part, thread=thread),
            )
        except ValueError as error:
            raise ChannelError(f"the message cannot be converted to an email: {error}") from None
        return mail, message_id, subject

    def _dress(self, contents: MailContents, part: Part, thread: MailThread | None) -> None:
        contents.files = part.files
        if part.content:
            self.dresser.dress(contents, part, part.content)
        if thread:
            follow(contents, thread)

    def _message_id(self, key: str, target: str) -> str:
        """Return the Message-ID for a key and a target, the same for every attempt."""
        from hashlib import sha256

        digest = sha256(f"{key}\0{target}".encode()).hexdigest()[:32]
        return f"<{digest}@{self._sender.domain}>"

    async def probe(self) -> str:
        """Connect, start TLS and log in, without beginning a mail."""
        async with self._logged_in(self.spec.test_timeout_s):
            user = self.config[USER]
        return user if "@" in user else f"{user}@{self.config[HOST]}"

    @asynccontextmanager
    async def _logged_in(self, seconds: float) -> "AsyncIterator[Session]":
        """Yield a logged-in session; an error that ends it early becomes a ChannelError."""
        import asyncio

        import aiosmtplib

        from tocsin.channels.email.failures import explain
        from tocsin.channels.email.session import Session

        note_departure(possible=False)
        session = Session(self.config[HOST], self.config[PORT], self.security)
        done = False
        try:
            async with asyncio.timeout(seconds - MARGIN_S):
                await session.open(await self._trusted_roots())
                await session.log_in(self.config[USER], self.config[PASSWORD])
                yield session
                done = True
                await session.quit()
        except (aiosmtplib.SMTPException, OSError) as error:
            if not done:  # after the server's 250 a failure does not matter
                raise explain(error, session, self._redact) from error
        finally:
            session.abort()

    @property
    def security(self) -> str:
        """How the connection is secured: starttls, implicit or none. Source: docs/facts/email.md, "TLS"."""
        chosen = self.config[TLS]
        if chosen != "auto":
            return chosen
        return "implicit" if self.config[PORT] == 465 else "starttls"

    async def _trusted_roots(self) -> "ssl.SSLContext | None":
        """Return the TLS context; reading the system's roots takes 50 ms, so they are read once."""
        import asyncio

        from tocsin.channels.email.session import trusted_roots

        if self._trust is None and self.security != "none":
            self._trust = await asyncio.to_thread(trusted_roots, self.config[CA_FILE])
        return self._trust


def _sender_by_login(user: str) -> Mailbox:
    try:
        return read_address(user)
    except ValueError:
        raise ChannelError(
            "SMTP_USER is not a valid sender address",
            hint=f"set SMTP_FROM to {ONE_ADDRESS}",
        ) from None


def _target_hint(target: str, accepted: str) -> str:
    if any(mark in target for mark in ",;"):
        return "send to each address separately, or use a profile"
    if "<" in target:
        return "give only the address, without name and brackets"
    return f"write {accepted}"
