"""Track chat models that fail until the operator acts; notify the operator once per outage."""

import logging
from collections.abc import Awaitable, Callable

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.providers.contract import ProviderError

log = logging.getLogger(__name__)

Tell = Callable[[str], Awaitable[None]]


class ModelWatch:
    """Records one problem per model, in this process; temporary failures do not count."""

    def __init__(self, tell: Tell | None = None) -> None:
        """`tell` receives a sentence for the operator when a model begins to fail."""
        self.problems: dict[str, str] = {}  # by model: reason and remedy
        self._told: set[str] = set()
        self._tell = tell

    async def failed(self, model: str, error: TocsinError) -> None:
        """Record the failure of `model`, and notify the operator unless that was done."""
        if not needs_operator(error):
            return
        self.problems[model] = error.sentence()
        if model in self._told:
            return
        self._told.add(model)
        log.warning(
            "a chat model is unusable until the operator acts", extra={"model": model, "reason": error.sentence()}
        )
        try:
            if self._tell is not None:
                await self._tell(f"The chat model {model} cannot be used: {error.sentence()}.")
        except TocsinError as failure:
            self._told.discard(model)
            log.warning("the operator could not be notified about a chat model", extra={"reason": failure.sentence()})

    def worked(self, model: str) -> None:
        """Record an answer of `model`, which clears its problem."""
        self.problems.pop(model, None)
        self._told.discard(model)


def needs_operator(error: TocsinError) -> bool:
    """Whether retries are useless until the operator changes a setting or the account."""
    return isinstance(error, ConfigError) or (isinstance(error, ProviderError) and error.needs_operator)
