"""Find credentials in a file by the patterns of known providers and by entropy, without ever repeating one."""

import re
from collections.abc import Iterator
from functools import cache
from math import log2
from pathlib import Path
from typing import NamedTuple

from tocsin.features.skill_records import Severity, SkillFinding

MAX_LINE = 4000  # of a longer line the rest is data
_SHOWN = 4
# A random value of 20 characters in base 64 has about 4 bits a character, prose and names below 3.5.
_BITS, _HEX_BITS, _SHORTEST = 3.7, 3.0, 16
_ALLOWED = re.compile(r"allowlist[ _-]secret|pragma: allowlist|\bnosec\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|changeme|change[-_]me|placeholder|your[-_]|insert|redacted|fake|xxxx|0000|1234567|abcdef|\.\.\.|"
    r"^[<{$%\[(]|^(.)\1+$|^(?:true|false|none|null|todo|secret|password|token)$|\$\{|\{\{|stand-?in|made-?up",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""(?<![\w.-])(?P<name>[\w.-]*(?:secret|passw(?:or)?d|passphrase|api[_-]?key|apikey|token|credential|private[_-]?key|access[_-]?key)[\w.-]*)
    ["'\])]?\s*(?:=>|:=|[:=])\s*(?P<quote>["'`]?)(?P<value>[^\s"'`,;#)\]}]{8,200})(?P=quote)""",
    re.IGNORECASE | re.VERBOSE,
)
# What says something about a credential is not one.
_ABOUT = re.compile(
    r"(?:name|id|path|file|dir|url|uri|header|prefix|type|kind|field|label|length|hint|re|pattern)s?$", re.IGNORECASE
)
_QUOTED = re.compile(r"""["'`]([A-Za-z0-9+/_=-]{20,200})["'`]""")
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"]{0,64}:(?P<value>[^\s/@'\"]{3,128})@[\w.\[-]")
_REVOKE = "revoke it, because it stays in the history, and read it from the environment or the vault"


class _Kind(NamedTuple):
    label: str
    pattern: re.Pattern[str]


@cache
def _kinds() -> tuple[_Kind, ...]:
    lines = Path(__file__).with_name("provider_keys.txt").read_text("utf-8").splitlines()
    told = (line.partition(": ") for line in lines if not line.startswith("#"))
    return tuple(_Kind(label, re.compile(pattern)) for label, _, pattern in told)


def scan_secrets(path: str, content: bytes) -> list[SkillFinding]:
    """Return one finding for each line with a credential; a binary file has none."""
    if b"\0" in content[:8192]:
        return []
    lines = content.decode("utf-8", "replace").splitlines()
    return [finding for number, line in enumerate(lines, start=1) for finding in _in_line(path, number, line)]


def _in_line(path: str, number: int, line: str) -> Iterator[SkillFinding]:
    text = line[:MAX_LINE]
    if _ALLOWED.search(text):
        return
    for kind in _kinds():
        found = kind.pattern.search(text)
        if found and not _PLACEHOLDER.search(found[0]):
            yield SkillFinding(path, number, Severity.CRITICAL, f"{kind.label} ({_masked(found[0])})", _REVOKE)
            return
    if (found := _IN_URL.search(text)) and not _is_placeholder(found["value"]):
        yield SkillFinding(path, number, Severity.ERROR, "password in a URL", _REVOKE)
        return
    found = _ASSIGNED.search(text)
    if found and not _ABOUT.search(found["name"]) and _is_secret(found["value"], quoted=bool(found["quote"])):
        message = f"a value that looks like a credential is assigned to {found['name'][:60]}"
        yield SkillFinding(path, number, Severity.ERROR, message, _REVOKE)
        return
    for value in _QUOTED.findall(text):
        if _is_random(value):
            message = f"{len(value)} random characters ({_masked(value)}): possibly a key"
            yield SkillFinding(path, number, Severity.WARNING, message, _REVOKE)
            return


def _is_secret(value: str, *, quoted: bool) -> bool:
    """Whether an assigned value is a literal that people keep secret, and not a name, a call or a placeholder."""
    if _is_placeholder(value) or "(" in value or value.startswith(("/", "./", "http://", "https://")):
        return False
    if re.fullmatch(r"[A-Za-z_]\w*(?:[.:]+[A-Za-z_]\w*)*", value) and not any(c.isdigit() for c in value):
        return False  # a name
    mixed = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))
    return (mixed >= 2 if quoted else mixed >= 3) and _bits(value) >= 2.5


def _is_random(value: str) -> bool:
    if len(value) < _SHORTEST or _is_placeholder(value) or value.count("/") > 2 or value.count("-") > 3:
        return False
    if re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}", value):
        return False  # a checksum, or the id of a commit
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    if re.fullmatch(r"[0-9a-fA-F]+", value):
        return _bits(value) >= _HEX_BITS
    return bool(re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)) and _bits(value) >= _BITS


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value))


def _bits(text: str) -> float:
    """Return the entropy of a text in bits for each character."""
    counts = [text.count(character) / len(text) for character in set(text)]
    return -sum(share * log2(share) for share in counts)


def _masked(value: str) -> str:
    return "private" if value.startswith("-----") else f"{value[:_SHOWN]}…, {len(value)} characters"
