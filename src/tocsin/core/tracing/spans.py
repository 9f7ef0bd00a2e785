"""Spans of the current trace, and the trace contexts that callers hand over (W3C Trace Context).

Without a tracer in the current context, `span` costs one look-up, and OpenTelemetry is not imported. Attributes are
kinds, states and IDs, never texts or targets.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

# The name of the header, of the field of a bus entry, and of the key in stored records.
TRACEPARENT = "traceparent"
TRACEPARENT_VARIABLE = "TRACEPARENT"  # of a command's environment
# Version 00; a later version may append fields. Source: https://www.w3.org/TR/trace-context/#traceparent-header
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


class SpanKind(StrEnum):
    """The role of a span, as OpenTelemetry defines it."""

    INTERNAL = "INTERNAL"
    SERVER = "SERVER"
    CLIENT = "CLIENT"
    PRODUCER = "PRODUCER"
    CONSUMER = "CONSUMER"


class OpenSpan(Protocol):
    """A span that has begun."""

    @property
    def traceparent(self) -> str:
        """The context that continues this span."""

    def set(self, **attributes: object) -> None:
        """Set attributes, whose names get the prefix `tocsin.`; empty values are left out."""

    def fail(self, kind: str) -> None:
        """Mark the span as failed, with the kind of the error; an empty kind changes nothing."""

    def rename(self, name: str) -> None:
        """Change the name."""

    def end(self) -> None:
        """End the span and queue it for export."""


class Tracer(Protocol):
    """Begins spans; `parent` is a valid traceparent, or empty for a new trace."""

    def begin(self, name: str, kind: SpanKind, parent: str, attributes: Mapping[str, object]) -> OpenSpan:
        """Begin a span."""


class TracePoint(NamedTuple):
    """The position of the current code in a trace; an empty traceparent is outside all traces."""

    tracer: Tracer
    traceparent: str = ""


class NoSpan:
    """Stands for a span while tracing is off."""

    traceparent = ""

    def __enter__(self) -> "NoSpan":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set(self, **attributes: object) -> None:
        """Ignore attributes."""

    def fail(self, kind: str) -> None:
        """Ignore a failure."""

    def rename(self, name: str) -> None:
        """Ignore a name."""


class CurrentSpan:
    """A span that is current within its `with` block; an exception fails it."""

    def __init__(self, tracer: Tracer, opened: OpenSpan) -> None:
        self._tracer = tracer
        self._opened = opened
        self.traceparent = opened.traceparent
        self.set = opened.set
        self.fail = opened.fail
        self.rename = opened.rename

    def __enter__(self) -> "CurrentSpan":
        self._token = _current.set(TracePoint(self._tracer, self.traceparent))
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _current.reset(self._token)
        if error is not None:
            self.fail(str(getattr(error, "kind", "") or getattr(error, "code", "") or type(error).__name__))
        self._opened.end()


_NO_SPAN = NoSpan()
_current: ContextVar[TracePoint | None] = ContextVar("tocsin_trace", default=None)


def span(
    name: str, kind: SpanKind = SpanKind.INTERNAL, /, *, parent: str = "", **attributes: object
) -> CurrentSpan | NoSpan:
    """Return a span for a `with` block; without a `parent`, it continues the current trace."""
    point = _current.get()
    if point is None:
        return _NO_SPAN
    return CurrentSpan(point.tracer, point.tracer.begin(name, kind, parent or point.traceparent, attributes))


def start_tracing(tracer: Tracer | None, traceparent: str = "") -> None:
    """Record spans with `tracer` in the current context and the tasks that it starts; `None` stops that."""
    _current.set(TracePoint(tracer, valid_traceparent(traceparent)) if tracer else None)


def current_tracer() -> Tracer | None:
    """Return the tracer of the current context, `None` while tracing is off."""
    point = _current.get()
    return point.tracer if point else None


def current_traceparent() -> str:
    """Return the context of the current span, `""` outside all traces."""
    point = _current.get()
    return point.traceparent if point else ""


def with_traceparent(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment for a command, with the context of the current span."""
    current = current_traceparent()
    return {**environment, TRACEPARENT_VARIABLE: current} if current else environment


def stored_traceparent(record: Mapping[str, Any]) -> str:
    """Return the context in a stored record, `""` if there is none."""
    return valid_traceparent(str(found)) if (found := record.get(TRACEPARENT)) else ""


def valid_traceparent(text: str) -> str:
    """Return a traceparent, or `""` if it is invalid: then a new trace begins, as the specification requires."""
    return text if _TRACEPARENT.fullmatch(text.strip()) and len(text) <= 200 else ""


def trace_ids() -> tuple[str, str]:
    """Return the IDs of the current trace and span, empty outside all traces."""
    found = _TRACEPARENT.fullmatch(current_traceparent())
    return (found[1], found[2]) if found else ("", "")
