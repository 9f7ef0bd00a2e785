"""The delivery queue in Redis: for many hosts. Every step is one Lua script of `lua/`."""

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.storage.change_stream import RedisChangeStream
from tocsin.core.storage.redis_client import Argument, RedisClient, Script
from tocsin.core.storage.redis_identity import RedisIdentity
from tocsin.core.storage.redis_names import FormerNames
from tocsin.core.storage.redis_time import MICRO, TimedScripts, micro
from tocsin.core.text.strings import storable
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import SHARE
from tocsin.delivery.model import (
    LEASE_S,
    NEEDING_PERSON,
    REPLAYABLE,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    NewDelivery,
    Policy,
    Rate,
)
from tocsin.delivery.redis import scripts
from tocsin.delivery.redis.attached import needed_files, note_files, note_kept
from tocsin.delivery.redis.health import read_health
from tocsin.delivery.redis.records import (
    encode_constants,
    encode_key,
    encode_outcome,
    known_deliveries,
    micro_or_none,
    outcome_fields,
    to_delivery,
    to_hold,
)
from tocsin.delivery.redis.search import SearchPosition, add_to_figures, index_name, matches
from tocsin.delivery.store import (
    ONLY_CANCELS,
    ONLY_DISMISSALS,
    ONLY_REPLAYS,
    ONLY_RETRIES,
    ChannelFigures,
    ChannelRules,
    DeliveryFilter,
    DeliveryHold,
    Health,
    check_finished,
    not_allowed,
    unknown_delivery,
    with_reason,
)

PRUNE_BATCH = 500
# A search reads records, newest first, until it has a page; after this many it returns what it found and a cursor,
# so that a search for rare words does not block the server.
SCAN_CHUNK = 250
SCAN_LIMIT = 5_000
# IDs that one step compares with short IDs: about 2 ms. An index would make accepting slower.
MATCHING_CHUNK = 5_000


