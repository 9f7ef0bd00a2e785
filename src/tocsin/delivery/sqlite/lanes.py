"""Lanes and rates in SQLite: which delivery may be sent now. Every function runs inside one transaction.

Waits are kept in monotonic time, which clock changes do not affect; wall time is kept for people, and for `not_before`
and `expires_at`, which are defined in it.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tocsin.core.text.strings import storable
from tocsin.core.time.ratelimit import LATE_SHARE, SHARE
from tocsin.delivery.model import (
    LEASE_S,
    LONGEST_HOLD_S,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    Rate,
    judge_abandoned,
    pack_extra,
    read_policy,
)
from tocsin.delivery.store import ChannelRules, DeliveryHold, with_reason

# Rows of each kind that one claim ends, wakes or deletes at most, which bounds its duration.
TIDY_BATCH = 500
# A full bucket is deleted after this time, so that a lane that sends steadily keeps its row.
FULL_S = 60.0


@dataclass(frozen=True, slots=True)
class Now:
    """The present time on both clocks, and the boot that the monotonic one counts from."""

    wall: float
    mono: float
    boot: str = ""


def bucket_keys(channel: str, target: str, rules: ChannelRules) -> Iterator[tuple[str, Rate | None]]:
    """Yield the buckets that a message to `target` uses."""
    yield account_key(channel), rules.account_rate
    yield target_key(channel, target), rules.target_rate
    if rules.group_rate and rules.group_prefix and target.startswith(rules.group_prefix):
        yield f"group|{channel}|{target}", rules.group_rate


def account_key(channel: str) -> str:
    """Return the name of the bucket of a whole channel."""
    return f"account|{channel}"


def target_key(channel: str, target: str) -> str:
    """Return the name of the bucket of one lane."""
    return f"target|{channel}|{target}"


def allowed_at(connection: sqlite3.Connection, key: str, rate: Rate | None, now: Now) -> float:
    """Return the monotonic time from which the bucket has a free message."""
    row = connection.execute("SELECT tat, blocked_until FROM pace WHERE key = ?", [key]).fetchone()
    if row is None:
        return 0.0
    spare_s = (rate.burst - 1) * rate.interval_s / SHARE if rate else 0.0
    blocked_until = row["blocked_until"] if row["blocked_until"] <= now.mono + LONGEST_HOLD_S else 0.0
    return float(max(row["tat"] - spare_s, blocked_until))


def take(connection: sqlite3.Connection, channel: str, target: str, rules: ChannelRules, now: Now) -> float:
    """Take one message from the buckets of `target`; return the seconds until it may be sent."""
    buckets = list(bucket_keys(channel, target, rules))
    turn = max(now.mono, *(allowed_at(connection, key, rate, now) for key, rate in buckets))
    for key, rate in buckets:
        if rate is not None:
            step = rate.interval_s / SHARE
            late = LATE_SHARE * step if key == account_key(channel) else 0.0
            connection.execute(
                "INSERT INTO pace (key, tat) VALUES (:key, :turn + :step) ON CONFLICT (key) DO UPDATE"
                " SET tat = iif(:turn - tat BETWEEN 0 AND :late, tat, max(tat, :turn)) + :step",
                {"key": key, "turn": turn, "step": step, "late": late},
            )
    return turn - now.mono


def block(connection: sqlite3.Connection, key: str, wait_s: float, reason: str, now: Now) -> None:
    """Hold the bucket, as the provider asked with `reason`."""
    connection.execute(
        "INSERT INTO pace (key, blocked_until, blocked_until_wall, reason) VALUES (:key, :mono, :wall, :reason)"
        " ON CONFLICT (key) DO UPDATE SET blocked_until = :mono, blocked_until_wall = :wall, reason = :reason"
        " WHERE blocked_until < :mono",
        {"key": key, "mono": now.mono + wait_s, "wall": now.wall + wait_s, "reason": storable(reason)},
    )


def find_hold(connection: sqlite3.Connection, key: str, now: Now) -> DeliveryHold | None:
    """Return the provider's hold of the bucket, or `None`."""
    # Before the first claim after a reboot, a reader finds monotonic times of the previous boot.
    sql = (
        "SELECT iif((SELECT id FROM boot) = ?, blocked_until - ?, blocked_until_wall - ?) AS left, reason"
        " FROM pace WHERE key = ?"
    )
    row = connection.execute(sql, [now.boot, now.mono, now.wall, key]).fetchone()
    return DeliveryHold(now.wall + row["left"], row["reason"]) if row and 0 < row["left"] <= LONGEST_HOLD_S else None


