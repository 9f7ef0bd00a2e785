"""Whether another process has a database open."""

import sqlite3
from contextlib import closing
from pathlib import Path


def is_in_use(path: Path) -> bool:
    """Return whether a process has the database open, also one that does nothing with it at present.

    Leaving the write-ahead log needs the file alone, and every connection holds a lock on it for as long as it is
    open. The next one that opens the database returns to the log.
    """
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=0.5)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            return True
    return False
