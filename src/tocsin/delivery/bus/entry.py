"""Read one entry of the bus, and move it from its stream into the queue or the rejected list."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tocsin.channels.content import CONTENT, make_content
from tocsin.channels.model import NO_CONTENT
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.reading.fields import ChoiceType, Field, RecordType, TextType
from tocsin.core.reading.json_value import Members, decode_json, read_json, read_texts
from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.tracing.spans import valid_traceparent
from tocsin.delivery.model import Delivery, NewDelivery
from tocsin.delivery.terms import EXPIRES_AT, NOT_BEFORE, POLICIES

log = logging.getLogger(__name__)

TOPIC = "outbound:"
GROUP = "tocsin"
MAX_BYTES = 1024 * 1024
PART_BYTES = 2 * MAX_BYTES  # bytes of entries queued at a time
LONG_BYTES = 16 * 1024
GIVEN = "bus:"  # prefix of the keys of entries with an ID
MAX_ID = 255
MAX_REASONS = 3

# The field of an entry that may carry all others as one JSON text.
DATA = "data"
# The fields of a forwarded message: its JSON text, and its unique key.
PUBLISHED = ("published", "key")

REJECTED = "outbound:rejected"
MAX_REJECTED = 1_000
MAX_SHOWN = 4_000  # characters kept of a rejected entry

_READ_AT_ONCE = 200
_HASH = re.compile(rb'"hash":\s*"([0-9a-f]{64})"')

_LUA = Path(__file__).parent / "lua"
_SETTLE = load_script(_LUA, "settle", "reject_list", MAX_REJECTED=MAX_REJECTED)
_REJECT = load_script(_LUA, "reject", "reject_list", MAX_REJECTED=MAX_REJECTED)


class EntryError(TocsinError):
    """The entry is invalid."""

    code = "bad-entry"


@dataclass(frozen=True, slots=True)
class BusEntry:
    """A message from the bus; times are Unix seconds."""

    target: str
    message: str
    id: str = ""
    policy: str = ""  # empty: the channel's default
    not_before: float | None = None
    expires_at: float | None = None
    published_key: str = ""  # the key of a forwarded message
    format: str = ""
    traceparent: str = ""  # of the trace that the message continues
    content: Mapping[str, Any] = field(default_factory=dict)  # the fields of docs/messages.md


# Makes a delivery from an entry for a channel (kind or alias); an exception rejects the entry.
Prepare = Callable[[str, BusEntry], NewDelivery]
# Queues all or none and returns the deliveries in order, the existing one for a known key. Raises TocsinError while
# the queue is unavailable; the entries are then retried.
Enqueue = Callable[[Sequence[NewDelivery]], Awaitable[Sequence[Delivery]]]
# Returns the content of an entry with its files stored, as `FileIntake.take` does.
TakeFiles = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
Row = tuple[bytes, Sequence[bytes] | None]  # the ID of an entry, and its field names and values alternately


async def refuse_files(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise EntryError: this process has no store of files."""
    raise EntryError("files cannot be taken from the bus here")


