"""The buttons of notices, as a message has them."""

from collections.abc import Mapping
from typing import Any

from tocsin.features.context import NoticeLevel
from tocsin.features.notifications.model import Notification
from tocsin.runs.engine.run_type import RETRY

APPROVE, REJECT = "approve", "reject"


def buttons_of(notice: Notification, page: str) -> list[Mapping[str, Any]]:
    """Return the buttons of a notice; where no press can arrive, they open `page`, if there is one."""
    if notice.step:
        value = f"{notice.run_id} {notice.step}"
        return [_call("Approve", APPROVE, value, page, "success"), _call("Reject", REJECT, value, page, "danger")]
    if notice.run_id and notice.level is NoticeLevel.ERROR:
        return [_call("Retry", RETRY, notice.run_id, page)]
    return []


def _call(label: str, name: str, value: str, page: str, style: str = "") -> Mapping[str, Any]:
    given = {"url": page, "style": style}
    return {"action": "call", "label": label, "name": name, "value": value, **{k: v for k, v in given.items() if v}}
