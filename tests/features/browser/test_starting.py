"""Starting and stopping browsers, with a small program in their place."""

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.browser.conftest import Site
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.errors import ConfigError
from tocsin.core.process.identity import is_alive, read_identity
from tocsin.core.records.as_json import to_json
from tocsin.features.browser.model import BrowserError, BrowserInUseError, BrowserStatus, UnknownBrowserProfileError


def ended(pid: int) -> bool:
    return not is_alive(read_identity(pid))


async def kill(site: Site, pid: int, number: int = signal.SIGKILL) -> None:
    os.kill(pid, number)
    await eventually(lambda: ended(pid))


@contextmanager
def locked_by_a_browser(directory: Path) -> Iterator[None]:
    """Hold a data directory as a browser does that this process is."""
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{short}/SingletonSocket")
        listener.listen()
        (directory / "SingletonSocket").symlink_to(f"{short}/SingletonSocket")
        (directory / "SingletonLock").symlink_to(f"{socket.gethostname()}-{os.getpid()}")
        yield


async def test_a_browser_is_started_on_a_port_of_its_own_and_stopped(site: Site):
    site.write_managed(proxy="http://10.0.0.1:3128", default=True)
    assert await site.status() is BrowserStatus.STOPPED
    look, started = await site.browsers.start(source="cli")
    assert (started, look.status, site.pids()) == (True, BrowserStatus.RUNNING, [look.pid])
    port = int(look.endpoint.rpartition(":")[2])
    place = site.data_dir / "browser" / "office" / "data"
    assert (site.folder / "command").read_text().split("\n") == [
        f"--user-data-dir={place}",
        "--remote-debugging-port=0",
        "--remote-debugging-address=127.0.0.1",
        "--no-first-run",
        "--no-default-browser-check",
        "--headless",
        "--no-sandbox",
        "--proxy-server=http://10.0.0.1:3128",
        "about:blank",
    ]
    assert place.stat().st_mode & 0o777 == 0o700
    (found,) = await site.browsers.with_sizes(await site.browsers.looks())
    assert to_json(found) == (
        {
            "name": "office",
            "browser": "chromium",
            "driver": "managed",
            "user_data_dir": str(place),
            "cdp_endpoint": f"http://127.0.0.1:{port}",
            "headless": True,
            "default": True,
            "proxy": "http://10.0.0.1:3128",
            "status": "running",
            "pid": look.pid,
            "size_bytes": (place / "DevToolsActivePort").stat().st_size,
            "last_used_at": "2023-11-14T22:13:20.000Z",
            "error": None,
        }
    )
    assert os.getsid(look.pid) == look.pid != os.getsid(0)
    stopped, done = await site.browsers.stop("office", source="dashboard")
    assert (done, stopped.status, ended(look.pid)) == (True, BrowserStatus.STOPPED, True)
    assert (await site.browsers.stop("office", source="cli"))[1] is False
    facts = {"profile": "office", "pid": look.pid}
    (entry,) = site.bench.audit("browser.start")
    assert entry.metadata.items() >= {**facts, "port": port, "ok": True}.items()
    (entry,) = site.bench.audit("browser.stop")
    assert entry.source == "dashboard"
    assert entry.metadata.items() >= {**facts, "forced": False, "forgotten": False}.items()
    assert site.bench.notices == []


