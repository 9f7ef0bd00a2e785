"""Logins: what ten thousand wrong passwords do to others, and whether the time of an answer tells which names exist."""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from report import Row, absolute

ADDRESSES, GUESSES_EACH, TIMED = 100, 100, 2_000
NAME, PASSWORD = "anna", "the right password of the benchmark"
# Cheap, so that a difference outside the hashing would stand out more than it does in use.
TIMED_MEMORY_KIB = 1024


def measure() -> list[Row]:
    """Return the rows; takes about three minutes."""
    rows = []
    kinds: dict[str, Callable[[int], str]] = {
        "for one name": lambda _: NAME,
        "each for another name": lambda number: f"name{number}",
    }
    for what, names in kinds.items():
        statuses, waits_ms, (login, login_s) = _flood([names(number) for number in range(ADDRESSES * GUESSES_EACH)])
        limit = 50 if what == "for one name" else 5 * ADDRESSES
        rows += [
            absolute(
                f"10,000 wrong passwords from 100 addresses, {what}: how many were checked", statuses[401], limit, ""
            ),
            absolute("… refused unseen", statuses[429], 10_000 - limit, "", larger_is_better=True),
            absolute("… requests of a signed-in user, meanwhile: p50", statistics.median(waits_ms), 50, "ms"),
            absolute("… p99", statistics.quantiles(waits_ms, n=100)[-1], 500, "ms"),
            absolute(f"… signing in with the right password, meanwhile, is answered {login} after", login_s, 5, "s"),
        ]
    return [*rows, *asyncio.run(_timing())]


def _flood(names: Sequence[str]) -> tuple[Counter[int], list[float], tuple[int, float]]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        server = subprocess.Popen([sys.executable, __file__, folder], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            return asyncio.run(_attack(int(server.stdout.readline()), names))
        finally:
            server.terminate()
            server.wait(30)


async def _attack(port: int, names: Sequence[str]) -> tuple[Counter[int], list[float], tuple[int, float]]:
    status, head = await _ask(port, "198.51.100.1", "POST", "/login", _login(NAME, PASSWORD))
    assert status == 200, head
    cookie = head.partition("set-cookie: ")[2].partition(";")[0]
    statuses: Counter[int] = Counter()

    async def guess(number: int) -> None:
        for name in names[number::ADDRESSES]:
            guessed = _login(name, f"guess {random.random()}")  # it only has to be wrong
            statuses[(await _ask(port, f"192.0.2.{number}", "POST", "/login", guessed))[0]] += 1

    attack = asyncio.gather(*(guess(number) for number in range(ADDRESSES)))
    own_login = asyncio.create_task(_timed_login(port))
    waits_ms = []
    while not (attack.done() and own_login.done()):
        began = time.perf_counter()
        status, head = await _ask(port, "198.51.100.1", "GET", "/api/notifications", b"", f"Cookie: {cookie}")
        waits_ms.append((time.perf_counter() - began) * 1e3)
        assert status == 200, head
        await asyncio.sleep(0.02)
    await attack
    return statuses, waits_ms, await own_login


async def _timed_login(port: int) -> tuple[int, float]:
    await asyncio.sleep(0.5)
    began = time.perf_counter()
    status, _ = await _ask(port, "198.51.100.2", "POST", "/login", _login(NAME, PASSWORD))
    assert status in {200, 429}, status  # 429: fifty wrong ones close the name for all addresses
    return status, time.perf_counter() - began


def _login(name: str, password: str) -> bytes:
    return json.dumps({"username": name, "password": password}).encode()


async def _ask(port: int, address: str, method: str, path: str, body: bytes, *headers: str) -> tuple[int, str]:
    """Make one request as if it came from `address`; return status and head in lower case but for values."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", f"X-Forwarded-For: {address}"]
    lines += [f"Content-Length: {len(body)}", "Content-Type: application/json", *headers]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    head = (await reader.read()).partition(b"\r\n\r\n")[0].decode()
    writer.close()
    return int(head.split()[1]), head


async def _timing() -> list[Row]:
    """Compare how long an unknown name takes with how long a wrong password takes, over the whole application."""
    from tocsin.assembly.full.dashboard import create_dashboard
    from tocsin.features.notifications.feature import FEATURE
    from tocsin.testing.dashboard import DashboardClient
    from tocsin.testing.fakes import FakeClock
    from tocsin.testing.features import open_feature
    from tocsin.web.access.passwords import PasswordCost, hash_password

    hashed = hash_password(PASSWORD, PasswordCost(memory_kib=TIMED_MEMORY_KIB))
    env = {"DASHBOARD_USER": NAME, "DASHBOARD_PASS_HASH": hashed}
    clock = FakeClock()
    found: dict[str, list[float]] = {"anna": [], "bert": []}
    tries = [*found] * TIMED
    random.shuffle(tries)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        async with open_feature(FEATURE, Path(folder), env, clock=clock) as bench:
            client = DashboardClient(create_dashboard(bench.app, lambda: False), "")
            for name in ["bert", *tries]:
                clock.advance(400)  # no throttle: it would answer at once
                began = time.perf_counter()
                answer = await client.post("/login", {"username": name, "password": "a wrong password"})
                found[name].append((time.perf_counter() - began) * 1e3)
                assert answer.status == 401
    known, unknown = found["anna"], found["bert"][1:]
    medians = statistics.median(known), statistics.median(unknown)
    chance = _chance_to_tell(known, unknown)
    told = f"an unknown name takes {medians[1]:.3f} ms, a wrong password {medians[0]:.3f} ms (medians, cheap hashes)"
    # Of two equal distributions of 2,000 it is below 52.7 % in 997 of 1,000 measurements.
    return [absolute(f"{told}: how often the slower of two is of the same kind", chance * 100, 52.7, "%")]


def _chance_to_tell(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the statistic of Mann and Whitney, as a share: 0.5 means that nothing can be told."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    ranks = sum(rank for rank, (_, kind) in enumerate(ranked, start=1) if kind == 0)
    share = (ranks - len(one) * (len(one) + 1) / 2) / (len(one) * len(other))
    return max(share, 1 - share)


def _serve(folder: Path) -> None:
    """Serve the dashboard of a data directory with its login, until a signal."""
    from tocsin.assembly.full.dashboard import create_dashboard
    from tocsin.assembly.light import load_settings
    from tocsin.assembly.program import direct_transport, open_app
    from tocsin.cli.commands.services import run_on_uvloop
    from tocsin.core.config.core_variables import TRUSTED_PROXIES
    from tocsin.web.http.serving import Service, serve

    environ = {
        "TOCSIN_DATA_DIR": str(folder),
        "REDIS_URL": "off",
        "DASHBOARD_USER": NAME,
        "DASHBOARD_PASS": PASSWORD,
        "TRUSTED_PROXIES": "127.0.0.1",
        # The limits of requests would answer most of it: here the limit of wrong passwords is measured.
        "RATE_LIMIT_PER_IP": "1000000",
        "RATE_LIMIT_PER_USER": "1000000",
    }
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))

    async def main() -> None:
        async with open_app(settings, installed, direct_transport) as app:
            proxies = settings[TRUSTED_PROXIES]
            service = Service("it", "127.0.0.1", 0, "", lambda draining: create_dashboard(app, draining), proxies)
            await serve([service], ready=lambda at: print(at[service.name].rpartition(":")[2], flush=True))

    run_on_uvloop(main())


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
