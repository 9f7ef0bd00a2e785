"""Faults on request: a queue of misbehaviours that the next requests meet."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

BAD_GATEWAY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
LOGIN_PAGE = "<!doctype html><html><body><h1>Welcome to the hotel network</h1></body></html>"

KINDS = frozenset(
    {
        "status", "html_200", "redirect", "error", "rate_limited", "reset", "reset_after_accept",
        "stall", "drip", "endless_body", "broken_json",
        "cut", "unfinished", "hang", "slow", "empty", "shortened", "broken_event", "error_event",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour. Make it with the class methods; `only(operation)` narrows it to one operation.

    `accept` says whether the provider takes the message in before it misbehaves; where it does, the sender
    cannot know the outcome.
    """

    kind: str
    http_status: int = 200
    body: str = ""
    seconds: float = 0.0
    location: str = ""
    code: str = ""
    text: str = ""
    scope: str = ""
    accept: bool = False
    operation: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault kind {self.kind!r}; known: {', '.join(sorted(KINDS))}")

    @classmethod
    def status(cls, http_status: int, body: str = BAD_GATEWAY_PAGE, *, accept: bool = False) -> Fault:
        """Answer with this status and page, as a proxy in front of the provider would."""
        return cls("status", http_status=http_status, body=body, accept=accept)

    @classmethod
    def html_200(cls, body: str = LOGIN_PAGE) -> Fault:
        """Answer 200 with a web page, as a captive portal would."""
        return cls("html_200", body=body)

    @classmethod
    def redirect(cls, location: str, http_status: int = 302) -> Fault:
        """Send the caller elsewhere; a client that follows carries its token away."""
        return cls("redirect", http_status=http_status, location=location)

    @classmethod
    def error(cls, code: str | int, text: str = "", *, http_status: int = 0) -> Fault:
        """Refuse with the provider's own error of this code, in the provider's own shape."""
        return cls("error", code=str(code), text=text, http_status=http_status)

    @classmethod
    def rate_limited(cls, seconds: float = 1.0, *, scope: str = "user") -> Fault:
        """Refuse with the throttling answer; `scope` is `user`, `shared` or `global` (guildchat)."""
        return cls("rate_limited", http_status=429, seconds=seconds, scope=scope)

    @classmethod
    def reset(cls) -> Fault:
        """Reset the connection (TCP RST) before anything is taken in."""
        return cls("reset")

    @classmethod
    def reset_after_accept(cls) -> Fault:
        """Take the message in, then reset the connection instead of answering."""
        return cls("reset_after_accept", accept=True)

    @classmethod
    def stall(cls, seconds: float, *, accept: bool = True) -> Fault:
        """Stay silent, then answer; without `accept` nothing is taken in unless the caller waits."""
        return cls("stall", seconds=seconds, accept=accept)

    @classmethod
    def drip(cls, seconds: float = 0.5) -> Fault:
        """Answer rightly, one byte every `seconds`."""
        return cls("drip", seconds=seconds, accept=True)

    @classmethod
    def endless_body(cls) -> Fault:
        """Start a right answer and never end it."""
        return cls("endless_body", accept=True)

    @classmethod
    def broken_json(cls) -> Fault:
        """Answer 200 with the right JSON cut in the middle."""
        return cls("broken_json", accept=True)

    @classmethod
    def answer(cls, kind: str, seconds: float = 0.0) -> Fault:
        """Let the chat model's answer go wrong, everybody else's end in a reset.

        In the middle it is `cut` (the connection is lost), `unfinished` (it ends without saying why), `hang`
        (silence for `seconds`), `broken_event` or `error_event` (overloaded). `slow` waits `seconds` before each
        piece, `empty` has no text, `shortened` ends at the length limit.
        """
        return cls(kind, seconds=seconds, accept=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fault:
        """Make a fault from `{"kind": …, <its fields>}` with the defaults of that kind's class method.

        Raises `ValueError` for an unknown kind or field.
        """
        known = {f.name for f in fields(cls)}
        if unknown := set(data) - known:
            raise ValueError(f"unknown fault fields: {', '.join(sorted(unknown))}")
        kind = str(data.get("kind", ""))
        if kind not in KINDS:
            raise ValueError(f"unknown fault kind {kind!r}; known: {', '.join(sorted(KINDS))}")
        code = {"code": str(data["code"])} if "code" in data else {}
        return replace(_DEFAULTS[kind], **{**data, **code})

    def only(self, operation: str) -> Fault:
        """Let only this operation meet the fault (a method name, `POST messages`, an SMTP verb)."""
        return replace(self, operation=operation)

    def meets(self, operation: str) -> bool:
        """Say whether a request for `operation` meets this fault; letter case does not matter."""
        return self.operation.casefold() in ("", operation.casefold())


_DEFAULTS = {
    fault.kind: fault
    for fault in (
        Fault.status(502), Fault.html_200(), Fault.redirect("/"), Fault.error(""), Fault.rate_limited(),
        Fault.reset(), Fault.reset_after_accept(), Fault.stall(1.0), Fault.drip(), Fault.endless_body(),
        Fault.broken_json(), Fault.answer("cut"), Fault.answer("unfinished"), Fault.answer("hang", 60.0),
        Fault.answer("slow", 0.1), Fault.answer("empty"), Fault.answer("shortened"), Fault.answer("broken_event"),
        Fault.answer("error_event"),
    )
}  # fmt: skip


class FaultScript:
    """The faults the next requests meet, first in first out; a held fault meets every request after those."""

    def __init__(self) -> None:
        self._queue: deque[Fault] = deque()
        self._held: Fault | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def push(self, *faults: Fault, times: int = 1) -> None:
        """Queue the faults, the whole sequence `times` over."""
        self._queue.extend(faults * times)

    def hold(self, fault: Fault | None) -> None:
        """Let every request meet `fault` until it is replaced or, with None, lifted: an outage."""
        self._held = fault

    def clear(self) -> None:
        """Forget queue and held fault."""
        self._queue.clear()
        self._held = None

    def take(self, operation: str) -> Fault | None:
        """Give the fault this request meets, taking it from the queue."""
        for fault in self._queue:
            if fault.meets(operation):
                self._queue.remove(fault)
                return fault
        return self._held if self._held and self._held.meets(operation) else None

    def script(self, data: Any) -> None:
        """Apply `{"faults": [...], "times": n, "hold": {...}|null}` or a bare list of faults.

        Raises `ValueError` if it is anything else.
        """
        if isinstance(data, list):
            data = {"faults": data}
        if not isinstance(data, dict) or not data.keys() <= {"faults", "times", "hold"}:
            raise ValueError('expected {"faults": […], "times": n, "hold": {…}|null} or a list of faults')
        faults, times = data.get("faults", []), data.get("times", 1)
        if not isinstance(faults, list) or not all(isinstance(fault, dict) for fault in faults):
            raise ValueError("`faults` is a list of objects")
        if not isinstance(times, int):
            raise ValueError("`times` is a whole number")  # noqa: TRY004 - one error class for a malformed script
        made = [Fault.from_json(fault) for fault in faults]
        if "hold" in data:
            self.hold(Fault.from_json(data["hold"]) if data["hold"] else None)
        self.push(*made, times=times)

    def as_json(self) -> dict[str, Any]:
        """Give what is still to come."""
        return {
            "faults": [asdict(fault) for fault in self._queue],
            "hold": asdict(self._held) if self._held else None,
        }
