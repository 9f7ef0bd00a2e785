"""All protocols by name."""

from collections.abc import Mapping

from tocsin.features.doors.protocols.alertmanager import AlertmanagerProtocol
from tocsin.features.doors.protocols.protocol import DoorProtocol
from tocsin.features.doors.protocols.webhook import WebhookProtocol

PROTOCOLS: Mapping[str, DoorProtocol] = {each.name: each for each in (WebhookProtocol(), AlertmanagerProtocol())}
