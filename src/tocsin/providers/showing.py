"""What was shown of an answer so far, and whether it may begin anew."""

from collections.abc import Callable


class StreamRelay:
    """Hands pieces on; remembers that there were some, and an error of whoever gets them."""

    def __init__(self, on_text: Callable[[str], None] | None, on_restart: Callable[[], None] | None) -> None:
        self._on_text = on_text
        self._on_restart = on_restart
        self._shown = False
        self.failure: Exception | None = None

    def __call__(self, piece: str) -> None:
        """Show one piece."""
        if self._on_text is None:
            return
        self._shown = True
        try:
            self._on_text(piece)
        except Exception as error:
            self.failure = error  # not the provider's: it must reach the caller as it is
            raise

    def may_restart(self) -> bool:
        """Whether the answer may begin anew, and if pieces were shown, say that they are void."""
        if not self._shown:
            return True
        if self._on_restart is None:
            return False
        self._on_restart()
        self._shown = False
        return True
