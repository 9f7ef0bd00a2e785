"""Access control of the bot: the allowlist, access requests and the admin's decisions."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tocsin.bot.contract import ShownAs, Tell
from tocsin.bot.door.access_store import AccessState, AccessStore, Record
from tocsin.bot.door.audit_actions import BOT, BOT_APPROVE, BOT_DENY, BOT_PRESS_DENIED, BOT_REMOVE, BOT_REQUEST
from tocsin.bot.keyboards import decision_keyboard
from tocsin.channels.contract import PLAIN
from tocsin.channels.conversation import replacing, with_buttons
from tocsin.channels.inbound import InboundMessage
from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import Time
from tocsin.messaging.inbound.handling import Reply
from tocsin.messaging.outbound.caller import Caller

log = logging.getLogger(__name__)

MAX_DETAIL = 100  # characters of a name chosen by an unknown sender


class AccessError(TocsinError):
    """The requested change of a chat's access is not possible."""

    code = "access-failed"


@dataclass(frozen=True, slots=True)
class Change:
    """The result of an access decision."""

    schema_name: ClassVar[str] = "ChatDecision"

    chat_id: str
    before: AccessState
    state: AccessState

    @property
    def sentence(self) -> str:
        """Describe the change for the admin."""
        if self.before is self.state:
            return f"chat {self.chat_id} is {self.state} already"
        return f"chat {self.chat_id} is now {self.state} (was {self.before})"


@dataclass(frozen=True, slots=True)
class Listed:
    """Chat that asked for access, or for which a decision exists."""

    schema_name: ClassVar[str] = "ChatRecord"

    chat_id: str
    state: AccessState
    origin: Annotated[str, "`setting` or `runtime`."]
    changed_at: Time | None
    details: Mapping[str, str]


