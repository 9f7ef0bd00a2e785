"""The devices that take messages, and the key pair that they know: one record in the store for all processes."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from tocsin.channels.webpush.settings import is_known_service
from tocsin.core.errors import ChannelError, ConflictError, NotFoundError
from tocsin.core.plugins import load_class
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.storage.documents.document import ChannelDocument

_MAKE_KEYS = "tocsin.channels.webpush.encryption:make_keys"  # importing it takes 50 ms
MAX_DEVICES = 500
MAX_ENDPOINT = 1_000


class UnknownDeviceError(NotFoundError):
    """No device has this name."""


class DeviceConflictError(ConflictError):
    """Another device has this name, or there are too many."""


class Subscription(NamedTuple):
    """The push endpoint of a browser, and its keys in base64url; together they permit sending to it."""

    endpoint: str
    p256dh: str
    auth: str


@dataclass(frozen=True, slots=True)
class Device:
    """A browser that takes messages; a subscription is a secret."""

    name: str
    subscription: Subscription = field(repr=False)
    user: str = ""  # who added it
    created_at: float = 0.0  # Unix seconds

    @property
    def service(self) -> str:
        """The host of its push service."""
        return urlsplit(self.subscription.endpoint).netloc


@dataclass(frozen=True, slots=True)
class PushKeys:
    """The keys by which push services recognise this installation, in base64url."""

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True, slots=True)
class _Record:
    keys: PushKeys | None = None
    devices: Mapping[str, Device] = field(default_factory=dict)


class Devices:
    """The devices and keys of an installation. The methods raise the errors of the store."""

    def __init__(self, document: ChannelDocument) -> None:
        self._document = document

    async def all(self) -> Sequence[Device]:
        """Return all devices by name."""
        return sorted(_read(await self._document.read()).devices.values(), key=lambda device: device.name)

    async def open(self, name: str) -> tuple[Device, PushKeys]:
        """Return a device and the keys; raise UnknownDeviceError."""
        record = _read(await self._document.read())
        return _find(record, name), await self._keys_of(record)

    async def keys(self) -> PushKeys:
        """Return the keys, which the first call makes."""
        return await self._keys_of(_read(await self._document.read()))

    async def _keys_of(self, record: _Record) -> PushKeys:
        if record.keys:
            return record.keys
        made: PushKeys = load_class(_MAKE_KEYS)()  # of two processes, the first one's are kept
        kept = (await self._change(lambda found: found if found.keys else replace(found, keys=made))).keys
        assert kept  # noqa: S101  # they are there now
        return kept

    async def add(self, device: Device, replaces: str = "") -> Device:
        """Store a device and return it; a known endpoint, or that of `replaces`, gets its name and keys.

        An empty name keeps that of the replaced device. Raises UnknownDeviceError, DeviceConflictError.
        """
        same = {device.subscription.endpoint, replaces} - {""}

        def edit(record: _Record) -> _Record:
            former = [each for each in record.devices.values() if each.subscription.endpoint in same]
            if not (name := device.name or (former[0].name if former else "")):
                raise UnknownDeviceError("the device to replace is not known", hint="add this device under a name")
            others = {each.name: each for each in record.devices.values() if each not in former}
            if name in others:
                raise DeviceConflictError(f"there is a device {name} already", hint="choose another name, or remove it")
            if len(others) >= MAX_DEVICES:
                raise DeviceConflictError(f"there are {MAX_DEVICES} devices", hint="remove those that are not used")
            return replace(record, devices={**others, name: replace(device, name=name)})

        record = await self._change(edit)
        return next(
            each for each in record.devices.values() if each.subscription.endpoint == device.subscription.endpoint
        )

    async def rename(self, name: str, new: str) -> Device:
        """Give a device another name and return it. Raises UnknownDeviceError, DeviceConflictError."""

        def edit(record: _Record) -> _Record:
            found = _find(record, name)
            if new != name and new in record.devices:
                raise DeviceConflictError(f"there is a device {new} already", hint="choose another name, or remove it")
            others = {each.name: each for each in record.devices.values() if each is not found}
            return replace(record, devices={**others, new: replace(found, name=new)})

        return (await self._change(edit)).devices[new]

    async def remove(self, name: str, endpoint: str = "") -> Device:
        """Remove a device and return it; with `endpoint`, only if it still has that one. Raises UnknownDeviceError."""
        removed: list[Device] = []

        def edit(record: _Record) -> _Record:
            removed[:] = [_find(record, name)]
            if endpoint and removed[0].subscription.endpoint != endpoint:
                return record
            return replace(record, devices={each.name: each for each in record.devices.values() if each.name != name})

        await self._change(edit)
        return removed[0]

    async def _change(self, edit: Callable[[_Record], _Record]) -> _Record:
        def work(text: str) -> str:
            before = _read(text)
            after = edit(before)
            return text if after is before else _write(after)

        return _read(await self._document.change(work))


def _find(record: _Record, name: str) -> Device:
    if name not in record.devices:
        names = ", ".join(sorted(record.devices)[:20])
        known = f"devices: {names}" if names else "open the dashboard on the device and choose `Notify this device`"
        raise UnknownDeviceError(
            f"{shorten(name)!r} is not a device of Web Push", hint=known + suggestion(name, record.devices)
        )
    return record.devices[name]


def _read(text: str) -> _Record:
    if not text:
        return _Record()
    found = json.loads(text)
    devices = [Device(**{**each, "subscription": Subscription(*each["subscription"])}) for each in found["devices"]]
    keys = PushKeys(**found["keys"]) if found["keys"] else None
    return _Record(keys, {device.name: device for device in devices})


def _write(record: _Record) -> str:
    devices = [{**asdict(each), "subscription": list(each.subscription)} for each in record.devices.values()]
    return json.dumps({"keys": asdict(record.keys) if record.keys else None, "devices": devices})


def check_subscription(subscription: Subscription, own_hosts: Sequence[str]) -> Subscription:
    """Return a subscription as browsers make them; raise ChannelError, which does not repeat it.

    `own_hosts` are the origins of WEBPUSH_HOSTS.
    """
    origin = origin_of(subscription.endpoint)
    if not is_known_service(origin) and origin not in own_hosts:
        host = shorten(origin.partition("://")[2]) if origin else "the address"
        raise ChannelError(f"{host} is not a known push service", hint="add its host to WEBPUSH_HOSTS if you trust it")
    point, auth = decode(subscription.p256dh), decode(subscription.auth)
    if len(point) != 65 or point[0] != 4 or len(auth) != 16:  # RFC 8291, 3.1 and 3.2
        raise ChannelError("the keys of the subscription are not those of a browser", hint="subscribe again")
    return Subscription(subscription.endpoint, encode(point), encode(auth))


def origin_of(endpoint: str) -> str:
    """Return the origin of an endpoint in lower case; empty if it is not an address of a push service."""
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        return ""
    odd = not (endpoint.isascii() and endpoint.isprintable()) or " " in endpoint or len(endpoint) > MAX_ENDPOINT
    if odd or parts.username is not None or not parts.hostname or parts.fragment or port == 0:
        return ""
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname.lower()}" + (f":{port}" if port not in {None, usual} else "")


def encode(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Return the bytes of base64url with or without padding; empty if the text is neither."""
    plain = text.rstrip("=")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", plain) or len(plain) % 4 == 1:
        return b""
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
