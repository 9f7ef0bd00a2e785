"""The worker makes messages of stored requests and queues them; of several processes, one does it at a time."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.channels.attached import MAX_FILES
from tocsin.core.service import ServiceLoop
from tocsin.core.text.redaction import MASK
from tocsin.core.text.strings import number_of, truncate
from tocsin.features.doors.model import DoorRequest, DoorSeverity, RequestState
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.protocols.protocol import MAX_MESSAGES
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.doors.receiving.files import attachable, store_files
from tocsin.features.doors.receiving.queueing import message_key, queue_message, queue_withdrawal
from tocsin.features.doors.rows import RequestOutcome, StoredRequest, facts_of
from tocsin.features.doors.rules.rendering import RenderedMessage, render
from tocsin.features.doors.service import Doors
from tocsin.features.doors.store import DoorProblem, ProblemKey
from tocsin.scheduling.lease import Lease

log = logging.getLogger(__name__)

LEASE = "doors"
LOOK_S = 1.0
BATCH = 25  # or the first with MAX_MESSAGES together: more would delay the answers to requests meanwhile
BUSY, MAX_PAUSE_S = 10, 0.5
MAX_BATCH_BYTES = 16 * 1024 * 1024
MAX_SHOWN = 64 * 1024  # characters of a payload that are kept


@dataclass(slots=True)
class _OpenRequest:
    """A request of a batch, and what it has led to so far."""

    stored: StoredRequest
    messages: Sequence[RenderedMessage]
    spelled: str  # the payload as people see it
    state: RequestState = RequestState.DROPPED
    deliveries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    attach: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class _Sending:
    """A message to queue."""

    work: _OpenRequest
    message: RenderedMessage
    key: str
    resolution: str
    once: str  # its idempotency key


class DoorWorker:
    """Processes stored requests while this process holds the lease."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self._context = doors.context
        self._accepted = 0
        self.lease = Lease(doors.context.database, LEASE, doors.context.clock)
        self._loop = ServiceLoop("the worker of doors", self.step, doors.context.clock)

    def stop(self) -> None:
        """Process nothing more."""
        self._loop.stop()

    def wake(self) -> None:
        """Look at once for what was stored."""
        self._accepted += 1
        self._loop.wake()

    async def run(self) -> None:
        """Work until `stop`; another process may take over at once."""
        await self._loop.run()
        await self.lease.release()

    async def step(self) -> float:
        """Process what is stored, and return for how many seconds there is no more."""
        clock = self._context.clock
        if not await self.lease.keep():
            return LOOK_S
        while batch := await self._doors.store.waiting(BATCH, MAX_BATCH_BYTES):
            began, accepted = clock.monotonic(), self._accepted
            await self._process(batch)
            if self._accepted - accepted >= BUSY:  # answers come first: senders have deadlines
                await clock.sleep(min(clock.monotonic() - began, MAX_PAUSE_S))
            if not await self.lease.keep():
                return LOOK_S
        await self._end_expired()
        return LOOK_S

    async def _process(self, batch: Sequence[StoredRequest]) -> None:
        works = await asyncio.to_thread(self._rendered, batch)
        keys = [(work.stored.door.id, each.key) for work in works for each in work.messages if each.key]
        problems = await self._doors.store.problems(keys)
        changed: dict[ProblemKey, DoorProblem] = {}
        sendings = [each for work in works for each in self._decide(work, problems, changed)]
        for work in {id(each.work): each.work for each in sendings}.values():
            await self._store_files(work)
        # They are accepted in this order. Repeated after a crash, their keys find the deliveries that exist.
        await asyncio.gather(*[self._queue(each) for each in sendings])
        outcomes = await asyncio.to_thread(lambda: {work.stored.id: self._outcome(work) for work in works})
        await self._doors.store.finish(outcomes, changed, self.lease.confirm)
        if files := [each["hash"] for work in works for each in attachable(work.stored.request.files)]:
            await self._context.abilities.files.keep(files, 0.0)  # from here on, their messages need them

    def _rendered(self, batch: Sequence[StoredRequest]) -> list[_OpenRequest]:
        """Return the first requests of a batch with their messages; the others are left for the next one."""
        works, count = list[_OpenRequest](), 0
        for stored in batch:
            works.append(self._render(stored))
            count += len(works[-1].messages)
            if count >= MAX_MESSAGES:
                break
        return works

    def _render(self, stored: StoredRequest) -> _OpenRequest:
        """Return the messages of a request; one that cannot be read must not hold up the others."""
        try:
            protocol = PROTOCOLS[stored.door.definition.protocol]
            read = protocol.read(stored.request)
            name, preset = stored.door.name, stored.door.definition.preset
            rendered = [
                render(stored.door, stored.request, each, self._doors.rules.of(name, preset or each.preset))
                for each in read[:MAX_MESSAGES]
            ]
            spelled = protocol.spelled(read) or _spelled(stored.request)
        except Exception as error:  # a bug of ours: the request is sent as it came
            log.exception("a request to a door could not be read", extra={"door": stored.door.name})
            text = truncate(stored.request.body.decode("utf-8", "replace"), 4_000)
            note = f"the request could not be read ({type(error).__name__}); see the log"
            rendered, read = [RenderedMessage(text=text, severity=stored.door.definition.severity, note=note)], ()
            spelled = _spelled(stored.request)
        work = _OpenRequest(stored, rendered, spelled)
        if len(read) > MAX_MESSAGES:
            work.notes.append(f"only the first {MAX_MESSAGES} of {len(read):,} messages were sent")
        return work

    def _decide(
        self, work: _OpenRequest, problems: dict[ProblemKey, DoorProblem], changed: dict[ProblemKey, DoorProblem]
    ) -> list[_Sending]:
        """Return what is sent of a request, given which problems are open; note the state after it in both."""
        sendings = []
        for n, message in enumerate(work.messages):
            if message.note:
                work.notes.append(message.note)
            if message.drop:
                continue
            made = _Sending(work, message, "", "", f"door-{work.stored.id}-{n}")
            sending: _Sending | str = made
            if message.key:
                place = (work.stored.door.id, message.key)
                before = problems.get(place, DoorProblem())
                after, sending = _of_problem(made, before)
                if after is not before:
                    problems[place] = changed[place] = after
            if isinstance(sending, str):
                work.notes.append(sending)
            else:
                sendings.append(sending)
        return sendings

    async def _store_files(self, work: _OpenRequest) -> None:
        """Store the files that its body has, in each of its messages; those of a form are stored already."""
        inline = next((each.files for each in work.messages if each.files), ())
        stored, notes = await store_files(inline, self._context.abilities.files) if inline else ([], [])
        work.attach = [*attachable(work.stored.request.files), *stored][:MAX_FILES]
        work.notes += notes

    async def _queue(self, sending: _Sending) -> None:
        work = sending.work
        context, door = self._context, work.stored.door
        if sending.message.withdraw:
            queued = await queue_withdrawal(context, door, sending.message.profile, sending.key, sending.once)
        else:
            queued = await queue_message(
                context, door, sending.message, sending.once, sending.key, sending.resolution, work.attach
            )
        work.deliveries += queued.deliveries
        work.notes += queued.notes
        if work.state is not RequestState.FAILED:
            work.state = queued.state

    async def _end_expired(self) -> None:
        """Resolve problems whose sender has said until when they last, and has not repeated them since."""
        now = self._context.clock.now()
        found = await self._doors.store.expired(now, BATCH)
        ended = {}
        for (door_id, key), problem in found.items():
            door = await self._doors.store.any_door(door_id)
            ended[(door_id, key)] = problem._replace(is_open=False, at=now, expires_at=None, message="")
            if door is None or door.removed_at is not None or not problem.message:
                continue
            title, text, profile, link = json.loads(problem.message)
            message = RenderedMessage(
                title=f"Resolved: {title}", text=text, severity=DoorSeverity.OK, profile=profile, link=link
            )
            shown = message_key(door_id, key, problem.episode)
            await queue_message(self._context, door, message, f"{shown}-expired", shown, "edit")
        if ended:
            await self._doors.store.finish({}, ended, self.lease.confirm)

    def _outcome(self, work: _OpenRequest) -> RequestOutcome:
        first = work.messages[0] if work.messages else RenderedMessage()
        notes = list(dict.fromkeys(work.notes))
        if len(work.messages) != 1:
            notes.insert(0, number_of(len(work.messages), "message"))
        redact, secret = self._context.redact, work.stored.door.secret
        payload = truncate(redact(work.spelled), MAX_SHOWN)
        return RequestOutcome(
            state=work.state,
            payload=payload.replace(secret, MASK) if secret else payload,
            facts=redact(facts_of(work.stored.request)),
            title=redact(first.title),
            text=redact(truncate(first.text, 4_000)),
            severity=str(first.severity),
            key=redact(first.key),
            link=redact(first.link),
            profile=first.profile,
            deliveries=tuple(work.deliveries[:MAX_MESSAGES]),
            note=redact("; ".join(notes[:10])),
        )


