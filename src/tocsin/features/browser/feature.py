"""What browser profiles are to the rest of the program."""

from tocsin.features.browser.audit_actions import BROWSER_START, BROWSER_STOP
from tocsin.features.browser.schema import MIGRATIONS
from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="browser",
    summary="browser profiles: Chromium with a data directory of its own and a debugging port",
    page="browser.md",
    tables={"browser": MIGRATIONS},
    audit_actions=(BROWSER_START, BROWSER_STOP),
    commands=(
        FeatureCommand(
            "browser",
            "list, start and stop browser profiles",
            "tocsin.features.browser.commands:configure_browser",
        ),
    ),
    open="tocsin.features.browser.opening:open_browser",
    checks=(FeatureCheck("tocsin.features.browser.checks:check_browser", at_start=True),),
    subsystems={"browser": "tocsin.features.browser.opening:subsystem_of"},
    dashboard_routes="tocsin.features.browser.routes:browser_operations",
    hourly="tocsin.features.browser.opening:look_hourly",
)
