"""What the engine asks about runs that received messages start."""

from tocsin.features.triggers.audit_actions import TRIGGERS
from tocsin.runs.engine.run_type import RunType


class TriggerRuns(RunType):
    """Runs of rules. The answer to the message says how one ended, and the inbox repeats one that was interrupted."""

    kind = "trigger"
    source = TRIGGERS.name
