"""The states of the subsystems of features."""

import logging

from tocsin.assembly.features import OpenFeatures
from tocsin.core.errors import TocsinError
from tocsin.features.context import AttentionItem, NoticeLevel, SubsystemState, SubsystemStatus

log = logging.getLogger(__name__)


async def feature_subsystems(features: OpenFeatures) -> dict[str, list[SubsystemStatus]]:
    """Return the status of each subsystem of a feature; one that fails has the state ERROR."""
    found: dict[str, list[SubsystemStatus]] = {}
    for feature in features.known.values():
        for subsystem in feature.subsystems:
            found.setdefault(subsystem.name, []).append(await _subsystem(features, feature.name, subsystem.name))
    return found


async def _subsystem(features: OpenFeatures, feature: str, name: str) -> SubsystemStatus:
    try:
        return await features.hooks(feature).subsystems[name](features.opened(feature))
    except TocsinError as error:
        return _failed(feature, error.sentence())
    except Exception as error:  # it may be a plug-in: the status of the others is shown
        log.exception("the status of a feature is unavailable", extra={"feature": feature})
        return _failed(feature, f"unexpected {type(error).__name__}: this is a bug, see the log for details")


def _failed(feature: str, why: str) -> SubsystemStatus:
    item = AttentionItem(NoticeLevel.ERROR, f"{feature}: {why}")
    return SubsystemStatus(SubsystemState.ERROR, why, attention=[item])
