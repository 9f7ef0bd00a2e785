"""Requests to doors: found by their token, limited, verified, and stored before they are answered."""

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import ParamSpec, TypeVar

from tocsin.core.errors import TocsinError
from tocsin.core.text.redaction import MASK
from tocsin.core.time.ratelimit import RateLimiter
from tocsin.features.doors.model import Door, DoorMessage, DoorRequest, RequestState
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    Refusal,
    RefusalReason,
    StoredReceipt,
)
from tocsin.features.doors.receiving.bodies import media_type
from tocsin.features.doors.receiving.files import FORM, in_blocks, keep_files, take_body
from tocsin.features.doors.receiving.signatures import SECRET_NAMES, proves, repeat_key, signs_body
from tocsin.features.doors.receiving.worker import DoorWorker
from tocsin.features.doors.rows import RequestOutcome
from tocsin.features.doors.service import Doors
from tocsin.features.front_door import FrontRequest, FrontResponse

P = ParamSpec("P")
T = TypeVar("T")
MAX_VALUE = 4_000  # characters of a header, or of a parameter, that are stored
NOTED_PER_MINUTE = 20  # refusals of a door that are shown
_IN_THREAD = 64 * 1024


class DoorReceiver:
    """Takes requests in one process."""

    def __init__(self, doors: Doors, worker: DoorWorker) -> None:
        self._doors = doors
        self._worker = worker
        clock = doors.context.clock
        self._limiters: dict[int, RateLimiter] = {}
        self._noted = RateLimiter(NOTED_PER_MINUTE, clock.monotonic, max_buckets=10_000)

    async def answer(self, front: FrontRequest, route: str, protocols: Sequence[DoorProtocol]) -> FrontResponse:
        """Answer a request to a path that these protocols share; raises StoreUnavailableError."""
        request = DoorRequest(
            method=front.method,
            route=route,
            path=front.path,
            query=front.query,
            headers=front.headers,
            client=front.client,
            at=self._doors.now(),
        )
        limit = max(0 if each.token_of(request) else each.bytes_for_token(request) for each in protocols)
        if limit:
            body = await _body(front, limit)
            if isinstance(body, Refusal):
                return protocols[0].refused(body._replace(request=request))
            request = replace(request, body=body)
        for protocol in protocols:
            if (found := protocol.aside(request)) is not None:
                return found
        door, protocol, token = await self._find(request, protocols)
        if door is None:
            reason = RefusalReason.UNKNOWN_TOKEN if token else RefusalReason.MISSING_TOKEN
            said = "no door has this token" if token else "the token is missing"
            return protocol.refused(Refusal(reason, said, request=request))
        answer = await self._take(front, door, protocol, token, request)
        if isinstance(answer, Refusal):
            await self.note(door, request.client, answer)
            return protocol.refused(answer._replace(request=request))
        return answer

    async def _take(
        self, front: FrontRequest, door: Door, protocol: DoorProtocol, token: str, request: DoorRequest
    ) -> FrontResponse | Refusal:
        """Check and store a request to a door; the order is from cheap to costly, and parsing comes last."""
        if refusal := self.refusal(door, request.client):
            return refusal
        streams = _has_files(protocol, request) and front.headers.get("content-encoding", "") in {"", "identity"}
        streams = streams and not (door.has_secret and signs_body(request))
        if not (request.body or streams):
            body = await _body(front, protocol.max_bytes)
            if isinstance(body, Refusal):
                return body
            request = replace(request, body=body)
        if (greeting := protocol.greet(request, door.name)) is not None:
            return greeting
        if door.has_secret and (refusal := await self._proof(door, request)):
            return refusal
        taken = await self._without_files(front, protocol, request)
        return taken if isinstance(taken, Refusal) else await self._store(door, protocol, token, taken)

    async def _without_files(
        self, front: FrontRequest, protocol: DoorProtocol, request: DoorRequest
    ) -> DoorRequest | Refusal:
        """Store the files of a request, whose body may not be read yet."""
        if not (_has_files(protocol, request) or (request.body and protocol.is_file(request))):
            return request
        name = protocol.file_name(request)
        if name is None and media_type(request) != FORM:
            name = "attachment"
        body = in_blocks(request.body) if request.body else front.chunks()
        return await take_body(body, request, name, self._doors.context.abilities.files)

    async def _store(
        self, door: Door, protocol: DoorProtocol, token: str, request: DoorRequest
    ) -> FrontResponse | Refusal:
        """Store a request, once its protocol has read it if that is what its senders expect."""
        messages: Sequence[DoorMessage] = ()
        if protocol.checks_first:
            try:
                messages = await _off_loop(request, protocol.read, request)
            except BadRequestError as error:
                return Refusal(RefusalReason.BAD_REQUEST, str(error), error)
        kept = without_secrets(request, protocol.secrets_in(token))
        status = protocol.accepted_status(kept, messages)
        await keep_files(request, self._doors.context.abilities.files)
        parts = await _off_loop(request, protocol.divided, kept, messages)
        number, *_ = await self._doors.store.take_all([(door, each) for each in parts], repeat_key(request), status)
        if number is None:
            refusal = Refusal(RefusalReason.UNKNOWN_TOKEN, "no door has this token", request=request)
            return protocol.refused(refusal)
        self._worker.wake()
        return protocol.accepted(StoredReceipt(request, number, messages, door.name))

    async def _find(
        self, request: DoorRequest, protocols: Sequence[DoorProtocol]
    ) -> tuple[Door | None, DoorProtocol, str]:
        """Return the door of a request, with its protocol and token."""
        token = ""
        for protocol in protocols:
            given = protocol.token_of(request)
            token = token or given
            door = await self._doors.store.by_token(given) if given else None
            if door is not None and door.definition.protocol == protocol.name:
                return door, protocol, given
        return None, protocols[0], token

    def refusal(self, door: Door, client: str) -> Refusal | None:
        """Return why a request from an address is refused before its body is read."""
        if door.definition.sources and not is_within(client, door.definition.sources):
            return Refusal(RefusalReason.WRONG_SOURCE, "this address may not use the door")
        rate = door.definition.rate
        if rate not in self._limiters:
            self._limiters[rate] = RateLimiter(rate, self._doors.context.clock.monotonic, max_buckets=10_000)
        if not self._limiters[rate].take(door.id):
            return Refusal(RefusalReason.TOO_MANY, f"the door takes {rate:,} requests per minute")
        return None

    async def _proof(self, door: Door, request: DoorRequest) -> Refusal | None:
        try:
            secret = await self._doors.secret_of(door)
        except TocsinError:
            return Refusal(RefusalReason.UNAVAILABLE, "the secret of the door cannot be read")
        if secret and proves(request, secret, request.at):
            return None
        return Refusal(RefusalReason.WRONG_SIGNATURE, "the signature or secret is missing or wrong")

    async def note(self, door: Door, client: str, refusal: Refusal) -> None:
        """Show a refusal in `tocsin doors last`; many of them write no more rows."""
        if self._noted.take(door.id):
            outcome = RequestOutcome(state=RequestState.REFUSED, note=refusal.text)
            await self._doors.store.note_refusal(door, client, refusal.status, outcome, self._doors.now())


