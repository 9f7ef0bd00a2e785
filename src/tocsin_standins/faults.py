"""Faults on request: a queue that the next requests consume."""

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
    """One fault, made by the class methods; `only(operation)` restricts it to one operation.

    `accept` says whether the provider accepts the message before the fault, which leaves the outcome unknown to the
    sender.
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
        """Answer with this status and page, as a proxy would."""
        return cls("status", http_status=http_status, body=body, accept=accept)

    @classmethod
    def html_200(cls, body: str = LOGIN_PAGE) -> Fault:
        """Answer 200 with a web page, as a captive portal does."""
        return cls("html_200", body=body)

    @classmethod
    def redirect(cls, location: str, http_status: int = 302) -> Fault:
        """Redirect; a client that follows it discloses its token."""
        return cls("redirect", http_status=http_status, location=location)

    @classmethod
    def error(cls, code: str | int, text: str = "", *, http_status: int = 0) -> Fault:
        """Refuse with the provider's error of this code, in its own form."""
        return cls("error", code=str(code), text=text, http_status=http_status)

    @classmethod
    def rate_limited(cls, seconds: float = 1.0, *, scope: str = "user") -> Fault:
        """Refuse with the throttling answer; `scope` is `user`, `shared` or `global` (guildchat)."""
        return cls("rate_limited", http_status=429, seconds=seconds, scope=scope)

    @classmethod
    def reset(cls) -> Fault:
        """Reset the connection (TCP RST) before accepting anything."""
        return cls("reset")

    @classmethod
    def reset_after_accept(cls) -> Fault:
        """Accept the message, then reset the connection instead of answering."""
        return cls("reset_after_accept", accept=True)

    @classmethod
    def stall(cls, seconds: float, *, accept: bool = True) -> Fault:
        """Wait, then answer; without `accept`, the message is accepted only if the caller waits."""
        return cls("stall", seconds=seconds, accept=accept)

    @classmethod
    def drip(cls, seconds: float = 0.5) -> Fault:
        """Answer correctly, one byte every `seconds`."""
        return cls("drip", seconds=seconds, accept=True)

    @classmethod
    def endless_body(cls) -> Fault:
        """Begin a correct answer and never end it."""
        return cls("endless_body", accept=True)

    @classmethod
    def broken_json(cls) -> Fault:
        """Answer 200 with the correct JSON cut in the middle."""
        return cls("broken_json", accept=True)

    @classmethod
    def answer(cls, kind: str, seconds: float = 0.0) -> Fault:
        """Spoil the stream of the chat model; other stand-ins reset the connection.

        The stream is `cut` (connection lost), `unfinished` (ends without a reason), `hang` (a pause of `seconds`),
        `broken_event` or `error_event` (overloaded). `slow` waits `seconds` before each piece, `empty` has no text,
        `shortened` ends at the length limit.
        """
        return cls(kind, seconds=seconds, accept=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fault:
        """Make a fault from `{"kind": …, <fields>}` with the defaults of that kind's class method.

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
        """Restrict the fault to an operation (a method name, `POST messages`, an SMTP verb)."""
        return replace(self, operation=operation)

    def meets(self, operation: str) -> bool:
        """Whether the fault applies to `operation`, ignoring letter case."""
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
    """The queue of faults, first in, first out; a held fault applies to every later request."""

    def __init__(self) -> None:
        self._queue: deque[Fault] = deque()
        self._held: Fault | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def push(self, *faults: Fault, times: int = 1) -> None:
        """Queue the faults `times` times."""
        self._queue.extend(faults * times)

    def hold(self, fault: Fault | None) -> None:
        """Apply `fault` to every request until it is replaced, or lifted with `None`: an outage."""
        self._held = fault

    def clear(self) -> None:
        self._queue.clear()
        self._held = None

    def take(self, operation: str) -> Fault | None:
        """Return the fault for this request, removing it from the queue."""
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
            raise ValueError("`times` is a whole number")  # noqa: TRY004  # one error class for a malformed script
        made = [Fault.from_json(fault) for fault in faults]
        if "hold" in data:
            self.hold(Fault.from_json(data["hold"]) if data["hold"] else None)
        self.push(*made, times=times)

    def as_json(self) -> dict[str, Any]:
        return {
            "faults": [asdict(fault) for fault in self._queue],
            "hold": asdict(self._held) if self._held else None,
        }
