"""The declaration of heartbeats."""

from tocsin.core.audit.actions import REASON, AuditAction, AuditField, AuditSource
from tocsin.core.config.variables import Variable, boolean
from tocsin.features.contract import BotCommand, Feature, FeatureCommand, LiveTopic, Subsystem, WrittenFile
from tocsin.features.heartbeats.schema import MIGRATIONS


def _watchdog_url(value: str) -> str:
    stripped = value.strip()
    if not stripped.startswith(("http://", "https://")) or not stripped.isascii() or " " in stripped:
        raise ValueError("an http or https URL")
    return stripped


HEARTBEATS_CREATE = Variable(
    "HEARTBEATS_CREATE",
    boolean,
    False,
    "Let a ping with the ping key create an unknown heartbeat: `?create=1`, or the form of Cronitor.",
)
HEARTBEAT_OUT_URL = Variable(
    "HEARTBEAT_OUT_URL",
    _watchdog_url,
    "",
    "Address at a monitor elsewhere that is called each minute while the queue and the disk are in order.",
    secret=True,
)

_HEARTBEAT = AuditField("heartbeat", "name of the heartbeat")
_FIELDS = AuditField("fields", "names of the changed fields")

HEARTBEAT_CREATE = AuditAction("heartbeat.create", "A heartbeat was created.", (_HEARTBEAT,))
HEARTBEAT_EDIT = AuditAction("heartbeat.edit", "A heartbeat was changed.", (_HEARTBEAT, _FIELDS))
HEARTBEAT_DELETE = AuditAction("heartbeat.delete", "A heartbeat was removed.", (_HEARTBEAT,))
HEARTBEAT_PAUSE = AuditAction("heartbeat.pause", "A heartbeat was paused.", (_HEARTBEAT,))
HEARTBEAT_RESUME = AuditAction("heartbeat.resume", "A paused heartbeat was resumed.", (_HEARTBEAT,))
HEARTBEAT_ADDRESS = AuditAction(
    "heartbeat.address", "Addresses were replaced by new ones.", (_HEARTBEAT,), (), "The address is not recorded."
)
HEARTBEAT_DOWN = AuditAction("heartbeat.down", "A heartbeat was missed, or its job failed.", (_HEARTBEAT, REASON))
HEARTBEAT_UP = AuditAction("heartbeat.up", "A heartbeat that was down is back.", (_HEARTBEAT,))

HEARTBEATS = AuditSource("heartbeats", "the watch over heartbeats, and pings that create one")

HEARTBEATS_FILE = WrittenFile(
    "heartbeats",
    "heartbeats.yaml",
    "jobs elsewhere that report by a ping",
    f"{__package__}.definitions:HEARTBEATS",
)

FEATURE = Feature(
    name="heartbeats",
    package=__package__,
    summary="pings from jobs that run elsewhere, and a message when one is missed",
    page="heartbeats.md",
    variables=(HEARTBEATS_CREATE, HEARTBEAT_OUT_URL),
    files=(HEARTBEATS_FILE,),
    tables={"heartbeats": MIGRATIONS},
    audit_actions=(
        HEARTBEAT_CREATE,
        HEARTBEAT_EDIT,
        HEARTBEAT_DELETE,
        HEARTBEAT_PAUSE,
        HEARTBEAT_RESUME,
        HEARTBEAT_ADDRESS,
        HEARTBEAT_DOWN,
        HEARTBEAT_UP,
    ),
    audit_sources=(HEARTBEATS,),
    commands=(FeatureCommand("heartbeats", "watch over jobs that run elsewhere: list, add, show their addresses"),),
    bot_commands=(BotCommand("heartbeats", "show the heartbeats that are not up"),),
    subsystems=(Subsystem("heartbeats", "Heartbeats", 150, "heartbeats", optional=True),),
    live=(LiveTopic("heartbeats", "heartbeat"),),
)
