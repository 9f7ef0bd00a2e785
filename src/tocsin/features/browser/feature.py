"""What browser profiles are to the rest of the program."""

from tocsin.features.browser.audit_actions import BROWSER_START, BROWSER_STOP
from tocsin.features.browser.schema import MIGRATIONS
from tocsin.features.contract import Feature, FeatureCommand, Subsystem

FEATURE = Feature(
    name="browser",
    package=__package__,
    summary="browser profiles: Chromium with its own data directory and debugging port",
    page="browser.md",
    tables={"browser": MIGRATIONS},
    audit_actions=(BROWSER_START, BROWSER_STOP),
    commands=(FeatureCommand("browser", "list, start and stop browser profiles"),),
    subsystems=(Subsystem("browser", "Browser", 1000, "browser"),),
)