class Access:
    """The access decisions: those made at run time have priority over the setting.

    Removing a chat that the setting lists records it as unknown: without the record, its next message would be
    accepted again.
    """

    def __init__(
        self,
        store: AccessStore,
        audit: AuditTrail,
        listed: frozenset[str],
        admin: str = "",
        tell: Tell | None = None,
        shown_as: ShownAs | None = None,
    ) -> None:
        self.admin = admin
        self._store = store
        self._audit = audit
        self._listed = listed
        self._tell = tell
        self._shown_as = shown_as

    async def read_state(self, chat_id: str) -> AccessState:
        """Return the access state of a chat. If a group moved, both IDs count, its current one first."""
        for id_, record in await self._store.family(chat_id):
            if record:
                return record.state
            if id_ in self._listed:
                return AccessState.ALLOWED
        return AccessState.UNKNOWN

    async def admits(self, message: InboundMessage) -> bool:
        """Return True if the message may be processed, including its acknowledgement."""
        return await self.read_state(message.chat_id) is AccessState.ALLOWED

    async def request(self, message: InboundMessage) -> AccessState:
        """Record the access request of an unknown chat, and notify the admin once.

        A request interrupted before the admin was notified is completed by the next one.
        """
        record, is_new = await self._store.request(message.chat_id, request_details(message))
        if record is None:
            log.warning(
                "an access request was dropped, because too many are waiting", extra={"chat_id": message.chat_id}
            )
            return AccessState.UNKNOWN
        if is_new:
            self._note(BOT_REQUEST, f"access requested by chat {record.chat_id}", record.chat_id, Caller(BOT.name))
            if not self.admin:
                log.warning("a chat asks for access, but no admin chat is set", extra={"chat_id": record.chat_id})
        if record.state is AccessState.PENDING and not record.admin_told:
            await self._ask_admin(record)
        return record.state

    async def approve(self, chat_id: str, caller: Caller, pressed: str | None = None) -> Change:
        """Allow the chat, and notify it if it had asked; `pressed` is the message whose button was used."""
        change, record = await self._change(chat_id, AccessState.ALLOWED)
        if change.before is not change.state:
            if record and change.before is not AccessState.UNKNOWN:
                await self._tell_chat(record, change, "Access granted. /help lists the commands.")
            await self._close_request(record, change, pressed)
            if await self._store.decide(chat_id, AccessState.ALLOWED):
                self._note(BOT_APPROVE, change.sentence, chat_id, caller)
        return change

    async def deny(self, chat_id: str, caller: Caller, pressed: str | None = None) -> Change:
        """Deny the chat, and notify it if its request is pending; `pressed` is the message whose button was used."""
        change, record = await self._change(chat_id, AccessState.DENIED)
        if change.before is not change.state:
            if record and change.before is AccessState.PENDING:
                await self._tell_chat(record, change, "Your access request was denied.")
            await self._close_request(record, change, pressed)
            if await self._store.decide(chat_id, AccessState.DENIED):
                self._note(BOT_DENY, change.sentence, chat_id, caller)
        return change

    async def remove(self, chat_id: str, caller: Caller) -> Change:
        """Remove the chat from the allowlist, even if the setting lists it: it is then unknown and may ask again.

        Raises AccessError if the chat is unknown.
        """
        change, record = await self._change(chat_id, AccessState.UNKNOWN)
        if record is None and change.before is AccessState.UNKNOWN:
            raise AccessError(f"chat {chat_id} is not on the list", hint="see: tocsin bot access list")
        if change.before is not change.state:
            await self._close_request(record, change)
            if await self._allowed_anyway(chat_id):
                removed = await self._store.decide(chat_id, AccessState.UNKNOWN)
            else:
                removed = await self._store.forget(chat_id)
            if removed:
                self._note(BOT_REMOVE, change.sentence, chat_id, caller)
        return change

    def refuse_press(self, chat_id: str, caller: Caller) -> None:
        """Record that a chat other than the admin's pressed a button that decides about `chat_id`."""
        told = {"chat": chat_id, "outcome": "denied", **caller.facts}
        self._audit.record(BOT_PRESS_DENIED, f"a button about chat {chat_id}", source=caller.source, metadata=told)

    async def outcome(self, chat_id: str) -> str:
        """Return the text that replaces the admin's buttons: the state of the chat and its details."""
        record = (await self._store.family(chat_id))[0][1]
        return outcome_text(chat_id, await self.read_state(chat_id), record.details if record else {})

    async def record_move(self, old_id: str, new_id: str) -> None:
        """Record the new ID of a group. Both IDs count afterwards."""
        await self._store.record_move(old_id, new_id)

    async def listing(self) -> list[Listed]:
        """Return all known chats, those with a pending request first."""
        records = await self._store.records()
        decided = {record.chat_id for record in records}
        listed = [Listed(id_, AccessState.ALLOWED, "setting", None, {}) for id_ in sorted(self._listed - decided)]
        return [Listed(r.chat_id, r.state, "runtime", r.changed_at or None, r.details) for r in records] + listed

    async def _change(self, chat_id: str, after: AccessState) -> tuple[Change, Record | None]:
        record = (await self._store.family(chat_id))[0][1]
        before = record.state if record else await self.read_state(chat_id)
        return Change(chat_id, before, after), record

    async def _allowed_anyway(self, chat_id: str) -> bool:
        """Return True if the chat is allowed without its own record: by the setting, or by another ID of the group."""
        others = (await self._store.family(chat_id))[1:]
        return chat_id in self._listed or any(
            record.state is AccessState.ALLOWED if record else id_ in self._listed for id_, record in others
        )

    async def _ask_admin(self, record: Record) -> None:
        if not self.admin:
            return
        key = f"access:{record.chat_id}:request:{record.changed_at:.6f}"
        buttons = with_buttons(decision_keyboard(record.chat_id))
        notice = await self._queue(self.admin, request_text(record), key, buttons)
        if notice is not None:
            await self._store.record_admin_notice(record.chat_id, notice)

    async def _close_request(self, record: Record | None, change: Change, pressed: str | None = None) -> None:
        """Replace the admin's buttons with the outcome, unless the answer to the pressed button does that."""
        if record is None or not record.notice or self._shown_as is None:
            return
        shown = await self._shown_as(record.notice)
        if shown is not None and shown.id != pressed:
            text = outcome_text(change.chat_id, change.state, record.details)
            key = f"access:{change.chat_id}:{change.state}:{record.changed_at:.6f}:notice"
            await self._queue(shown.target, text, key, replacing(shown.id))

    async def _tell_chat(self, record: Record, change: Change, text: str) -> None:
        # Queue before the decision is stored, with a key: a repetition after a crash then sends no second message.
        await self._queue(change.chat_id, text, f"access:{change.chat_id}:{change.state}:{record.changed_at:.6f}")

    async def _queue(self, chat_id: str, text: str, key: str, extra: Mapping[str, Any] | None = None) -> str | None:
        """Queue a text and return the ID of its delivery; `None` if it cannot be queued."""
        if self._tell is None:
            return None
        try:
            return await self._tell(chat_id, Reply(text, PLAIN, extra or {}), key)
        except TocsinError as error:  # a chat that cannot be notified must not prevent the decision
            log.warning("a chat could not be notified", extra={"chat_id": chat_id, "reason": error.sentence()})
            return None

    def _note(self, action: AuditAction, detail: str, chat_id: str, caller: Caller) -> None:
        self._audit.record(action, detail, source=caller.source, metadata={"chat": chat_id, **caller.facts})


def request_details(message: InboundMessage) -> dict[str, str]:
    """Return the details of the requester, each short and on one line: they are untrusted input."""
    is_group = message.chat_type != "private"
    facts = {
        "title": message.chat_title if is_group else None,
        "kind": message.chat_type if is_group else None,
        "name": message.sender_name,
        "username": message.sender_username,
        "language": message.sender_language,
        "user": message.sender_id if message.sender_id != message.chat_id else None,
    }
    return {name: line for name, value in facts.items() if value and (line := _one_line(str(value)))}


def request_text(record: Record) -> str:
    lines = [f"Access requested by chat {record.chat_id}: /approve {record.chat_id}"]
    lines += label_details(record.details)
    return "\n".join([*lines, f"To deny access: /deny {record.chat_id}"] if record.details else lines)


def outcome_text(chat_id: str, state: AccessState, details: Mapping[str, str]) -> str:
    """Return the text that replaces a decided request in the admin chat."""
    other = (
        f"To deny access: /deny {chat_id}" if state is AccessState.ALLOWED else f"To allow access: /approve {chat_id}"
    )
    return "\n".join([f"Chat {chat_id} is {state}.", *label_details(details), other])


def label_details(details: Mapping[str, str]) -> list[str]:
    """Return the labelled details of a chat; the name in a group's details is the requester's."""
    labels = {"name": "asked by"} if "kind" in details else {}
    return [f"{labels.get(name, name)}: {value}" for name, value in details.items()]


def _one_line(value: str) -> str:
    visible = "".join(character if character.isprintable() else " " for character in value)
    line = " ".join(visible.split())
    return line if len(line) <= MAX_DETAIL else line[: MAX_DETAIL - 1] + "…"
