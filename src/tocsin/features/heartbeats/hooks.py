"""The heartbeats of a data directory as the rest of the program uses them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tocsin.core.records.as_json import to_json
from tocsin.core.text.strings import number_of
from tocsin.features.context import AttentionItem, NoticeLevel, ProfileUse, SubsystemState, SubsystemStatus
from tocsin.features.heartbeats.model import HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.hooks import FeatureHooks

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundMessage

NAMED = 5


async def check_subsystem(heartbeats: Heartbeats) -> SubsystemStatus:
    """Return how many heartbeats there are, and which are down."""
    found, now = await heartbeats.all(), heartbeats.now()
    attention = []
    if problem := heartbeats.problem:
        attention.append(AttentionItem(NoticeLevel.ERROR, str(problem)))
    if not found and not attention:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no heartbeats")
    counts = {str(state): sum(each.state(now) is state for each in found) for state in HeartbeatState}
    down = [each for each in found if each.watched.state is HeartbeatState.DOWN]
    attention += [
        AttentionItem(
            NoticeLevel.ERROR, f"heartbeat {each.name} is down: {each.watched.reason}", f"#/heartbeats/{each.name}"
        )
        for each in down[:NAMED]
    ]
    if len(down) > NAMED:
        attention.append(AttentionItem(NoticeLevel.ERROR, f"{len(down) - NAMED} further heartbeats are down"))
    said = number_of(len(found), "heartbeat") + (f", {len(down)} down" if down else "")
    pinged = [each.watched.last_ping_at for each in found if each.watched.last_ping_at]
    state = SubsystemState.DEGRADED if attention else SubsystemState.OK
    return SubsystemStatus(
        state, said, {"heartbeats": len(found), **counts}, max(pinged, default=None), attention=attention
    )


async def live_records(heartbeats: Heartbeats, ids: Sequence[str]) -> dict[str, Any]:
    """Return the records of heartbeats that exist, by ID."""
    records = await heartbeats.records(await heartbeats.store.several(ids))
    return {record.id: to_json(record) for record in records}


async def profile_uses(heartbeats: Heartbeats) -> list[ProfileUse]:
    found = [(each.name, each.definition.notify) for each in await heartbeats.all()]
    return [ProfileUse(notify, "heartbeat", name) for name, notify in found if notify and ":" not in notify]


async def answer_bot(heartbeats: Heartbeats, message: "InboundMessage") -> str:
    """Answer `/heartbeats`: those that are not up, and how many are."""
    now = heartbeats.now()
    found = await heartbeats.all()
    if not found:
        return "No heartbeats exist."
    lines = [
        f"{each.name}: {each.state(now)}" + (f" ({each.watched.reason})" if each.watched.reason else "")
        for each in found
        if each.state(now) is not HeartbeatState.UP
    ]
    up = sum(each.state(now) is HeartbeatState.UP for each in found)
    return "\n".join([*lines[:30], f"{up} of {number_of(len(found), 'heartbeat')} up"])


HOOKS = FeatureHooks[Heartbeats](
    open=Heartbeats,
    subsystems={"heartbeats": check_subsystem},
    hourly=Heartbeats.prune,
    bot_commands={"heartbeats": lambda heartbeats: lambda message: answer_bot(heartbeats, message)},
    live={"heartbeats": live_records},
    profile_uses=profile_uses,
    needs_front_door=Heartbeats.are_there,
)
