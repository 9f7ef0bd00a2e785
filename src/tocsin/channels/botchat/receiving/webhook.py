"""Register the webhook at the provider, and check it regularly. Source: docs/facts/botchat.md, "Webhook".

The gateway receives the webhook calls.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tocsin.channels.botchat.api import BotApi, BotApiError
from tocsin.channels.botchat.messages.fields import count, record, time_s, words
from tocsin.channels.botchat.messages.updates import ALLOWED_UPDATES
from tocsin.channels.botchat.receiving.liveness import Liveness, ReceiveStatus, ReceivingState
from tocsin.channels.botchat.receiving.poll_backoff import PollBackoff
from tocsin.channels.botchat.settings import MODE, WEBHOOK_SECRET, WEBHOOK_URL
from tocsin.channels.conversation import TellAdmin
from tocsin.core.config.settings import Values
from tocsin.core.errors import MissingSettingError
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 40  # concurrent calls: the default of setWebhook
CHECK_EVERY_S = 300.0
CHECK_SOON_S = 30.0  # while there is a problem
RECENT_S = 600.0
PACE_S = 1.0  # between two calls of setWebhook
WATCHDOG_S = 90.0
LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Hook:
    """The address that the provider calls, and the secret that it sends."""

    url: str
    secret: str = field(repr=False)


def read_hook(config: Values) -> Hook:
    """Return the configured webhook; raise ConfigError if a part of it is missing."""
    missing = [variable.name for variable in (WEBHOOK_URL, WEBHOOK_SECRET) if not config[variable]]
    if missing:
        raise MissingSettingError(
            f"{MODE.name}=webhook needs {' and '.join(missing)}",
            hint=f"set {'it' if len(missing) == 1 else 'them'}, or {MODE.name}=polling",
        )
    return Hook(config[WEBHOOK_URL], config[WEBHOOK_SECRET])


class WebhookRegistration:
    """Registers the webhook at the start, and again if another program changed it; `state` reports the result."""

    def __init__(self, api: BotApi, hook: Hook, clock: Clock, tell_admin: TellAdmin) -> None:
        self._api = api
        self._hook = hook
        self._clock = clock
        self._liveness = Liveness("webhook", clock, tell_admin)
        self._backoff = PollBackoff()
        self._stop = StopEvent()
        self._loop = ServiceLoop(
            "the webhook", self._step, clock, on_failure=self._failed, pause=self._pause, stop=self._stop
        )
        self._registered = False

    @property
    def state(self) -> ReceivingState:
        """The current state."""
        return self._liveness.state

    def stop(self) -> None:
        """Stop checking; the webhook stays registered, so that messages wait at the provider."""
        self._loop.stop()

    async def run(self) -> None:
        """Register the webhook, and check it every five minutes, until `stop`."""
        try:
            await self._loop.run()
        finally:
            self._liveness.stop()

    async def _step(self) -> float:
        async with asyncio.timeout(WATCHDOG_S):
            return await self._stop.or_done(self._check()) or 0.0

    async def _failed(self, error: Exception, _: int) -> float:
        decision = self._backoff.judge(error, self._clock.monotonic())
        await self._liveness.record_failure(decision.status, decision.problem)
        return decision.wait_s

    async def _pause(self, seconds: float) -> None:
        await self._liveness.pause(seconds, self._stop)

    async def _check(self) -> float:
        """Register the webhook if needed and check it; return the wait before the next check."""
        fresh = not self._registered
        if fresh:
            await self._register()
        info = await self._info()
        self._backoff.succeeded(self._clock.monotonic())
        self._liveness.pending = count(info.get("pending_update_count"))
        if "url" in info and words(info.get("url")) != self._hook.url:
            return await self._register_again(fresh=fresh)
        if problem := self._problem(info):
            await self._liveness.record_failure(ReceiveStatus.FAILING, problem)
            return CHECK_SOON_S
        await self._liveness.record_success()
        return CHECK_EVERY_S

    async def _info(self) -> Mapping[str, Any]:
        """Return the provider's information about the webhook; empty if the server does not support the method."""
        try:
            return record(await self._api.call("getWebhookInfo"))
        except BotApiError as refusal:
            if refusal.error_code != 404:
                raise
            return {}

    async def _register(self) -> None:
        # Register even if the address is unchanged, because the secret may differ.
        await self._api.call(
            "setWebhook",
            url=self._hook.url,
            secret_token=self._hook.secret,
            allowed_updates=ALLOWED_UPDATES,
            max_connections=MAX_CONNECTIONS,
            drop_pending_updates=False,
        )
        self._registered = True
        log.info("webhook registered")

    async def _register_again(self, *, fresh: bool) -> float:
        """Register again, unless another program changed it immediately after the registration."""
        self._registered = False
        if not fresh:
            log.warning("the webhook was removed or changed; it is registered again")
            return PACE_S
        await self._liveness.record_failure(
            ReceiveStatus.CONFLICT,
            "The webhook was removed or changed directly after registration: another program uses the same token; "
            "stop one of them",
        )
        return CHECK_SOON_S

    def _problem(self, info: Mapping[str, Any]) -> str:
        """Return the reason why messages wait at the provider, if it reports one."""
        reason = " ".join(words(info.get("last_error_message"), LONGEST_REASON).split())
        recent = self._clock.now() - time_s(info.get("last_error_date")) < RECENT_S
        if not reason or not recent or not self._liveness.pending:
            return ""
        return f"The provider cannot deliver: {reason}; check that {WEBHOOK_URL.name} reaches the gateway"
