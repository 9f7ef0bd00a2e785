"""The checks of `tocsin doctor` for devices."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from tocsin.channels.webpush.devices import MAX_DEVICES
from tocsin.features.devices.service import PushDevices
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding

_LOCAL = ("localhost", "127.0.0.1", "::1")  # browsers trust this machine without encryption


async def check_devices(devices: PushDevices) -> AsyncIterator[Finding]:
    """Check that there are devices, and that browsers accept the dashboard's address; the channel checks the rest."""
    if not devices.enabled:
        return
    count, page = len(await devices.all()), urlsplit(devices.public_url)
    if page.scheme == "http" and page.hostname not in _LOCAL:
        detail = "browsers take notifications from pages by https only, and PUBLIC_URL is http"
        yield Finding("warning", "devices", detail, "serve the dashboard by https, and change PUBLIC_URL")
    if not count:
        fix = "open the dashboard on a device and choose `Notify this device`"
        yield Finding("off", "devices", f"no device takes notifications; {fix}")
    elif count >= MAX_DEVICES:
        yield Finding("warning", "devices", f"no room beyond {MAX_DEVICES} devices", "remove those that are not used")
    else:
        yield Finding("ok", "devices", f"devices that take notifications: {count}")


CHECKS: Checks[PushDevices] = (FeatureCheck(check_devices),)
