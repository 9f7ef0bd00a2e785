"""POST /webhook/{channel}: verify, store and acknowledge; processing starts afterwards.

Source: docs/facts/webhooks.md.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from starlette.responses import Response
from starlette.types import Receive, Scope

from tocsin.channels.inbound import Handshake, InboundAdapter, InboundMessage, WebhookRequest, WebhookResponse
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import Limiter, RateLimiter
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.store import KEYS_KEPT_S
from tocsin.rest.problems import HttpProblemError
from tocsin.web.gateway.audit_actions import GATEWAY, MSG_REJECT
from tocsin.web.http.asgi import read_body
from tocsin.web.http.metrics import Metrics
from tocsin.web.http.refusals import RefusalLog

log = logging.getLogger(__name__)

# How long a repeated signed call is recognised. Source: docs/facts/webhooks.md, "Keys".
REPLAYED_S = 600.0
MAX_REPLAYS = 50_000
# A call signed further in the future is rejected; smaller differences between clocks are accepted, as by Teamchat.
MAX_AHEAD_S = 300.0
# An older call may be a repetition: its deduplication keys may have expired.
MAX_AGE_S = KEYS_KEPT_S - MAX_AHEAD_S


class Webhooks:
    """The handler of POST /webhook/{channel}."""

    def __init__(
        self,
        registry: Registry,
        inbox: Inbox,
        audit: AuditTrail,
        clock: Clock,
        metrics: Metrics,
        *,
        limit: Limiter,
        several_hosts: bool = False,
        verifies: bool = True,
    ) -> None:
        self._registry = registry
        self._inbox = inbox
        self._audit = audit
        self._clock = clock
        self._metrics = metrics
        self._verifies = verifies
        self._limit = limit
        self._several_hosts = several_hosts
        self._replays = _Replays(clock.monotonic)
        self._told = RefusalLog(clock.monotonic)

    async def receive(self, scope: Scope, receive: Receive) -> Response:
        """Process one webhook call; return the response that the product expects."""
        kind = self._registry.kind_of(scope["path_params"]["channel"])
        if kind not in self._registry.receiving():
            raise _unknown()
        # The body as received, even if compressed: the signature covers these bytes.
        body = await read_body(scope, receive)
        headers = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in scope["headers"])
        request = WebhookRequest(headers, body)
        adapter = self._verified(scope, kind, request)
        if not await self._admits(kind):
            detail = (
                f"More than {self._limit.per_minute} webhook requests per minute on {kind}. See WEBHOOK_RATE_LIMIT."
            )
            raise HttpProblemError("rate-limited", detail, headers={"Retry-After": "60"})
        try:
            return _response(await self._take_in(scope, kind, adapter, request))
        except Exception as error:
            # After any error, the event is not acknowledged: the product sends it again.
            if isinstance(error, TocsinError):
                log.warning("a webhook event could not be stored", extra={"channel": kind, "reason": error.sentence()})
            else:
                log.exception("a webhook event could not be stored", extra={"channel": kind})
            raise HttpProblemError("not-ready", "The event cannot be stored now. Send it again later.") from None

    async def _admits(self, kind: str) -> bool:
        if isinstance(self._limit, RateLimiter):
            return self._limit.take(kind)
        return await self._limit.take(kind) is not None

    def _verified(self, scope: Scope, kind: str, request: WebhookRequest) -> InboundAdapter:
        """Return the adapter, or raise the same 401 for every reason."""
        try:
            adapter = self._registry.receiver(kind)
            if self._verifies:
                adapter.verify(request, self._clock.now())
        except UnknownChannelError:
            raise _unknown() from None
        except Exception as error:  # noqa: BLE001  # a bug in a verifier must not accept a request
            self._metrics.count_rejected(kind)
            self._tell(scope, kind, error)
        else:
            return adapter
        raise HttpProblemError(
            "invalid-signature",
            "The signature of the request is missing or invalid.",
            headers={"WWW-Authenticate": 'Signature realm="webhook"'},
        )

    def _tell(self, scope: Scope, kind: str, error: Exception) -> None:
        """Write the reason to log and audit, at most once per minute and address."""
        address = scope["tocsin.client"]
        expected = isinstance(error, TocsinError)
        reason = error.sentence() if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}"
        if not self._told.admits(address, f"{kind} {reason}"):
            return
        facts = {"channel": kind, "ip": address, "request_id": scope["tocsin.request_id"], "reason": reason}
        level = logging.WARNING if expected else logging.ERROR
        log.log(level, "a webhook request was rejected", exc_info=None if expected else error, extra=facts)
        detail = f"rejected a webhook request on {kind} from {address}: {reason}"
        self._audit.record(MSG_REJECT, detail, source=GATEWAY.name, metadata={**facts, "outcome": "denied"})

    async def _take_in(
        self, scope: Scope, kind: str, adapter: InboundAdapter, request: WebhookRequest
    ) -> WebhookResponse:
        received = await adapter.receive(request)
        if isinstance(received, Handshake):
            return received.answer
        if received is None:
            self._metrics.count_received(kind, "none", "ignored")
            return adapter.answer_to(None)
        if self._is_stale(scope, kind, adapter, request):
            self._metrics.count_received(kind, str(received.kind), "stale")
        elif await self._store(kind, adapter.replay_key(request), received):
            return await adapter.answer_stored(received)
        return adapter.answer_to(received)

    def _is_stale(self, scope: Scope, kind: str, adapter: InboundAdapter, request: WebhookRequest) -> bool:
        """Return True if a call is too old to be recognised as a repetition; it is logged like a rejection."""
        signed_at = adapter.signed_at(request) if self._verifies else None
        if signed_at is None or -MAX_AHEAD_S <= (age_s := self._clock.now() - signed_at) <= MAX_AGE_S:
            return False
        facts = {
            "channel": kind,
            "ip": scope["tocsin.client"],
            "request_id": scope["tocsin.request_id"],
            "age_s": age_s,
        }
        if self._told.admits(facts["ip"], f"{kind} stale"):
            log.warning("an outdated webhook request was ignored; check the clock of this machine", extra=facts)
        return True

    async def _store(self, kind: str, replay_key: str, message: InboundMessage) -> bool:
        """Store an event; return whether it is new."""
        key = f"{kind} {replay_key}"
        if replay_key and key in self._replays:
            self._metrics.count_received(kind, str(message.kind), "duplicate")
            return False
        if replay_key and self._several_hosts:  # another host may have received the same call
            message = replace(message, dedupe_keys=(*message.dedupe_keys, f"call {replay_key}"))
        [is_new] = await self._inbox.accept([message])
        if replay_key:
            self._replays.add(key)
        return is_new


class _Replays:
    """The signed calls of the last minutes."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return self._until.get(key, 0.0) > self._monotonic()

    def add(self, key: str) -> None:
        now = self._monotonic()
        self._until[key] = now + REPLAYED_S
        self._until.move_to_end(key)
        while len(self._until) > MAX_REPLAYS or next(iter(self._until.values())) <= now:
            self._until.popitem(last=False)


def _unknown() -> HttpProblemError:
    return HttpProblemError("not-found", "Unknown channel, or a channel that does not receive messages.")


def _response(answer: WebhookResponse) -> Response:
    return Response(answer.body, answer.status, media_type=answer.content_type or None)
