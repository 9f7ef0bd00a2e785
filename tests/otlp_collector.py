"""An OpenTelemetry collector: takes OTLP over HTTP as the real one does, and keeps the decoded spans."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.waiting import PATIENCE_S, until


@dataclass(frozen=True)
class ReceivedSpan:
    """One exported span; the IDs are hexadecimal, and `parent` is empty for the first span of a trace."""

    name: str
    trace_id: str
    span_id: str
    parent: str
    kind: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """The running collector, with what it received."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.bodies = b""
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.port = 0

    @property
    def url(self) -> str:
        """Return the value of OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the settings of a process that exports to this collector, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def named(self, name: str, **attributes: Any) -> list[ReceivedSpan]:
        """Return the spans with this name and these attributes, whose prefix `tocsin.` is left out."""
        wanted = {f"tocsin.{key}": value for key, value in attributes.items()}.items()
        return [span for span in self.spans if span.name == name and wanted <= span.attributes.items()]

    def wait_for(self, name: str, **attributes: Any) -> ReceivedSpan:
        """Return the first of these spans, once it was exported."""
        return until(lambda: self.named(name, **attributes), lambda: f"{name} in {self.spans}")[0]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Decode and keep an export."""
        assert path == "/v1/traces"
        self.headers.append(headers)
        self.bodies += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = _values(resource.resource.attributes)
            self.spans += [
                ReceivedSpan(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    kind=span.kind,
                    failed=span.status.code == 2,
                    attributes=_values(span.attributes),
                    resource=about,
                )
                for scope in resource.scope_spans
                for span in scope.spans
            ]


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: each.value.string_value or each.value.int_value for each in attributes}


@contextmanager
def running_collector() -> Iterator[Collector]:
    """Run a collector until the end of the block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if collector.status == 200:
                collector.take(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, name="collector")
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join(PATIENCE_S)
        server.server_close()
