"""The first lines of a request: where it goes, and its header."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from tocsin.core.http.transport import displayed_host


class RequestTarget(NamedTuple):
    """The parts of a URL: `origin` selects the connection pool, `path` goes into the request line."""

    origin: str
    host: str
    port: int
    secure: bool
    authority: str
    path: str


@lru_cache(maxsize=256)
def parse_target(url: str) -> RequestTarget:
    """Split `url` into its parts."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authority = displayed_host(url)
    host = parts.hostname or ""
    return RequestTarget(
        f"{parts.scheme}://{authority}", host, parts.port or (443 if secure else 80), secure, authority, path
    )


def in_full(place: RequestTarget) -> RequestTarget:
    """Return the absolute form that a proxy requires: RFC 9112, section 3.2.2."""
    return place._replace(path=place.origin + place.path)


def bracketed(host: str) -> str:
    """Return a host as it is written before a port."""
    return f"[{host}]" if ":" in host else host


def request_head(method: str, place: RequestTarget, headers: Mapping[str, str], length: int) -> bytes:
    """Return the request line and the header; raise ValueError if a line break would add to them."""
    lines = [f"{method} {place.path} HTTP/1.1", f"Host: {place.authority}", "Accept: */*"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if length or method != "GET":
        lines.append(f"Content-Length: {length}")
    head = "\r\n".join(lines)
    if head.count("\r") != len(lines) - 1 or head.count("\n") != len(lines) - 1 or "\0" in head:
        raise ValueError("a line break in a header or an address of a request")
    return f"{head}\r\n\r\n".encode()
