"""The devices of Web Push, with an audit entry for each change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, cast

from tocsin.channels.webpush.adapter import WebpushAdapter
from tocsin.channels.webpush.devices import Device, Subscription, check_subscription
from tocsin.channels.webpush.settings import HOSTS, check_name
from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.core.errors import UnknownChannelError
from tocsin.core.records.marks import TextOrNull, Time
from tocsin.features.context import FeatureContext
from tocsin.features.devices.feature import DEVICE_ADD, DEVICE_REMOVE, DEVICE_RENAME
from tocsin.messaging.outbound.caller import Caller

CHANNEL = "webpush"


@dataclass(frozen=True, slots=True)
class PushDevice:
    """Device that takes notifications."""

    name: str
    id: Annotated[str, "Digest of its address at the push service, by which a browser recognises itself."]
    service: Annotated[str, "Host of the push service of its browser."]
    user: Annotated[TextOrNull, "Who added it."]
    created_at: Time


@dataclass(frozen=True, slots=True)
class PushSetup:
    """The data that a browser needs to become a device."""

    public_key: Annotated[TextOrNull, "Key of this installation, in base64url; null if notifications cannot be sent."]
    problem: Annotated[TextOrNull, "Why notifications cannot be sent."]


class PushDevices:
    """The devices of this installation."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context

    @property
    def _channel(self) -> WebpushAdapter:
        """The channel, with its present settings; raises UnknownChannelError if it is not configured."""
        return cast("WebpushAdapter", self._context.adapter(CHANNEL))

    @property
    def enabled(self) -> bool:
        """Whether the channel is configured."""
        try:
            return bool(self._channel)
        except UnknownChannelError:
            return False

    @property
    def public_url(self) -> str:
        """Address at which people reach the dashboard; empty if it is not set."""
        return self._context.settings[PUBLIC_URL]

    async def setup(self) -> PushSetup:
        """Return the public key, which the first call makes."""
        try:
            return PushSetup((await self._channel.devices.keys()).public, "")
        except UnknownChannelError as error:
            steps = f"set {', '.join(error.missing)} in .env, then restart"
            return PushSetup("", f"Web Push is not configured: {steps}" if error.missing else error.sentence())

    async def all(self) -> Sequence[PushDevice]:
        """Return all devices by name; none if the channel is not configured."""
        try:
            return [_shown(device) for device in await self._channel.devices.all()]
        except UnknownChannelError:
            return []

    async def get(self, name: str) -> PushDevice:
        """Return one device; raise UnknownDeviceError."""
        return _shown((await self._channel.devices.open(name))[0])

    async def add(self, name: str, subscription: Subscription, caller: Caller, replaces: str = "") -> PushDevice:
        """Add a device, or give a known subscription this name; an empty name keeps that of `replaces`.

        Raises ChannelError, UnknownDeviceError, DeviceConflictError.
        """
        channel = self._channel
        checked = check_subscription(subscription, channel.config[HOSTS])
        user = str(caller.facts.get("actor", ""))
        new = Device(check_name(name) if name else "", checked, user, self._context.clock.now())
        added = await channel.devices.add(new, replaces)
        self._record(DEVICE_ADD, added.name, caller, {"service": added.service})
        return _shown(added)

    async def rename(self, name: str, new: str, caller: Caller) -> PushDevice:
        """Rename a device. Raises ChannelError, UnknownDeviceError, DeviceConflictError."""
        renamed = await self._channel.devices.rename(name, check_name(new))
        self._record(DEVICE_RENAME, new, caller, {"former": name})
        return _shown(renamed)

    async def remove(self, name: str, caller: Caller) -> PushDevice:
        """Remove a device. Raises UnknownDeviceError."""
        removed = await self._channel.devices.remove(name)
        self._record(DEVICE_REMOVE, name, caller, {"service": removed.service})
        return _shown(removed)

    def _record(self, action: AuditAction, name: str, caller: Caller, facts: Mapping[str, object]) -> None:
        metadata = {"device": name, **facts, **caller.facts}
        self._context.audit.record(action, name, source=caller.source, metadata=metadata)


def _shown(device: Device) -> PushDevice:
    digest = sha256(device.subscription.endpoint.encode()).hexdigest()
    return PushDevice(device.name, digest, device.service, device.user, device.created_at)
