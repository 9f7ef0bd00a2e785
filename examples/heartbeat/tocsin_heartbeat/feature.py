"""What the feature is, as data. Every start of `tocsin` imports this module, so it imports nothing that works."""

from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource
from tocsin.core.config.variables import Variable, integer
from tocsin.features.contract import Feature, FeatureCommand

EVERY_S = Variable("HEARTBEAT_EVERY_S", integer(1, 86_400), 60, "Seconds between two signs of life.")

GAP = AuditAction(
    "heartbeat.gap",
    "Tocsin was not running for longer than two signs of life are apart.",
    (AuditField("gap_s", "for how many seconds no service ran"),),
)

HEARTBEAT = AuditSource("heartbeat", "the service that leaves signs of life")

FEATURE = Feature(
    name="heartbeat",
    package=__package__,
    summary="notices when Tocsin was not running, and tells the operator",
    page="https://github.com/example/tocsin-heartbeat",
    variables=(EVERY_S,),
    tables={
        "heartbeat": ("CREATE TABLE heartbeat (id INTEGER PRIMARY KEY CHECK (id = 1), beat_at REAL NOT NULL) STRICT;",)
    },
    audit_actions=(GAP,),
    audit_sources=(HEARTBEAT,),
    commands=(FeatureCommand("heartbeat", "tell when a service last ran"),),
)
