"""The findings of `tocsin doctor`, and the runner of its checks."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass

from tocsin.core.errors import TocsinError
from tocsin.terminal.packages import not_installed

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `state` is ok, warning, error or off."""

    state: str
    subject: str
    detail: str
    fix: str = ""
    logged: bool = False  # the check has already logged it

    def as_dict(self) -> dict[str, str]:
        """Return the finding for the JSON report."""
        return {"state": self.state, "subject": self.subject, "detail": self.detail, "fix": self.fix}


def failure(subject: str, error: TocsinError, state: str = "error") -> Finding:
    """Return the finding for a check that raised `error`."""
    return Finding(state, subject, str(error), error.hint)


async def collect(subject: str, findings: AsyncIterable[Finding] | Iterable[Finding]) -> list[Finding]:
    """Return the findings of a check; an error of the check, or a missing package, becomes the last finding."""
    found: list[Finding] = []
    try:
        async for finding in _each(findings):
            found.append(finding)  # noqa: PERF401  # findings before the error are kept
    except TocsinError as error:
        found.append(failure(subject, error))
    except ModuleNotFoundError as error:
        if not (missing := not_installed(error)):
            raise
        found.append(failure(subject, missing))
    return found


async def _each(findings: AsyncIterable[Finding] | Iterable[Finding]) -> AsyncIterator[Finding]:
    if isinstance(findings, Iterable):
        for finding in findings:
            yield finding
        return
    async for finding in findings:
        yield finding


def yield_first(words: list[str]) -> Iterator[str]:
    """Yield the first words, and the number of the remaining ones."""
    yield from words[:_SHOWN]
    if len(words) > _SHOWN:
        yield f"and {len(words) - _SHOWN} more"
