"""The watch over heartbeats, in each process that takes pings; one of them decides what was missed.

Every process notes every few seconds that it takes pings. The next one to start derives from it during which time no
process did: pings of that time are lost, so they make nothing down (`ledger/rules.py`, `pass_gap`).
"""

import asyncio
import logging
from collections.abc import Sequence

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.text.strings import number_of
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.heartbeats.feature import HEARTBEAT_DOWN, HEARTBEAT_UP, HEARTBEATS
from tocsin.features.heartbeats.ledger.messages import HeartbeatMessage
from tocsin.features.heartbeats.model import HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.messaging.outbound.caller import Caller
from tocsin.scheduling.clock_watch import ClockWatch
from tocsin.scheduling.lease import Lease

log = logging.getLogger(__name__)

LEASE = "heartbeats"
LOOK_S = 1.0
BEAT_S = 5.0
BATCH = 500
_NAMED = 10  # heartbeats in a notice


class HeartbeatWatch:
    """Notes that pings are taken, and decides what was missed while this process holds the lease."""

    def __init__(self, heartbeats: Heartbeats, holder: str = "") -> None:
        self._heartbeats = heartbeats
        self._context = heartbeats.context
        self._clock = heartbeats.context.clock
        self.lease = Lease(heartbeats.context.database, LEASE, self._clock, holder)
        self._stop = StopEvent()
        self._loop = ServiceLoop("the watch over heartbeats", self.step, self._clock, stop=self._stop)
        self._clock_watch = ClockWatch(self._clock)
        self._beaten_at: float | None = None  # monotonic
        self._beginning = asyncio.Lock()
        self._relay_problem = ""
        self._publish_at = 0.0  # monotonic

    def stop(self) -> None:
        """Decide nothing more."""
        self._loop.stop()

    def wake(self) -> None:
        """Look at once for what a ping has changed."""
        self._loop.wake()

    async def run(self) -> None:
        """Watch until `stop`; another process may take over at once."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._loop.run())
            await self._stop.wait()
            await self.lease.release()

    async def begin(self) -> None:
        """Find out, before the first ping, for which time no process took pings."""
        if self._beaten_at is None and self._heartbeats.are_kept:
            async with self._beginning:
                if self._beaten_at is None:
                    await self._heartbeats.sync()
                    self._clock_watch.jump()
                    await self._relay()  # what came meanwhile to other hosts is not lost
                    await self._beat(starts=True)

    async def step(self) -> float:
        """Do what is due, and return for how many seconds there is no more."""
        if not self._heartbeats.are_kept:
            return LOOK_S
        await self.begin()
        await self._heartbeats.sync()
        if jump := self._clock_watch.jump():
            await self._beat(jump_s=jump)
        elif self._beaten_at is None or self._clock.monotonic() - self._beaten_at >= BEAT_S:
            await self._beat()
        if not await self.lease.keep():
            return LOOK_S
        await self._relay()
        while await self._heartbeats.store.decide(self._clock.now(), BATCH, self.lease.confirm) == BATCH:
            pass
        await self._send()
        return LOOK_S

    async def _beat(self, *, starts: bool = False, jump_s: float = 0.0) -> None:
        unknown = await self._heartbeats.store.beat(self._clock.now(), starts=starts, jump_s=jump_s)
        self._beaten_at = self._clock.monotonic()
        if unknown:
            shown = ", ".join(unknown[:_NAMED]) + (
                f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
            )
            title = f"{number_of(len(unknown), 'heartbeat')} not watched for a while"
            body = f"Tocsin took no pings when these were due, so they count as unknown, not as missed: {shown}."
            key = f"heartbeats-gap-{int(self._clock.now())}"
            notice = Notice(title, body, NoticeLevel.INFO, "system", "heartbeats", "#/heartbeats", key)
            await self._context.abilities.notices.notify(notice)

    async def _relay(self) -> None:
        """Count the pings that other hosts received, and let them know the addresses of this one."""
        try:
            if relay := await self._heartbeats.relay():
                await relay.count(self._clock.now())
                if self._clock.monotonic() >= self._publish_at:
                    await relay.publish()
                    self._publish_at = self._clock.monotonic() + BEAT_S
        except StoreUnavailableError as error:
            if not self._relay_problem:  # once per outage
                log.warning("pings that arrive at other hosts have to wait", extra={"reason": error.sentence()})
            self._relay_problem = error.sentence()
        else:
            self._relay_problem = ""

    async def _send(self) -> None:
        """Send the stored messages; each is deleted once it is queued, and its key recognises a repetition.

        Those of different heartbeats are sent together, since thousands may be missed in the same minute.
        """
        store = self._heartbeats.store
        while stored := await store.messages():
            by_heartbeat: dict[str, list[HeartbeatMessage]] = {}
            for _, message in stored:
                by_heartbeat.setdefault(message.heartbeat, []).append(message)
            ended = await asyncio.gather(*map(self._send_in_order, by_heartbeat.values()), return_exceptions=True)
            if failed := next((each for each in ended if each is not None), None):
                raise failed
            for _, message in stored:
                self._audit(message)
            await store.forget_messages([number for number, _ in stored])

    async def _send_in_order(self, messages: Sequence[HeartbeatMessage]) -> None:
        for message in messages:
            if not message.silent:
                await self._notify(message)

    async def _notify(self, message: HeartbeatMessage) -> None:
        if message.destination:
            queued = await self._context.output.queue(
                message.destination,
                message.body,
                Caller(HEARTBEATS.name),
                message.key,
                content=message.content,
                resolves=message.resolves,
            )
            for refused in queued.refused:
                facts = {"heartbeat": message.heartbeat, "reason": refused.error}
                log.warning("a message about a heartbeat was refused", extra=facts)
        notice = Notice(
            message.title,
            message.body,
            message.level,
            "system",
            message.heartbeat,
            message.link,
            message.key,
            output=message.destination,
            once=True,
        )
        await self._context.abilities.notices.notify(notice)

    def _audit(self, message: HeartbeatMessage) -> None:
        facts = {"heartbeat": message.heartbeat}
        if message.state == HeartbeatState.DOWN:
            facts["reason"] = message.reason
        action = {HeartbeatState.DOWN: HEARTBEAT_DOWN, HeartbeatState.UP: HEARTBEAT_UP}.get(
            HeartbeatState(message.state) if message.state else HeartbeatState.NEW
        )
        if action is not None:
            self._context.audit.record(action, message.title, source=HEARTBEATS.name, metadata=facts)
