"""Take the pictures of docs/tour.md: `make tour`, or `python -m tools.tour [name …]`.

Starts `tocsin demo`, does what a new user would do, adds two hosts where sshd is installed, and takes a
picture of every page of the tour into docs/tour/.
"""

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from tests.features.ssh.conftest import SSHD, Machine, make_key
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[1]
TOCSIN = Path(sysconfig.get_path("scripts")) / "tocsin"
PLACE = ROOT / "docs" / "tour"
SIZE = (1280, 800)
MAX_BYTES = 60_000
QUALITIES = (82, 70, 55, 40, 25)
OVER = {"succeeded", "failed", "partially_succeeded"}


class Stop(NamedTuple):
    """One picture: its name, the page, what is shown there, in which theme, and what is typed."""

    name: str
    route: str
    wait_for: str
    theme: Literal["light", "dark"] = "light"
    typed: tuple[tuple[str, str], ...] = ()  # into which field, what


STOPS = (
    Stop("home", "home", ".card"),
    Stop("cron", "cron", "tbody tr"),
    Stop("cron-job", "cron/{failing}?tab=log", ".log__text"),
    Stop("workflows", "workflows", "tbody tr"),
    Stop("workflow", "workflows/release", ".graph__box--warn"),
    Stop("runs", "runs", "tbody tr"),
    Stop("run", "runs/{report}", ".log__text", "dark"),
    Stop("ssh", "ssh", "tbody tr", "dark"),
    Stop("jobs", "jobs?view=board", "h1"),
    Stop("msg", "msg", ".channel", typed=(("Target", "#ops"), ("Message", "Deployed **1.4.0** to `production`."))),
    Stop("deliveries", "deliveries", "tbody tr"),
    Stop("chat", "chat/{chat}", ".message--assistant", "dark"),
    Stop("notifications", "notifications", "tbody tr"),
    Stop("triggers", "triggers", "tbody tr", typed=(("Test a message", "weather Oslo"),)),
    Stop("access", "access", "tbody tr"),
    Stop("memory", "memory", "tbody tr"),
    Stop("skills", "skills", "tbody tr"),
    Stop("skill", "skills/code-reviewer", "h1"),
    Stop("audit", "audit", "tbody tr", "dark"),
    Stop("vault", "vault", "tbody tr"),
    Stop("watchers", "watchers", "tbody tr"),
    Stop("browser", "browser", "tbody tr"),
    Stop("settings", "settings", "h1"),
)


