"""The watchers of a data directory as the rest of the program uses them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tocsin.core.errors import ConfigError
from tocsin.core.text.strings import number_of
from tocsin.features.context import AttentionItem, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks
from tocsin.features.watchers.model import WatcherRecord, WatcherState, change_of
from tocsin.features.watchers.service import NOT_WATCHED, Watchers
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import ActiveRun

_LINK = "#/watchers"


async def prune(watchers: Watchers) -> None:
    """Forget changes of earlier days, and failures whose runs were deleted."""
    await watchers.store.prune(watchers.context.clock.now())
    await watchers.forget_deleted()


async def start_watcher(watchers: Watchers, name: str, asked: StartRequest) -> ActiveRun:
    """Have a watcher act; `asked.params` has `path` and `event`, as the record of a run."""
    try:
        change = change_of(asked.params)
    except (KeyError, ValueError):
        raise ConfigError(
            f"watcher {name} needs a path and an event", hint="give path and event: created, modified, …"
        ) from None
    return await watchers.start(name, change, asked)


async def list_watchers(watchers: Watchers) -> Sequence[str]:
    return [rule.name for rule in watchers.rules.read()[0]]


async def check_subsystem(watchers: Watchers) -> SubsystemStatus:
    """Return the state of watchers: how many watch, which cannot, and which failed the last time."""
    problem = watchers.problem
    records = await watchers.list_rules()
    if not records and problem is None:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no watchers")
    attention = [AttentionItem(NoticeLevel.ERROR, str(problem).replace("\n", "; "), _LINK)] if problem else []
    failed = Counter(run.subject_id for run in await watchers.failed()) if records else {}
    attention += _troubles(records, failed)
    by_state = {state: sum(record.state == state for record in records) for state in map(str, WatcherState)}
    waiting = await watchers.store.waiting() if records else 0
    said = [number_of(len(records), "watcher"), f"{by_state[WatcherState.WATCHING]} watching"]
    said += [f"{by_state[s]} {w}" for s, w in (("paused", "paused"), ("error", "with errors")) if by_state[s]]
    events = [record.last_event.at for record in records if record.last_event]
    return SubsystemStatus(
        SubsystemState.DEGRADED if attention else SubsystemState.OK,
        ", ".join(said),
        {"watchers": len(records), **by_state, "waiting": waiting},
        max(events, default=None),
        attention=attention,
    )


def _troubles(records: Sequence[WatcherRecord], failed: Mapping[str, int]) -> list[AttentionItem]:
    found = []
    for record in records:
        name = record.rule.name
        link = f"{_LINK}/{name}"
        if record.error and record.error != NOT_WATCHED:
            level = NoticeLevel.WARNING if record.state is WatcherState.WATCHING else NoticeLevel.ERROR
            found.append(AttentionItem(level, f"watcher {name}: {record.error}", link))
        if failed.get(name):
            told = f"watcher {name} failed for {number_of(failed[name], 'file')}"
            told += f": run `tocsin watchers retry {name} --failed`"
            found.append(AttentionItem(NoticeLevel.WARNING, told, link))
    if any(record.error == NOT_WATCHED for record in records):
        found.append(
            AttentionItem(NoticeLevel.WARNING, "the folders of the watchers are not watched: start `tocsin up`", _LINK)
        )
    return found


HOOKS = FeatureHooks[Watchers](
    open=Watchers,
    subsystems={"watchers": check_subsystem},
    hourly=prune,
    starts={"watcher": start_watcher},
    subjects={"watcher": list_watchers},
)
