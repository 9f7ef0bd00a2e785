"""Turn a broken SMTP session into an error: a sentence, a remedy, and whether the mail may have arrived."""

import re
import ssl
from collections.abc import Callable

from aiosmtplib import SMTPResponseException

from tocsin.channels.email.session import Session
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.transport import describe_os_error

# By reply code, or reply code and enhanced code (RFC 3463) or the beginning of one; the longer entry wins.
ADVICE = {
    "530": "the server requires STARTTLS or a login first; check SMTP_PORT, SMTP_TLS, SMTP_USER and SMTP_PASS",
    "534": "the provider requires a web login or an app password; create one and set SMTP_PASS",
    "535": "login failed; check SMTP_USER and SMTP_PASS (Gmail and others require an app password)",
    "550": "the server does not accept this message; ask its operator",
    "550 5.1.1": "unknown recipient; check the target",
    "550 5.7.30": "Exchange Online no longer accepts passwords; set SMTP_HOST to another server",
    "550 5.7.60": "sender not allowed; set SMTP_FROM to the address of the account",
    "552": "the message is too large or the mailbox is full",
    "552 5.2.2": "the mailbox is full; the recipient must make room",
    "552 5.3.4": "the message is too large; send smaller files",
    "553": "sender not allowed; set SMTP_FROM to the address of the account",
    "554": "the server does not accept this message; ask its operator",
    "554 5.7": "the server refuses the content or the sender; change the text or ask its operator",
}
MAX_SHOWN_CHARS = 200
_ENHANCED = re.compile(r"[245]\.\d{1,3}\.\d{1,3}(?!\S)")


def explain(error: Exception, session: Session, redact: Callable[[str], str]) -> ChannelError:
    """Return the error for the exception that ended `session`."""
    if isinstance(error, SMTPResponseException) and 400 <= error.code < 600:
        return _refusal(error.code, redact(error.message))
    if session.handed_over:
        return ChannelError(
            f"outcome unknown: {_reason(error, session)} after the message was sent",
            hint="ask the recipient before you send again",
            kind=FailureKind.AMBIGUOUS,
            provider_code="no-answer",
        )
    if isinstance(error, SMTPResponseException):
        shown = _shorten(redact(error.message))
        return ChannelError(
            f"{session.host}:{session.port} sent an unexpected response ({session.step}): {error.code} {shown}",
            hint="check that SMTP_HOST and SMTP_PORT belong to a mail server",
            provider_code=str(error.code),
        )
    return _broken(error, session)


def _refusal(code: int, text: str) -> ChannelError:
    """Return the failure for a reply code of the server."""
    enhanced = _ENHANCED.match(text)
    name = f"{code} {enhanced[0]}" if enhanced else str(code)
    shown = _shorten(text.replace(enhanced[0], "") if enhanced else text)
    temporary = code < 500
    advice = "temporary problem of the server; try again later" if temporary else "the server rejected"
    return ChannelError(
        f"{name} {shown}".rstrip(),
        hint=next((ADVICE[each] for each in (name, name.rpartition(".")[0], str(code)) if each in ADVICE), advice),
        kind=FailureKind.TRANSIENT if temporary else FailureKind.PERMANENT,
        provider_code=name,
    )


def _broken(error: Exception, session: Session) -> ChannelError:
    """Return the failure for a session that broke before the message was sent."""
    cause = error if isinstance(error, ssl.SSLError) else error.__cause__
    hint, code = "check SMTP_HOST, SMTP_PORT and the network", session.step
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint, code = "correct SMTP_HOST, or set SMTP_CA_FILE to the correct root certificates", "certificate"
    elif isinstance(cause, ssl.SSLError):
        code = cause.reason or "TLS"
        if session.security == "implicit":
            hint = "this port does not support implicit TLS; set SMTP_PORT to 587"
    elif session.step == "greeting" and session.security == "starttls":
        hint = "check SMTP_HOST and SMTP_PORT; a port with implicit TLS requires SMTP_TLS=implicit"
    elif session.step not in {"connect", "greeting"}:
        hint = "try again later"
    return ChannelError(
        f"could not send through {session.host}:{session.port}: {_reason(error, session)}",
        hint=hint,
        kind=FailureKind.TRANSIENT,
        provider_code=code,
    )


def _reason(error: Exception, session: Session) -> str:
    cause = error if isinstance(error, ssl.SSLError) else error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate could not be verified ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed ({cause.reason or cause})"
    if isinstance(error, SMTPResponseException):
        return f"unexpected response {error.code}"
    if isinstance(error, TimeoutError):
        return f"no response in time ({session.step})"
    if session.step == "connect" and isinstance(error, OSError):
        return describe_os_error(error)
    return f"connection lost ({session.step})"


def _shorten(text: str) -> str:
    """Return the server's text on one line, shortened."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= MAX_SHOWN_CHARS else words[: MAX_SHOWN_CHARS - 1] + "…"
