"""Holds what was written to an audit log against what the code declares; recording itself checks nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from tools.docs import declared

from tocsin.core.audit.actions import ACTOR, REQUEST_ID, AuditAction, AuditSource
from tocsin.core.audit.log import AuditLog

TEST = AuditSource("test", "a test", (ACTOR, REQUEST_ID))


@cache
def actions() -> dict[str, AuditAction]:
    return {action.name: action for action in declared(AuditAction)}


@cache
def sources() -> dict[str, AuditSource]:
    return {source.name: source for source in (TEST, *declared(AuditSource))}


def check_audit_log(log: AuditLog) -> None:
    """Check the newest entries of a log, if there is one, as `check_audit_entries` does."""
    if log.path.exists():
        check_audit_entries(asdict(entry) for entry in log.tail(1_000))


def check_audit_entries(entries: Iterable[Mapping[str, Any]]) -> None:
    """Check that each entry has the metadata that its action and its source declare."""
    for entry in entries:
        action, source = actions()[entry["action"]], sources()[entry["source"]]
        keys = set(entry["metadata"]) - {"chain"}
        always = {field.name for field in action.fields}
        perhaps = {field.name for field in (*action.optional, *source.optional)}
        assert always <= keys <= always | perhaps, (action.name, source.name, sorted(keys))
