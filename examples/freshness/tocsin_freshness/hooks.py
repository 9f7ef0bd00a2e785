"""What the feature does while the program runs."""

import asyncio
from typing import TYPE_CHECKING

from tocsin.features.context import AttentionItem, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks
from tocsin_freshness.service import Freshness

if TYPE_CHECKING:
    from tocsin_freshness.run_type import FreshnessRuns


async def subsystem(freshness: Freshness) -> SubsystemStatus:
    """Return how many folders there are, and which have no fresh backup."""
    if not freshness.folders:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no folders")
    states = await asyncio.gather(*map(freshness.look, freshness.folders))
    stale = [state for state in states if state.problem]
    return SubsystemStatus(
        SubsystemState.DEGRADED if stale else SubsystemState.OK,
        f"{len(states)} folders, {len(stale)} without a fresh backup",
        {"folders": len(states), "stale": len(stale)},
        max((state.newest_at for state in states if state.newest_at), default=None),
        attention=[
            AttentionItem(NoticeLevel.ERROR, f"the backups in {state.folder.name}: {state.problem}", "#/freshness")
            for state in stale
        ],
    )


def run_type(freshness: Freshness) -> "FreshnessRuns":
    """Return what the engine asks about checks."""
    from tocsin_freshness.run_type import FreshnessRuns

    return FreshnessRuns(freshness.context.abilities.notices)


async def names(freshness: Freshness) -> list[str]:
    """Return the names of all folders."""
    return [folder.name for folder in freshness.folders]


HOOKS = FeatureHooks[Freshness](
    open=Freshness,
    subsystems={"freshness": subsystem},
    run_types={"freshness": run_type},
    starts={"freshness": Freshness.start},
    subjects={"freshness": names},
)