def _has_files(protocol: DoorProtocol, request: DoorRequest) -> bool:
    """Whether the body has files, or is one, by its headers."""
    return media_type(request) == FORM or protocol.file_name(request) is not None


async def _off_loop(request: DoorRequest, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what `work` returns; it runs in a thread if the body of the request is large."""
    if len(request.body) < _IN_THREAD:
        return work(*args, **named)
    return await asyncio.to_thread(work, *args, **named)


async def _body(front: FrontRequest, limit: int) -> bytes | Refusal:
    """Return the body, unpacked; raises RequestCutOffError."""
    too_large = Refusal(RefusalReason.TOO_LARGE, f"the body is larger than {limit:,} bytes")
    raw = await front.body(limit)
    if raw is None:
        return too_large
    match front.headers.get("content-encoding", "identity").strip().lower():
        case "identity" | "":
            return raw
        case "gzip" | "x-gzip":
            unpacker = zlib.decompressobj(wbits=31)
            try:
                unpacked = unpacker.decompress(raw, limit + 1)
            except zlib.error:
                return Refusal(RefusalReason.BAD_REQUEST, "the body is not valid gzip")
            if len(unpacked) > limit:
                return too_large
            if not unpacker.eof:
                return Refusal(RefusalReason.BAD_REQUEST, "the body is not complete gzip")
            return unpacked
        case other:
            return Refusal(RefusalReason.UNSUPPORTED_ENCODING, f"Content-Encoding {other[:40]!r} is not supported")


def is_within(client: str, networks: Sequence[str]) -> bool:
    """Whether an address is in one of the networks."""
    try:
        address = ip_address(client)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in ip_network(network) for network in networks)


def without_secrets(request: DoorRequest, secrets: Sequence[str]) -> DoorRequest:
    """Return a request as it is stored: without credentials and signatures."""

    def without(values: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value[:MAX_VALUE]
            for name, value in values.items()
            if name not in SECRET_NAMES and not any(secret in value for secret in secrets)
        }

    body = request.body
    for secret in secrets:
        body = body.replace(secret.encode(), MASK.encode())
    return replace(
        request, path=without(request.path), query=without(request.query), headers=without(request.headers), body=body
    )
