"""The table of changes: which records were created, updated or deleted, by any process.

Triggers insert its rows in the transaction of each change: none is missing, and each describes a committed change.
`core/storage/change_feed.py` reads it. This module contains only text, because every start imports the tables of
features.
"""

from collections.abc import Sequence

# Rows within both limits are kept: the newest by number, and those of the last seconds.
KEEP_ROWS, KEEP_S = 1_000, 300
# The maximum number of rows, however fast records change.
MOST_ROWS = 100_000
_TIDY_EVERY, _TIDY_AT_MOST = 100, 500  # rows: deleting a few at a time keeps each write cheap

_NOW = "(julianday('now') - 2440587.5) * 86400.0"  # Unix seconds; `unixepoch('subsec')` needs SQLite 3.42

# A released migration is never edited; a new one is added. AUTOINCREMENT: numbers of deleted rows are not reused.
MIGRATIONS = (
    f"""
    CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        topic TEXT NOT NULL,
        subject TEXT NOT NULL,
        kind TEXT NOT NULL,
        at REAL NOT NULL DEFAULT ({_NOW})
    ) STRICT;
    CREATE TRIGGER changes_tidy AFTER INSERT ON changes WHEN new.seq % {_TIDY_EVERY} = 0 BEGIN
        DELETE FROM changes
        WHERE seq IN (SELECT seq FROM changes WHERE seq <= new.seq - {KEEP_ROWS} ORDER BY seq LIMIT {_TIDY_AT_MOST})
            AND (at < new.at - {KEEP_S} OR at > new.at + {KEEP_S} OR seq <= new.seq - {MOST_ROWS});
    END;
    """,  # noqa: S608  # our own numbers
)


def recorded(table: str, topic: str, *, key: str = "id", columns: Sequence[str] = ()) -> str:
    """Return a migration that records every change of `table` under `topic`, with `key` as the subject column.

    With `columns`, only updates that set one of these are recorded. It must follow the migrations that create the
    table.
    """
    return "".join(
        _trigger(f"{table}_{kind}", f"{event} ON {table}", topic, f"{row}.{key}", kind)
        for kind, event, row in (
            ("created", "INSERT", "new"),
            ("updated", _update(columns), "new"),
            ("deleted", "DELETE", "old"),
        )
    )


def recorded_as_update(table: str, topic: str, *, key: str) -> str:
    """Return a migration that records inserts and updates of `table` as updates of the record in `key`.

    For parts of a record that have a table of their own, such as the steps of a run.
    """
    return "".join(
        _trigger(f"{table}_{word}", f"{word.upper()} ON {table}", topic, f"new.{key}", "updated")
        for word in ("insert", "update")
    )


def recorded_where(condition: str, table: str, topic: str, *, key: str, columns: Sequence[str]) -> str:
    """Return a migration that records updates of `columns` in some rows of `table` as updates of the record in `key`.

    `condition` is an SQL condition about `new`. For records with counts from another table, such as a job and its runs.
    """
    event = f"{_update(columns)} ON {table} WHEN {condition}"
    return _trigger(f"{topic}_in_{table}", event, topic, f"new.{key}", "updated")


def _update(columns: Sequence[str]) -> str:
    return f"UPDATE OF {', '.join(columns)}" if columns else "UPDATE"


def _trigger(name: str, event: str, topic: str, subject: str, kind: str) -> str:
    insert = f"INSERT INTO changes (topic, subject, kind) VALUES ('{topic}', {subject}, '{kind}')"  # noqa: S608  # our own words
    return f"CREATE TRIGGER changes_of_{name} AFTER {event} BEGIN {insert}; END;\n"


def noted(table: str, into: str, *, key: str = "id") -> str:
    """Return a migration that logs new states of the rows of `table` in a separate table.

    For records whose frequent changes would displace the others: the latest 5,000 are kept, and `SqliteChangeStream`
    reads them.
    """
    return f"""
    CREATE TABLE {into} (seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL) STRICT;
    CREATE TRIGGER {into}_created AFTER INSERT ON {table} BEGIN
        INSERT INTO {into} (subject) VALUES (new.{key});
    END;
    CREATE TRIGGER {into}_updated AFTER UPDATE OF status ON {table} WHEN new.status <> old.status BEGIN
        INSERT INTO {into} (subject) VALUES (new.{key});
    END;
    CREATE TRIGGER {into}_tidy AFTER INSERT ON {into} WHEN new.seq % 500 = 0 BEGIN
        DELETE FROM {into} WHERE seq <= new.seq - 5000;
    END;
    """  # noqa: S608  # our own words
