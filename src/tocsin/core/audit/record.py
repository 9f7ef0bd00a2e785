"""The record of an audit entry that commands and the REST API show."""

from typing import Any

from tocsin.core.audit.reader import AuditEntry

_LIFTED = ("actor", "ip", "request_id")


def as_record(entry: AuditEntry, before: AuditEntry | None = None) -> dict[str, Any]:
    """Return the record of an entry; without the entry `before` it, most have no `prev_hash`."""
    link: Any = entry.metadata.get("chain") or {}
    earlier: Any = (before.metadata.get("chain") if before else None) or {}
    metadata = {name: value for name, value in entry.metadata.items() if name not in {"chain", "outcome", *_LIFTED}}
    told = {name: _text_or_none(entry.metadata.get(name)) for name in _LIFTED}
    return {
        "id": str(link.get("seq", "")),
        "ts": entry.ts,
        "action": entry.action,
        "detail": entry.detail,
        "source": entry.source,
        **told,
        "outcome": _outcome(entry),
        "prev_hash": link.get("prev") or earlier.get("hash"),
        "hash": link.get("hash"),
        "metadata": metadata,
    }


def _outcome(entry: AuditEntry) -> str:
    told = entry.metadata.get("outcome")
    if told in {"ok", "denied", "error"}:
        return str(told)
    return "error" if entry.metadata.get("ok") is False else "ok"


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)
