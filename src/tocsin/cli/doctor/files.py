"""doctor, files: targets, profiles, the files of features, and the audit log."""

from collections.abc import Iterator

from tocsin.assembly.checks import feature_findings
from tocsin.assembly.profiles import checked_profiles
from tocsin.assembly.program import App
from tocsin.core.errors import TocsinError
from tocsin.terminal.findings import Finding, failure


async def check_files(app: App) -> list[Finding]:
    findings = [*await check_targets(app), *check_profiles(app)]
    return [*findings, *await feature_findings(app.features, at_start=True)]


async def check_targets(app: App) -> list[Finding]:
    """Check `targets.yaml`, and that each secret in it exists."""
    targets = app.registry.targets
    found = [(kind, name, error) for kind, name, error in await targets.examine() if error]
    if problem := targets.problem:
        return [Finding("error", "targets", str(problem), problem.hint, logged=True)]
    if found:
        return [Finding("error", "targets", f"{kind} {name}: {error}", error.hint) for kind, name, error in found]
    count = len(list(targets.all()))
    return [Finding("ok", "targets", f"{count} in {targets.path}")] if count else []


def check_profiles(app: App) -> Iterator[Finding]:
    """Check the notification profiles, validating each target as a send would."""
    path = app.profiles().path
    if problem := app.profiles().problem:
        yield Finding("error", "profiles", str(problem), problem.hint or "correct the file", logged=True)
        return
    profiles = checked_profiles(app)
    for mistake in (mistake for profile in profiles for mistake in profile.problems):
        yield Finding("error", "profiles", f"{path}:{mistake}", "correct the file, or configure the channel")
    if profiles and all(profile.valid for profile in profiles):
        yield Finding("ok", "profiles", f"{len(profiles)} in {path}")


def check_audit_log(app: App) -> Finding:
    try:
        newest = app.audit.log.tail(1)
    except TocsinError as error:
        return failure("audit log", error)
    return Finding("ok", "audit log", f"last entry {newest[0].ts}" if newest else "empty")
