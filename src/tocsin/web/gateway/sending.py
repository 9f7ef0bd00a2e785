"""POST /send: immediately, or through the durable queue with `Prefer: respond-async`; once per `Idempotency-Key`."""

import json
import logging
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from tocsin.channels.content import CONTENT, make_content
from tocsin.channels.contract import NO_CONTENT, Receipt, SendResult
from tocsin.channels.model import parse_mode_of
from tocsin.core.errors import ChannelError, ConfigError, TocsinError, UnknownProfileError
from tocsin.core.records.as_json import to_json
from tocsin.delivery.files.intake import FileIntake
from tocsin.delivery.keyed import is_known
from tocsin.delivery.model import Accepted
from tocsin.delivery.terms import EXPIRES_AT, NOT_BEFORE
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.idempotency import IdempotencyKeys, KeyReusedError, StillRunningError, keep_lease
from tocsin.messaging.outbound.messenger import Messenger, NotifyResult, UnknownKeyError, unknown_key
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.rest.headers import header_values, idempotency_key, prefers_async, require_target
from tocsin.rest.problems import HttpProblemError
from tocsin.web.access.bearer import GATEWAY_USER
from tocsin.web.gateway.audit_actions import GATEWAY
from tocsin.web.gateway.records import MESSAGE_FIELDS, PROFILE, PROFILE_REQUEST, QUEUE_REQUEST, TERMS, WITHDRAWAL_QUERY
from tocsin.web.http.asgi import read_body
from tocsin.web.http.bodies import parse_fields, parse_query, refuse_field
from tocsin.web.http.forms import is_form, read_form, stored
from tocsin.web.http.send_answers import (
    SendResponse,
    partial_response,
    response_to_fan_out,
    response_to_send,
)

log = logging.getLogger(__name__)

_OTHERS = {PROFILE.name: PROFILE_REQUEST}
_PLAIN_NAMES = frozenset(field.name for field in MESSAGE_FIELDS)
_NO_FILES: Sequence[Mapping[str, Any]] = ()
_CONTENT_NAMES = frozenset(field.name for field in CONTENT.fields)


