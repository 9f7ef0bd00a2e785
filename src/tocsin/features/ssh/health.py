"""Health checks of hosts: whether the machine answers, and whether a login works."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tocsin.core.process.starting import ProcessTimeoutError
from tocsin.core.tasks import run_concurrently
from tocsin.core.time.clock import Clock
from tocsin.features.ssh.client.host_keys import known_key
from tocsin.features.ssh.client.outcome import key_in, outcome_of
from tocsin.features.ssh.client.ping import ping
from tocsin.features.ssh.client.ssh_program import CONNECT_TIMEOUT_S, SshSession
from tocsin.features.ssh.model import (
    Address,
    HostEntry,
    HostHealth,
    HostHealthRecord,
    HostKey,
    Ping,
    SshAnswer,
    SshHealth,
)
from tocsin.features.ssh.store import ProbeStore
from tocsin.runs.model import HostStatus

CACHE_S = 30.0
FAILURES_BEFORE_DOWN = 2
SLOW_MS = 3000
_AT_ONCE = 10
_TIMEOUT_S = 3 * CONNECT_TIMEOUT_S


class HealthProbes:
    """Checks hosts, and reuses a result for `CACHE_S`."""

    def __init__(
        self, store: ProbeStore, clock: Clock, on_changed_key: Callable[[HostEntry, HostKey], Awaitable[None]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_changed_key = on_changed_key

    async def look(self, session: SshSession, hosts: Sequence[HostEntry], *, refresh: bool) -> list[HostHealthRecord]:
        """Return the health of these hosts; check those whose result is too old."""
        known, slots, now = await self._store.all(), asyncio.Semaphore(_AT_ONCE), self._clock.now()

        async def one(host: HostEntry) -> HostHealthRecord:
            last = known.get(host.name)
            if last and not refresh and 0 <= now - last.checked_at < CACHE_S:
                return last
            async with slots:
                return await self._probe(session, host, last)

        return await run_concurrently(one(host) for host in hosts)

    def summarize(self, probes: Sequence[HostHealthRecord]) -> SshHealth:
        """Count hosts by health."""
        counts = {health: sum(probe.status is health for probe in probes) for health in HostHealth}
        oldest = min((probe.checked_at for probe in probes), default=self._clock.now())
        return SshHealth(oldest, counts, list(probes))

    async def _probe(self, session: SshSession, host: HostEntry, last: HostHealthRecord | None) -> HostHealthRecord:
        address = await session.address(host)
        found = Ping(None, error="it is reached through another host") if address.jump else await _ping(address)
        answer, key = await _log_in(session, host, address, self._clock)
        failures = 0 if answer.ok or found.ok else (last.failures if last else 0) + 1
        status = _status(answer, found, failures, last.status if last else HostHealth.UNKNOWN)
        probe = HostHealthRecord(host.name, status, found, answer, key, self._clock.now(), failures)
        await self._store.put(probe)
        if answer.status is HostStatus.HOST_KEY_CHANGED:
            await self._on_changed_key(host, key)
        return probe


async def _ping(address: Address) -> Ping:
    return await ping(address.hostname, address.port)


async def _log_in(session: SshSession, host: HostEntry, address: Address, clock: Clock) -> tuple[SshAnswer, HostKey]:
    """Log in over a new connection and run `true`; a host whose account has no shell fails it, and counts as up."""
    started = clock.monotonic()
    try:
        ended = await session.ask(host, ("true",), "ControlPath=none", "LogLevel=DEBUG1", timeout_s=_TIMEOUT_S)
    except ProcessTimeoutError:
        reason = f"no login within {_TIMEOUT_S} s"
        return SshAnswer(False, None, reason, HostStatus.TIMED_OUT), await known_key(session, address)
    log = session.read_log(host)
    outcome = outcome_of(host.name, ended.exit_code, log, ended.stderr)
    try:
        key = key_in(log)
    except LookupError:
        key = await known_key(session, address)
    latency = round((clock.monotonic() - started) * 1000)
    if outcome.status is HostStatus.SUCCEEDED or outcome.exit_code is not None:
        return SshAnswer(True, latency), key
    why = session.why_refused(host) if outcome.status is HostStatus.AUTH_FAILED else ""
    return SshAnswer(False, None, f"{outcome.error}{why}", outcome.status), key


def _status(answer: SshAnswer, found: Ping, failures: int, last: HostHealth) -> HostHealth:
    if answer.ok:
        return HostHealth.UP if (answer.latency_ms or 0) <= SLOW_MS else HostHealth.DEGRADED
    if found.ok:
        return HostHealth.DEGRADED
    return HostHealth.DOWN if failures >= FAILURES_BEFORE_DOWN else last