class RedisStore:
    """Deliveries in Redis. Methods raise StoreUnavailableError while Redis fails.

    The step may have happened despite that error, and is safe to repeat: an outcome is written once, and deliveries of
    a claim whose answer was lost are returned by the next claim of this object. Only a repeated `enqueue_many` without
    idempotency keys accepts twice.
    """

    def __init__(
        self, client: RedisClient, clock: Clock, *, prefix: str = "tocsin", identity: RedisIdentity | None = None
    ) -> None:
        self._client = client
        self._clock = clock
        self._identity = identity
        self._prefix = encode_key(f"{{{prefix}:delivery}}:")  # one slot of a cluster
        self.former = former_names(client, prefix)
        self._timed = TimedScripts(client, self._prefix, clock)
        self._lost_claims: list[str] = []

    async def enqueue_many(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        now = self._clock.now()
        accepted = [item.accepted(now) for item in new]
        args: list[Argument] = []
        for delivery in accepted:
            args += [
                *(delivery.id, encode_key(delivery.channel), encode_key(delivery.target)),
                *(int(delivery.policy is Policy.AT_MOST_ONCE), encode_key(delivery.idempotency_key or "")),
                *(micro_or_none(delivery.not_before), micro_or_none(delivery.expires_at), encode_constants(delivery)),
                *(encode_key(delivery.key), delivery.operation, encode_key(delivery.thread)),
            ]
        if not args:
            return []
        await note_files(self._client, self._prefix, accepted)
        answers = await self._run(scripts.ENQUEUE, args, now=now)
        return [to_delivery(known) if known else own for own, known in zip(accepted, answers[0], strict=True)]

    async def record(self, delivery: Delivery) -> None:
        check_finished(delivery)
        finished_at = delivery.created_at if delivery.finished_at is None else delivery.finished_at
        # After a certain failure the same key may be used again.
        key = "" if delivery.status is DeliveryStatus.DEAD else delivery.idempotency_key or ""
        args: list[Argument] = [
            *(delivery.id, encode_key(delivery.channel), encode_key(delivery.target), delivery.status, encode_key(key)),
            *(micro(delivery.created_at), micro(finished_at), encode_constants(delivery), encode_outcome(delivery)),
            *(encode_key(delivery.key), encode_key(delivery.thread)),
        ]
        await note_files(self._client, self._prefix, [delivery])
        await self._run(scripts.RECORD, args)

    async def claim_due(self, worker: str, limit: int, rules: Mapping[str, ChannelRules]) -> list[Delivery]:
        token, lost = new_id(), self._lost_claims
        self._lost_claims = []
        try:
            answers = await self._run(scripts.CLAIM, [_rules(rules), worker, limit, micro(LEASE_S), token, *lost])
        except BaseException:
            self._lost_claims += [*lost, token]
            raise
        return known_deliveries(answers[0])

    async def renew(self, worker: str, ids: Sequence[str]) -> set[str]:
        answers = await self._run(scripts.RENEW, [worker, micro(LEASE_S), *ids])
        return {mine.decode() for mine in answers[0]}

    async def latest(self, channel: str, target: str, key: str) -> Delivery | None:
        pairs = await self._ask(scripts.LATEST, [encode_key(channel), encode_key(target), encode_key(key)])
        return to_delivery(pairs) if pairs else None

    async def thread_root(self, channel: str, target: str, thread: str) -> Delivery | None:
        return await self.latest(channel, target, f"thread/{thread}")

    async def begin_change(self, worker: str, id: str, operation: MessageOperation) -> bool:
        return bool((await self._run(scripts.BEGIN_CHANGE, [worker, id, operation]))[0])

    async def progress(self, worker: str, id: str, parts_sent: int, parts_total: int, ref: str = "") -> bool:
        answers = await self._run(scripts.PROGRESS, [worker, id, parts_sent, parts_total, ref])
        return bool(answers[0])

    async def pace(self, channel: str, target: str, rules: ChannelRules) -> float:
        args: list[Argument] = [_rules({channel: rules}), encode_key(channel), encode_key(target)]
        return int((await self._run(scripts.PACE, args))[0]) / MICRO

    async def hold(self, channel: str, target: str, wait_s: float, reason: str) -> None:
        await self._run(
            scripts.HOLD, ["lane", encode_key(channel), encode_key(target), micro(wait_s), storable(reason)]
        )

    async def hold_account(self, channel: str, wait_s: float, reason: str) -> None:
        await self._run(scripts.HOLD, ["account", encode_key(channel), "", micro(wait_s), storable(reason)])

    async def account_holds(self, channels: Sequence[str]) -> dict[str, DeliveryHold]:
        lanes: list[Argument] = [word for kind in channels for word in (encode_key(kind), b"")]
        (rows,) = await self._run(scripts.WHY, lanes)
        holds = {
            kind: to_hold(account, self._clock.now()) for kind, (_, account, _) in zip(channels, rows, strict=True)
        }
        return {kind: hold for kind, hold in holds.items() if hold}

    async def finish(self, worker: str, id: str, outcome: AttemptOutcome) -> bool:
        args: list[Argument] = [
            *(worker, id, outcome.status, micro(outcome.wait_s)),
            *(int(outcome.throttled), int(outcome.throttles_account), storable(outcome.error)),
            *outcome_fields(outcome),
        ]
        if outcome.kept_files:
            await note_kept(self._client, self._prefix, id, self._clock.now())
        answers = await self._run(scripts.FINISH, args)
        return bool(answers[0])

    async def release(self, worker: str, ids: Sequence[str]) -> None:
        await self._run(scripts.RELEASE, [worker, *ids])

    async def seconds_to_next(self, rules: Mapping[str, ChannelRules]) -> float | None:
        answers = await self._run(scripts.NEXT, [_rules(rules)])
        wait = int(answers[0])
        return None if wait < 0 else wait / MICRO

    async def get(self, id: str) -> Delivery:
        pairs = await self._ask(scripts.GET, [encode_key(id)])
        if not pairs:
            raise unknown_delivery(id)
        return (await self._with_reasons([to_delivery(pairs)]))[0]

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        found: dict[str, dict[str, None]] = {text: {} for text in texts}
        # Newest first: deliveries accepted meanwhile are at worst seen twice, and pruned ones come last.
        rank = 0
        while any(len(ids) < limit for ids in found.values()):
            args: list[Argument] = [rank, MATCHING_CHUNK, *map(encode_key, found)]
            count, pairs = await self._ask(scripts.MATCHING, args)
            for text, id_ in zip(pairs[::2], pairs[1::2], strict=True):
                found[text.decode()][id_.decode()] = None
            if count < MATCHING_CHUNK:
                break
            rank += count
        return [list(found[text])[:limit] for text in texts]

    async def _with_reasons(self, found: Sequence[Delivery]) -> list[Delivery]:
        """Return the deliveries, waiting ones with the reason."""
        waiting = [delivery for delivery in found if delivery.status in WAITING]
        lanes: list[Argument] = [
            encode_key(word) for delivery in waiting for word in (delivery.channel, delivery.target)
        ]
        (rows,) = await self._run(scripts.WHY, lanes) if lanes else ([],)
        now, shown = self._clock.now(), {}
        for delivery, (target, account, first) in zip(waiting, rows, strict=True):
            ahead = next(iter(known_deliveries([first] if first else [])), None)
            shown[delivery.id] = with_reason(delivery, to_hold(target, now), to_hold(account, now), ahead)
        return [shown.get(delivery.id, delivery) for delivery in found]

    async def search(self, query: DeliveryFilter) -> ListPage[Delivery]:
        """Search at most `SCAN_LIMIT` records, so that a short or empty page need not be the last one."""
        page = await self._search(query)
        return replace(page, items=await self._with_reasons(page.items))

    async def _search(self, query: DeliveryFilter) -> ListPage[Delivery]:
        seen = SearchPosition.from_cursor(query.cursor)
        found: list[Delivery] = []
        for _ in range(SCAN_LIMIT // SCAN_CHUNK):
            rows = await self._scan(query, seen)
            for place, pairs in rows:
                if len(found) == query.limit:
                    return ListPage(found, seen.cursor)
                seen = place
                found += [each for each in known_deliveries([pairs] if pairs else []) if matches(each, query)]
            if len(rows) < SCAN_CHUNK:
                return ListPage(found)
        return ListPage(found, seen.cursor)

    async def _scan(
        self, query: DeliveryFilter, seen: "SearchPosition"
    ) -> list[tuple["SearchPosition", Sequence[bytes]]]:
        oldest = "" if query.since is None else micro(query.since)
        args: list[Argument] = [index_name(query), oldest, SCAN_CHUNK, seen.score, seen.member]
        rows = await self._ask(scripts.SCAN, args)
        return [(SearchPosition(score.decode(), member.decode()), pairs) for member, score, pairs in rows]

    async def replay(self, id: str) -> Delivery:
        return _changed(id, await self._run(scripts.REPLAY, [encode_key(id), *sorted(REPLAYABLE)]), ONLY_REPLAYS)

    async def dismiss(self, id: str) -> Delivery:
        args: list[Argument] = [encode_key(id), *sorted(NEEDING_PERSON)]
        return _changed(id, await self._run(scripts.DISMISS, args), ONLY_DISMISSALS)

    async def retry(self, id: str) -> Delivery:
        hurried = _changed(id, await self._run(scripts.RETRY, [encode_key(id)]), ONLY_RETRIES)
        return (await self._with_reasons([hurried]))[0]

    async def cancel(self, id: str) -> Delivery:
        return _changed(id, await self._run(scripts.CANCEL, [encode_key(id)]), ONLY_CANCELS)

    async def needed_files(self, since: float) -> frozenset[str]:
        return await needed_files(self._client, self._prefix, since)

    async def counts(self) -> dict[DeliveryStatus, int]:
        statuses = list(DeliveryStatus)
        answer = await self._ask(scripts.COUNT, statuses)
        return dict(zip(statuses, answer, strict=True))

    async def figures(self, since: float) -> dict[str, ChannelFigures]:
        found: dict[str, ChannelFigures] = {}
        query = DeliveryFilter(since=since, limit=SCAN_CHUNK)
        while True:
            page = await self._search(query)
            for delivery in page.items:
                found[delivery.channel] = add_to_figures(found.get(delivery.channel, ChannelFigures()), delivery)
            if not page.next_cursor:
                return found
            query = replace(query, cursor=page.next_cursor)

    async def prune(self, before: float) -> int:
        forgotten = 0
        while count := int((await self._run(scripts.PRUNE, [micro(before), PRUNE_BATCH]))[0]):
            forgotten += count
        return forgotten

    async def tidy(self) -> None:
        """No-op: Redis defers no work."""

    async def try_write(self) -> None:
        """Write a key that expires immediately."""
        await self._client.command("SET", self._prefix + b"probe", b"", b"PX", b"1")

    async def health(self) -> Health:
        try:
            # At the same time: a slow Redis must not make health checks time out.
            found, health, left = await asyncio.gather(
                self._identified(), read_health(self._client, time.time()), self._left_behind()
            )
        except StoreUnavailableError as error:
            return Health("redis", ok=False, problems=[error.sentence()])
        if found or not health.ok:
            return Health("redis", ok=False, problems=[*found, *([] if health.ok else health.problems)])
        return replace(health, problems=[*health.problems, *left])

    async def _identified(self) -> list[str]:
        if self._identity is None:
            return []
        return await self._identity.check(int(await self._client.command("GET", self._prefix + b"seq") or 0))

    async def _left_behind(self) -> list[str]:
        """Return a warning if a process of an older version accepts messages under its former keys."""
        if not await self.former.is_in_use():
            return []
        return [
            (
                f"a process of an older version stores messages in Redis at {self._client.where} under former key "
                "names: stop it; services import these messages at their next start"
            )
        ]

    def changes(self) -> RedisChangeStream:
        return RedisChangeStream(self._client, self._prefix.decode() + "changes")

    async def aclose(self) -> None:
        """No-op: the client belongs to its opener."""

    async def _run(self, script: Script, args: Sequence[Argument], *, now: float | None = None) -> Any:
        """Run a script whose first answer is the time; return the other answers."""
        wall = micro(self._clock.now() if now is None else now)
        await self.former.take_over()
        return await self._timed.run(script, [wall, *args])

    async def _ask(self, script: Script, args: Sequence[Argument]) -> Any:
        await self.former.take_over()
        return await self._client.run(script, [self._prefix], args)


def former_names(client: RedisClient, prefix: str = "tocsin") -> FormerNames:
    """Return the names that earlier versions used for the keys of the queue."""
    former, present = f"{prefix}:delivery:", f"{{{prefix}:delivery}}:"
    names = (f"{former}*", lambda name: present + name.removeprefix(former))
    return FormerNames(client, "delivery", *names, sign=f"{former}seq")


def _rules(rules: Mapping[str, ChannelRules]) -> str:
    """Return the rules as JSON for the scripts; unset ones are omitted."""
    return json.dumps({channel: _rule(rule) for channel, rule in rules.items()})


def _rule(rule: ChannelRules) -> dict[str, object]:
    rates = {"target": rule.target_rate, "all": rule.account_rate}
    if rule.group_prefix:
        rates["group"] = rule.group_rate
    return {
        "repeats": rule.recognises_repeats,
        "prefix": rule.group_prefix,
        **{name: _steps(rate) for name, rate in rates.items() if rate is not None},
    }


def _steps(rate: Rate) -> tuple[int, int]:
    return math.ceil(rate.interval_s / SHARE * MICRO), rate.burst


def _changed(id_: str, answers: Sequence[Any], hint: str) -> Delivery:
    """Return the changed record; raise if there was no such record, or it did not allow the change."""
    if len(answers) < 2:
        raise unknown_delivery(id_)
    delivery = to_delivery(answers[1])
    if not answers[0]:
        raise not_allowed(id_, delivery.status, hint)
    return delivery
