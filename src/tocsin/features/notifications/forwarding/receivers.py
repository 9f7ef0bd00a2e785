"""The receivers of forwarded notices: a profile, else the chats of the operator."""

import asyncio
import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tocsin.channels.contract import PLAIN
from tocsin.core.audit.actions import NOTICES
from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.core.config.env_file import change_env_file
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.records.marks import Time
from tocsin.core.text.strings import truncate
from tocsin.features.context import FeatureContext, NoticeLevel
from tocsin.features.notifications.feature import NOTIFICATION_TARGET
from tocsin.features.notifications.forwarding.forwarder import NoticeMessage, notice_title
from tocsin.features.notifications.model import Notification
from tocsin.features.notifications.settings import NOTIFY_PROFILE
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.output_routing import MessageForProfile
from tocsin.runs.approvals import CHAT
from tocsin.runs.engine.run_type import RETRY

log = logging.getLogger(__name__)

APPROVE, REJECT = "approve", "reject"  # the names of buttons
DEFAULT_PROFILE = "notices"
MAX_TITLE = 250
_TYPES = {
    NoticeLevel.INFO: "info",
    NoticeLevel.SUCCESS: "success",
    NoticeLevel.WARNING: "warning",
    NoticeLevel.ERROR: "failure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTarget:
    """The target on which a person confirmed that a message arrived; `done` while notices go there."""

    done: bool
    profile: str  # to which notices go; empty for the chats of the operator
    channel: str = ""
    target: str = ""
    confirmed_at: Time | None = None


class NoticeReceivers:
    """Sends texts to the receivers of notices, and adds a target to them."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._profile = context.settings[NOTIFY_PROFILE]
        self._started_at = context.clock.now()

    def is_told(self, destination: str) -> bool:
        """Return True if a message to a destination reaches all receivers of notices."""
        output, chats = self._context.output, self._context.abilities.operator_chats
        try:
            told = output.targets(self._profile) if self._profile else {each[:2] for each in chats.find()}
        except TocsinError:  # forwarding reports it
            return False
        return bool(told) and told <= output.targets(destination)

    async def deliver(self, message: NoticeMessage) -> bool:
        """Queue a message for the receivers; return False if there is none."""
        await self._follow()
        if not self._profile:
            if message.notice and message.notice.corrects:
                return True  # these messages have no keys: a decision would be a second one
            return await self._context.abilities.operator_chats.tell(message.text, key=message.dedupe_key)
        profile, messenger = self._profile, self._context.messenger
        made = MessageForProfile(
            text=message.notice.body if message.notice else message.text,
            parse_mode=PLAIN,
            content=_content(message, self._context.settings[PUBLIC_URL]),
            resolution="message" if message.resolves else "",
            optional_buttons=True,
        )
        result = await messenger.for_profiles(Caller(NOTICES.name)).send(profile, made, message.dedupe_key)
        failed = [
            f"{messenger.channel_label(each.channel)} {each.target}: {each.error}"
            for each in result.results
            if not each.ok
        ]
        if failed and not result.sent:
            raise ConfigError(
                f"no target of profile {profile} accepted the notification: {failed[0]}", hint="correct it"
            )
        for problem in failed:
            log.warning("a notification could not be sent to a target", extra={"profile": profile, "reason": problem})
        return True

    async def add(self, channel: str, target: str, *, source: str) -> NoticeTarget:
        """Send notices to a target from now on, too, in every process.

        The target is added to the profile of NOTIFY_PROFILE; if that is not set, to a new profile, which becomes its
        value. Raises TocsinError.
        """
        await self._follow()
        context, name = self._context, self._profile or DEFAULT_PROFILE
        kind = await asyncio.to_thread(context.output.add_to_profile, name, channel, target)
        if not self._profile:
            await asyncio.to_thread(change_env_file, context.settings_file, {NOTIFY_PROFILE.name: name})
        self._profile = name
        row = (kind, target, context.clock.now())
        await context.database.execute("REPLACE INTO notifications_target VALUES (1, ?, ?, ?)", row)
        facts = {"profile": name, "channel": kind, "target": target}
        context.audit.record(NOTIFICATION_TARGET, f"notices go to {kind} {target}", source=source, metadata=facts)
        return await self.confirmed()

    async def confirmed(self) -> NoticeTarget:
        """Return the confirmed target."""
        found = await self._follow()
        if found is None:
            return NoticeTarget(done=False, profile=self._profile)
        channel, target, at = found
        try:
            told = self._context.output.targets(self._profile) if self._profile else set()
        except TocsinError:  # the profile was removed, or its file is broken
            told = set()
        return NoticeTarget(
            done=(channel, target) in told, profile=self._profile, channel=channel, target=target, confirmed_at=at
        )

    async def _follow(self) -> tuple[str, str, float] | None:
        """Return the stored target; take over its profile if another process wrote NOTIFY_PROFILE after our start."""
        found = await self._context.database.read(_stored_target)
        if found and not self._profile and found[2] >= self._started_at:
            self._profile = DEFAULT_PROFILE
        return found


def _stored_target(connection: sqlite3.Connection) -> tuple[str, str, float] | None:
    row = connection.execute("SELECT channel, target, at FROM notifications_target").fetchone()
    return (row["channel"], row["target"], row["at"]) if row else None


def _content(message: NoticeMessage, public_url: str) -> Mapping[str, object]:
    """Return title, type, link and key of the message for one notice."""
    notice = message.notice
    if notice is None:
        return {}
    found: dict[str, object] = {"title": truncate(notice_title(notice), MAX_TITLE), "type": _TYPES[notice.level]}
    if notice.corrects:
        found["unable"] = "skip"
    link = f"{public_url}/{notice.link}" if notice.link.startswith("#") and public_url else notice.link
    if link.startswith(("http://", "https://")):
        found["click"] = link
    page = link if notice.run_id.startswith(CHAT) else f"{public_url}/#/runs/{notice.run_id}"
    if actions := _buttons_of(notice, page if public_url else ""):
        found["actions"] = actions
    return {**found, "key": message.subject} if message.subject else found


def _buttons_of(notice: Notification, page: str) -> list[Mapping[str, Any]]:
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
