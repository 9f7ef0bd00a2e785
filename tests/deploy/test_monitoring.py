"""The alert rules and the dashboard for Grafana use metrics that exist, and every alert fires."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.docs.test_links import anchors
from tests.http_calls import http_call
from tests.ports import free_port
from tools.bootstrap import PROMTOOL
from tools.docs import all_metrics

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
RULES: list[dict[str, Any]] = YAML(typ="safe").load(ALERTS.read_text("utf-8"))["groups"][0]["rules"]
TOOL = shutil.which("promtool") or str(PROMTOOL)
# For each alert: series with their values each minute, as promtool writes them.
FIRES = {
    "TocsinDown": {'up{job="tocsin"}': "0x30"},
    "TocsinMetricsSourceDown": {'tocsin_metrics_source_up{source="runs"}': "0x30"},
    "TocsinChannelFailing": {'tocsin_channel_failing_seconds{channel="email"}': "601+60x30"},
    "TocsinMessagesDead": {'tocsin_deliveries{status="dead"}': "0x10 1x20"},
    "TocsinInboxWaiting": {"tocsin_inbox_oldest_seconds": "601+60x30"},
    "TocsinCronLate": {"tocsin_cron_late_seconds": "121+60x30"},
    "TocsinCronJobFailing": {'tocsin_cron_job_failing{cron_job="backup"}': "1x30"},
    "TocsinRunsWaiting": {'tocsin_run_queue_oldest_seconds{kind="cron"}': "1801+60x30"},
    "TocsinWatcherError": {'tocsin_watchers{state="error"}': "1x30"},
    "TocsinSshKeyChanged": {"tocsin_ssh_host_keys_changed": "1x30"},
    "TocsinSecretsExpired": {'tocsin_vault_secrets{state="expired"}': "2x90"},
    "TocsinVaultLocked": {"tocsin_vault_locked": "1x30"},
    "TocsinAccessRequested": {"tocsin_bot_request_oldest_seconds": "86401+60x30"},
}
# The same series while all is well.
QUIET = {
    'up{job="tocsin"}': "1x90",
    'tocsin_metrics_source_up{source="runs"}': "1x90",
    'tocsin_deliveries{status="dead"}': "3x90",
    "tocsin_inbox_oldest_seconds": "5x90",
    "tocsin_cron_late_seconds": "1x90",
    'tocsin_cron_job_failing{cron_job="backup"}': "0x90",
    'tocsin_run_queue_oldest_seconds{kind="cron"}': "0x90",
    'tocsin_watchers{state="error"}': "0x90",
    "tocsin_watchers_file_invalid": "0x90",
    "tocsin_ssh_host_keys_changed": "0x90",
    'tocsin_vault_secrets{state="expired"}': "0x90",
    "tocsin_vault_locked": "0x90",
    "tocsin_bot_request_oldest_seconds": "0x90",
}


def promtool(*words: str | Path, text: str = "") -> None:
    done = subprocess.run([TOOL, *words], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def names_in(query: str) -> set[str]:
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\btocsin_[a-z_]+", query)}


def firing(tmp_path: Path, cases: Iterable[tuple[str, dict[str, str], int]]) -> set[tuple[str, str]]:
    """Return each case with the alerts that fire at its minute of its series; promtool starts once for all cases."""
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []} for alert in FIRES],
        }
        for name, series, minute in cases
    ]
    path = tmp_path / "test.yaml"
    YAML().dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}, path)
    done = subprocess.run([TOOL, "test", "rules", path], capture_output=True, text=True, check=False)
    assert "FAILED" in done.stdout + done.stderr
    return set(re.findall(r"name: ([^,\n]+),\n +alertname: (\w+), time", done.stdout + done.stderr))


def test_the_rules_and_the_scrape_configuration_are_valid():
    promtool("check", "rules", ALERTS)
    promtool("check", "config", "--syntax-only", ALERTS.with_name("prometheus.yaml"))


def test_each_alert_fires_and_no_other_does_and_none_while_all_is_well(tmp_path: Path):
    assert FIRES.keys() == {rule["alert"] for rule in RULES}
    cases = [(alert, series, 75 if alert == "TocsinSecretsExpired" else 25) for alert, series in FIRES.items()]
    assert firing(tmp_path, [*cases, ("all is well", QUIET, 80)]) == {(alert, alert) for alert in FIRES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_uses_metrics_that_exist_and_names_its_part_of_the_documentation(rule: dict[str, Any]):
    assert names_in(rule["expr"]) <= {metric.name for metric in all_metrics()}
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor in anchors(ROOT / page)


def test_the_dashboard_for_grafana_uses_metrics_that_exist():
    board = json.loads((ROOT / "deploy" / "grafana" / "tocsin.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(queries) >= 13
    assert {name for query in queries for name in names_in(query)} <= {metric.name for metric in all_metrics()}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_a_real_scrape_has_every_metric_and_no_mistake_that_promtool_finds(tmp_path: Path):
    cli, port = Cli(tmp_path, {}), free_port()
    with cli.running("gateway", env={"GATEWAY_PORT": str(port), "REDIS_URL": "off"}) as child:
        wait_until_it_listens(child)
        text = http_call(f"http://127.0.0.1:{port}/metrics").body.decode()
        assert end(child)[0] == 0
    promtool("check", "metrics", text=text)
    shown = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    shown |= {name.removesuffix("_total") for name in shown}
    assert {metric.name.removesuffix("_total") for metric in all_metrics()} <= shown