def main(words: Sequence[str] | None = None) -> int:
    """Take the pictures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.tour", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(stop.name for stop in STOPS)}")
    names = parser.parse_args(words).names or [stop.name for stop in STOPS]
    PLACE.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="tocsin-tour-") as home,
        _demo(Path(home)) as demo,
        sync_playwright() as play,
    ):
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="reduce", timezone_id="Etc/UTC"
        )
        page = context.new_page()
        page.goto(demo["sign_in"])
        expect(page.locator(".card").first).to_be_visible(timeout=PATIENCE_S * 1000)
        with _hosts(Path(demo["env_file"]).parent):
            ids = _try_it(context, demo)
            total = 0
            for stop in (stop for stop in STOPS if stop.name in names):
                if stop.name == "watchers":  # late: what it sends begins with a sign that not every machine can draw
                    (Path(demo["env_file"]).parent / "inbox" / "today").write_text("one\ntwo\n")
                total += _take(page, demo["dashboard"], stop, ids)
        browser.close()
    print(f"{total / 1024:,.0f} KiB in all")
    return 0


@contextmanager
def _demo(home: Path) -> Iterator[dict[str, Any]]:
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
def _hosts(data_dir: Path) -> Iterator[None]:
    """Add two hosts that are this machine, and one that is away."""
    if SSHD is None:
        yield
        return
    folder = data_dir / "machine"
    folder.mkdir()
    key = make_key(folder / "key")
    (folder / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
    machine = Machine(folder, key)
    hosts = []
    try:
        for name, groups in (("web1", ["web"]), ("web2", ["web"]), ("db1", ["db"])):
            port, host_key = machine.sshd(name)
            known = folder / f"known-{name}"
            known.write_text(f"[127.0.0.1]:{port} {Path(f'{host_key}.pub').read_text()}")
            hosts.append({
                "name": name, "hostname": "127.0.0.1", "port": port, "user": "root", "groups": groups,
                "identity": {"kind": "key", "ref": str(key)}, "known_hosts": str(known),
            })  # fmt: skip
        hosts.append({"name": "old-mail", "hostname": "127.0.0.1", "port": 9, "user": "root", "groups": ["mail"]})
        (data_dir / "ssh_hosts.yaml").write_text(json.dumps({"hosts": hosts}))
        (data_dir / "ssh_hosts.yaml").chmod(0o600)
        yield
    finally:
        machine.stop_all()


def _try_it(context: BrowserContext, demo: dict[str, Any]) -> dict[str, str]:
    """Do what makes the pages worth a look; return the IDs of records that are shown."""
    address = demo["dashboard"].rstrip("/")

    def call(method: str, path: str, **body: Any) -> Any:
        answer = context.request.fetch(
            f"{address}/api/{path}", method=method, data=body or None, headers={"X-Requested-With": "dashboard"}
        )
        if not answer.ok:
            raise OSError(f"{path}: {answer.text()}")
        return answer.json() if answer.text() else None

    def ended(run: str) -> None:
        until(lambda: call("GET", f"runs/{run}")["status"] in OVER, f"the end of {run}", every_s=1)

    data_dir = Path(demo["env_file"]).parent
    chat = call("POST", "chat/send", content=_QUESTION)["conversation_id"]
    jobs = {job["name"]: job["id"] for job in call("GET", "cron/jobs")["items"]}
    for name in ("disk-check", "backup", "disk-check"):
        ended(call("POST", f"cron/jobs/{jobs[name]}/run")["id"])
    report = call("POST", "workflows/disk-report/run", params={})["id"]
    ended(report)
    ended(call("POST", "skills/greet/run", args=["Carol"])["id"])
    for key, value, kind in _MEMORIES:
        call("POST", "memory", key=key, value=value, type=kind, tags=["demo"])
    call("POST", "notifications", title="Certificate of shop.example.org ends in 9 days", level="warning")
    call("POST", "msg/send", channel="slack", target="#ops", message="Deployed **1.4.0** to production.")
    call("POST", "msg/send", channel="slack", target="#ops", message="Backup begins at 03:00.", queue=True)
    call("POST", "msg/send", channel="email", target="ops@example.org", message="Weekly report", queue=True)
    for title, state in (("Renew the certificate of the shop", ""), ("Move mail to the new host", "start")):
        job = call("POST", "jobs", title=title, priority="high" if state else "normal", labels=["ops"])["id"]
        if state:
            call("POST", f"jobs/{job}/start")
    (data_dir / "browser_profiles.yaml").write_text("profiles:\n  - {name: office, default: true}\n  - {name: shop}\n")
    (data_dir / "browser_profiles.yaml").chmod(0o600)
    _vault(demo["env_file"])
    if SSHD is not None:
        ended(call("POST", "ssh/run", hosts=["web1", "web2", "db1"], command="uptime")["id"])
        call("GET", "ssh/health")
    until(lambda: call("GET", f"chat/conversations/{chat}")["status"] == "idle", "the answer", every_s=1)
    return {"failing": jobs["backup"], "report": report, "chat": chat}


_MEMORIES = (
    ("backup.target", "Backups go to the store in Falkenstein, every night at 03:00.", "fact"),
    ("deploy.freeze", "No deployments on Fridays after 15:00.", "preference"),
    ("incident.2026-11", "The disk of db1 was full because of old binary logs; they are rotated now.", "event"),
)
_QUESTION = "Say it like this:\n\n**Three things** to look at:\n\n1. `df -h`\n2. `du -sh /var/log`\n3. rotate the logs"


def _vault(env_file: str) -> None:
    for words, given in ((["vault", "init"], ""), (["vault", "set", "BACKUP_KEY"], "not a real secret\n")):
        subprocess.run([TOCSIN, "--env-file", env_file, *words], input=given, text=True, check=True)


def _take(page: Page, address: str, stop: Stop, ids: dict[str, str]) -> int:
    page.emulate_media(color_scheme=stop.theme)
    page.goto(f"{address.rstrip('/')}/#/{stop.route.format(**ids)}")
    expect(page.locator(f"main {stop.wait_for}").first).to_be_visible(timeout=PATIENCE_S * 1000)
    expect(page.locator("main .loading")).to_have_count(0)
    expect(page.locator(".toast")).to_have_count(0, timeout=PATIENCE_S * 1000)
    if stop.name == "msg":
        page.locator(".composer select").select_option(label="Slack")
    for label, text in stop.typed:
        page.get_by_label(re.compile(rf"^{label}\b")).fill(text)
    if stop.typed:
        page.get_by_role("heading", level=1).click()  # nothing has the focus
    page.mouse.move(0, 0)
    time.sleep(3)  # it settles, and many pages a minute would be too many requests
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    for quality in QUALITIES:
        kept = io.BytesIO()
        picture.save(kept, "WEBP", quality=quality, method=6)
        if kept.tell() <= MAX_BYTES:
            break
    (PLACE / f"{stop.name}.webp").write_bytes(kept.getvalue())
    print(f"{stop.name}: {kept.tell() / 1024:.0f} KiB")
    return kept.tell()


if __name__ == "__main__":
    sys.exit(main())
