"""Hooks of heartbeats: the service that reports Tocsin itself to a monitor elsewhere."""

from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.heartbeats.watching.watchdog import OutsideWatchdog
from tocsin.features.hooks import WorkHooks

WORK = WorkHooks[Heartbeats](services=(lambda heartbeats: OutsideWatchdog(heartbeats.context),))
