"""The checks of doors in `tocsin doctor`."""

from collections.abc import AsyncIterator

from tocsin.core.config.security import front_door_url, is_front_door_local, load_tls
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.doors.mail.listener import bind_warning, mail_tls
from tocsin.features.doors.protocols.mail import MailProtocol
from tocsin.features.doors.service import Doors
from tocsin.features.doors.settings import LMTP_IN_SOCKET, SMTP_IN_PORT, takes_mail
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


async def check_mail(doors: Doors) -> AsyncIterator[Finding]:
    """Check whether mail can be received, and how it is encrypted."""
    settings = doors.context.settings
    names = [each.name for each in await doors.all() if each.definition.protocol == MailProtocol.name]
    if not takes_mail(settings):
        if names:
            fix = f"set {SMTP_IN_PORT.name} or {LMTP_IN_SOCKET.name}"
            yield Finding("warning", "doors", f"mail to {', '.join(names[:5])} is not received", fix)
        return
    try:
        if found := mail_tls(settings):
            load_tls("the mail listener", *found)
    except ConfigError as error:
        yield Finding("error", "doors", str(error), error.hint)
    if warning := bind_warning(settings):
        problem, _, fix = warning.partition("; ")
        yield Finding("warning", "doors", problem, fix)
    if not names:
        fix = "add one with `tocsin doors add NAME --protocol mail --profile PROFILE`"
        yield Finding("warning", "doors", "mail is on, but no door takes it", fix)


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
        yield Finding("ok", "doors", f"{number_of(len(found), 'door')} at {front_door_url(doors.context.settings)}")
    if found and is_front_door_local(doors.context.settings):
        fix = "set FRONT_DOOR_HOST, or FRONT_DOOR_URL to the address of a proxy"
        yield Finding("warning", "doors", "only this machine can reach the doors", fix)


CHECKS: Checks[Doors] = (
    FeatureCheck(check_file, at_start=True),
    FeatureCheck(check_rules),
    FeatureCheck(check_doors),
    FeatureCheck(check_mail),
)
