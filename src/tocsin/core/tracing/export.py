"""Record spans with the SDK of OpenTelemetry, and export them by OTLP over HTTP, in a thread of their own.

The SDK gets every setting that Tocsin declares explicitly, because it reads no `.env` file. Its packages are imported
only if a collector is set.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tocsin.core.config.core_variables import (
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_RESOURCE_ATTRIBUTES,
    OTEL_SERVICE_NAME,
    OTEL_TRACES_SAMPLER,
    OTEL_TRACES_SAMPLER_ARG,
)
from tocsin.core.config.settings import Settings
from tocsin.core.config.values import read_pairs
from tocsin.core.tracing.spans import TRACEPARENT, SpanKind

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import Sampler
    from opentelemetry.trace import Span

# How long the end of a process waits for the export of its last spans.
FLUSH_S = 2.0
# Names of the semantic conventions: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
_NAMES = {"method": "http.request.method", "route": "http.route", "http_status": "http.response.status_code"}


class SdkTracer:
    """Records spans, and exports them in batches; a failing export is logged by the SDK and delays no message."""

    def __init__(self, settings: Settings) -> None:
        """Raise ModuleNotFoundError if the extra `otel` is not installed."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = _make_provider(settings)
        self._tracer = self._provider.get_tracer("tocsin")
        self._kinds = trace.SpanKind
        self._extract = TraceContextTextMapPropagator().extract

    def begin(self, name: str, kind: SpanKind, parent: str, attributes: Mapping[str, object]) -> "SdkSpan":
        context = self._extract({TRACEPARENT: parent}) if parent else None
        begun = SdkSpan(self._tracer.start_span(name, context, self._kinds[kind]))
        begun.set(**attributes)
        return begun

    async def aclose(self) -> None:
        """Export the spans that are left, for at most `FLUSH_S`; the rest is lost."""
        import asyncio
        from threading import Thread

        # The SDK waits for longer: a daemon thread ends with the process.
        flushing = Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, FLUSH_S)


class SdkSpan:
    """A span of the SDK."""

    def __init__(self, span: "Span") -> None:
        self._span = span
        context = span.get_span_context()
        self.traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def set(self, **attributes: object) -> None:
        """Set attributes; empty values are left out."""
        for name, value in attributes.items():
            if value not in {"", None}:
                kept = value if isinstance(value, int) else str(value)
                self._span.set_attribute(_NAMES.get(name, f"tocsin.{name}"), kept)

    def fail(self, kind: str) -> None:
        if not kind:
            return
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def end(self) -> None:
        self._span.end()


def _make_provider(settings: Settings) -> "TracerProvider":
    from importlib.metadata import version

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    about = {"service.name": settings[OTEL_SERVICE_NAME], "service.version": version("tocsin")}
    provider = TracerProvider(
        sampler=_make_sampler(settings[OTEL_TRACES_SAMPLER], settings[OTEL_TRACES_SAMPLER_ARG]),
        resource=Resource.create({**read_pairs(settings[OTEL_RESOURCE_ATTRIBUTES]), **about}),
        shutdown_on_exit=False,  # `aclose` bounds it
    )
    base = settings[OTEL_EXPORTER_OTLP_ENDPOINT]
    exporter = OTLPSpanExporter(
        endpoint=settings[OTEL_EXPORTER_OTLP_TRACES_ENDPOINT] or f"{base}/v1/traces",
        headers=read_pairs(settings[OTEL_EXPORTER_OTLP_HEADERS]),
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _make_sampler(name: str, share: float) -> "Sampler":
    """Return the sampler with the name that OTEL_TRACES_SAMPLER gives it."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, TraceIdRatioBased

    known: dict[str, Sampler] = {"always_on": ALWAYS_ON, "always_off": ALWAYS_OFF}
    sampler = known.get(name.removeprefix("parentbased_"), TraceIdRatioBased(share))
    return ParentBased(sampler) if name.startswith("parentbased_") else sampler
