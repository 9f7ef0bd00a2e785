"""Mail to doors: the door and the target of each recipient, and a mail stored before it is accepted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from hashlib import sha256
from typing import ClassVar, NamedTuple

from tocsin.core.config.core_variables import RATE_LIMIT_PER_IP
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.time.ratelimit import RateLimiter
from tocsin.features.doors.mail.addresses import MailAddress, MailTarget, parse_address, written_targets
from tocsin.features.doors.mail.reading import read_mail
from tocsin.features.doors.model import Door, DoorRequest
from tocsin.features.doors.protocols.mail import MailProtocol
from tocsin.features.doors.protocols.protocol import RefusalReason
from tocsin.features.doors.receiving.receiver import DoorReceiver, is_within, without_secrets
from tocsin.features.doors.receiving.worker import DoorWorker
from tocsin.features.doors.service import Doors

ACCEPTED = 250
MAX_RECIPIENTS = 100  # RFC 5321, 4.5.3.1.8: at least


class MailRefusedError(TocsinError):
    """Mail that is not taken; `reply` is what the client gets."""

    code: ClassVar[str] = "mail-refused"

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.reply = reply


class MailClient(NamedTuple):
    """The client of a mail session."""

    address: str
    door: str = ""  # ID of the door, after a login
    is_local: bool = False  # by the socket, whose mode decides who may use it


@dataclass(slots=True)
class MailRecipient:
    """An accepted recipient."""

    door: Door
    target: MailTarget
    token: str = field(default="", repr=False)


class MailReceiver:
    """Takes mail in one process."""

    def __init__(self, doors: Doors, receiver: DoorReceiver, worker: DoorWorker) -> None:
        self._doors = doors
        self._receiver = receiver
        self._worker = worker
        self.refused = doors.refused_mail
        clock, limit = doors.context.clock, doors.context.settings[RATE_LIMIT_PER_IP]
        self._refusals = RateLimiter(limit, clock.monotonic, max_buckets=10_000)

    def counts_refusal(self, client: str) -> bool:
        """Count a refused login or recipient; False if the address has too many of them."""
        return self._refusals.take(client)

    async def login(self, user: str, token: str) -> Door | None:
        """Return the door of a user and its password; `None` if one of them is wrong."""
        door = await self._of_token(token)
        # Some products want a mail address as the user.
        return door if door is not None and door.name == user.partition("@")[0].lower() else None

    async def recipient(self, client: MailClient, address: str, known: Sequence[MailRecipient]) -> MailRecipient:
        """Return an accepted recipient; raises MailRefusedError and StoreUnavailableError.

        `known` are the other recipients of the mail: a door counts a mail once.
        """
        if len(known) >= MAX_RECIPIENTS:
            raise MailRefusedError(f"452 4.5.3 At most {MAX_RECIPIENTS} recipients: send another mail to the others")
        doors = [each for each in await self._doors.all() if each.definition.protocol == MailProtocol.name]
        names = {each.name for each in doors}
        asked = parse_address(address, lambda name: name in names or self._is_profile(name))
        door = await self._door(client, asked, doors)
        if not client.is_local and all(each.door.id != door.id for each in known):
            await self._check(door, client)
        if asked.name != door.name and not self._is_profile(asked.name):
            raise MailRefusedError(f"550 5.1.1 No profile has this name: send to {door.name}@tocsin, or to a profile")
        target = MailTarget("" if asked.name == door.name else asked.name, asked.severity)
        return MailRecipient(door, target, asked.token)

    async def store(self, client: MailClient, sender: str, raw: bytes, recipients: Sequence[MailRecipient]) -> None:
        """Store a mail once per door; raises MailRefusedError and StoreUnavailableError, and then stored nothing."""
        files = self._doors.context.abilities.files
        if not await files.has_room(len(raw)):  # only then is it worth reading the mail before it is stored
            attached = (await asyncio.to_thread(read_mail, raw)).files
            if attached and not await files.has_room(sum(len(each.content) for each in attached)):
                raise MailRefusedError("452 4.3.1 There is no room for the attachments: try again later")
        doors = {each.door.id: each.door for each in recipients}
        tokens = list({each.token for each in recipients if each.token})
        now, requests = self._doors.now(), []
        for door in doors.values():
            to = written_targets(dict.fromkeys(each.target for each in recipients if each.door.id == door.id))
            path = {"from": sender[:320], "to": to}
            request = DoorRequest(method="MAIL", route="mail", path=path, client=client.address, body=raw, at=now)
            requests.append((door, without_secrets(request, tokens)))
        if None in await self._doors.store.take_all(requests, _repeat_key(raw, recipients), ACCEPTED):
            raise MailRefusedError("451 4.3.0 A door was removed: try again")
        self._worker.wake()

    async def _of_token(self, token: str) -> Door | None:
        door = await self._doors.store.by_token(token) if token else None
        return door if door is not None and door.definition.protocol == MailProtocol.name else None

    async def _door(self, client: MailClient, asked: MailAddress, doors: Sequence[Door]) -> Door:
        """Return the door of a token, of the login, or the one that needs neither."""
        if asked.token:
            if (door := await self._of_token(asked.token.lower())) is None:
                raise MailRefusedError("550 5.7.1 No door has this token")
            return door
        usable = [
            each
            for each in doors
            if (client.is_local or each.id == client.door)
            or (not client.door and each.definition.sources and is_within(client.address, each.definition.sources))
        ]
        by_name = [each for each in usable if each.name == asked.name]
        by_profile = [each for each in usable if each.definition.profile == asked.name]
        if not usable:
            needs = "Add a door for mail" if client.is_local else "Log in with the name and the token of a door"
            raise MailRefusedError(f"550 5.7.1 {needs}: Tocsin relays no mail")
        return (by_name or by_profile or usable)[0]

    async def _check(self, door: Door, client: MailClient) -> None:
        refusal = self._receiver.refusal(door, client.address)
        if refusal is None:
            return
        await self._receiver.note(door, client.address, refusal)
        is_final = refusal.reason is RefusalReason.WRONG_SOURCE
        raise MailRefusedError(f"{'550 5.7.1' if is_final else '451 4.7.1'} {refusal.text}")

    def _is_profile(self, name: str) -> bool:
        try:
            self._doors.context.messenger.check_profile(name)
        except StoreUnavailableError:
            raise
        except TocsinError:
            return False
        return True


def _repeat_key(raw: bytes, recipients: Sequence[MailRecipient]) -> str:
    """Return what a mail that is sent again after a lost answer has in common with the first; empty if unknown.

    Devices that write no date may send the same mail for two events.
    """
    headers = BytesHeaderParser().parsebytes(raw[:65_536])
    if not headers.get("Message-ID") or not headers.get("Date"):
        return ""
    to = written_targets(each.target for each in recipients)
    return f"mail:{sha256(raw).hexdigest()}:{to}"