class SendHandler:
    """The handler of POST /send."""

    def __init__(
        self, messenger: Messenger, outbox: Outbox, keys: IdempotencyKeys, files: Callable[[], FileIntake]
    ) -> None:
        self._messenger = messenger
        self._outbox = outbox
        self._keys = keys
        self._files = files

    async def send(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Send one message; return its send result, or its location in the queue."""
        kind, files = "", _NO_FILES
        if is_form(scope):
            raw, files = await read_form(scope, receive, self._files())
            kind = "application/json"
        else:
            raw = await read_body(scope, receive)
        body = parse_fields(scope, raw, QUEUE_REQUEST, _OTHERS, kind)
        plain = not files and body.keys() == _PLAIN_NAMES
        if not plain:
            body = _with_content(body)
            if files or body.get("content", NO_CONTENT).get("attach"):
                body = await self._with_files(body, files)
        require_target(scope, body.get("profile", ""))
        queued = prefers_async(scope)
        if not plain:
            _check_terms(body, queued=queued)
        given = idempotency_key(header_values(scope, b"idempotency-key"))
        if not given:
            answer = await (self._queue(scope, body, "") if queued else self._send_now(scope, body))
            return answer.response()
        try:
            return await self._once(scope, body, given, queued=queued)
        except KeyReusedError:
            raise HttpProblemError(
                "idempotency-key-reused", "This Idempotency-Key was already used with a different body or `Prefer`."
            ) from None
        except StillRunningError:
            detail = "The request with this Idempotency-Key is still being processed."
            raise HttpProblemError("conflict", detail, headers={"Retry-After": "1"}) from None

    async def _with_files(self, body: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the fields with all files stored: those of the form, after those of its JSON."""
        content = body.get("content", NO_CONTENT)
        attach = [*content.get("attach", ()), *files]
        return {**body, "content": await stored(self._files().take({**content, "attach": attach}))}

    async def withdraw(self, scope: Scope, receive: Receive) -> ASGIApp:
        """DELETE /messages/{channel}/{key}: withdraw the message of a key, now or through the queue."""
        require_target(scope)
        channel, key = scope["path_params"]["channel"], scope["path_params"]["key"]
        target = parse_query(scope, WITHDRAWAL_QUERY)["target"]
        caller = read_caller(scope)
        if prefers_async(scope):
            try:
                new = self._outbox.prepare_withdrawal(channel, target, key, GATEWAY.name)
                known = await is_known(self._outbox.store, new.channel, new.target, key)
                [delivery] = await self._outbox.enqueue([new], caller) if known else [None]
            except (ChannelError, ConfigError) as error:
                result = SendResult(False, self._outbox.kind_of(channel), target, error=error.in_result())
                return response_to_send(result, error).response()
            except TocsinError as error:
                raise HttpProblemError("not-ready", f"The message cannot be queued: {error.sentence()}.") from None
            if delivery is None:
                raise HttpProblemError("not-found", f"{unknown_key(target, key).sentence()}.")
            return SendResponse(to_json(delivery, Accepted), 202, keep=True, headers=_where(delivery.id)).response()
        try:
            receipt = await self._messenger.withdraw(channel, target, key, caller)
        except UnknownKeyError as error:
            raise HttpProblemError("not-found", f"{error.sentence()}.") from None
        return response_to_send(receipt.result, receipt.failure).response()

    async def _once(self, scope: Scope, body: Mapping[str, Any], given: str, *, queued: bool) -> ASGIApp:
        key = _caller_key(scope, given)
        name = f"\n{key}"  # a newline cannot occur in a header, so keys cannot collide
        digest = sha256(repr((queued, sorted(body.items()))).encode(errors="surrogatepass")).hexdigest()
        try:
            known = await self._keys.begin(name, digest, former=given)
        except (KeyReusedError, StillRunningError):
            raise
        except TocsinError as error:
            raise HttpProblemError("not-ready", f"The Idempotency-Key cannot be stored: {error.sentence()}.") from None
        if known is not None and known.status is not None:
            return _replayed(known.status, known.body)
        if known is not None and not queued:
            answer = self._interrupted(body)
        else:
            try:
                async with keep_lease(self._keys, name):
                    answer = await (self._queue(scope, body, key) if queued else self._send_now(scope, body))
            except (HttpProblemError, KeyReusedError):  # nothing was sent: a corrected request may use the same key
                await self._settle(name, None)
                raise
        await self._settle(name, answer)
        return answer.response()

    async def _settle(self, key: str, answer: SendResponse | None) -> None:
        """Store the response for repeated requests, or release the key; a failure does not affect the send."""
        try:
            if answer is not None and answer.keep:
                await self._keys.finish(key, answer.status, answer.response().body.decode())
            else:
                await self._keys.forget(key)
        except TocsinError as error:
            reason = {"reason": error.sentence()}
            log.error("the response for an Idempotency-Key could not be stored", extra=reason)  # noqa: TRY400  # the reason says it all

    def _interrupted(self, body: Mapping[str, Any]) -> SendResponse:
        """Return the response for a direct send that was interrupted by a crash: it is never sent again."""
        error = "outcome unknown: the service stopped during the send; check the recipient's side before you send again"
        if "profile" in body:
            result = SendResult(False, "", "", error=error).as_dict()
            return SendResponse({"ok": False, "profile": body["profile"], "results": [result]}, 504, keep=True)
        kind = self._outbox.kind_of(body["channel"])
        return SendResponse(SendResult(False, kind, body["target"], error=error).as_dict(), 504, keep=True)

    async def _send_now(self, scope: Scope, body: Mapping[str, Any]) -> SendResponse:
        if "profile" in body:
            return await self._notify_now(scope, body)
        cut_off: list[Receipt] = []
        try:
            receipt = await self._messenger.send(
                body["channel"],
                body["target"],
                body["message"],
                read_caller(scope),
                parse_mode=body.get("format", ""),
                content=body.get("content", NO_CONTENT),
                on_cut_off=cut_off.extend,
            )
        except CancelledError:  # the service stops: the caller must learn that the message may have been sent
            if not cut_off:
                raise
            receipt = cut_off[0]
        if receipt.failure and receipt.parts_sent:
            return partial_response(receipt)
        return response_to_send(receipt.result, receipt.failure)

    async def _notify_now(self, scope: Scope, body: Mapping[str, Any]) -> SendResponse:
        profile, caller = body["profile"], read_caller(scope)
        mode, content = body.get("format", ""), body.get("content", NO_CONTENT)
        cut_off: list[Receipt] = []
        try:
            found = await self._messenger.notify(
                profile, body["message"], caller, parse_mode=mode, content=content, on_cut_off=cut_off.extend
            )
        except CancelledError:
            if not cut_off:
                raise
            results = tuple(receipt.result for receipt in cut_off)
            found = NotifyResult(profile, results, tuple(receipt.failure for receipt in cut_off))
        except (UnknownProfileError, ConfigError) as error:
            raise _unusable_profile(error) from None
        return response_to_fan_out(found)

    async def _notify_by_queue(self, scope: Scope, body: Mapping[str, Any], key: str) -> SendResponse:
        mode, content = body.get("format", ""), body.get("content", NO_CONTENT)
        try:
            found = await self._messenger.notify_by_queue(
                body["profile"], body["message"], read_caller(scope), key=key, parse_mode=mode, content=content
            )
        except (UnknownProfileError, ConfigError) as error:
            raise _unusable_profile(error) from None
        except TocsinError as error:
            raise HttpProblemError("not-ready", f"The message cannot be queued: {error.sentence()}.") from None
        document = {"ok": found.ok, "profile": found.profile, "results": [each.as_dict() for each in found.results]}
        return SendResponse(document, 202 if found.sent else 422, keep=bool(found.sent), headers=_where(""))

    async def _queue(self, scope: Scope, body: Mapping[str, Any], key: str) -> SendResponse:
        if "profile" in body:
            return await self._notify_by_queue(scope, body, key)
        policy = body.get("policy", "")
        terms = (body.get("not_before"), body.get("expires_at"), key or None)
        try:
            new = self._outbox.prepare(
                body["channel"],
                body["target"],
                body["message"],
                "gateway",
                policy,
                parse_mode=body.get("format", ""),
                content=body.get("content", NO_CONTENT),
            )
        except (ChannelError, ConfigError) as error:
            kind = self._outbox.kind_of(body["channel"])
            return response_to_send(SendResult(False, kind, body["target"], error=error.in_result()), error)
        try:
            [delivery] = await self._outbox.enqueue([new.with_terms(*terms)], read_caller(scope))
        except TocsinError as error:
            raise HttpProblemError("not-ready", f"The message cannot be queued: {error.sentence()}.") from None
        if key and not delivery.is_same_message(new):
            raise KeyReusedError(
                "the idempotency key is already in the queue"
            )  # from an earlier request whose response was lost
        return SendResponse(to_json(delivery, Accepted), 202, keep=True, headers=_where(delivery.id))


def _check_terms(body: Mapping[str, Any], *, queued: bool) -> None:
    """Raise the problem of terms that are given without a queue, or with which the message could never be sent."""
    for term in TERMS:
        if term.name in body and not queued:
            refuse_field(term.name, "only-queued", "Requires the header `Prefer: respond-async`")
    if (until := body.get(EXPIRES_AT.name)) is not None and until <= body.get(NOT_BEFORE.name, 0.0):
        refuse_field(EXPIRES_AT.name, "wrong-value", "expected a time after not_before: it could never be sent")


def _unusable_profile(error: UnknownProfileError | ConfigError) -> HttpProblemError:
    """Return the problem for a profile that does not exist, or whose file is invalid; the log has the mistake."""
    if isinstance(error, UnknownProfileError):
        return HttpProblemError("not-found", f"{error.sentence()}.")
    log.warning("the profiles cannot be read", extra={"reason": error.sentence()})
    return HttpProblemError("not-ready", "The profiles cannot be read; `tocsin profiles` shows the mistake.")


def _with_content(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields with those of the content as one, in their stored form, and the format as a parse mode."""
    found = {name: value for name, value in body.items() if name not in _CONTENT_NAMES}
    try:
        mode = parse_mode_of(found.pop("format", ""), found.pop("parse_mode", ""))
    except ChannelError as error:
        refuse_field("parse_mode", "conflict", error.sentence())
    if mode:
        found["format"] = mode
    if content := make_content(body):
        found["content"] = content.as_stored()
    return found


def read_caller(scope: Scope) -> Caller:
    """Return the caller, for the audit entry."""
    facts = {"ip": scope["tocsin.client"], "request_id": scope["tocsin.request_id"]}
    if user := scope.get("tocsin.user"):
        facts["actor"] = user
    return Caller(GATEWAY.name, facts)


def _caller_key(scope: Scope, given: str) -> str:
    """Return the key under which an Idempotency-Key is stored: each token has separate keys.

    Calls without a token share the keys of GATEWAY_TOKEN; if that is set, there are no such calls.
    """
    user: str = scope["tocsin.user"]
    # Token names contain no slash, so the first slash ends the name.
    return f"http:{given}" if user in {"", GATEWAY_USER} else f"http+{user}/{given}"


def _replayed(status: int, body: str) -> Response:
    headers = {"Cache-Control": "no-store", "Idempotent-Replayed": "true"}
    if status == 202:
        headers |= _where(str(json.loads(body).get("id", "")))
    return Response(body, status, headers, "application/json")


def _where(delivery: str) -> dict[str, str]:
    """Return the headers of a queued message; without an ID, of those for a profile."""
    return {"Location": f"/deliveries/{delivery}".removesuffix("/"), "Preference-Applied": "respond-async"}
