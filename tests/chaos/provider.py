"""A provider that records every message with a timestamp, and does to each what the message itself asks for.

Run as a process: the first line of its output is its port; it ends when its standard input does. The text
of a message is JSON: `{"id": …, "plan": [fault, …]}`; its nth try meets the nth fault, every later one is
answered rightly. A message is *taken* when a person would have seen it. Times are CLOCK_MONOTONIC, which
all processes of a machine share.

It also sees to it that nothing outlives the suite, however that ends: on standard input it is told the id of
every process that was started, and with a minus sign of every one that has ended.
"""

import asyncio
import json
import os
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import httptools

PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
JSON = "application/json"


@dataclass(slots=True)
class Record:
    """Everything that happened: rows of time, id, target, channel, fault, taken, told wait."""

    delay_s: float = 0.0
    rows: list[tuple[float, str, str, str, str, int, float]] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    open: Counter[str] = field(default_factory=Counter)
    overlaps: int = 0


RECORD = Record()


class Connection(asyncio.Protocol):
    """One connection of a worker, or of the suite itself."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start parsing."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""
        self._url = b""
        self._lane = ""
        self._timers: list[asyncio.TimerHandle] = []

    def connection_lost(self, error: Exception | None) -> None:
        """Forget what was to come: the other side is gone."""
        for timer in self._timers:
            timer.cancel()
        self._leave()

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        """Keep the path."""
        self._url = url

    def on_body(self, body: bytes) -> None:
        """Keep the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Carry out one request."""
        url, body, self._body = self._url, self._body, b""
        if url == b"/send":
            self._send(json.loads(body))
        elif url == b"/delay":
            RECORD.delay_s = float(body)
            self._answer(b"{}")
        else:
            after = int(url.partition(b"?after=")[2] or 0)
            document = {"rows": RECORD.rows[after:], "overlaps": RECORD.overlaps, "now": time.monotonic()}
            self._answer(json.dumps(document).encode())

    def _send(self, message: dict[str, Any]) -> None:
        now = time.monotonic()
        text = json.loads(message["text"])
        channel, target = message["channel"], message["target"]
        number = RECORD.tries[text["id"]]
        RECORD.tries[text["id"]] += 1
        plan = text.get("plan", ())
        fault, _, value = (plan[number] if number < len(plan) else "ok").partition(":")
        seconds = float(value or 0)
        taken = fault not in {"429s", "429f", "429d", "429a", "429", "502", "reset"}
        if channel == "noncechat" and taken:
            taken = message["key"] not in RECORD.keys
            RECORD.keys.add(message["key"])
        self._enter(f"{channel} {target}")
        told = float(int(seconds)) if fault in {"429s", "429d", "429a"} else seconds
        RECORD.rows.append((now, text["id"], target, channel, fault, int(taken), told))
        if fault == "ok" and RECORD.delay_s:
            self._later(RECORD.delay_s, self._accept)
        else:
            self._misbehave(fault, seconds)

    def _misbehave(self, fault: str, seconds: float) -> None:
        if fault == "ok":
            self._accept()
        elif fault.startswith("429"):
            self._leave()
            now = int(time.time())
            told = _retry_after(fault, seconds, now)
            self._answer(b'{"error":"slow down"}', "429 Too Many Requests", more=told, now=now)
        elif fault == "502":
            self._leave()
            self._answer(PAGE, "502 Bad Gateway", kind="text/html")
        elif fault in {"reset", "reset-after"}:
            self._reset()
        elif fault == "json":
            self._leave()
            self._answer(b'{"id": 1')
        elif fault == "drip":
            self._drip(seconds)
        elif fault == "endless":
            self._endless()
        elif fault == "stall":
            self._later(seconds, self._accept)
        else:
            raise AssertionError(fault)

    def _accept(self) -> None:
        self._leave()
        self._answer(b'{"id":%d}' % len(RECORD.rows))

    def _answer(
        self, body: bytes, status: str = "200 OK", *, kind: str = JSON, more: str = "", now: int | None = None
    ) -> None:
        # An exact second of the clock makes the date form of Retry-After exact, too.
        more = more if now is None else f"Date: {formatdate(now, usegmt=True)}\r\n{more}"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        self.transport.write(head.encode() + body)

    def _drip(self, seconds: float) -> None:
        body = b'{"id": 1234567890}'
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n")
        for index in range(len(body)):
            self._later(index * seconds, lambda i=index: self.transport.write(body[i : i + 1]))  # type: ignore[misc]

    def _endless(self) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")

        def more() -> None:
            self.transport.write(b" " * 65536)
            self._later(0.005, more)

        more()

    def _reset(self) -> None:
        self._leave()
        known = self.transport.get_extra_info("socket")
        # Linger on, 0 seconds: closing then sends RST (socket(7)).
        known.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))
        del self._timers[:-40]

    def _enter(self, lane: str) -> None:
        self._lane = lane
        RECORD.overlaps += RECORD.open[lane] > 0
        RECORD.open[lane] += 1

    def _leave(self) -> None:
        if self._lane:
            RECORD.open[self._lane] -= 1
        self._lane = ""


def _retry_after(fault: str, seconds: float, now: int) -> str:
    if fault == "429":
        return ""
    if fault == "429d":
        return f"Retry-After: {formatdate(now + int(seconds), usegmt=True)}\r\n"
    if fault == "429a":  # the whole account is meant
        return f"X-Whole-Account: 1\r\nRetry-After: {int(seconds)}\r\n"
    return f"Retry-After: {int(seconds) if fault == '429s' else seconds}\r\n"


async def main() -> None:
    """Serve on a free port until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, guard)


def guard() -> None:
    """Keep the processes that the suite names, and end those left over when it is gone."""
    left: set[int] = set()
    for line in sys.stdin:
        number = int(line)
        (left.add if number > 0 else left.discard)(abs(number))
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main())
