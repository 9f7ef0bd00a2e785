"""Prometheus and Alertmanager from Debian, unmodified, with five receivers."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.features.doors.clients.conftest import present
from tests.features.doors.conftest import FrontBench
from tests.http_calls import http_call, is_answered
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

from tocsin.delivery.model import Delivery

PROTOCOLS = ("alertmanager", "slack", "discord", "pagerduty", "opsgenie")
# The Debian build reads its templates there: it gets them in a file system of its own.
ROOM = 'mount -t tmpfs tmpfs /usr/share && mkdir /usr/share/prometheus && mount --bind "$1" /usr/share/prometheus'


@contextlib.asynccontextmanager
async def running(command: Sequence[str | Path], port: int, log: Path) -> AsyncIterator[str]:
    """Run a server, and yield its address once it answers."""
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        assert await eventually(lambda: process.poll() is not None or is_answered(f"{address}/-/ready"))
        assert process.poll() is None, log.read_text()
        yield address
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait)


def post(url: str, document: object) -> None:
    assert http_call(url, document).status == 200


async def arrived(front: FrontBench, count: int) -> list[Delivery]:
    """Return the deliveries when there are as many."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            present(front)
            if len(found := await front.work()) >= count:
                return found
            await asyncio.sleep(0.2)


@pytest.fixture
def room(programs: Path) -> list[str | Path]:
    """The words before a command that has the templates of Debian's Alertmanager; skips where it is not possible."""
    shared = programs / "usr" / "share" / "prometheus"
    words: list[str | Path] = ["unshare", "-rm", "sh", "-c", f'{ROOM} && shift && exec "$@"', "sh", shared]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    pytest.skip("a file system of its own cannot be made here, and Alertmanager needs its templates in /usr/share")


def receivers(addresses: dict[str, str], keys: dict[str, str]) -> str:
    return f"""
route: {{receiver: all, group_by: [alertname], group_wait: 0s, group_interval: 1s}}
receivers:
- name: all
  webhook_configs: [{{url: '{addresses["alertmanager"]}'}}]
  slack_configs: [{{api_url: '{addresses["slack"]}', channel: ops, send_resolved: true}}]
  discord_configs: [{{webhook_url: '{addresses["discord"]}', send_resolved: true}}]
  pagerduty_configs: [{{url: '{addresses["pagerduty"]}', routing_key: {keys["pagerduty"]}}}]
  opsgenie_configs: [{{api_url: '{addresses["opsgenie"]}', api_key: {keys["opsgenie"]}}}]
"""


async def test_alertmanager_reports_to_five_doors(
    room: list[str | Path], programs: Path, listening: FrontBench, tmp_path: Path
):
    doors = {name: await listening.add(name, protocol=name) for name in PROTOCOLS}
    config, port = tmp_path / "alertmanager.yml", free_port()
    urls = {name: address.services_url or address.url for name, address in doors.items()}
    config.write_text(receivers(urls, {name: address.token for name, address in doors.items()}))
    command = [
        *(*room, programs / "usr" / "bin" / "prometheus-alertmanager", f"--config.file={config}"),
        *(f"--storage.path={tmp_path / 'am'}", f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="),
    ]
    labels = {"alertname": "DiskFull", "instance": "db1", "severity": "critical"}
    firing = {"labels": labels, "annotations": {"summary": "91 % full"}}

    async with running(command, port, tmp_path / "log") as alertmanager:
        await asyncio.to_thread(post, f"{alertmanager}/api/v2/alerts", [firing])
        sent = await arrived(listening, 5)
        ended = {**firing, "endsAt": datetime.now(UTC).isoformat()}
        await asyncio.to_thread(post, f"{alertmanager}/api/v2/alerts", [ended])
        both = await arrived(listening, 10)

    assert [each.content["type"] for each in sent] == ["failure"] * 5
    assert all("DiskFull" in each.content["title"] for each in sent)
    assert sum("91 % full" in each.message for each in sent) >= 4  # Slack's default template has only the title
    assert [each.content["type"] for each in both[5:]] == ["success"] * 5
    for name in PROTOCOLS:
        assert {each.status for each in await listening.doors.requests(name)} <= {200, 202, 204}


async def test_prometheus_reports_an_alert_once_and_its_end(programs: Path, listening: FrontBench, tmp_path: Path):
    address = await listening.add("prometheus", protocol="alertmanager")
    rules, config, port = tmp_path / "rules.yml", tmp_path / "prometheus.yml", free_port()
    text = "groups:\n- name: g\n  interval: 1s\n  rules:\n"
    text += "  - {alert: DiskFull, expr: vector(91) > 90, labels: {severity: warning}, annotations: {summary: full}}\n"
    rules.write_text(text)
    place = address.base_url.removeprefix("http://")
    config.write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
alerting:
  alertmanagers:
  - authorization: {{credentials: {address.token}}}
    static_configs: [{{targets: ['{place}']}}]
""")
    command = [
        *(programs / "usr" / "bin" / "prometheus", f"--config.file={config}", "--rules.alert.resend-delay=1s"),
        *(f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}"),
        *("--web.enable-lifecycle", f"--web.console.templates={tmp_path}", f"--web.console.libraries={tmp_path}"),
    ]
    async with running(command, port, tmp_path / "log") as prometheus:
        await arrived(listening, 1)
        while len(await listening.doors.requests("prometheus")) < 3:  # it repeats what fires
            await arrived(listening, 1)
            await asyncio.sleep(0.2)
        rules.write_text(text.replace("> 90", "> 95"))
        (await asyncio.to_thread(http_call, f"{prometheus}/-/reload", body=b"")).accepted()
        first, end = await arrived(listening, 2)

    assert (first.content["title"], first.content["type"]) == ("DiskFull", "warning")
    assert (end.content["title"], end.content["type"], end.key) == ("Resolved: DiskFull", "success", first.key)