async def test_a_profile_is_never_started_twice(site: Site):
    site.write_managed()
    results = await asyncio.gather(
        *(site.browsers.start("office", source="cli") for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(result, tuple) for result in results) == 1
    assert sum(isinstance(result, BrowserInUseError) for result in results) == 4
    look, started = await site.browsers.start("office", source="cli")
    assert (started, [look.pid]) == (False, site.pids())
    assert len(site.bench.audit("browser.start")) == 1


async def test_a_profile_that_a_browser_of_somebody_else_uses_is_not_started(site: Site):
    site.write_managed()
    with locked_by_a_browser(site.data_dir / "browser" / "office" / "data"):
        look = await site.look()
        assert (look.status, look.pid) == (BrowserStatus.IN_USE, os.getpid())
        with pytest.raises(BrowserInUseError, match=f"office is in use: it is used by process {os.getpid()}"):
            await site.browsers.start("office", source="cli")
        with pytest.raises(BrowserInUseError, match="did not start"):
            await site.browsers.stop("office", source="cli")
    assert site.pids() == []
    # Its lock stays behind, as after a crash: nobody listens, and this process is no browser.
    assert await site.status() is BrowserStatus.STOPPED
    assert (await site.browsers.start("office", source="cli"))[1] is True


async def test_the_lock_of_another_machine_counts_until_a_person_forgets_it(site: Site):
    site.write_managed()
    place = site.data_dir / "browser" / "office" / "data"
    place.mkdir(parents=True)
    (place / "SingletonLock").symlink_to("old-container-7-1")
    look = await site.look()
    assert (look.status, look.pid) == (BrowserStatus.IN_USE, None)
    assert mentions(look.error, "process 1 ", "old-container-7")
    with pytest.raises(BrowserInUseError) as error:
        await site.browsers.start("office", source="cli")
    assert error.value.hint.endswith("tocsin browser stop office --forget")
    look, done = await site.browsers.stop("office", source="cli", forget=True)
    assert (look.status, done) == (BrowserStatus.STOPPED, True)
    assert site.bench.audit("browser.stop")[0].metadata["forgotten"] is True
    await site.browsers.start("office", source="cli")
    with pytest.raises(BrowserInUseError, match="is running here"):
        await site.browsers.stop("office", source="cli", forget=True)


async def test_a_browser_that_died_is_seen_told_once_and_can_be_started_again(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    assert look.pid
    await kill(site, look.pid)
    for _ in range(2):
        found = await site.look()
        told = f"the browser (process {look.pid}) ended unexpectedly: start it again"
        assert (found.status, found.pid, found.error) == (BrowserStatus.ERROR, None, told)
    assert ["browser" in notice.title for notice in site.bench.notices] == [True]
    (status,) = (await site.bench.subsystems())["browser"]
    assert (str(status.status), status.summary) == ("degraded", "1 profile, 1 error")
    assert "ended" in status.attention[0].message
    again, started = await site.browsers.start("office", source="cli")
    assert (started, again.status, again.pid != look.pid) == (True, BrowserStatus.RUNNING, True)
    assert await site.status() is BrowserStatus.RUNNING
    await kill(site, again.pid or 0)
    await site.browsers.look_hourly()
    assert len(site.bench.notices) == 2
    assert (await site.browsers.stop("office", source="cli"))[1] is False
    assert await site.status() is BrowserStatus.STOPPED


async def test_a_browser_that_a_person_closed_is_stopped_and_no_failure(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    await kill(site, look.pid or 0, signal.SIGTERM)
    assert (await site.status(), site.bench.notices) == (BrowserStatus.STOPPED, [])


async def test_a_process_that_got_the_number_of_a_browser_is_not_taken_for_it(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    await kill(site, look.pid or 0)
    await site.change_record(pid=os.getpid())
    assert await site.status() is BrowserStatus.ERROR
    assert (await site.browsers.stop("office", source="cli"))[1] is False


async def test_a_browser_that_does_not_come_up_is_ended_and_recorded(site: Site):
    site.write_managed()
    site.browsers.starts_within_s = 0.5
    site.behave("silent")
    with pytest.raises(BrowserError, match=r"0\.5 s"):
        await site.browsers.start("office", source="cli")
    assert (ended(site.pids()[-1]), await site.status()) == (True, BrowserStatus.STOPPED)
    site.behave("dies")
    with pytest.raises(BrowserError, match="display") as error:
        await site.browsers.start("office", source="cli")
    assert "AAAAAA" not in str(error.value)
    assert [entry.metadata["ok"] for entry in site.bench.audit("browser.start")] == [False, False]
    assert site.bench.notices == []


async def test_whoever_gives_up_a_start_leaves_no_browser(site: Site):
    site.write_managed()
    site.behave("silent")
    starting = asyncio.create_task(site.browsers.start("office", source="cli"))
    await eventually(site.pids)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert all(map(ended, site.pids()))
    assert await site.status() is BrowserStatus.STOPPED


async def test_a_browser_that_does_not_end_when_asked_is_killed(site: Site):
    site.write_managed()
    site.behave("stubborn")
    look, _ = await site.browsers.start("office", source="cli")
    site.browsers.ends_within_s = 0.2
    stopped, _ = await site.browsers.stop("office", source="cli")
    assert (ended(look.pid or 0), stopped.status, site.bench.notices) == (True, BrowserStatus.STOPPED, [])
    assert site.bench.audit("browser.stop")[0].metadata["forced"] is True


async def test_a_fixed_port_is_used_or_told_to_be_taken(site: Site):
    port = free_port()
    site.write_managed(port=port)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(ConfigError, match=f"port {port} is already in use"):
        await site.browsers.start("office", source="cli")
    look, _ = await site.browsers.start("office", source="cli")
    assert look.endpoint == f"http://127.0.0.1:{port}"


async def test_a_browser_whose_port_does_not_answer_is_an_error_and_can_be_stopped(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    await site.change_record(port=free_port())
    found = await site.look()
    assert (found.status, found.pid) == (BrowserStatus.ERROR, look.pid)
    with pytest.raises(BrowserError, match="does not respond"):
        await site.browsers.start("office", source="cli")
    assert (await site.browsers.stop("office", source="cli"))[1] is True


async def test_a_browser_whose_profile_was_removed_is_listed_and_can_be_stopped(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    site.write({"name": "other"})
    found = await site.look()
    assert (found.status, found.pid, "no longer in browser_profiles.yaml" in found.error) == (
        BrowserStatus.ERROR, look.pid, True,
    )  # fmt: skip
    assert (await site.browsers.stop("office", source="cli"))[1] is True
    assert [each.profile.name for each in await site.browsers.looks()] == ["other"]


async def test_what_cannot_be_started_is_told_before_anything_is(site: Site):
    site.write_managed(name="window", headless=False)
    with pytest.raises(ConfigError, match="display"):
        await site.browsers.start("window", source="cli")
    site.write({"name": "a"}, {"name": "b"})
    with pytest.raises(ConfigError, match="profile"):
        await site.browsers.start(source="cli")
    with pytest.raises(UnknownBrowserProfileError, match="'wrok'"):
        await site.browsers.start("wrok", source="cli")
    if os.geteuid() == 0:
        with pytest.raises(ConfigError, match="chromium"):
            await site.browsers.start("a", source="cli")
    site.write({"name": "a", "driver": "remote", "cdp_endpoint": "ws://h:1"})
    with pytest.raises(ConfigError, match="managed"):
        await site.browsers.start("a", source="cli")
    assert site.pids() == []


async def test_without_the_browser_a_profile_is_missing_and_doctor_says_how_to_install_it(site: Site):
    site.program.unlink()
    site.write({"name": "office"}, {"name": "own", "executable": "/nowhere/chromium"})
    look = await site.look()
    assert (look.status, "apt-get install chromium" in look.error) == (BrowserStatus.MISSING, True)
    found = {finding.detail: finding for finding in await site.bench.findings()}
    assert "apt-get install chromium" in found["office: chromium is not installed"].fix
    assert found["own: /nowhere/chromium is not an executable program"].state == "warning"


async def test_a_session_of_a_person_and_a_remote_browser_are_found_by_their_endpoints(site: Site):
    site.write_managed()
    look, _ = await site.browsers.start("office", source="cli")
    port, place = int(look.endpoint.rpartition(":")[2]), site.data_dir / "browser" / "office" / "data"
    closed = free_port()
    site.write(
        {"name": "mine", "driver": "existing_session", "user_data_dir": str(place)},
        {"name": "gone", "driver": "existing_session", "user_data_dir": "/nowhere/at/all"},
        {"name": "off", "driver": "existing_session", "cdp_endpoint": f"http://127.0.0.1:{closed}"},
        {"name": "far", "driver": "remote", "cdp_endpoint": f"ws://me:hunter2@127.0.0.1:{port}/x?token=hunter2"},
        {"name": "dead", "driver": "remote", "cdp_endpoint": f"wss://127.0.0.1:{closed}"},
    )
    (site.data_dir / "browser_profiles.yaml").chmod(0o644)
    documents = {look.profile.name: to_json(look) for look in await site.browsers.looks()}
    assert {name: document["status"] for name, document in documents.items() if name != "office"} == {
        "mine": "running", "gone": "missing", "off": "stopped", "far": "running", "dead": "error",
    }  # fmt: skip
    assert documents["far"]["cdp_endpoint"] == f"ws://[secret]@127.0.0.1:{port}/x?[secret]"
    assert documents["dead"]["error"] == "Connection refused"
    found = [finding.detail for finding in await site.bench.findings()]
    assert sum("credentials" in detail for detail in found) >= 1
    assert any(detail.startswith("far ") for detail in found)
    assert "hunter2" not in str(found)


async def test_browsers_elsewhere_are_asked_at_the_same_time(site: Site):
    site.browsers.profile_looks.answers_within_s = PATIENCE_S
    all_ask, asking = asyncio.Event(), list[object]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asking.append(await reader.readuntil(b"\r\n\r\n"))
        if len(asking) == 10:
            all_ask.set()
        await all_ask.wait()
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"webSocketDebuggerUrl": "ws://x"}')
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        endpoint = f"http://localhost:{server.sockets[0].getsockname()[1]}"
        site.write(*({"name": f"b{n}", "driver": "existing_session", "cdp_endpoint": endpoint} for n in range(10)))
        assert {str(look.status) for look in await site.browsers.looks()} == {"running"}


async def test_a_browser_elsewhere_that_accepts_no_connection_is_given_up(site: Site):
    assert site.browsers.profile_looks.answers_within_s == 1.0
    site.browsers.profile_looks.answers_within_s = 0.05
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as stack:
        for _ in range(3):  # what is beyond the backlog waits for ever
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        endpoint = f"ws://127.0.0.1:{full.getsockname()[1]}"
        site.write({"name": "far", "driver": "remote", "cdp_endpoint": endpoint})
        (look,) = await site.browsers.looks()
    assert (look.status, "0.05 s" in look.error) == (BrowserStatus.ERROR, True)


async def test_what_browsers_print_does_not_grow_without_limit(site: Site):
    site.write_managed()
    await site.browsers.start("office", source="cli")
    log = site.data_dir / "browser" / "office" / "browser.log"
    with log.open("ab") as stream:
        stream.truncate(1024 * 1024 + 1)
    await site.browsers.look_hourly()
    assert log.stat().st_size == 0


async def test_status_counts_profiles(site: Site):
    (status,) = (await site.bench.subsystems())["browser"]
    assert (str(status.status), status.summary) == ("unconfigured", "no profiles")
    site.write_managed()
    await site.browsers.start("office", source="cli")
    (status,) = (await site.bench.subsystems())["browser"]
    assert (str(status.status), status.summary) == ("ok", "1 profile, 1 running")
    assert (status.counts["running"], status.last_event_at) == (1, site.clock.now())
    site.write({"name": 1, "x": 2})
    (status,) = (await site.bench.subsystems())["browser"]
    assert (str(status.status), len(status.attention)) == ("degraded", 1)
