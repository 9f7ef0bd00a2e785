"""The declaration of devices: browsers and phones that take notifications."""

from tocsin.core.audit.actions import AuditAction, AuditField
from tocsin.features.contract import Feature, FeatureCommand
from tocsin.terminal.command_table import RECORDS

_DEVICE = AuditField("device", "name of the device")
_SERVICE = AuditField("service", "host of the push service of its browser")
_FORMER = AuditField("former", "its name before")
_NEVER = "Neither its address at the push service nor its keys are recorded."

DEVICE_ADD = AuditAction("device.add", "A device was added, or renewed.", (_DEVICE, _SERVICE), note=_NEVER)
DEVICE_RENAME = AuditAction("device.rename", "A device got another name.", (_DEVICE, _FORMER))
DEVICE_REMOVE = AuditAction("device.remove", "A device was removed.", (_DEVICE, _SERVICE), note=_NEVER)

FEATURE = Feature(
    name="devices",
    package=__package__,
    summary="browsers and phones that take notifications, and the dashboard as an app on them",
    page="channels/webpush.md",
    audit_actions=(DEVICE_ADD, DEVICE_RENAME, DEVICE_REMOVE),
    commands=(FeatureCommand("devices", "list, rename and remove the devices of Web Push", group=RECORDS),),
)
