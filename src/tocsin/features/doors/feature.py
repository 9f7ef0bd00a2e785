"""The declaration of doors."""

from tocsin.core.audit.actions import ACTOR, AuditAction, AuditField, AuditSource
from tocsin.features.contract import Feature, FeatureCommand, LiveTopic, Subsystem, WrittenFile
from tocsin.features.doors.schema import MIGRATIONS
from tocsin.features.doors.settings import VARIABLES
from tocsin.terminal.command_table import OPERATION

_DOOR = AuditField("door", "name of the door")

DOOR_CREATE = AuditAction("door.create", "A door was added.", (_DOOR,))
DOOR_EDIT = AuditAction(
    "door.edit",
    "A door was changed.",
    (_DOOR, AuditField("fields", "names of the changed fields")),
    (),
    "Secrets are not recorded.",
)
DOOR_ROTATE = AuditAction(
    "door.rotate", "The address of a door was replaced.", (_DOOR,), (), "The address is not recorded."
)
DOOR_RULE = AuditAction("door.rule", "A rule was added to doors.yaml.", (_DOOR,))
DOOR_TEST = AuditAction("door.test", "A test message was sent for a door.", (_DOOR,))
DOOR_DELETE = AuditAction("door.delete", "A door was removed.", (_DOOR,))

DOORS = AuditSource("doors", "messages of other tools, received at a door", (ACTOR,))

DOORS_FILE = WrittenFile(
    "doors", "doors.yaml", "rules that make messages of the requests to doors", f"{__package__}.rules.rule:DOORS_FILE"
)

FEATURE = Feature(
    name="doors",
    package=__package__,
    summary="addresses at which other tools report in their own protocols, and messages made of it",
    page="doors.md",
    variables=VARIABLES,
    files=(DOORS_FILE,),
    tables={"doors": MIGRATIONS},
    audit_actions=(DOOR_CREATE, DOOR_EDIT, DOOR_ROTATE, DOOR_RULE, DOOR_TEST, DOOR_DELETE),
    audit_sources=(DOORS,),
    commands=(
        FeatureCommand("doors", "receive what other tools send: add an address, list, remove"),
        FeatureCommand("import", "make profiles and doors of the configuration of another tool", group=OPERATION),
    ),
    subsystems=(Subsystem("doors", "Doors", 155, "doors", optional=True),),
    live=(LiveTopic("doors", "door"),),
)
