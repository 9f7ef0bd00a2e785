"""The operations on devices."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Request, Response

from tocsin.channels.webpush.devices import MAX_ENDPOINT, Subscription
from tocsin.core.errors import ChannelError, TocsinError, UnknownChannelError
from tocsin.core.reading.fields import TextType
from tocsin.core.reading.records import Written
from tocsin.features.devices.service import PushDevice, PushDevices, PushSetup
from tocsin.rest.bodies import RequestBody, text
from tocsin.rest.callers import CallerOf
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf

_CODES: dict[type[TocsinError], str] = {UnknownChannelError: "conflict", ChannelError: "validation-failed"}
_CHANGES = ("not-found", "conflict", "validation-failed", "precondition-failed")
_KEY = Written(TextType(max_chars=200))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPushDevice(RequestBody):
    """Subscription of a browser, as its `PushSubscription` has it."""

    endpoint: Annotated[str, Written(TextType(max_chars=MAX_ENDPOINT)), "Address at the push service. It is a secret."]
    p256dh: Annotated[str, _KEY, "Public key of the browser, in base64url."]
    auth: Annotated[str, _KEY, "Secret of the browser, in base64url."]
    name: Annotated[str, text(64), "Name of the device, the target of messages. Empty keeps that of `replaces`."] = ""
    replaces: Annotated[str, text(MAX_ENDPOINT), "Former address of the same device."] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDeviceName(RequestBody):
    """New name of a device."""

    name: Annotated[str, Written(TextType(max_chars=64)), "Name of the device, the target of messages."]


class DeviceRoutes:
    """The operations on devices."""

    def __init__(self, devices: PushDevices) -> None:
        self._devices = devices

    @operation("GET", "/api/push-setup", extension=True, answer=PushSetup)
    async def get_push_setup(self) -> Any:
        """Get the key that a browser subscribes with."""
        return await self._devices.setup()

    @operation("GET", "/api/devices", extension=True, problems=("validation-failed",), answer=Page[PushDevice])
    async def list_devices(self, paging: PagingOf) -> Any:
        """List the devices that take notifications, by name."""
        found = await self._devices.all()
        page, following = paging.cut(found, lambda device: device.name)
        return paging.page(page, following, len(found))

    @operation(
        "POST", "/api/devices", scope="admin", extension=True, status=201, problems=_CHANGES[:3], answer=PushDevice
    )
    async def add_device(self, body: NewPushDevice, response: Response, caller: CallerOf) -> Any:
        """Add a browser as a device, or renew it."""
        subscription = Subscription(body.endpoint, body.p256dh, body.auth)
        added = await self._devices.add(body.name, subscription, caller, body.replaces)
        response.headers["Location"] = f"/api/devices/{added.name}"
        return tag(response, added, _version(added))

    @operation("GET", "/api/devices/{name}", extension=True, problems=("not-found", "conflict"), answer=PushDevice)
    async def get_device(self, name: str, response: Response) -> Any:
        """Get a device."""
        found = await self._devices.get(name)
        return tag(response, found, _version(found))

    @operation("PATCH", "/api/devices/{name}", scope="admin", extension=True, problems=_CHANGES, answer=PushDevice)
    async def rename_device(
        self, request: Request, name: str, body: PushDeviceName, response: Response, caller: CallerOf
    ) -> Any:
        """Rename a device. `If-Match` is supported."""
        check_unchanged(request, _version(await self._devices.get(name)))
        renamed = await self._devices.rename(name, body.name, caller)
        return tag(response, renamed, _version(renamed))

    @operation(
        "DELETE",
        "/api/devices/{name}",
        scope="admin",
        extension=True,
        problems=("not-found", "conflict", "precondition-failed"),
    )
    async def remove_device(self, request: Request, name: str, caller: CallerOf) -> None:
        """Remove a device: no further message is sent to it. `If-Match` is supported."""
        check_unchanged(request, _version(await self._devices.get(name)))
        await self._devices.remove(name, caller)


def _version(device: PushDevice) -> list[str]:
    return [device.name, device.id]


OPERATIONS = operations_of("devices", DeviceRoutes, _CODES)