class BusConsumer:
    """Moves entries from their stream into the queue, or into the rejected list."""

    def __init__(self, client: RedisClient, prepare: Prepare, enqueue: Enqueue, take_files: TakeFiles) -> None:
        self._client = client
        self._take_files = take_files
        self._prepare = prepare
        self._enqueue = enqueue

    async def take(self, stream: str, rows: Sequence[Row]) -> None:
        """Queue entries in order; each leaves the stream once it is stored in the queue, or rejected.

        Raises TocsinError if the queue or Redis is unavailable; the rest must then be read again.
        """
        for part in _parts(rows):
            await self._take(stream, part)

    async def _take(self, stream: str, rows: Sequence[Row]) -> None:
        ready: dict[bytes, NewDelivery] = {}
        refusals: dict[bytes, str] = {}
        for id_, words in rows:
            if words is None:
                continue  # removed since it was read
            if sum(map(len, words)) > LONG_BYTES:
                await asyncio.sleep(0)  # reading an entry takes time: let other tasks run
            try:
                ready[id_] = await self._judge(stream, id_.decode(), words)
            except StoreUnavailableError:  # of files: the entry stays on the bus
                raise
            except Exception as error:  # noqa: BLE001  # a channel's own code looks at what strangers wrote
                refusals[id_] = explain(error)
        refusals |= await self._accept(ready)
        settled: list[bytes | str] = [GROUP]
        for id_, words in rows:
            settled += [id_, _rejection(stream, words or (), refusals[id_]) if id_ in refusals else ""]
        await self._settle(stream, settled)
        for reason in refusals.values():
            _log_rejected(stream, reason)

    async def _settle(self, stream: str, settled: Sequence[bytes | str]) -> None:
        """Remove entries from their stream and store rejected ones; in a cluster, store first, then remove."""
        if len(self._client.groups([stream, REJECTED])) > 1:
            for at in range(2, len(settled), 2):
                if settled[at]:
                    await self._client.run(_REJECT, [REJECTED], [settled[at]])
            settled = [word if at % 2 or not at else "" for at, word in enumerate(settled)]
            await self._client.run(_SETTLE, [stream], settled)
            return
        await self._client.run(_SETTLE, [stream, REJECTED], settled)

    async def reject(self, topic: str, raw: bytes, reason: str) -> None:
        """Record as rejected a published message that could not be written to a stream."""
        await self._client.run(_REJECT, [REJECTED], [_rejection(topic, (b"data", raw), reason)])
        _log_rejected(topic, reason)

    async def _judge(self, stream: str, id_: str, words: Sequence[bytes]) -> NewDelivery:
        entry = parse_entry(words)
        if entry.content.get("attach"):
            entry = replace(entry, content=await self._take_files(entry.content))
        # The same key results if another process reads this entry, or forwards the message again.
        key = f"{GIVEN}{entry.id}" if entry.id else f"bus-{entry.published_key or f'entry:{stream}:{id_}'}"
        new = self._prepare(stream.removeprefix(TOPIC), entry)
        new = new.with_traceparent(entry.traceparent)
        return new.with_terms(entry.not_before, entry.expires_at, key)

    async def _accept(self, ready: Mapping[bytes, NewDelivery]) -> dict[bytes, str]:
        """Queue deliveries; return those that cannot be queued, with the reason."""
        if not ready:
            return {}
        try:
            accepted = await self._enqueue(list(ready.values()))
        except (ValueError, OverflowError) as error:  # the store cannot represent a text or number of one of them
            if len(ready) == 1:
                log.exception("a bus entry could not be queued")
                return dict.fromkeys(ready, explain(error))
            refusals: dict[bytes, str] = {}
            for id_, new in ready.items():
                refusals |= await self._accept({id_: new})
            return refusals
        return {
            id_: "the id was already used with another target or message: use a new one"
            for (id_, new), known in zip(ready.items(), accepted, strict=True)
            if (new.idempotency_key or "").startswith(GIVEN) and not known.is_same_message(new)
        }


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        size += sum(map(len, row[1] or ()))
        if size > PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def explain(error: Exception) -> str:
    """Return the reason shown to people for `error`."""
    return error.sentence() if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}: this is a bug"


def parse_entry(words: Sequence[bytes]) -> BusEntry:
    """Return the content of an entry; `words` are its field names and values alternately.

    The fields are separate, or one JSON object in the field `data`. Raises EntryError.
    """
    fields = [(_text(name), value) for name, value in zip(words[::2], words[1::2], strict=True)]
    names = tuple(name for name, _ in fields)
    if names == PUBLISHED:
        return _entry(_members(fields[0][1]), _text(fields[1][1]))
    if DATA not in names:
        _check_size(sum(map(len, words)))
        return _entry(tuple((name, _text(value)) for name, value in fields))
    if len(names) > 1:
        raise EntryError("the entry has other fields besides data", hint="put all fields into data, or omit data")
    return _entry(_members(fields[0][1]))


