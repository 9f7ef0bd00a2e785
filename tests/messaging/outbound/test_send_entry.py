from pathlib import Path

import tocsin
from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.messaging.outbound.audit_actions import record_send

SOURCE = Path(tocsin.__file__).parent


def test_one_module_writes_the_entry_of_a_send():
    users = {path.name for path in SOURCE.rglob("*.py") if "MSG_SEND" in path.read_text()}
    assert users == {"audit_actions.py", "notices.py"}  # the last one only looks for it


def test_the_entry_names_the_outcome_and_the_target(tmp_path: Path):
    seen: list[AuditAction] = []
    trail = AuditTrail(AuditLog(tmp_path / "audit.log"))
    trail.observe(lambda action, _: seen.append(action))
    facts = {"channel": "bell", "target": "tower", "ok": False}
    record_send(trail, "not sent", ": no bell", source="cli", metadata=facts)
    [entry] = trail.log.tail(1)
    assert (entry.action, entry.detail, entry.source) == ("msg.send", "not sent on bell to tower: no bell", "cli")
    assert entry.metadata.items() >= facts.items()
    assert seen[0].name == "msg.send"
