"""What the feature is, as data. Every start of `tocsin` imports this module, so it imports nothing that works."""

from pathlib import Path
from typing import NamedTuple

from tocsin.core.audit.actions import ENDED_RUN, AuditAction, AuditField, AuditSource
from tocsin.core.config.variables import Variable, directory
from tocsin.features.contract import Feature, Subsystem


class BackupFolder(NamedTuple):
    """A folder, and how old its newest file may be."""

    name: str
    path: Path
    hours: float


def backup_folders(value: str) -> tuple[BackupFolder, ...]:
    """Read `<folder>:<hours>` entries that commas separate."""
    found = []
    for entry in filter(None, map(str.strip, value.split(","))):
        folder, _, hours = entry.rpartition(":")
        if not folder or not hours.replace(".", "", 1).isdigit():
            raise ValueError("folders and hours, such as /backups/db:24, separated by commas")
        path = directory(folder)
        found.append(BackupFolder(path.name, path, float(hours)))
    if len({folder.name for folder in found}) < len(found):
        raise ValueError("folders with different names")
    return tuple(found)


FOLDERS = Variable(
    "FRESHNESS_FOLDERS",
    backup_folders,
    (),
    "Folders of backups, each with the hours that its newest file may be old, as in `/backups/db:24`.",
    shown_default="none",
)

FRESHNESS = AuditSource("freshness", "the check of folders of backups")
CHECK = AuditAction(
    "freshness.check", "A folder of backups was checked.", (AuditField("folder", "the name of the folder"), *ENDED_RUN)
)

FEATURE = Feature(
    name="freshness",
    package=__package__,
    summary="checks that folders of backups get new files",
    page="https://github.com/example/tocsin-freshness",
    variables=(FOLDERS,),
    audit_actions=(CHECK,),
    audit_sources=(FRESHNESS,),
    subsystems=(Subsystem("freshness", "Backups", page="freshness"),),
    run_kinds=("freshness",),
)