def _rejection(topic: str, words: Sequence[bytes], reason: str) -> str:
    """Return the record of a rejected entry as JSON: `at` (Unix seconds), `topic`, `reason`, `entry`."""
    shown = [word[: 4 * MAX_SHOWN].decode(errors="replace") for word in words[:100]]
    whole = tuple(shown[::2]) in ((DATA,), PUBLISHED)
    entry = shown[1] if whole else json.dumps(dict(zip(shown[::2], shown[1::2], strict=True)), ensure_ascii=False)
    return json.dumps({"at": time.time(), "topic": topic[:200], "reason": reason, "entry": entry[:MAX_SHOWN]})


async def rejected(client: RedisClient, limit: int) -> list[dict[str, Any]]:
    """Return the records of the last rejected entries, newest first; `_rejection` describes them."""
    if limit < 1 or await client.command("TYPE", REJECTED) != b"list":
        return []
    records = await client.command("LRANGE", REJECTED, 0, limit - 1)
    return [_record(bytes(record)) for record in records]


async def named_files(client: RedisClient) -> frozenset[str]:
    """Return the hashes of the files that entries of the bus name, until they are taken from it."""
    found: set[bytes] = set()
    async for streams in client.scan(f"{TOPIC}*", kind="stream", count=_READ_AT_ONCE):
        for stream in streams:
            after = b"-"
            while rows := await client.command("XRANGE", stream, after, "+", "COUNT", _READ_AT_ONCE):
                for _, words in rows:
                    found.update(each for word in words for each in _HASH.findall(word))
                after = b"(" + rows[-1][0]
    return frozenset(each.decode() for each in found)


def _log_rejected(topic: str, reason: str) -> None:
    log.warning("a bus entry was rejected", extra={"topic": topic[:100], "reason": reason})


def _record(raw: bytes) -> dict[str, Any]:
    try:
        record = json.loads(raw)
    except ValueError:
        record = None
    if isinstance(record, dict):
        return record
    return {"at": 0.0, "topic": "", "reason": "", "entry": raw[:MAX_SHOWN].decode(errors="replace")}


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise EntryError("the entry is larger than 1 MiB")


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EntryError("the entry is not UTF-8 text") from None


def _members(raw: bytes) -> Members:
    _check_size(len(raw))
    try:
        body = decode_json(raw)
    except UnicodeDecodeError:
        raise EntryError("the entry is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise EntryError("the entry is not valid JSON", hint=_EXAMPLE) from None
    if not isinstance(body, tuple):
        raise EntryError("the entry is not a JSON object", hint=_EXAMPLE)
    return tuple((name, _normalise_time(value) if name in _TIMES else value) for name, value in body)


def _normalise_time(value: object) -> object:
    """Return Unix seconds that are a number in JSON as text, which they are in a stream."""
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _entry(members: Members, published_key: str = "") -> BusEntry:
    body = read_texts(ENTRY, members)
    if body is not None:
        return BusEntry(**body, published_key=published_key)
    read, issues = read_json(ENTRY, members)
    if issues.count:
        raise EntryError("; ".join(map(str, issues.shown[:MAX_REASONS])), hint=_EXAMPLE)
    own = {name: value for name, value in read.values.items() if name in _OWN_NAMES}
    content = make_content(read.values)
    return BusEntry(**own, published_key=published_key, content=content.as_stored() if content else NO_CONTENT)


def _id(text: str) -> str:
    if not text or len(text) > MAX_ID or not text.isprintable():
        raise ValueError(f"expected 1 to {MAX_ID} printable characters")
    return text


ENTRY = RecordType(
    (
        Field("target", TextType(blank=True), required=True),
        Field("message", TextType(blank=True), required=True),
        Field("id", TextType(blank=True, parse=_id)),
        Field("policy", ChoiceType(POLICIES, blank=True)),
        NOT_BEFORE,
        EXPIRES_AT,
        Field("format", TextType(blank=True)),
        Field("traceparent", TextType(blank=True, parse=valid_traceparent)),
        *CONTENT.fields,
    )
)
_OWN_NAMES = frozenset(field.name for field in ENTRY.fields if field not in CONTENT.fields)
_TIMES = {NOT_BEFORE.name, EXPIRES_AT.name}
_EXAMPLE = 'publish {"target": "…", "message": "…"}'
