"""Compose one mail to one recipient: addresses, headers and body.

Source: docs/facts/email.md, "Message".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tocsin.channels.email.attachments import MailWithFiles, with_files
from tocsin.channels.email.subject import cut_subject, split_subject

if TYPE_CHECKING:
    from email.message import EmailMessage

    from tocsin.channels.attached import AttachedFile
# Longer bodies go out as base64: quoted-printable takes 0.12 s of pure Python for each MB.
MAX_QUOTED_BYTES = 65_536

ONE_ADDRESS = "one address such as name@example.org"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+"  # RFC 5322 atext; RFC 6532 adds non-ASCII
_LOCAL_PART = rf"{_ATOM}(?:\.{_ATOM})*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAMED = r"\s*\"?([^\"<>\r\n]*?)\"?\s*<([^<>]*)>\s*"


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address with a display name; `domain` is ASCII."""

    local: str
    domain: str
    name: str = ""

    @property
    def address(self) -> str:
        """The bare address, for the envelope."""
        return f"{self.local}@{self.domain}"

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>" if self.name else self.address


@dataclass(frozen=True, slots=True)
class MailThread:
    """The thread of an earlier mail: the Message-ID of its first mail, and its subject."""

    root: str
    subject: str


@dataclass(slots=True)
class MailContents:
    """The visible content of a mail: its subject, its texts, and headers about its priority."""

    subject: str
    text: str
    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    files: "Sequence[AttachedFile]" = ()


def read_address(text: str) -> Mailbox:
    """Read exactly one bare address; raise ValueError with what is accepted."""
    local, _, domain = text.rpartition("@")
    # 64 octets: RFC 5321, 4.5.3.1.1
    if not text.isprintable() or not re.fullmatch(_LOCAL_PART, local) or len(local.encode()) > 64:
        raise ValueError(ONE_ADDRESS)
    return Mailbox(local, _ascii_domain(domain))


def read_mailbox(text: str) -> Mailbox:
    """Read an address that may carry a name, as in `Alerts <alerts@example.org>`."""
    if not (named := re.fullmatch(_NAMED, text)) or not text.isprintable():
        return read_address(text.strip())
    bare = read_address(named[2].strip())
    return Mailbox(bare.local, bare.domain, named[1].strip())


def compose(
    text: str,
    *,
    sender: Mailbox,
    recipient: Mailbox,
    message_id: str,
    unix_time: float,
    markdown: bool = False,
    title: str = "",
    dress: Callable[[MailContents], None] | None = None,
) -> bytes | MailWithFiles:
    """Return the mail with CRLF line ends; Markdown adds an HTML part, and so may `dress`, which changes the contents.

    Only subject and body contain the caller's text. Raises ValueError if the standard library refuses a header.
    """
    from datetime import UTC, datetime
    from email import policy
    from email.headerregistry import Address
    from email.message import EmailMessage

    contents = _contents(text, markdown=markdown, title=title)
    if dress:
        dress(contents)
    ascii_only = f"{sender.address}{recipient.address}".isascii()
    chosen = policy.SMTP if ascii_only else policy.SMTPUTF8
    message = EmailMessage(policy=chosen.clone(refold_source="none"))
    message["From"] = Address(sender.name, sender.local, sender.domain)
    message["To"] = Address("", recipient.local, recipient.domain)
    _set_subject(message, contents.subject)
    message["Date"] = datetime.fromtimestamp(unix_time, UTC)
    # Raw, because the library would fold a long one.
    message.set_raw("Message-ID", message_id)
    message["Auto-Submitted"] = "auto-generated"
    for name, value in contents.headers.items():
        message[name] = value
    message.set_content(contents.text, cte=_transfer_encoding(contents.text))
    if contents.html:
        message.add_alternative(contents.html, subtype="html", cte=_transfer_encoding(contents.html))
    if not contents.files:
        return message.as_bytes()
    return with_files(message, contents.files)


def subject_of(text: str, *, markdown: bool, title: str) -> str:
    """Return the subject that `compose` gives a text."""
    return _contents(text, markdown=markdown, title=title).subject


def follow(contents: MailContents, thread: MailThread) -> None:
    """Make a mail a reply in a thread: with its subject, because mail programs divide a thread by subjects."""
    from html import escape

    if contents.subject != thread.subject:
        contents.text = f"{contents.subject}\n\n{contents.text}"
        if contents.html:
            contents.html = contents.html.replace("<body>", f"<body><p><b>{escape(contents.subject)}</b></p>", 1)
        contents.subject = thread.subject
    # RFC 5322, 3.6.4
    contents.headers = {**contents.headers, "In-Reply-To": thread.root, "References": thread.root}


def _contents(text: str, *, markdown: bool, title: str) -> MailContents:
    """Return what a text makes; without a title, its first line is the subject."""
    subject = cut_subject(title) if title else ""
    if not markdown:
        return MailContents(subject, text) if title else MailContents(*split_subject(text))
    from tocsin.channels.email.markdown import mail_from

    return MailContents(*mail_from(text, subject))


def _set_subject(message: "EmailMessage", subject: str) -> None:
    """Encode a subject that contains `=?`, because mail programs would decode it as an encoded word."""
    if "=?" not in subject:
        message["Subject"] = subject
        return
    from email.header import Header

    message.set_raw("Subject", Header(subject, "utf-8", header_name="Subject").encode())


def _transfer_encoding(body: str) -> str:
    """Choose the shorter of the two encodings with 7 bits and short lines."""
    size = len(body.encode())
    foreign = size - len(body.encode("ascii", "ignore"))
    return "base64" if size > MAX_QUOTED_BYTES or foreign * 6 > size else "quoted-printable"


def _ascii_domain(domain: str) -> str:
    if not domain.isascii():
        # The standard library's codec is IDNA 2003, which would send mail for straße.de to strasse.de.
        import idna

        try:
            domain = idna.encode(domain, uts46=True).decode()
        except idna.IDNAError:
            raise ValueError(ONE_ADDRESS) from None
    # 253 characters: what RFC 1035, 2.3.4 leaves of 255 octets
    if len(domain) > 253 or not all(re.fullmatch(_LABEL, label) for label in domain.split(".")):
        raise ValueError(ONE_ADDRESS)
    return domain
