"""What a scenario found out: figures, each with what it must be."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# What these measure is the machine as well as the program: told always, required at full size only.
_OF_SPEED = frozenset({"s", "ms", "µs", "/s", "of a processor"})

_MET: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "≤": operator.le,
    "≥": operator.ge,
    "": lambda _value, _limit: True,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; without a sign it is only told."""

    what: str
    value: float
    sign: str = ""
    limit: float = 0
    unit: str = ""
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether it is what it must be."""
        return _MET[self.sign](self.value, self.limit)

    @property
    def of_speed(self) -> bool:
        """Whether it says how fast something was."""
        return self.unit in _OF_SPEED

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return f"{_number(self.value)} {self.unit}".strip()

    @property
    def required(self) -> str:
        """What it must be, or nothing."""
        return f"{self.sign} {_number(self.limit)} {self.unit}".strip() if self.sign else ""

    def __str__(self) -> str:
        return f"{self.what}: {self.shown} (must be {self.required or 'anything'}) {self.detail}".rstrip()


def none_of(what: str, found: Iterable[object]) -> Figure:
    """Return the figure of things of which there must be none; names the first few."""
    listed = list(found)
    return Figure(what, len(listed), "=", 0, detail=", ".join(str(item) for item in listed[:5]))


def must_be_met(figures: Iterable[Figure]) -> None:
    """Raise with every figure that is not what it must be, those of speed left out."""
    wrong = [str(figure) for figure in figures if not (figure.met or figure.of_speed)]
    assert not wrong, "\n".join(wrong)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which that share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"
