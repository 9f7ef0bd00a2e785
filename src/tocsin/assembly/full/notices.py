"""Notices of the core: undelivered messages, access requests, weak settings, a changed audit log."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from hashlib import sha256

from tocsin.assembly.program import App
from tocsin.bot.door.audit_actions import BOT_APPROVE, BOT_DENY, BOT_REMOVE, BOT_REQUEST
from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.core_variables import AUDIT_KEEP_DAYS
from tocsin.core.config.security import validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.errors import TocsinError
from tocsin.core.service import ServiceLoop
from tocsin.delivery.model import DeliveryStatus
from tocsin.features.context import AbilityMissingError, Notice, NoticeLevel
from tocsin.messaging.outbound.audit_actions import MSG_SEND
from tocsin.messaging.outbound.audit_anchor import retention_start
from tocsin.runs.approvals import CHAT

log = logging.getLogger(__name__)

STEP_S = 2.0
# The log is checked when the start is over, and then once a day: of a long one it takes seconds.
FIRST_CHECK_S, CHECK_EVERY_S = 60.0, 86_400.0
_WAITING = 1_000  # notices; more are told by those before them
_DECIDED = {BOT_APPROVE.name: "was allowed", BOT_DENY.name: "was denied", BOT_REMOVE.name: "was removed"}
_UNSENT = {DeliveryStatus.DEAD, DeliveryStatus.EXPIRED, DeliveryStatus.UNCERTAIN}


class CoreNotices:
    """Sends the notices of the core while services run."""

    def __init__(self, app: App, *, keeps: bool = True) -> None:
        """Without `keeps`, the notices go to the shared Redis, if there is one, for a host that keeps them."""
        self.loop = ServiceLoop("telling of what happened", self.step, app.clock)
        self._app = app
        self._keeps = keeps
        self._shared = app.stores.notices()
        self._waiting: deque[Notice] = deque(weak_settings(app.settings), maxlen=_WAITING)
        self._check_at = app.clock.monotonic() + FIRST_CHECK_S
        app.audit.observe(self._observe)
        if self._shared and not keeps:  # a feature would make a database that no dashboard reads
            app.features.replace_notices(self)

    async def step(self) -> float:
        """Send the waiting notices; return the seconds until the next step."""
        await self._tell()
        if self._app.clock.monotonic() >= self._check_at:
            self._check_at = self._app.clock.monotonic() + CHECK_EVERY_S
            await self.check_audit_log()
        return STEP_S

    async def direct_to(self, channel: str, target: str, *, source: str) -> str:
        """Raise AbilityMissingError: another host forwards the notices."""
        raise AbilityMissingError("this host does not forward notices; choose their target on the host that does")

    async def _tell(self) -> None:
        """Send the waiting notices, and on a host that keeps notices also those of other hosts."""
        while self._waiting:
            await self._tell_one(self._waiting[0])
            self._waiting.popleft()
        while self._shared and self._keeps and (left := await self._shared.oldest()) is not None:
            if (notice := read_notice(left)) is not None:
                await self._app.features.abilities.notices.notify(notice)
            await self._shared.drop(left)

    async def notify(self, notice: Notice) -> None:
        """Queue a notice of a feature for the next step."""
        self._waiting.append(notice)

    async def unread_count(self) -> int:
        """Return 0: this host stores none."""
        return 0

    async def _tell_one(self, notice: Notice) -> None:
        if self._shared and not self._keeps:
            await self._shared.add(json.dumps(asdict(notice)))
        else:
            await self._app.features.abilities.notices.notify(notice)

    async def check_audit_log(self) -> None:
        """Notify about a broken chain of the audit log; the status reports an unreadable log."""
        keep_since = retention_start(self._app.settings[AUDIT_KEEP_DAYS], self._app.clock.now())
        try:
            found = await asyncio.to_thread(self._app.audit.log.verify, keep_since=keep_since)
        except (OSError, TocsinError) as error:
            log.warning("the audit log could not be verified", extra={"reason": str(error)})
            return
        if not found.ok:
            first = found.problems[0]
            body = f"{first.file}, line {first.line}: {first.reason}\n\n`tocsin audit verify` lists all problems."
            await self._tell_one(
                Notice(
                    "The audit log was changed",
                    body,
                    NoticeLevel.ERROR,
                    "security",
                    source="audit",
                    link="#/audit",
                    dedupe_key="audit-chain",
                )
            )

    def _observe(self, action: AuditAction, metadata: Mapping[str, object]) -> None:
        if action.name == MSG_SEND.name and metadata.get("status") in _UNSENT:
            self._waiting.append(dead_delivery(metadata, self._app.registry.label))
        elif action.name == BOT_REQUEST.name:
            self._waiting.append(access_request(metadata))
        elif action.name in _DECIDED:
            self._waiting.append(access_decision(metadata, _DECIDED[action.name]))


def read_notice(text: str) -> Notice | None:
    """Return a notice of another host, without fields that only a newer version knows; `None` if it is not valid."""
    try:
        found = json.loads(text)
        known = {each.name: found[each.name] for each in fields(Notice) if each.name in found}
        return Notice(**{**known, "level": NoticeLevel(found["level"])})
    except (ValueError, TypeError, KeyError):  # it would hold up all that come after it
        log.warning("a notification of another host cannot be read", extra={"notice": text[:200]})
        return None


def dead_delivery(facts: Mapping[str, object], label: Callable[[str], str]) -> Notice:
    """Return the notice about an undelivered message; those of one target within a day are merged.

    `label` names channels.
    """
    channel, target = facts["channel"], facts["target"]
    tries = "1 try" if facts.get("attempts") == 1 else f"{facts.get('attempts')} tries"
    body = (
        f"Delivery {facts.get('delivery')} to {target} is {facts['status']} after {tries}.\n\n"
        f"`tocsin deliveries show {facts.get('delivery')}` shows the reason."
    )
    return Notice(
        f"A message on {label(str(channel))} was not delivered",
        body,
        NoticeLevel.ERROR,
        "messaging",
        source="queue",
        link=f"#/deliveries?status={facts['status']}",
        dedupe_key=f"undelivered:{channel}:{target}",
    )


def access_request(facts: Mapping[str, object]) -> Notice:
    """Return the notice about a chat that asks for access; the bot itself asks the admin chat."""
    chat = facts["chat"]
    return Notice(
        f"Chat {chat} asks for access to the bot",
        f"Approve it with `tocsin bot access approve {chat}`.",
        NoticeLevel.INFO,
        "security",
        source="bot",
        link="#/access",
        dedupe_key=f"access:{chat}",
        run_id=f"{CHAT}{chat}",
        step="access",
    )


def access_decision(facts: Mapping[str, object], said: str) -> Notice:
    """Return the notice that replaces that of the request."""
    chat = facts["chat"]
    return Notice(
        f"Chat {chat} {said}",
        "",
        NoticeLevel.INFO,
        "security",
        source="bot",
        link="#/access",
        dedupe_key=f"access:{chat}",
        closed=True,
    )


def weak_settings(settings: Settings) -> list[Notice]:
    notices = []
    for warning in validate_security(settings):
        level = NoticeLevel.ERROR if warning.startswith("DANGER") else NoticeLevel.WARNING
        title, _, advice = warning.removeprefix("DANGER: ").partition("; ")
        key = f"security:{sha256(warning.encode()).hexdigest()[:16]}"
        notices.append(Notice(title, advice, level, "security", source="settings", link="#/settings", dedupe_key=key))
    return notices
