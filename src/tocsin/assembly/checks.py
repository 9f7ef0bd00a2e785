"""The checks of features, for `tocsin doctor` and the start of services."""

from collections.abc import AsyncIterator

from tocsin.assembly.features import OpenFeatures
from tocsin.features.hooks import load_checks
from tocsin.terminal.findings import Finding, collect


async def feature_findings(features: OpenFeatures, *, at_start: bool = False) -> list[Finding]:
    """Return the findings of all features; `at_start` selects the checks for the start of services."""
    return [
        finding
        for name in features.known
        for finding in await collect(name, _checked(features, name, at_start=at_start))
    ]


async def _checked(features: OpenFeatures, name: str, *, at_start: bool) -> AsyncIterator[Finding]:
    for check in load_checks(features.known[name]):  # an error of importing or opening is a finding, too
        if check.at_start or not at_start:
            async for finding in check.find(features.opened(name)):
                yield finding
