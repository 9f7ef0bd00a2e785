"""webpush sends: encrypted notifications for browsers and phones. Source: docs/facts/web-push.md."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Sent
from tocsin.channels.model import Ability, Support, degraded, native
from tocsin.channels.webpush.settings import CONTACT, HOSTS, check_name
from tocsin.core.plugins import load_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tocsin.channels.webpush.devices import Devices
    from tocsin.channels.webpush.sending import PushSender

# Their imports would slow down listing channels.
_DEVICES = "tocsin.channels.webpush.devices:Devices"
_SENDER = "tocsin.channels.webpush.sending:PushSender"
_NOTIFICATION = "tocsin.channels.webpush.notification:notification_of"


class WebpushAdapter(OutboundAdapter):
    """Sends to the devices that people have added in the dashboard."""

    spec = ChannelSpec(
        kind="webpush",
        label="Web Push",
        aliases=("push",),
        product="Web Push (RFC 8030, 8291, 8292)",
        options=(CONTACT, HOSTS),
        target_format="name of a device",
        arrival=(
            "The device is in the list of the dashboard's page Devices, and its test arrives.",
            "The system lets the browser, or on iOS the installed app, show notifications; no focus mode is on.",
            "The browser runs: a desktop browser that is closed takes messages when it is opened again.",
        ),
        packages=("cryptography",),
        requirement="tocsin[push]",
        session_presses=True,
        abilities={
            "title": native(),
            "priority": native("urgency; 5 stays until it is dismissed, where browsers do that"),
            "type": degraded("a symbol before the title"),
            "click": native("opened by a tap"),
            "actions": degraded("two are buttons where browsers show some; a tap opens the page with all of them"),
            "call": native("a button; on iOS and in Firefox, on the page that a tap opens"),
            "attach": Ability(Support.REFUSED, "a notification has no files; put a link to the file into `click`"),
            "silent": native(),
            "key": native("replaces the notification on the device"),
            "withdraw": native("closes the notification; on Apple's devices, it says that it was withdrawn"),
        },
    )
    dressing = "tocsin.channels.webpush.dressing:WebpushDressing"
    layouts = "tocsin.channels.webpush.dressing:layout_of"
    standin = "tocsin.channels.webpush.standin:PushService"

    @cached_property
    def devices(self) -> "Devices":
        """The devices that take messages, and the keys."""
        devices: Devices = load_class(_DEVICES)(self.document)
        return devices

    @cached_property
    def _sender(self) -> "PushSender":
        sender: PushSender = load_class(_SENDER)(self.config, self.http, self.clock, self.devices)
        return sender

    def check_target(self, target: str) -> str:
        """Accept the name of a device, whether it exists or not."""
        return check_name(target)

    async def deliver(self, part: Part) -> Sent:
        """Push a notification; the note is the push service that has taken it.

        Its tag is the same at every attempt, so that a device shows a repeated message once.
        """
        return await self._sender.show(part, self.body(part))

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> Sent:
        """Push a notification that replaces the earlier one."""
        return await self._sender.show(part, self.body(part), ref["tag"])

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Close the notification; repeating this has no further effect."""
        return await self._sender.withdraw(ref)

    async def probe(self) -> str:
        """Load what encrypts, and the keys; count the devices. No push service is called."""
        _ = self._sender
        await self.devices.keys()
        count = len(await self.devices.all())
        return f"{self.config[CONTACT]}, with {count} device{'' if count == 1 else 's'}"

    def body(self, part: Part) -> dict[str, Any]:
        """Return the notification, shortened to the limit."""
        shown: dict[str, Any] = load_class(_NOTIFICATION)(part, self)
        return shown
