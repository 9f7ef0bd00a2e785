"""Operations on channels and profiles: listing, testing and sending."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from tocsin.channels.contract import ChannelSpec, Receipt, SendResult
from tocsin.channels.dressing import MessagePlan
from tocsin.channels.model import Support
from tocsin.channels.registry import ChannelState, Registry
from tocsin.core.audit.reader import AuditEntry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ChannelError, ConfigError, RemoteError, TocsinError
from tocsin.core.records.as_json import to_json as as_records
from tocsin.core.text.compact_json import to_json
from tocsin.core.text.measures import Measure, utf8_bytes, utf16_units
from tocsin.core.time.clock import Clock
from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.files.intake import FileIntake
from tocsin.delivery.store import ChannelFigures
from tocsin.messaging.outbound.audit_actions import MSG_TEST
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.messenger import Messenger, NotifyResult
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import Profile
from tocsin.messaging.outbound.results import PlannedTarget
from tocsin.rest.callers import CallerOf
from tocsin.rest.headers import FORM_DATA, JSON, prefers_async, require_target
from tocsin.rest.operations import OfferedTool, operation
from tocsin.web.dashboard.operations.channel_settings import CHANNEL_CONNECT
from tocsin.web.dashboard.operations.messaging_models import (
    FAN_OUT,
    OUTCOMES,
    ChannelList,
    DryRun,
    MessageBody,
    ProfileList,
    ProfileMessage,
    ProfilePlan,
    ProfileResult,
    QueuedMessage,
    SendMessage,
    SentMessage,
)
from tocsin.web.http.forms import stored
from tocsin.web.http.send_answers import SendResponse, fan_out_status, partial_response, response_to_send

DAY_S = 86_400.0
_TESTS = {MSG_TEST.name, CHANNEL_CONNECT.name}
# Fields that messages of agents lack: an agent mentions no one and adds no buttons, and its text is plain.
TEXT = {"message": "text"}  # as language models call it
OF_PEOPLE = ("mention", "actions", "parse_mode", "format")
SEARCHED_ENTRIES = 2_000  # of the audit log, for the last tests


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagingDependencies:
    """The dependencies of the operations."""

    settings: Settings
    clock: Clock
    audit: AuditTrail
    registry: Registry
    messenger: Messenger
    outbox: Outbox
    files: Callable[[], FileIntake]
    profiles: Callable[[], Sequence[Profile]]  # with each target validated as a send would
    profile_uses: Callable[[], Awaitable[Sequence[tuple[str, str, str]]]]  # profile, kind and name of each sender


class MessagingRoutes:
    """The operations on channels and profiles."""

    def __init__(self, parts: MessagingDependencies) -> None:
        self._parts = parts

    @operation("GET", "/api/msg/channels", answer=ChannelList)
    async def list_channels(self) -> Any:
        """List all channels, configured or not, with their state."""
        parts = self._parts
        figures = await parts.outbox.store.figures(parts.clock.now() - DAY_S)
        holds = await parts.outbox.store.account_holds(parts.registry.configured())
        tests = await asyncio.to_thread(lambda: last_tests(parts.audit.log.newest()))
        until = {channel: hold.until for channel, hold in holds.items()}
        return {
            "items": [
                self._channel(state, figures.get(state.spec.kind, ChannelFigures()), tests.get(state.spec.kind), until)
                for state in parts.registry.states()
            ],
            "max_files_bytes": parts.files().max_bytes,
        }

    def _channel(
        self,
        state: ChannelState,
        figures: ChannelFigures,
        test: Mapping[str, Any] | None,
        held_until: Mapping[str, float],
    ) -> dict[str, Any]:
        spec = state.spec
        return {
            "channel": spec.kind,
            "label": spec.label,
            "configured": state.configured,
            "available": state.available,
            "missing": list(state.missing),
            "capabilities": {"inbound": self._inbound(spec), **_capabilities(spec)},
            "default_target": self._default_target(spec),
            "state": _state(state, figures, test),
            "last_test": test,
            "last_sent_at": timestamp(figures.last_sent_at),
            "sent_24h": figures.sent,
            "failed_24h": figures.failed,
            "retry_after_until": timestamp(held_until.get(spec.kind)),
        }

    def _inbound(self, spec: ChannelSpec) -> str:
        """Return how messages are received."""
        if spec.inbound_mode:
            return self._parts.settings[spec.inbound_mode]
        return spec.inbound[0] if spec.inbound else "none"

    def _default_target(self, spec: ChannelSpec) -> str | None:
        for variable in spec.variables:
            if variable.name.endswith("_DEFAULT_CHAT_ID"):
                return str(self._parts.settings[variable]) or None
        return None

    @operation(
        "POST",
        "/api/msg/send",
        scope="send",
        own=True,
        once=True,
        direct=True,
        media=(JSON, FORM_DATA),
        problems=("validation-failed",),
        answer=SentMessage | DryRun,
        tool=OfferedTool("send_message", open_world=True, optional=True, omits=OF_PEOPLE, names=TEXT, signed="message"),
        responses={
            **OUTCOMES,
            200: {"description": "The message was sent. With `dry_run`: the parts that would be sent."},
            202: {"model": QueuedMessage, "description": "The message was queued. Its URL is in `Location`."},
        },
    )
    async def send_message(self, request: Request, body: SendMessage, caller: CallerOf) -> Any:
        """Send a message; the status shows whether retrying can help.

        With `queue` or `Prefer: respond-async`, the message is stored and retried until it is sent. With `dry_run`,
        it is not sent, and the response is `{parts, warnings}`.
        """
        require_target(request.scope)
        content = await self._stored(request, body, dry_run=body.dry_run)
        if body.dry_run:
            return self._plan(body, content)
        if (preferred := prefers_async(request.scope)) or body.queue:
            queued = await self._queue(body, content, caller)
            if preferred and queued.status_code == 202:
                queued.headers["Preference-Applied"] = "respond-async"
            return queued
        cut_off: list[Receipt] = []
        try:
            receipt = await self._parts.messenger.send(
                body.channel,
                body.target,
                body.said,
                caller,
                parse_mode=body.mode,
                content=content,
                on_cut_off=cut_off.extend,
            )
        except asyncio.CancelledError:  # the service stops: the caller must learn that the message may have been sent
            if not cut_off:
                raise
            receipt = cut_off[0]
        partly = receipt.failure and receipt.parts_sent
        return sent_message(
            partial_response(receipt) if partly else response_to_send(receipt.result, receipt.failure), receipt
        )

    async def _stored(self, request: Request, body: MessageBody, *, dry_run: bool) -> Mapping[str, Any]:
        """Return the content of a message with its files stored; raise the problem of those that cannot be."""
        content, files = body.content, request.scope.get("tocsin.files", ())
        if files:
            content = {**content, "attach": [*content.get("attach", ()), *files]}
        return await stored(self._parts.files().take(content, dry_run=dry_run)) if content.get("attach") else content

    def _plan(self, body: SendMessage, content: Mapping[str, Any]) -> Response:
        try:
            plan = self._parts.outbox.plan(body.channel, body.target, body.said, parse_mode=body.mode, content=content)
        except (ChannelError, ConfigError) as error:
            return self._refused(body, error)
        return JSONResponse(_planned(plan))

    async def _queue(self, body: SendMessage, content: Mapping[str, Any], caller: Caller) -> Response:
        outbox = self._parts.outbox
        try:
            new = outbox.prepare(
                body.channel, body.target, body.said, caller.source, parse_mode=body.mode, content=content
            )
        except (ChannelError, ConfigError) as error:
            return self._refused(body, error)
        [delivery] = await outbox.enqueue([new], caller)
        where = {"Location": f"/api/deliveries/{delivery.id}"}
        return JSONResponse({"id": delivery.id, "status": str(delivery.status)}, 202, where)

    def _refused(self, body: SendMessage, error: TocsinError) -> Response:
        kind = self._parts.outbox.kind_of(body.channel)
        result = SendResult(False, kind, body.target, error=error.in_result())
        return sent_message(response_to_send(result, error), Receipt(result))

    @operation(
        "POST", "/api/msg/test/{channel}", scope="send", own=True, once=True, answer=SentMessage, responses=OUTCOMES
    )
    async def test_channel(self, channel: str, caller: CallerOf) -> Any:
        """Verify the credentials of a channel without sending."""
        receipt = await self._parts.messenger.try_channel(channel, caller)
        return sent_message(response_to_send(receipt.result, receipt.failure), receipt)

    @operation("GET", "/api/msg/profiles", answer=ProfileList)
    async def list_profiles(self) -> Any:
        """List the notification profiles, and check each target as a send would."""
        uses = await self._parts.profile_uses()
        profiles = await asyncio.to_thread(self._parts.profiles)
        return {"items": [_profile(profile, uses) for profile in profiles]}

    @operation(
        "POST",
        "/api/msg/profiles/{name}/send",
        scope="send",
        own=True,
        once=True,
        media=(JSON, FORM_DATA),
        problems=("not-found", "validation-failed"),
        answer=ProfileResult | ProfilePlan,
        tool=OfferedTool(
            "notify", open_world=True, omits=OF_PEOPLE, names={"name": "profile", **TEXT}, signed="message", queued=True
        ),
        responses=FAN_OUT,
    )
    async def send_to_profile(self, request: Request, name: str, body: ProfileMessage, caller: CallerOf) -> Any:
        """Send a message to every target of a profile; with `dry_run`, only show what would be sent.

        With `Prefer: respond-async`, it is stored and retried until it is sent, and the note of each result has the ID
        of its delivery.
        """
        require_target(request.scope, name)
        content = await self._stored(request, body, dry_run=body.dry_run)
        if body.dry_run:
            plans = self._parts.messenger.plan(name, body.message, parse_mode=body.mode, content=content)
            return JSONResponse({"profile": name, "plans": [_planned_target(each) for each in plans]})
        if prefers_async(request.scope):
            found = await self._parts.messenger.notify_by_queue(
                name, body.message, caller, parse_mode=body.mode, content=content
            )
            status, applied = 202 if found.sent else 422, {"Preference-Applied": "respond-async"}
            return JSONResponse(_profile_result(found), status, applied if found.sent else None)
        found = await self._parts.messenger.notify(name, body.message, caller, parse_mode=body.mode, content=content)
        return JSONResponse(_profile_result(found), fan_out_status(found))


def last_tests(entries: Iterator[AuditEntry]) -> dict[str, dict[str, Any]]:
    """Return the last test of each channel among the newest entries of the audit log."""
    found: dict[str, dict[str, Any]] = {}
    for entry in islice(entries, SEARCHED_ENTRIES):
        channel = str(entry.metadata.get("channel", ""))
        if entry.action not in _TESTS or channel in found:
            continue
        ok, said = bool(entry.metadata.get("ok")), entry.detail.partition(": ")[2]
        told = {"message": said, "error": ""} if ok else {"message": "", "error": said.removeprefix("failed: ")}
        found[channel] = {"ok": ok, "at": entry.ts, **told}
    return found


def _state(state: ChannelState, figures: ChannelFigures, test: Mapping[str, Any] | None) -> str:
    if not state.configured:
        return "unconfigured"
    if figures.failed and not figures.sent:
        return "failing"
    if test is not None and not test["ok"]:
        return "failing"
    return "ok" if figures.sent or test is not None else "configured"


_UNITS: dict[Measure, str] = {utf16_units: "UTF-16 units", utf8_bytes: "bytes"}


def _capabilities(spec: ChannelSpec) -> dict[str, Any]:
    return {
        "max_length": spec.max_length,
        "unit": _UNITS.get(spec.measure, "characters"),
        "chunk_at": spec.chunk_at,
        "parse_modes": list(spec.parse_modes),
        "markdown": bool(spec.parse_modes),
        "edits": spec.shows("key"),
        "withdraws": spec.shows("withdraw"),
        "session_presses": spec.session_presses,
    }


def _planned(plan: MessagePlan) -> dict[str, Any]:
    warnings = [f"The text is sent as {len(plan.parts)} messages"] if len(plan.parts) > 1 else []
    lacking = [f"{each.field} {each.note}".strip() for each in plan.fields if each.support is Support.IGNORED]
    warnings += [f"The product lacks: {', '.join(lacking)}"] if lacking else []
    found = (plan.parts, plan.fields, plan.files)
    parts, fields, files = ([as_records(each) for each in records] for records in found)
    return {"parts": parts, "warnings": warnings, "fields": fields, "files": files}


def _planned_target(planned: PlannedTarget) -> dict[str, Any]:
    place = {"channel": planned.channel, "target": planned.target, "skipped": planned.skipped}
    if isinstance(planned.plan, TocsinError):
        return {"parts": [], "warnings": [], "fields": [], "files": [], **place, "error": planned.plan.in_result()}
    return {**_planned(planned.plan), **place, "error": ""}


def sent_message(response: SendResponse, receipt: Receipt) -> Response:
    failure, note = receipt.failure, receipt.result.message
    code = (failure.provider_code or str(failure.kind)) if isinstance(failure, RemoteError) else None
    document = {
        **response.document,
        "message_id": note.partition("=")[2] or None,
        "code": code,
        "attempts": receipt.attempts,
        "parts": receipt.parts_total,
        "duration_ms": receipt.duration_ms,
    }
    # JSONResponse creates an encoder per response, which takes as long as the rest of it.
    return Response(to_json(document), response.status, response.headers, "application/json")


def _profile(profile: Profile, uses: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    return {
        "name": profile.name,
        "entries": [
            {
                "channel": entry.channel,
                "target": entry.target,
                "usable": entry.problem is None,
                "problem": entry.problem.detail if entry.problem else None,
            }
            for entry in profile.entries
        ],
        "valid": profile.valid,
        "errors": [{"line": each.line, "key": each.wrong_key, "detail": each.detail} for each in profile.problems],
        "used_by": [{"kind": kind, "name": name} for used, kind, name in uses if used == profile.name],
    }


def _profile_result(found: NotifyResult) -> dict[str, Any]:
    return {
        "profile": found.profile,
        "ok": found.ok,
        "sent": found.sent,
        "failed": found.failed,
        "results": [result.as_dict() for result in found.results],
    }
