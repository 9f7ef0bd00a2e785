"""The doors of a data directory as the rest of the program uses them."""

from collections.abc import Sequence
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.core.text.strings import number_of
from tocsin.features.context import ProfileUse, SubsystemState, SubsystemStatus
from tocsin.features.doors.model import as_record
from tocsin.features.doors.service import Doors
from tocsin.features.hooks import FeatureHooks


async def check_subsystem(doors: Doors) -> SubsystemStatus:
    """Return how many doors there are."""
    found = await doors.all()
    if not found:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no doors")
    last = max((each.last_at for each in found if each.last_at), default=None)
    counts = {"doors": len(found), "requests": sum(each.requests for each in found)}
    return SubsystemStatus(SubsystemState.OK, number_of(len(found), "door"), counts, last)


async def live_records(doors: Doors, ids: Sequence[str]) -> dict[str, Any]:
    """Return the records of doors that exist, by ID."""
    return {each.id: to_json(as_record(each)) for each in await doors.store.several(ids)}


async def profile_uses(doors: Doors) -> list[ProfileUse]:
    """Return the doors that send to profiles."""
    return [
        ProfileUse(each.definition.profile, "door", each.name) for each in await doors.all() if each.definition.profile
    ]


HOOKS = FeatureHooks[Doors](
    open=Doors,
    subsystems={"doors": check_subsystem},
    hourly=Doors.prune,
    live={"doors": live_records},
    profile_uses=profile_uses,
    needed_files=Doors.needed_files,
    needs_front_door=Doors.are_there,
)
