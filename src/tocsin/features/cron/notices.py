"""The notice about missed runs."""

from collections.abc import Mapping

from tocsin.features.context import Notice, NoticeLevel

_HOUR_S = 3600
_SHOWN = 10


def missed(counts: Mapping[str, int], now: float) -> Notice:
    """Return the notice about missed runs; `counts` are by the name of the job."""
    total = sum(counts.values())
    lines = [f"{name}: {count:,}" for name, count in sorted(counts.items())]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more jobs"]
    key = f"cron-missed:{int(now // _HOUR_S)}"
    title = f"{total:,} cron {'run was' if total == 1 else 'runs were'} missed"
    return Notice(title, "\n".join(lines), NoticeLevel.WARNING, "cron", "cron", "#/cron", key)
