"""One figure of a benchmark, and the table of them."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A measured figure beside what it is compared with, and the target it should meet."""

    what: str
    ours: str
    other: str
    figure: str
    target: str
    met: bool


def at_most(what: str, ours: float, other: float, limit: float, unit: str, other_name: str) -> Row:
    """Return the row of a ratio that should be small."""
    ratio = ours / other
    return Row(
        what,
        f"{ours:.3g} {unit}",
        f"{other_name} {other:.3g} {unit}",
        f"{ratio:.2f}×",
        f"≤ {limit}×",
        ratio <= limit,
    )


def at_least(what: str, ours: float, other: float, limit: float, unit: str, other_name: str) -> Row:
    """Return the row of a ratio that should be large."""
    ratio = ours / other
    return Row(
        what,
        f"{ours:,.0f} {unit}",
        f"{other_name} {other:,.0f} {unit}",
        f"{ratio:.1f}×",
        f"≥ {limit}×",
        ratio >= limit,
    )


def absolute(what: str, value: float, limit: float, unit: str, *, larger_is_better: bool = False) -> Row:
    """Return the row of a figure with an absolute target."""
    met = value >= limit if larger_is_better else value <= limit
    sign = "≥" if larger_is_better else "≤"
    return Row(what, f"{value:,.4g} {unit}", "", "", f"{sign} {limit:,g} {unit}", met)


def markdown(rows: Iterable[Row]) -> str:
    """Return the rows as the table that docs/measured.md shows."""
    lines = ["| what | Tocsin | compared with | ratio | target | met |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {r.what} | {r.ours} | {r.other} | {r.figure} | {r.target} | {'yes' if r.met else '**no**'} |" for r in rows
    ]
    return "\n".join(lines)
