"""Reports to the service manager that started this process, such as systemd.

Source: sd_notify(3), sd_watchdog_enabled(3).
"""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping

from tocsin.core.config.settings import Settings

log = logging.getLogger(__name__)

# A watchdog of `WatchdogSec` seconds expects a sign of life in half of that; a third leaves time for a slow loop.
_SIGNS_PER_TIMEOUT = 3


class ServiceNotifier:
    """Sends the state of a service to the socket that `NOTIFY_SOCKET` names; without one, does nothing."""

    def __init__(self, address: str = "", watchdog_s: float = 0.0) -> None:
        """`address` is a path, or an abstract name after `@`; `watchdog_s` is 0 without a watchdog."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = watchdog_s
        self._status = ""
        self._failed = False

    @classmethod
    def of(cls, settings: Settings) -> "ServiceNotifier":
        """Return the manager that the environment names."""
        microseconds = settings.from_parent("WATCHDOG_USEC")
        watchdog_s = int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0
        return cls(settings.from_parent("NOTIFY_SOCKET"), watchdog_s)

    def ready(self, addresses: Mapping[str, str]) -> None:
        """Report that the service has started; `systemctl status` shows the address of each listener."""
        self._status = ", ".join(f"{name} at {address}" for name, address in addresses.items()) or "Running"
        self._send("READY=1", f"STATUS={self._status}")

    async def reload(self, work: Callable[[], Awaitable[None]]) -> None:
        """Report a reload around `work`; an error of `work` is logged, and the service continues."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}", "STATUS=Reloading")
        try:
            await work()
        except Exception:  # the service continues
            log.exception("reloading failed")
        self._send("READY=1", f"STATUS={self._status}")

    def stopping(self) -> None:
        """Report that the service finishes its work and stops."""
        self._send("STOPPING=1", "STATUS=Stopping")

    async def keep_alive(self) -> None:
        """Send signs of life from the event loop until cancelled; return at once if no watchdog expects them."""
        while self._watchdog_s and self._address:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_s / _SIGNS_PER_TIMEOUT)

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.setblocking(False)  # a full socket must not stop the service
                sock.connect(self._address)
                sock.send("\n".join(lines).encode())
        except OSError as error:
            if not self._failed:
                log.warning("the service manager cannot be notified", extra={"reason": error.strerror or str(error)})
            self._failed = True
