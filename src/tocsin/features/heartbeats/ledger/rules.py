"""The rules of heartbeats as pure functions: what a ping, the passing of time or a gap changes.

`docs/heartbeats.md` states them. Each function returns the new state with the rows that the ledger gets, one for each
expected instant. Periods expect one instant at a time, a schedule all of its instants.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from tocsin.core.time.timestamps import DAY_S, duration_words
from tocsin.features.heartbeats.model import (
    AfterDowntime,
    HeartbeatDefinition,
    HeartbeatInstant,
    HeartbeatState,
    InstantState,
    OpenRun,
    PingKind,
    ReceivedPing,
    Watched,
)
from tocsin.scheduling.missed import MAX_INSTANTS
from tocsin.scheduling.zones import load_zone

LONGEST_RUN_S = 3 * DAY_S  # longer durations mean that an end was lost; as healthchecks has it
_JUST_BEFORE_S = 1e-3
MAX_OPEN_RUNS = 50  # of one heartbeat; the oldest ones are forgotten


class Gap(NamedTuple):
    """A period in which no process took pings."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class HeartbeatDecision:
    """A new state, and the instants that were decided."""

    watched: Watched
    instants: tuple[HeartbeatInstant, ...] = ()
    duration_s: float | None = None  # of the run that a ping ended


def decide_at(definition: HeartbeatDefinition, watched: Watched) -> float | None:
    """Return when something has to be decided without a further ping."""
    times = [run.ends_by for run in watched.runs] if watched.state is not HeartbeatState.PAUSED else []
    if watched.due_at is not None:
        times.append(_deadline(definition, watched, watched.due_at))
    return min(times, default=None)


def begin(definition: HeartbeatDefinition, watched: Watched, now: float) -> Watched:
    """Return the state after the definition was changed, or the heartbeat resumed: expectations begin at `now`."""
    if watched.state is HeartbeatState.NEW:
        return replace(watched, due_at=None)
    return replace(watched, due_at=_next_due(definition, now), misses=0)


def take_ping(
    definition: HeartbeatDefinition, watched: Watched, ping: ReceivedPing, n: int, now: float
) -> HeartbeatDecision:
    """Return what the ping `n` changes, which arrived at `now`."""
    watched = replace(watched, last_ping_at=now, last_kind=str(ping.kind))
    if watched.state is HeartbeatState.PAUSED or ping.kind is PingKind.LOG:
        return HeartbeatDecision(watched)
    if ping.kind is PingKind.START:
        return HeartbeatDecision(replace(watched, runs=_started(definition, watched, ping.rid, now)))
    failed = ping.kind is PingKind.FAIL
    watched, duration_s = _ended(watched, ping, now)
    watched, instants = _counted(definition, watched, n, now, failed=failed)
    if failed:
        status = f"exit status {ping.exit_status}" if ping.exit_status else "its job reported a failure"
        return HeartbeatDecision(_moved(watched, HeartbeatState.DOWN, now, status), instants, duration_s)
    return HeartbeatDecision(replace(_moved(watched, HeartbeatState.UP, now), misses=0), instants, duration_s)


def pass_time(definition: HeartbeatDefinition, watched: Watched, now: float) -> HeartbeatDecision:
    """Return what `now` decides: missed instants, and runs that are overdue."""
    instants: list[HeartbeatInstant] = []
    watched = _overdue_runs(definition, watched, now)
    is_paused = watched.state is HeartbeatState.PAUSED
    while watched.due_at is not None and _deadline(definition, watched, watched.due_at) <= now:
        due = watched.due_at
        following = _following(definition, watched, due, now)
        if is_paused:
            instants.append(HeartbeatInstant(due, InstantState.PAUSED))
            watched = replace(watched, due_at=following)
            continue
        instants.append(HeartbeatInstant(due, InstantState.MISSED))
        watched = replace(watched, misses=watched.misses + 1, due_at=following)
        if watched.misses >= definition.misses:
            watched = _moved(watched, HeartbeatState.DOWN, now, _silence(definition, watched, due))
            if not definition.schedule:
                watched = replace(watched, due_at=None)  # an abandoned job would make rows forever
    return HeartbeatDecision(watched, tuple(instants[-MAX_INSTANTS:]))


