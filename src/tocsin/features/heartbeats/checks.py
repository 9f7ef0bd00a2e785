"""The checks of heartbeats in `tocsin doctor`."""

from collections.abc import AsyncIterator

from tocsin.core.config.security import front_door_url, is_front_door_local
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.heartbeats.feature import HEARTBEAT_OUT_URL
from tocsin.features.heartbeats.model import HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding

NAMED = 5


async def check_file(heartbeats: Heartbeats) -> AsyncIterator[Finding]:
    if problem := heartbeats.problem:
        yield Finding("error", "heartbeats", str(problem), problem.hint or "correct the file", logged=True)


async def check_heartbeats(heartbeats: Heartbeats) -> AsyncIterator[Finding]:
    """Check the destinations of messages, and whether other machines can send pings."""
    found = await heartbeats.all()
    for each in found:
        try:
            if each.definition.notify:
                heartbeats.context.output.check(each.definition.notify)
        except TocsinError as error:
            detail = f"messages about {each.name} cannot be delivered: {error}"
            yield Finding("warning", "heartbeats", detail, error.hint)
    down = [each.name for each in found if each.watched.state is HeartbeatState.DOWN]
    if down:
        more = f" and {len(down) - NAMED} more" if len(down) > NAMED else ""
        yield Finding("warning", "heartbeats", f"down: {', '.join(down[:NAMED])}{more}", "tocsin heartbeats list")
    if found:
        yield Finding(
            "ok", "heartbeats", f"{number_of(len(found), 'heartbeat')} at {front_door_url(heartbeats.context.settings)}"
        )
    if found and is_front_door_local(heartbeats.context.settings):
        fix = "set FRONT_DOOR_HOST, or FRONT_DOOR_URL to the address of a proxy"
        yield Finding("warning", "heartbeats", "only this machine can send pings", fix)


async def check_watchdog(heartbeats: Heartbeats) -> AsyncIterator[Finding]:
    """Recommend that a monitor elsewhere watches Tocsin."""
    if heartbeats.context.settings[HEARTBEAT_OUT_URL]:
        yield Finding("ok", "watchdog", "a monitor elsewhere is called each minute")
    else:
        detail = "no other machine would notice if this one stopped"
        yield Finding("off", "watchdog", detail, f"set {HEARTBEAT_OUT_URL.name} to a check at a monitor elsewhere")


CHECKS: Checks[Heartbeats] = (
    FeatureCheck(check_file, at_start=True),
    FeatureCheck(check_heartbeats),
    FeatureCheck(check_watchdog),
)
