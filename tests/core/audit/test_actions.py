"""Audit actions, sources and keys are declared once, and written entries have what is declared."""

from collections.abc import Iterator

import pytest
from tests.audit_entries import check_audit_entries
from tools.docs import declared

from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource


def fields() -> Iterator[AuditField]:
    for action in declared(AuditAction):
        yield from (*action.fields, *action.optional)
    for source in declared(AuditSource):
        yield from source.optional


@pytest.mark.parametrize("kind", [AuditAction, AuditSource])
def test_a_name_is_declared_once(kind: type[AuditAction | AuditSource]):
    names = [value.name for value in declared(kind)]
    assert names
    assert len(names) == len(set(names))


def test_a_key_means_the_same_in_every_action():
    meanings: dict[str, set[str]] = {}
    for field in fields():
        meanings.setdefault(field.name, set()).add(field.doc)
    assert {name: docs for name, docs in meanings.items() if len(docs) > 1} == {}


def test_a_key_is_not_both_required_and_optional():
    both = {action.name: set(action.fields) & set(action.optional) for action in declared(AuditAction)}
    assert not any(both.values())


def test_no_key_is_the_one_of_the_chain():
    assert "chain" not in {field.name for field in fields()}


@pytest.mark.parametrize("metadata", [{"channel": "bell"}, {"channel": "bell", "ok": True, "chat_id": "7"}])
def test_an_entry_with_other_keys_than_its_action_declares_is_found(metadata: dict[str, object]):
    with pytest.raises(AssertionError, match=r"msg\.test"):
        check_audit_entries([{"action": "msg.test", "source": "cli", "metadata": metadata}])