def _of_problem(sending: _Sending, before: DoorProblem) -> tuple[DoorProblem, _Sending | str]:
    """Return the state of a problem after a message with its key, and what is sent, or why nothing is."""
    message, door, at = sending.message, sending.work.stored.door, sending.work.stored.request.at
    if message.withdraw:
        if not before.episode:
            return before, "no message has this key"
        profile = json.loads(before.message)[2] if before.message else message.profile
        key = message_key(door.id, message.key, before.episode)
        return DoorProblem(before.episode, at=at), replace(sending, message=replace(message, profile=profile), key=key)
    is_end = message.severity is DoorSeverity.OK
    if not before.is_open and is_end and (message.only_if_open or message.only_changes):
        return before, "it ends no problem that is open"
    episode = before.episode + (not before.is_open)
    if is_end and message.takes_over and before.message:
        title, text, profile, link = json.loads(before.message)
        title = f"{message.takes_over}: {title}" if title else message.takes_over
        message = replace(message, title=title, text=text, profile=profile, link=link)
    kept = json.dumps([message.title, message.text, message.profile, message.link])
    after = DoorProblem(episode, not is_end, at, message.expires_at, "" if is_end else kept)
    if before.is_open and not is_end and message.only_changes:
        return after, "the problem is open already"
    key, resolution = message_key(door.id, message.key, episode), "edit" if is_end and before.is_open else ""
    return after, replace(sending, message=message, key=key, resolution=resolution)


def _spelled(request: DoorRequest) -> str:
    """Return the payload as people see it: the body as text, else the query; beside files, as rules see it."""
    if request.files:
        return json.dumps(read_body(request).payload, ensure_ascii=False)
    if request.body:
        return request.body[: 4 * MAX_SHOWN].decode("utf-8", "replace")
    return json.dumps(request.query, ensure_ascii=False) if request.query else ""
