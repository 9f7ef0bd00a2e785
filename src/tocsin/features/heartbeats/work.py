"""What runs beside the other services, in every process that runs services."""

from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.heartbeats.watching.watchdog import OutsideWatchdog
from tocsin.features.hooks import WorkHooks

WORK = WorkHooks[Heartbeats](services=(lambda heartbeats: OutsideWatchdog(heartbeats.context),))
