"""Text that a stranger makes as expensive as he can, at the largest size that is let in: the worst processor time."""

import time
from collections.abc import Callable, Iterable

from report import Row, absolute

from tocsin.core.text.markup import PlainText, render
from tocsin.core.text.measures import utf16_units
from tocsin.core.text.redaction import Redactor
from tocsin.features.triggers.patterns import Pattern

PARSED = ("*" * 100_000, "_a_*" * 25_000, "`a``b```c" * 11_000, "<a@" * 30_000, "a\n\n" * 30_000, "- a\n" * 24_000)
CUT = ("word " * 200_000, "x" * 1_000_000, "a **b**\n\n" * 110_000)
MASKED = ("a", "bot1234:", "://a:", "Bearer ", "/webhooks/1/", "YWFh", "\\", "%")
PATTERNS = (r"(a+)+$", r"(.*)*b$", r"^(a?){500}a{500}$", r"(.*a){20}", r"(.*)(.*)(.*)(.*)(.*)=", r"(a{1,30}){30}b")
SEARCHED = ("a" * 65_536, " " * 65_536 + "x", "ab " * 21_845)


def measure() -> list[Row]:
    """Return the slowest of each kind."""
    redact = Redactor(["aaaa", "a" * 30 + "b"])
    return [
        absolute("Markdown, 100,000 characters, worst", _worst(_show, PARSED), 5.0, "s"),
        absolute("Markdown, a megabyte, worst", _worst(_show, CUT), 5.0, "s"),
        absolute(
            "Masking secrets in 200,000 repeated pieces, worst", _worst(redact, (p * 200_000 for p in MASKED)), 2.0, "s"
        ),
        absolute("A trigger's pattern on 64 KiB, worst", max(_worst(_find(p), SEARCHED) for p in PATTERNS), 2.0, "s"),
    ]


def _worst(work: Callable[[str], object], texts: Iterable[str]) -> float:
    def cost(text: str) -> float:
        begun = time.process_time()
        work(text)
        return time.process_time() - begun

    return max(map(cost, texts))


def _show(source: str) -> object:
    return render(source, PlainText(4_000, utf16_units))


def _find(pattern: str) -> Callable[[str], object]:
    compiled = Pattern.compile(pattern)
    return lambda text: compiled.find(text.encode())
