"""The first run: a message in the stand-in, and a run of a cron job in the REST API and on the dashboard's page."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.docs.pages import blocks
from tools.install_proof.checkout import CheckoutWay
from tools.install_proof.debian import Steps, install_packages
from tools.install_proof.installation import Installation
from tools.install_proof.records import wait_for
from tools.install_proof.ways import Way

from tocsin_standins import StandinCluster

TEXT = "Backup done"


def first_run(way: Way, source: Path, town: StandinCluster) -> None:
    """Install into an empty root, and use it with stand-ins on this machine."""
    installation = way.install(source)
    with way.steps.step("tocsin up, until both ports answer"):
        installation.start()
    _use(installation, way.steps, lambda: any(TEXT in one.text for one in town.recorder.of("teamchat")))
    installation.stop()


def first_run_of_checkout(way: CheckoutWay, source: Path) -> None:
    """Clone into an empty root, and do what the README shows first: `make demo`, with its own stand-ins."""
    root, steps = way.new_root(), way.steps
    with steps.step("apt-get install git make python3"):
        install_packages(root, ["git", "make", "python3"])
    origin = way.origin(root, source)
    with steps.step("git clone"):
        root.script(f"git clone --quiet {origin} /srv/checkout")
    log = root / "var/log/demo.log"
    with steps.step("make demo, until both ports answer"):
        with log.open("wb") as output:
            command = root.command(["make", "demo"], home="/srv/checkout")
            demo = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        wait_for(lambda: "Commands to try" in log.read_text("utf-8") or demo.poll() is not None, "demo", seconds=600)
        text = log.read_text("utf-8")
        if demo.poll() is not None:
            raise ChildProcessError(text[-3000:])
    ports = [
        int(re.findall(rf"^  {name} +http://[\d.]+:(\d+)", text, re.MULTILINE)[0]) for name in ("gateway", "dashboard")
    ]
    [function] = {
        line
        for block in blocks("sh")
        if block.page == "README.md"
        for line in block.text.splitlines()
        if line.startswith("tocsin()")
    }
    program = ["sh", "-c", f'{function}\ntocsin "$@"', "sh"]
    installation = Installation(root, program, "root", "/srv/checkout", "/tmp", (ports[0], ports[1]))  # noqa: S108  # of the root
    _use(installation, steps, lambda: TEXT in log.read_text("utf-8"))
    os.killpg(demo.pid, signal.SIGINT)  # Ctrl-C reaches all processes of the terminal
    demo.wait(60)


def _use(installation: Installation, steps: Steps, arrived: Callable[[], bool]) -> None:
    with steps.step("tocsin send, until the stand-in has the message"):
        installation.tocsin("send", "slack", "#ops", TEXT)
        wait_for(arrived, "message in the stand-in")
    made = installation.tocsin("tokens", "create", "first", "--scope", "read", "--json")
    installation.token = json.loads(made)["token"]
    with steps.step("tocsin cron add, until the REST API has a run of it"):
        installation.tocsin("cron", "add", "hello", "every 1s", "echo hello")
        wait_for(lambda: bool(_runs(installation)), "run of the job in the REST API")
    with steps.step("the dashboard shows the job's run, in Chromium"):
        _look(installation.tocsin("dashboard", "link"))


def _runs(installation: Installation) -> list[object]:
    found = installation.api("/api/runs?kind=cron&status=succeeded")
    return [run for run in found["items"] if run["subject_name"] == "hello"]


def _look(printed: str) -> None:
    [link] = re.findall(r"http://\S+", printed)
    program = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page()
        page.goto(link)
        page.evaluate("location.hash = '#/cron'")
        page.get_by_text("hello").first.wait_for()
        browser.close()