def pass_gap(definition: HeartbeatDefinition, watched: Watched, gap: Gap) -> HeartbeatDecision:
    """Return what is known after a gap: pings of that time are lost, or are being sent again.

    An instant is unknown if its ping could have come during the gap; runs that were open then are forgotten.
    """
    forgets = definition.after_downtime is AfterDowntime.UNKNOWN
    instants = _judged(definition, watched, gap) if forgets else ()
    watched = replace(watched, runs=()) if forgets else watched
    if watched.due_at is None:
        return HeartbeatDecision(watched)
    if watched.state is HeartbeatState.PAUSED:
        instants = tuple(replace(instant, state=InstantState.PAUSED) for instant in instants)
    elif instants:
        watched = replace(watched, misses=watched.misses + sum(each.state is InstantState.MISSED for each in instants))
        if watched.state is HeartbeatState.UP:
            said = "Tocsin was not running when the ping was due"
            watched = _moved(watched, HeartbeatState.UNKNOWN, gap.end, said)
    due, from_now = watched.due_at, _next_due(definition, gap.end)
    if instants:
        due = _next_due(definition, instants[-1].due_at) if definition.schedule else from_now
    was_ahead = gap.start > gap.end  # the clock, before it was set back
    if due is not None and from_now is not None and (was_ahead or not definition.schedule):
        due = min(due, from_now)
    return HeartbeatDecision(replace(watched, due_at=due), instants)


def move(definition: HeartbeatDefinition, watched: Watched, by_s: float, now: float) -> Watched:
    """Return the state after the clock jumped to `now`: what counts elapsed time moves with it, a schedule does not.

    Of a schedule, the next instant is expected; one that comes again has its row already.
    """
    runs = tuple(OpenRun(run.rid, run.started_at + by_s, run.ends_by + by_s) for run in watched.runs)
    due = watched.due_at
    if due is not None and definition.schedule:
        following = _next_due(definition, now)
        due = following if following is None else min(due, following)
    elif due is not None:
        due += by_s
    return replace(watched, runs=runs, due_at=due)


def _deadline(definition: HeartbeatDefinition, watched: Watched, due: float) -> float:
    """Return until when the ping of an instant may come; a run that has started may take its time."""
    if watched.state is HeartbeatState.PAUSED:
        return due
    return max([due + definition.grace, *(run.ends_by for run in watched.runs)])


def _next_due(definition: HeartbeatDefinition, moment: float) -> float | None:
    instants = definition.instants()
    return moment + (definition.period or 0.0) if instants is None else instants.after(moment)


def _following(definition: HeartbeatDefinition, watched: Watched, due: float, now: float) -> float | None:
    """Return the instant after a missed one; of a schedule that was missed for very long, only the newest count."""
    instants = definition.instants()
    if instants is None:
        return None if watched.state is HeartbeatState.PAUSED else due + (definition.period or 0.0)
    following = instants.after(due)
    if following is None or now - following < DAY_S:
        return following
    newest = instants.newest(due, now, MAX_INSTANTS).found
    return newest[0] if newest else following


def _started(definition: HeartbeatDefinition, watched: Watched, rid: str, now: float) -> tuple[OpenRun, ...]:
    others = [run for run in watched.runs if run.rid != rid]
    return (*others[-MAX_OPEN_RUNS + 1 :], OpenRun(rid, now, now + definition.max_run_s))


def _ended(watched: Watched, ping: ReceivedPing, now: float) -> tuple[Watched, float | None]:
    """End the run of the ping's `rid`, without one every run; return the duration of the newest of them."""
    ended = [run for run in watched.runs if not ping.rid or run.rid == ping.rid]
    runs = tuple(run for run in watched.runs if run not in ended)
    duration_s = ping.duration_s
    if duration_s is None and ended and 0 <= now - ended[-1].started_at < LONGEST_RUN_S:
        duration_s = now - ended[-1].started_at
    return replace(watched, runs=runs, last_duration_s=duration_s), duration_s


