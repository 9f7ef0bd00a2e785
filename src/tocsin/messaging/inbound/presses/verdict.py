"""The first result of a press, for products on which a press has only one private answer."""

import asyncio

# How long that answer waits; the person sees a progress indicator meanwhile.
WAIT_S = 1.0


class PressVerdict:
    """The hint for the person; empty as soon as the work begins, or if there is none."""

    def __init__(self) -> None:
        self._hint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def decide(self, hint: str = "") -> None:
        """Set the hint; the first one counts."""
        if not self._hint.done():
            self._hint.set_result(hint)

    async def soon(self) -> str:
        """Return the hint if it is known within `WAIT_S`, else an empty text."""
        done, _ = await asyncio.wait({self._hint}, timeout=WAIT_S)
        return self._hint.result() if done else ""
