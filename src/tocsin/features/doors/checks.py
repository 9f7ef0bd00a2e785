"""What `tocsin doctor` looks at of doors."""

from collections.abc import AsyncIterator

from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.doors.service import Doors
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding


async def check_file(doors: Doors) -> AsyncIterator[Finding]:
    """Check the file of rules."""
    if problem := doors.rules.read()[1]:
        yield Finding("error", "doors", str(problem), problem.hint or "correct the file", logged=True)


async def check_rules(doors: Doors) -> AsyncIterator[Finding]:
    """Check for rules that do nothing."""
    for warning in await doors.rule_warnings():
        detail = f"{warning.place}, door {warning.door}: {warning.detail}"
        yield Finding("warning", "doors", detail, "correct the rule, or remove it")


async def check_doors(doors: Doors) -> AsyncIterator[Finding]:
    """Check the profiles of doors, and whether other machines can reach them."""
    found = await doors.all()
    for each in found:
        try:
            if each.definition.profile:
                doors.context.messenger.check_profile(each.definition.profile)
        except TocsinError as error:
            yield Finding("warning", "doors", f"messages of {each.name} cannot be delivered: {error}", error.hint)
    if found:
        yield Finding("ok", "doors", f"{number_of(len(found), 'door')} at {doors.base_url()}")
    if found and doors.is_local_only():
        fix = "set FRONT_DOOR_HOST, or FRONT_DOOR_URL to the address of a proxy"
        yield Finding("warning", "doors", "only this machine can reach the doors", fix)


CHECKS: Checks[Doors] = (FeatureCheck(check_file, at_start=True), FeatureCheck(check_rules), FeatureCheck(check_doors))
