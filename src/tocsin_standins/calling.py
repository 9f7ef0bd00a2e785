"""Call a webhook as a provider does: signed, with a deadline, repeated until it is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

DEADLINE_S = 3.0  # Slack, Discord: a later answer does not count

Sleep = Callable[[float], Awaitable[Any]]
Headers = Callable[[int, str], Mapping[str, str]]  # headers of the attempt with this number, after this failure


@dataclass(frozen=True, slots=True)
class WebhookAttempt:
    """One attempt. `status` is 0 if no answer came; `failure` is the product's word for it, or empty."""

    attempt: int
    status: int
    failure: str
    elapsed_s: float
    body: bytes = b""
    content_type: str = ""

    @property
    def ok(self) -> bool:
        """Whether the webhook accepted it."""
        return not self.failure


async def call(
    url: str,
    body: bytes,
    headers: Headers,
    *,
    waits_s: Sequence[float] = (),
    deadline_s: float = DEADLINE_S,
    sleep: Sleep = asyncio.sleep,
) -> list[WebhookAttempt]:
    """Post `body`, with a retry after each of `waits_s` until one is answered with 2xx in time; return all attempts."""
    made: list[WebhookAttempt] = []
    timeout = aiohttp.ClientTimeout(total=deadline_s)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for number, wait_s in enumerate((0.0, *waits_s)):
            if number:
                await sleep(wait_s)
            made.append(await _attempt(session, url, body, number, headers(number, made[-1].failure if made else "")))
            if made[-1].ok:
                break
    return made


async def _attempt(
    session: aiohttp.ClientSession, url: str, body: bytes, number: int, headers: Mapping[str, str]
) -> WebhookAttempt:
    started = time.monotonic()
    status, failure, answer, sort = 0, "", b"", ""
    try:
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            status, answer, sort = response.status, await response.read(), response.content_type
            failure = "" if 200 <= status < 300 else "http_error"
    except TimeoutError:
        failure = "http_timeout"
    except (aiohttp.ClientError, OSError):
        failure = "connection_failed"
    return WebhookAttempt(number, status, failure, time.monotonic() - started, answer, sort)
