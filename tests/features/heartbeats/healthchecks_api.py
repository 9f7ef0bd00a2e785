"""The list of checks in healthchecks' API v3, as `hc/api/models.py` (`Check.to_dict`) of August 2026 writes it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

FULL_KEY, READ_ONLY_KEY = "full-key-0123456789abcdefghijklmn", "read-only-0123456789abcdefghijkl"
_CHECK = {
    "name": "", "slug": "", "tags": "", "desc": "", "grace": 3600, "n_pings": 0, "status": "up", "started": False,
    "last_ping": None, "next_ping": None, "manual_resume": False, "methods": "", "subject": "", "subject_fail": "",
    "start_kw": "", "success_kw": "", "failure_kw": "", "filter_subject": False, "filter_body": False,
    "filter_http_body": False, "filter_default_fail": False, "badge_url": "http://hc.example.org/b/2/key.svg",
}  # fmt: skip


def check(name: str, n: int, **fields: Any) -> dict[str, Any]:
    """Return a check as the server keeps it, simple unless it has a `schedule`."""
    timing = {} if "schedule" in fields else {"timeout": 86_400}
    code = f"3c1169a0-7b50-4b2d-8b9c-{n:012}"
    return {**_CHECK, "name": name, "slug": name.lower(), "uuid": code, **timing, **fields}


def shown(found: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a check as a key shows it: a read-only one has no addresses."""
    code = found["uuid"]
    addresses = {"uuid": code, "ping_url": f"http://hc.example.org/ping/{code}", "channels": ""}
    plain = {name: value for name, value in found.items() if name != "uuid"}
    return {**plain, **(addresses if key == FULL_KEY else {"unique_key": code[-12:].rjust(40, "0")})}


@contextmanager
def healthchecks(checks: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Serve the API until the end of the block, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            key = self.headers.get("X-Api-Key", "")
            if self.path != "/api/v3/checks/":
                self.answer(404, {})
            elif key not in {FULL_KEY, READ_ONLY_KEY}:
                self.answer(401, {"error": "wrong api key"})
            else:
                self.answer(200, {"checks": [shown(each, key) for each in checks]})

        def answer(self, status: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
