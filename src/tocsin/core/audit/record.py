"""The record of an audit entry that commands and the REST API show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tocsin.core.audit.reader import AuditEntry
from tocsin.core.records.marks import WrittenTime

Outcome = Literal["ok", "denied", "error"]
_LIFTED = ("actor", "ip", "request_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """Entry of the audit log."""

    id: str
    ts: WrittenTime
    action: str
    detail: str
    source: str
    actor: str | None
    ip: str | None
    request_id: str | None
    outcome: Outcome
    prev_hash: str | None
    hash: str | None
    metadata: Mapping[str, Any]


def as_record(entry: AuditEntry, before: AuditEntry | None = None) -> AuditRecord:
    """Return the record of an entry; without the entry `before` it, most have no `prev_hash`."""
    link: Any = entry.metadata.get("chain") or {}
    earlier: Any = (before.metadata.get("chain") if before else None) or {}
    lifted = {name: _text_or_none(entry.metadata.get(name)) for name in _LIFTED}
    return AuditRecord(
        id=str(link.get("seq", "")),
        ts=entry.ts,
        action=entry.action,
        detail=entry.detail,
        source=entry.source,
        outcome=_outcome(entry),
        prev_hash=link.get("prev") or earlier.get("hash"),
        hash=link.get("hash"),
        metadata={n: value for n, value in entry.metadata.items() if n not in {"chain", "outcome", *_LIFTED}},
        **lifted,
    )


def _outcome(entry: AuditEntry) -> Outcome:
    match entry.metadata.get("outcome"):
        case "ok" | "denied" | "error" as outcome:
            return outcome
    return "error" if entry.metadata.get("ok") is False else "ok"


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)
