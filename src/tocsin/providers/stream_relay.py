"""Relay the pieces of a streamed answer, and decide whether it may start over."""

from collections.abc import Callable


class StreamRelay:
    """Calls `on_text` with each piece; records whether there was one, and an exception of `on_text`."""

    def __init__(self, on_text: Callable[[str], None] | None, on_restart: Callable[[], None] | None) -> None:
        self._on_text = on_text
        self._on_restart = on_restart
        self._shown = False
        self.failure: Exception | None = None

    def __call__(self, piece: str) -> None:
        if self._on_text is None:
            return
        self._shown = True
        try:
            self._on_text(piece)
        except Exception as error:
            self.failure = error  # the caller's own: it must reach the caller unchanged
            raise

    def may_restart(self) -> bool:
        """Return whether the answer may start over; if pieces were shown, first declare them void."""
        if not self._shown:
            return True
        if self._on_restart is None:
            return False
        self._on_restart()
        self._shown = False
        return True
