"""How an `ssh` ended, from its exit code and its own log.

The log is a file of its own (`-E`), so nothing that a command prints can be mistaken for words of `ssh`. Exit code 255
is that of `ssh` itself, unless the log says that the command had it. Source: ssh(1), EXIT STATUS; the words are those
of OpenSSH's clientloop.c, mux.c, sshconnect.c and sshconnect2.c.
"""

import re
from typing import NamedTuple

from tocsin.features.ssh.model import HostKey, KeyStatus
from tocsin.runs.model import HostStatus

_OWN = 255
_ENDED = re.compile(r"(?:Exit status|Received exit status from master) (-?\d+)")
_SHOWN_KEY = re.compile(r"Server host key: (\S+) (SHA256:\S+)")
_DEBUG = re.compile(r"debug\d: |Authenticated to |Transferred: |Bytes per second: |OpenSSH_")
_BEGUN = ("Sending command: ", "Entering interactive session", "master session id")
_CHANGED = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_UNKNOWN = re.compile(r"host key is known for|Host key verification failed")
_REFUSED = re.compile(r"Permission denied \(|Too many authentication failures|No more authentication methods")
_BY_SIGNAL = "rtype exit-signal"
SHARED = "mux_client_request_session: master session id"


class Outcome(NamedTuple):
    """The result of a command on a host; `error` is a sentence if it did not succeed."""

    status: HostStatus
    exit_code: int | None = None
    error: str | None = None


def outcome_of(name: str, exit_code: int, log: str, told: str = "") -> Outcome:
    """Return the result; `told` is standard error, to which the `ssh` of a jump host writes."""
    if exit_code == 0:
        return Outcome(HostStatus.SUCCEEDED, 0)
    if exit_code < 0:  # a signal of this machine ended `ssh`: the command has told nothing
        exit_code = _OWN
    if exit_code != _OWN or ((found := _ENDED.search(log)) and int(found[1]) == _OWN):
        return Outcome(HostStatus.FAILED, exit_code, f"it ended with exit code {exit_code}")
    if any(word in log for word in _BEGUN):
        if _BY_SIGNAL in log:
            return Outcome(HostStatus.FAILED, None, "the command was ended by a signal on the host")
        reason = _last_words(log) or "no exit status was received"
        return Outcome(
            HostStatus.FAILED, None, f"the connection was lost, and the command may still be running there: {reason}"
        )
    return _not_begun(name, f"{told}\n{log}")


def _not_begun(name: str, said: str) -> Outcome:
    if _CHANGED in said:
        advice = f"if you changed it, run `tocsin ssh trust {name}`; otherwise the connection may be intercepted"
        sentence = f"its host key has changed: {advice}"
        return Outcome(HostStatus.HOST_KEY_CHANGED, None, sentence)
    if _UNKNOWN.search(said):
        sentence = f"the host key is unknown: verify and accept it with `tocsin ssh trust {name}`"
        return Outcome(HostStatus.HOST_KEY_UNKNOWN, None, sentence)
    if _REFUSED.search(said):
        return Outcome(HostStatus.AUTH_FAILED, None, f"the login was rejected: {_last_words(said)}")
    return Outcome(HostStatus.UNREACHABLE, None, _last_words(said) or "the connection failed")


def key_in(log: str) -> HostKey:
    """Return the key that a host presented, and whether it was known; raises LookupError if it presented none."""
    shown = _SHOWN_KEY.search(log)
    if shown is None:
        raise LookupError(_last_words(log) or "the host sent no key")
    status = KeyStatus.TRUSTED
    if _CHANGED in log:
        status = KeyStatus.CHANGED
    elif _UNKNOWN.search(log):
        status = KeyStatus.UNKNOWN
    return HostKey(status, shown[2], shown[1])


def _last_words(log: str) -> str:
    """Return the last line that is not debug output."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not _DEBUG.match(line)]
    return lines[-1] if lines else ""
