"""Take the pictures of docs/tour.md: `make tour`, or `python -m tools.tour [name …]`.

Starts `tocsin demo`, does what the pages of the dashboard declare for their tour, and takes a picture at each of their
stops. Hosts are in them where sshd is installed.
"""

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from tests.features.ssh.conftest import SSHD, Machine, make_key
from tests.quick_start import TOCSIN
from tests.waiting import PATIENCE_S, until

from tocsin.features.contract import Feature
from tocsin.features.pages import SshServer, Tour, TourDemo, TourStop
from tocsin.features.registry import find_features
from tocsin.web.ui.manifest import feature_pages

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "tour"
SIZE = (1280, 800)
MAX_BYTES = 60_000
QUALITIES = (82, 70, 55, 40, 25)
OVER = {"succeeded", "failed", "partially_succeeded"}


def _send_messages(demo: TourDemo) -> Mapping[str, str]:
    demo.call("POST", "msg/send", channel="slack", target="#ops", message="Deployed **1.4.0** to production.")
    demo.call("POST", "msg/send", channel="slack", target="#ops", message="Backup begins at 03:00.", queue=True)
    demo.call("POST", "msg/send", channel="email", target="ops@example.org", message="Weekly report", queue=True)
    return {}


# Of the pages that belong to no feature.
CORE_TOUR = Tour(
    stops=(
        TourStop(name="home", address="home", wait_for=".card"),
        TourStop(name="runs", address="runs"),
        TourStop(
            name="msg",
            address="msg",
            wait_for=".channel",
            chosen={".composer select >> nth=0": "Slack"},
            typed={"Target": "#ops", "Message": "Deployed **1.4.0** to `production`."},
        ),
        TourStop(name="deliveries", address="deliveries"),
        TourStop(name="access", address="access"),
        TourStop(name="audit", address="audit", theme="dark"),
        TourStop(name="settings", address="settings", wait_for="h1"),
    ),
    prepare=_send_messages,
)


def main(words: Sequence[str] | None = None) -> int:
    """Take the pictures; return the exit code."""
    tours = find_tours(find_features().features)
    stops = [stop for tour in tours for stop in tour.stops]
    parser = argparse.ArgumentParser(prog="python -m tools.tour", description=__doc__)
    names = ", ".join(stop.name for stop in stops)
    parser.add_argument("names", nargs="*", metavar="name", help=f"take only these of: {names}")
    parser.add_argument("--into", type=Path, default=PLACE, metavar="DIR", help="where to write them (docs/tour)")
    arguments = parser.parse_args(words)
    arguments.into.mkdir(parents=True, exist_ok=True)
    total = 0
    with (
        tempfile.TemporaryDirectory(prefix="tocsin-tour-") as home,
        _start_demo(Path(home)) as address,
        _open_window(address["sign_in"]) as page,
        _Demo(page.context, address) as demo,
    ):
        values = prepare(tours, demo)
        for stop in stops:
            if not arguments.names or stop.name in arguments.names:
                if stop.before:
                    stop.before(demo)
                open_stop(page, demo.dashboard, stop, values)
                time.sleep(3)  # it settles, and many pages a minute would be too many requests
                total += take_picture(page, arguments.into / f"{stop.name}.webp")
    print(f"{total / 1024:,.0f} KiB in all")
    return 0


def find_tours(features: tuple[Feature, ...]) -> list[Tour]:
    """Return what the pages of the core and of these features show."""
    return [CORE_TOUR, *(ui.page.tour for ui in feature_pages(features) if ui.page.tour)]


def prepare(tours: Sequence[Tour], demo: "_Demo") -> dict[str, str]:
    """Do what makes the pages worth a look; return the values that stand in addresses."""
    values: dict[str, str] = {}
    for tour in tours:
        if tour.prepare:
            values.update(tour.prepare(demo))
    return values