def _counted(
    definition: HeartbeatDefinition, watched: Watched, n: int, now: float, *, failed: bool
) -> tuple[Watched, tuple[HeartbeatInstant, ...]]:
    """Return which instant a ping counts for, and what it leaves behind."""
    instants = definition.instants()
    if watched.due_at is None or instants is None:
        met = (
            () if watched.due_at is None else (HeartbeatInstant(watched.due_at, _met(watched.due_at, now, failed), n),)
        )
        return replace(watched, due_at=_next_due(definition, now)), met
    past = instants.newest(watched.due_at - _JUST_BEFORE_S, now, MAX_INSTANTS).found
    if past:  # the newest one that is due; earlier ones were missed
        missed = tuple(HeartbeatInstant(due, InstantState.MISSED) for due in past[:-1])
        found = HeartbeatInstant(past[-1], _met(past[-1], now, failed), n)
        return replace(watched, due_at=instants.after(past[-1])), (*missed, found)
    before = instants.newest(now - 2 * definition.grace, now, 1).found
    is_nearer = not before or watched.due_at - now < now - before[-1]
    if watched.due_at - now <= definition.grace and is_nearer:
        found = HeartbeatInstant(watched.due_at, _met(watched.due_at, now, failed), n)
        return replace(watched, due_at=instants.after(watched.due_at)), (found,)
    return watched, ()


def _met(due: float, now: float, failed: bool) -> InstantState:  # it reads as a sentence
    if failed:
        return InstantState.FAILED
    return InstantState.MET if now <= due else InstantState.LATE


def _overdue_runs(definition: HeartbeatDefinition, watched: Watched, now: float) -> Watched:
    overdue = [run for run in watched.runs if run.ends_by <= now]
    if not overdue or watched.state is HeartbeatState.PAUSED:
        return watched
    watched = replace(watched, runs=tuple(run for run in watched.runs if run not in overdue))
    started = local_time(definition, overdue[0].started_at)
    lasts = duration_words(definition.max_run_s)
    return _moved(watched, HeartbeatState.DOWN, now, f"the run that started at {started} has not ended within {lasts}")


def _judged(definition: HeartbeatDefinition, watched: Watched, gap: Gap) -> tuple[HeartbeatInstant, ...]:
    """Return the open instants up to the last one whose ping could have come during the gap.

    That is unknown; those whose time was over before were missed, and only not decided yet. At most the newest
    `MAX_INSTANTS`.
    """
    due = watched.due_at
    if due is None:
        return ()
    held = max((run.ends_by for run in watched.runs), default=0.0)
    instants = definition.instants()
    if instants is None:  # the end of a run that is lost would have met it, however early
        is_guess = watched.state is HeartbeatState.UNKNOWN  # due a period after another gap, whenever the job runs
        open_instants: Sequence[float] = [due] if is_guess or watched.runs or due <= gap.end + definition.grace else []
    else:
        open_instants = instants.newest(due - _JUST_BEFORE_S, gap.end, MAX_INSTANTS).found
    over = [max(instant + definition.grace, held) < gap.start for instant in open_instants]
    if all(over):
        return ()
    states = (InstantState.MISSED if is_over else InstantState.UNKNOWN for is_over in over)
    return tuple(map(HeartbeatInstant, open_instants, states))


def _moved(watched: Watched, state: HeartbeatState, now: float, reason: str = "") -> Watched:
    if watched.state is state:
        return watched
    return replace(watched, state=state, since=now, reason=reason)


def _silence(definition: HeartbeatDefinition, watched: Watched, due: float) -> str:
    last = f"the last one came at {local_time(definition, watched.last_ping_at)}" if watched.last_ping_at else ""
    expected = f"no ping at {local_time(definition, due)} nor within {duration_words(definition.grace)} after"
    return f"{expected}; {last}" if last else expected


def local_time(definition: HeartbeatDefinition, moment: float) -> str:
    """Return a time in the zone of the heartbeat, with the zone."""
    zone = load_zone(definition.timezone or "UTC")
    return f"{datetime.fromtimestamp(moment, zone):%Y-%m-%d %H:%M:%S} {zone.key}"
