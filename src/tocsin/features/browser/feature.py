"""The declaration of browser profiles."""

from tocsin.core.audit.actions import OK, REASON, AuditAction, AuditField
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

# A released migration is never edited; a new one is added.
MIGRATIONS = (
    """
    CREATE TABLE browser_processes (
        profile TEXT PRIMARY KEY,
        user_data_dir TEXT NOT NULL,
        pid INTEGER NOT NULL,
        identity TEXT NOT NULL,
        port INTEGER,
        started_at REAL NOT NULL,
        ended_at REAL,
        problem TEXT NOT NULL
    ) STRICT;
    """,
)

_PROFILE = AuditField("profile", "name of the profile")
_PID = AuditField("pid", "process ID of the browser, or `null` if none was started")
_PORT = AuditField("port", "debugging port on 127.0.0.1, or `null` if it did not open")
_FORCED = AuditField("forced", "whether the browser had to be killed")
_FORGOTTEN = AuditField(
    "forgotten",
    "whether only the record was removed, for a browser on another machine or a browser that no longer exists",
)

BROWSER_START = AuditAction(
    "browser.start", "The browser of a profile was started.", (_PROFILE, _PID, _PORT, OK), (REASON,)
)
BROWSER_STOP = AuditAction(
    "browser.stop", "The browser of a profile was stopped.", (_PROFILE, _PID, _FORCED, _FORGOTTEN)
)

FEATURE = Feature(
    name="browser",
    package=__package__,
    summary="browser profiles: Chromium with its own data directory and debugging port",
    page="browser.md",
    files=(
        WrittenFile(
            "browser_profiles",
            "browser_profiles.yaml",
            "browser profiles",
            f"{__package__}.profiles_file:profiles_schema",
        ),
    ),
    tables={"browser": MIGRATIONS},
    audit_actions=(BROWSER_START, BROWSER_STOP),
    commands=(FeatureCommand("browser", "list, start and stop browser profiles"),),
    subsystems=(Subsystem("browser", "Browser", 1000, "browser"),),
)