def explain(connection: sqlite3.Connection, delivery: Delivery, now: Now) -> Delivery:
    """Return the delivery, with the reason if it waits."""
    if delivery.status not in WAITING:
        return delivery
    channel, target = delivery.channel, delivery.target
    first = connection.execute(
        "SELECT * FROM deliveries INDEXED BY deliveries_lane WHERE channel = ? AND target = ?"
        " AND asleep = 0 AND status IN ('queued', 'sending', 'retry_wait') ORDER BY seq LIMIT 1",
        [channel, target],
    ).fetchone()
    here = find_hold(connection, target_key(channel, target), now)
    everywhere = find_hold(connection, account_key(channel), now)
    return with_reason(delivery, here, everywhere, to_delivery(first) if first else None)


def tidy(connection: sqlite3.Connection, now: Now) -> None:
    """Handle dead workers, expired and scheduled deliveries, and full buckets."""
    _free_dead_lanes(connection, now)
    _expire(connection, now)
    _wake_scheduled(connection, now)
    connection.execute(
        "DELETE FROM pace WHERE key IN"
        " (SELECT key FROM pace INDEXED BY pace_full WHERE max(tat, blocked_until) <= ? LIMIT ?)",
        [now.mono - FULL_S, TIDY_BATCH],
    )


def _free_dead_lanes(connection: sqlite3.Connection, now: Now) -> None:
    rows = connection.execute(
        "SELECT d.*, l.recognises_repeats FROM lanes l JOIN deliveries d ON d.seq = l.sending"
        " WHERE l.worker <> '' AND l.lease_until <= ? LIMIT ?",
        [now.mono, TIDY_BATCH],
    ).fetchall()
    for row in rows:
        outcome = judge_abandoned(to_delivery(row), recognises_repeats=bool(row["recognises_repeats"]))
        end_try(connection, row, outcome, now)


def _expire(connection: sqlite3.Connection, now: Now) -> None:
    rows = connection.execute(
        "SELECT seq, channel, target FROM deliveries INDEXED BY deliveries_mortal WHERE expires_at <= ?"
        " AND expires_at IS NOT NULL AND status IN ('queued', 'retry_wait') LIMIT ?",
        [now.wall, TIDY_BATCH],
    ).fetchall()
    for row in rows:
        connection.execute(
            "UPDATE deliveries SET status = 'expired', asleep = 0, finished_at = ?, next_attempt_at = NULL,"
            " error = 'not sent before it expired' || iif(error = '', '', '; last try: ' || error) WHERE seq = ?",
            [now.wall, row["seq"]],
        )
        hurry_lane(connection, row["channel"], row["target"], now)


def _wake_scheduled(connection: sqlite3.Connection, now: Now) -> None:
    rows = connection.execute(
        "SELECT seq, channel, target FROM deliveries INDEXED BY deliveries_asleep"
        " WHERE asleep = 1 AND not_before <= ? ORDER BY not_before LIMIT ?",
        [now.wall, TIDY_BATCH],
    ).fetchall()
    for row in rows:
        connection.execute("UPDATE deliveries SET asleep = 0 WHERE seq = ?", [row["seq"]])
        open_lane(connection, row["channel"], row["target"], now)
        hurry_lane(connection, row["channel"], row["target"], now)


def claim_channel(
    connection: sqlite3.Connection, worker: str, channel: str, rules: ChannelRules, limit: int, now: Now
) -> list[Delivery]:
    """Lease up to `limit` due lanes of one channel, within its account's rate."""
    claimed: list[Delivery] = []
    account = account_key(channel)
    if limit <= 0 or allowed_at(connection, account, rules.account_rate, now) > now.mono:
        return claimed
    # Some lanes may have to wait for their rate; they are then not due before that.
    lanes = connection.execute(
        "SELECT target FROM lanes INDEXED BY lanes_due WHERE channel = ? AND worker = '' AND due_mono <= ?"
        " ORDER BY due_mono LIMIT ?",
        [channel, now.mono, 4 * limit],
    ).fetchall()
    for (target,) in lanes:
        if delivery := _claim_lane(connection, worker, channel, target, rules, now):
            claimed.append(delivery)
            if len(claimed) >= limit or allowed_at(connection, account, rules.account_rate, now) > now.mono:
                break
    return claimed


