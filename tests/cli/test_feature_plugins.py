"""A feature of another distribution is listed, checked and run; a broken one is told and skipped.

Nothing is installed: a directory with the package and its `dist-info` is all that an installer leaves.
"""

import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.facts import mentions
from tests.ports import free_port
from tests.waiting import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "heartbeat"
POINTS = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]


def declare(site: Path, name: str, entry_points: str) -> None:
    """Leave behind what an installer does beside the package."""
    info = site / f"{name}-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(entry_points)


def install(site: Path, name: str, module: str, **others: str) -> None:
    """Install a feature; `others` are modules of its package by name."""
    package = site / name
    package.mkdir(parents=True)
    for file, text in {"__init__": "", "feature": module, **others}.items():
        (package / f"{file}.py").write_text(text)
    declare(site, name, f"[tocsin.features]\n{name} = {name}.feature:FEATURE\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def plugged(cli: Cli, site: Path) -> Cli:
    """The command with the example in place, as its metadata says."""
    shutil.copytree(EXAMPLE / "tocsin_heartbeat", site / "tocsin_heartbeat")
    lines = [f"{name} = {value}" for name, value in POINTS["tocsin.features"].items()]
    declare(site, "tocsin_heartbeat", "\n".join(["[tocsin.features]", *lines, ""]))
    return Cli(cli.home, {"PYTHONPATH": str(site), "REDIS_URL": "off"})


def with_site(cli: Cli, site: Path) -> Cli:
    return Cli(cli.home, {"PYTHONPATH": str(site)})


# --- the example


def test_the_example_is_data_a_service_a_route_and_a_command_in_at_most_170_lines():
    files = {path.name: len(path.read_text().splitlines()) for path in (EXAMPLE / "tocsin_heartbeat").glob("*.py")}
    modules = ("feature", "hooks", "service", "checks", "commands", "gateway")
    assert files.keys() == {"__init__.py", *(f"{name}.py" for name in modules)}
    assert sum(files.values()) <= 170


def test_its_command_stands_among_the_others_and_its_help_has_an_example(plugged: Cli):
    assert "heartbeat      tell when a service last ran" in plugged("--help").out
    assert "example: tocsin heartbeat" in plugged("heartbeat", "--help").out


def test_its_setting_is_known_shown_and_written_into_a_new_env_file(plugged: Cli):
    shown = plugged("config", "show", "--json", env={"HEARTBEAT_EVERY_S": "5"}).json()
    assert [setting["value"] for setting in shown if setting["name"] == "HEARTBEAT_EVERY_S"] == ["5"]
    refused = plugged("heartbeat", env={"HEARTBEAT_EVERY_S": "often"})
    assert (refused.code, mentions(refused.err, "HEARTBEAT_EVERY_S", "'often'")) == (2, True)
    plugged("init")
    assert "#HEARTBEAT_EVERY_S=60" in (plugged.data_dir / ".env").read_text()


def test_its_command_opens_its_table(plugged: Cli):
    done = plugged.process("heartbeat", "--json")
    assert (done.code, done.json(), done.err) == (1, {"age_s": None}, "")
    with closing(sqlite3.connect(plugged.data_dir / "tocsin.db")) as database, database:
        versions = dict(database.execute("SELECT component, version FROM migrations"))
    database.close()
    assert versions["heartbeat"] == 1


def test_the_doctor_makes_its_check(plugged: Cli):
    findings = plugged("doctor", "--offline", "--json").json()["findings"]
    assert [f["detail"] for f in findings if f["subject"] == "heartbeat"] == ["no service has run yet"]


def test_its_service_runs_beside_the_others_and_stops_with_them(plugged: Cli):
    with plugged.running("worker") as child:
        until(lambda: plugged("heartbeat").code == 0)
        child.terminate()
        child.communicate()
    assert child.returncode == 0
    assert plugged("heartbeat", "--json").json()["age_s"] >= 0


def test_a_gap_is_an_audit_entry_and_a_notification(plugged: Cli):
    plugged("heartbeat")
    with closing(sqlite3.connect(plugged.data_dir / "tocsin.db")) as database, database:
        database.execute("INSERT INTO heartbeat VALUES (1, 0)")
    database.close()

    def gaps() -> list[str]:
        return [entry["action"] for entry in plugged("audit", "search", "heartbeat.gap", "--json").json()]

    with plugged.running("worker") as child:
        until(lambda: gaps() == ["heartbeat.gap"])
        until(lambda: "Tocsin was away" in plugged("notifications", "list", "--json").out)
        child.terminate()
        child.communicate()


# --- plug-ins that cannot be used

FEATURE = """
from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.variables import Variable
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

FEATURE = Feature(name="bell", package=__package__, summary="rings"{more})
"""


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("raise RuntimeError('made-up\\nreason')\n", "RuntimeError: made-up reason"),
        ("import package_that_is_not_there\n", "ModuleNotFoundError: No module named 'package_that_is_not_there'"),
        ("def (\n", "SyntaxError"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("FEATURE = 5\n", "TypeError: not a tocsin.features.contract.Feature"),
        ("", "AttributeError"),
    ],
)
def test_a_broken_plug_in_is_told_and_skipped(cli: Cli, site: Path, module: str, reason: str):
    install(site, "broken", module)
    done = with_site(cli, site)("profiles")
    assert done.code == 0
    assert "broken (broken.feature:FEATURE)" in done.err
    assert reason in done.err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('commands=(FeatureCommand("send", "x"),)', "the command send already belongs to the core"),
        ('commands=(FeatureCommand("skills", "x"),)', "the command skills already belongs to the feature skills"),
        (
            'variables=(Variable("GATEWAY_PORT", str, "", "Mine."),)',
            "the setting GATEWAY_PORT already belongs to another",
        ),
        ('variables=(Variable("RING", str, "", "Mine."),)', "the setting RING does not start with BELL_"),
        ('tables={"runs": ()}', "the component runs does not start with bell"),
        ('tables={"bell": ("CREATE TABLE runs (id TEXT);",)}', "the table runs does not start with bell"),
        ('audit_actions=(AuditAction("skill.run", "Mine."),)', "the audit action skill.run already belongs to another"),
        ('files=(WrittenFile("watchers", "x.yaml", "x", "x:X"),)', "the schema watchers already belongs to another"),
        ('files=(WrittenFile("hours", "x.yaml", "x", "x:X"),)', "the schema hours does not start with bell"),
        ('provides=("skills",)', "skills already provides skills"),
        ('run_kinds=("skill",)', "skills already has runs of the kind skill"),
    ],
)
def test_a_plug_in_cannot_take_over_what_belongs_to_another(cli: Cli, site: Path, more: str, reason: str):
    install(site, "greedy", FEATURE.replace("{more}", f", {more}"))
    done = with_site(cli, site)("profiles")
    assert done.code == 0
    assert f"tocsin: feature plug-in greedy (greedy.feature:FEATURE) is ignored: {reason}" in done.err