@contextmanager
def _start_demo(home: Path) -> Iterator[dict[str, Any]]:
    env = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
    }
    with subprocess.Popen([TOCSIN, "demo", "--json"], cwd=home, env=env, stdout=subprocess.PIPE, text=True) as child:
        try:
            lines: list[str] = []
            for line in child.stdout or ():
                lines.append(line)
                with suppress(ValueError):
                    yield json.loads("".join(lines))
                    break
        finally:
            child.terminate()


@contextmanager
def _open_window(sign_in: str) -> Iterator[Page]:
    with sync_playwright() as play:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="reduce", timezone_id="Etc/UTC"
        )
        page = context.new_page()
        page.goto(sign_in)
        expect(page.locator(".card").first).to_be_visible(timeout=PATIENCE_S * 1000)
        yield page
        browser.close()


class _Demo:
    """The running demo, as `TourDemo` describes it."""

    def __init__(self, context: BrowserContext, addresses: Mapping[str, str]) -> None:
        self.dashboard = addresses["dashboard"].rstrip("/")
        self.home = Path(addresses["env_file"]).parent
        self._env_file = addresses["env_file"]
        self._context = context
        self._machine: Machine | None = None

    def __enter__(self) -> "_Demo":
        return self

    def __exit__(self, *_: object) -> None:
        if self._machine:
            self._machine.stop_all()

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self._context.request.fetch(
            f"{self.dashboard}/api/{path}", method=method, data=body or None, headers={"X-Requested-With": "dashboard"}
        )
        if not answer.ok:
            raise OSError(f"{path}: {answer.text()}")
        return answer.json() if answer.text() else None

    def run(self, path: str, **body: Any) -> str:
        run = str(self.call("POST", path, **body)["id"])
        self.wait_until(lambda: self.call("GET", f"runs/{run}")["status"] in OVER, f"the end of {run}")
        return run

    def wait_until(self, holds: Callable[[], bool], awaited: str) -> None:
        until(holds, awaited, every_s=1)

    def tocsin(self, *words: str, given: str = "") -> None:
        subprocess.run([TOCSIN, "--env-file", self._env_file, *words], input=given, text=True, check=True)

    def start_ssh_servers(self, *names: str) -> Sequence[SshServer]:
        if SSHD is None:
            return []
        folder = self.home / "machine"
        folder.mkdir()
        key = make_key(folder / "key")
        (folder / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
        self._machine = Machine(folder, key)
        return [self._start_ssh_server(self._machine, name) for name in names]

    def _start_ssh_server(self, machine: Machine, name: str) -> SshServer:
        port, host_key = machine.sshd(name)
        known = machine.folder / f"known-{name}"
        known.write_text(f"[127.0.0.1]:{port} {Path(f'{host_key}.pub').read_text()}")
        return SshServer(name, port, machine.key, known)


def open_stop(page: Page, dashboard: str, stop: TourStop, values: Mapping[str, str]) -> None:
    """Show a stop as its picture has it."""
    page.emulate_media(color_scheme=stop.theme)
    page.goto(f"{dashboard.rstrip('/')}/#/{stop.address.format(**values)}")
    expect(page.locator(f"main {stop.wait_for}").first).to_be_visible(timeout=PATIENCE_S * 1000)
    expect(page.locator("main .loading")).to_have_count(0)
    expect(page.locator(".toast")).to_have_count(0, timeout=PATIENCE_S * 1000)
    for selector, option in stop.chosen.items():
        page.locator(selector).select_option(label=option)
    for label, text in stop.typed.items():
        page.get_by_label(re.compile(rf"^{label}\b")).fill(text)
    if stop.typed:
        page.get_by_role("heading", level=1).click()  # nothing has the focus
    page.mouse.move(0, 0)


def take_picture(page: Page, path: Path) -> int:
    """Write a picture of the page that is as good as `MAX_BYTES` allow; return its size in bytes."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    for quality in QUALITIES:
        kept = io.BytesIO()
        picture.save(kept, "WEBP", quality=quality, method=6)
        if kept.tell() <= MAX_BYTES:
            break
    path.write_bytes(kept.getvalue())
    print(f"{path.stem}: {kept.tell() / 1024:.0f} KiB")
    return kept.tell()


if __name__ == "__main__":
    sys.exit(main())