def _claim_lane(
    connection: sqlite3.Connection, worker: str, channel: str, target: str, rules: ChannelRules, now: Now
) -> Delivery | None:
    row = _first(connection, channel, target, now)
    due = max(allowed_at(connection, key, rate, now) for key, rate in bucket_keys(channel, target, rules))
    if row is None or max(row["due_mono"], due) > now.mono:
        free_lane(connection, channel, target, now, not_before=due)
        return None
    take(connection, channel, target, rules, now)
    connection.execute(
        "UPDATE lanes SET worker = ?, lease_until = ?, sending = ?, recognises_repeats = ?"
        " WHERE channel = ? AND target = ?",
        [worker, now.mono + LEASE_S, row["seq"], rules.recognises_repeats, channel, target],
    )
    connection.execute(
        "UPDATE deliveries SET status = 'sending', attempts = attempts + 1, next_attempt_at = NULL WHERE seq = ?",
        [row["seq"]],
    )
    changed = connection.execute("SELECT * FROM deliveries WHERE seq = ?", [row["seq"]]).fetchone()
    return to_delivery(changed)


def _first(connection: sqlite3.Connection, channel: str, target: str, now: Now) -> sqlite3.Row | None:
    """Return the first delivery of a lane; put one with a future `not_before` back to sleep."""
    while True:
        row: sqlite3.Row | None = connection.execute(
            "SELECT seq, due_mono, status = 'queued' AND not_before > ? AS early"
            " FROM deliveries INDEXED BY deliveries_lane WHERE channel = ? AND target = ?"
            " AND asleep = 0 AND status IN ('queued', 'sending', 'retry_wait') ORDER BY seq LIMIT 1",
            [now.wall, channel, target],
        ).fetchone()
        if row is None or not row["early"]:
            return row
        connection.execute("UPDATE deliveries SET asleep = 1 WHERE seq = ?", [row["seq"]])


def end_try(connection: sqlite3.Connection, row: sqlite3.Row, outcome: AttemptOutcome, now: Now) -> None:
    """Record the outcome of an attempt, and free its lane."""
    channel, target = row["channel"], row["target"]
    waits = outcome.status is DeliveryStatus.RETRY_WAIT
    open_ = outcome.status in WAITING
    connection.execute(
        "UPDATE deliveries SET status = ?, parts_sent = ?, parts_total = ?, provider_id = ?, error = ?,"
        " error_class = ?, duration_ms = ?, due_mono = ?, next_attempt_at = ?, finished_at = ?,"
        " failures = failures + ?, operation = ?, revision = ?, note = ?, ref = ? WHERE seq = ?",
        [
            str(outcome.status),  # sqlite3 looks for an adapter of an enum, and not of a text
            outcome.parts_sent,
            outcome.parts_total,
            storable(outcome.provider_id) or row["provider_id"],
            storable(outcome.error),
            outcome.error_class,
            outcome.duration_ms,
            now.mono + outcome.wait_s if waits else 0.0,
            now.wall + outcome.wait_s if waits else None,
            None if open_ else now.wall,
            int(open_ and not outcome.throttled),
            str(outcome.operation),
            outcome.revision,
            storable(outcome.note),
            outcome.ref,
            row["seq"],
        ],
    )
    if outcome.kept_files:
        whole = connection.execute("SELECT * FROM deliveries WHERE seq = ?", [row["seq"]]).fetchone()
        extra = pack_extra(to_delivery(whole).keeping(outcome.kept_files).extra)
        connection.execute("UPDATE deliveries SET extra = ? WHERE seq = ?", [extra, row["seq"]])
    if outcome.throttled:
        block(connection, target_key(channel, target), outcome.wait_s, outcome.error, now)
    if outcome.throttles_account:
        block(connection, account_key(channel), outcome.wait_s, outcome.error, now)
    free_lane(connection, channel, target, now)