@pytest.mark.parametrize("name", ["skills", "msg", "Bell", "a bell"])
def test_a_plug_in_needs_a_name_of_its_own(cli: Cli, site: Path, name: str):
    install(site, "named", FEATURE.replace("{more}", "").replace('"bell"', repr(name)))
    done = with_site(cli, site)("profiles")
    assert done.code == 0
    assert "feature plug-in named (named.feature:FEATURE) is ignored: " in done.err


def test_a_bug_of_a_plug_in_in_a_check_is_told_by_the_doctor_alone(cli: Cli, site: Path):
    checks = (
        "from tocsin.core.errors import ConfigError\n"
        "from tocsin.features.hooks import FeatureCheck\n"
        "async def check(_):\n    raise ConfigError('the bell is cracked', hint='mend it')\n    yield\n"
        "CHECKS = (FeatureCheck(check),)\n"
    )
    install(site, "cracked", FEATURE.replace("{more}", ""), checks=checks)
    findings = with_site(cli, site)("doctor", "--offline", "--json").json()["findings"]
    assert [(f["state"], f["detail"], f["fix"]) for f in findings if f["subject"] == "bell"] == [
        ("error", "the bell is cracked", "mend it")
    ]


@pytest.mark.parametrize("service", ["dashboard", "gateway"])
def test_plug_ins_with_a_module_that_cannot_be_imported_stop_no_service(cli: Cli, site: Path, service: str):
    for part in ("opening", "routes", "gateway", "ui"):
        feature = FEATURE.replace("{more}", f', subsystems=(Subsystem("{part}_bell", "Bell"),)')
        install(site, f"cracked_{part}", feature.replace('"bell"', f'"{part}_bell"', 1), **{part: "1 / 0\n"})
    env = {f"{service.upper()}_PORT": str(free_port())}
    with with_site(cli, site).running(service, env=env) as child:
        wait_until_it_listens(child)
        code, _, told = end(child)
    assert code == 0, told


def test_a_plug_in_whose_service_cannot_be_imported_is_an_error_in_the_status(cli: Cli, site: Path):
    cracked = FEATURE.replace("{more}", ', subsystems=(Subsystem("bell", "Bell"),)')
    install(site, "cracked", cracked, opening="1 / 0\n")
    subsystems = with_site(cli, site)("status", "--json").json()["subsystems"]
    assert [name for name, each in subsystems.items() if each["status"] == "error"] == ["bell"]