def free_lane(connection: sqlite3.Connection, channel: str, target: str, now: Now, *, not_before: float = 0.0) -> None:
    """End the lease of a lane and compute when it is due; delete a lane without deliveries."""
    row = _first(connection, channel, target, now)
    if row is None:
        connection.execute("DELETE FROM lanes WHERE channel = ? AND target = ?", [channel, target])
        return
    # Never in the past, so that the lane goes behind all lanes that are due already.
    connection.execute(
        "UPDATE lanes SET worker = '', lease_until = 0, sending = NULL, due_mono = ? WHERE channel = ? AND target = ?",
        [max(row["due_mono"], not_before, now.mono), channel, target],
    )


def open_lane(connection: sqlite3.Connection, channel: str, target: str, now: Now) -> None:
    """Create the lane if it is missing; otherwise recompute when it is due."""
    connection.execute(
        "INSERT INTO lanes (channel, target, due_mono) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [channel, target, now.mono],
    )


def hurry_lane(connection: sqlite3.Connection, channel: str, target: str, now: Now) -> None:
    """Make the lane due now, because its first delivery may have changed."""
    connection.execute(
        "UPDATE lanes SET due_mono = min(due_mono, ?) WHERE channel = ? AND target = ?", [now.mono, channel, target]
    )


def seconds_to_next(connection: sqlite3.Connection, rules: Mapping[str, ChannelRules], now: Now) -> float | None:
    """Return the wait until the earliest lane, lease, scheduled or expiring delivery."""
    # Each query reads one entry of its index; otherwise the planner reads every lane of a channel.
    times = [
        ("SELECT min(lease_until) FROM lanes INDEXED BY lanes_leased WHERE worker <> ''", now.mono),
        ("SELECT min(not_before) FROM deliveries INDEXED BY deliveries_asleep WHERE asleep = 1", now.wall),
        (
            "SELECT min(expires_at) FROM deliveries INDEXED BY deliveries_mortal"
            " WHERE expires_at IS NOT NULL AND status IN ('queued', 'retry_wait')",
            now.wall,
        ),
    ]
    found = [(connection.execute(sql).fetchone()[0], base) for sql, base in times]
    for channel, rule in rules.items():
        sql = "SELECT min(due_mono) FROM lanes INDEXED BY lanes_due WHERE channel = ? AND worker = ''"
        due = connection.execute(sql, [channel]).fetchone()[0]
        if due is not None:
            free = allowed_at(connection, account_key(channel), rule.account_rate, now)
            found.append((max(due, free), now.mono))
    return min((max(0.0, at - base) for at, base in found if at is not None), default=None)


def adopt(connection: sqlite3.Connection, now: Now) -> None:
    """After a reboot, convert all waits to this boot's monotonic time, and end all leases.

    If the system has no boot ID, a reboot is not noticed, and retries wait too long.
    """
    times = {"wall": now.wall, "mono": now.mono, "latest": now.mono + LEASE_S}
    # A lease ending after now + LEASE_S predates a reboot, also if the system has no boot ID.
    connection.execute("UPDATE lanes SET lease_until = :mono WHERE worker <> '' AND lease_until > :latest", times)
    row = connection.execute("SELECT id FROM boot").fetchone()
    if row is not None and row["id"] == now.boot:
        return
    connection.execute("DELETE FROM boot")
    connection.execute("INSERT INTO boot VALUES (?)", [now.boot])
    connection.execute("DELETE FROM pace WHERE blocked_until_wall <= :wall", times)
    connection.execute("UPDATE pace SET tat = 0, blocked_until = :mono + blocked_until_wall - :wall", times)
    connection.execute(
        "UPDATE deliveries SET due_mono = :mono + max(0, next_attempt_at - :wall) WHERE status = 'retry_wait'", times
    )
    connection.execute("UPDATE lanes SET due_mono = :mono, lease_until = :mono", times)


def to_delivery(row: sqlite3.Row) -> Delivery:
    found = dict(zip(row.keys(), row, strict=True))  # a row compares the names of all columns for each of its values
    fields = {name: found[name] for name in Delivery.__slots__}
    fields["status"] = DeliveryStatus(found["status"])
    fields["policy"] = read_policy(found["policy"])
    fields["extra"] = json.loads(found["extra"]) if found["extra"] else {}
    fields["dismissed"] = bool(found["dismissed"])
    fields["operation"] = MessageOperation(found["operation"])
    return Delivery(**fields)
