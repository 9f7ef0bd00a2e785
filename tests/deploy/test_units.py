"""The systemd units confine the service, and still let bubblewrap confine skills in it."""

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tocsin.core.process.sandbox import Level, Sandbox, SandboxPolicy, State

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
# `--unshare-…` of bubblewrap, in the words of RestrictNamespaces=.
NAMESPACES = {
    "user": "user", "pid": "pid", "ipc": "ipc", "uts": "uts", "net": "net", "cgroup-try": "cgroup",
}  # fmt: skip
# What a start of bubblewrap calls beyond @system-service; each was found missing when the unit lacked it.
CALLS = {"capset", "mount", "pivot_root", "sethostname", "umount2"}
# Properties under which /proc cannot be mounted anew or the host name cannot be set, not even in a namespace.
IN_THE_WAY = {"ProtectHostname", "ProtectKernelTunables", "ProcSubset", "PrivateUsers", "RestrictFileSystems"}
# These differ by what a unit is for; everything else is the same in all of them.
OWN = {
    "ExecStart", "ExecReload", "Type", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec",
    "WatchdogSec",
}  # fmt: skip
ANALYZE = shutil.which("systemd-analyze")
needs_analyze = pytest.mark.skipif(not ANALYZE, reason="systemd-analyze is not installed (Debian: apt install systemd)")


def properties(unit: Path) -> dict[str, list[str]]:
    """Return the values of every property in a unit's [Service] section."""
    section = unit.read_text("utf-8").partition("[Service]\n")[2].partition("[Install]")[0]
    found = defaultdict(list)
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return dict(found)


def words(unit: Path, name: str) -> set[str]:
    return set(" ".join(properties(unit).get(name, [])).split())


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ANALYZE), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
async def test_a_unit_allows_every_namespace_that_the_sandbox_of_skills_is_made_of(unit: Path):
    sandbox = Sandbox(bwrap="bwrap", _state=State(Level.BUBBLEWRAP))
    argv = (await sandbox.confine(["true"], {}, SandboxPolicy(Path("/srv/skill"), Path("/srv/skill")))).argv
    unshared = {NAMESPACES[word.removeprefix("--unshare-")] for word in argv if word.startswith("--unshare-")}
    assert words(unit, "RestrictNamespaces") == unshared | {"mnt"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_allows_the_calls_of_bubblewrap_and_nothing_that_breaks_them(unit: Path):
    assert words(unit, "SystemCallFilter") >= CALLS
    assert "AF_NETLINK" in words(unit, "RestrictAddressFamilies")  # loopback of a network namespace
    assert properties(unit).keys() & IN_THE_WAY == set()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_all_units_run_under_the_same_limits(unit: Path):
    first = properties(UNITS[0])
    mine = properties(unit)
    assert {n: v for n, v in mine.items() if n not in OWN} == {n: v for n, v in first.items() if n not in OWN}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_names_only_folders_that_it_makes_or_the_documentation_does(unit: Path):
    page = (ROOT / "deploy" / "README.md").read_text("utf-8") + (ROOT / "docs" / "guide.md").read_text("utf-8")
    for path in re.findall(r"(/(?:opt|etc)/tocsin)\b", unit.read_text("utf-8")):
        assert path in page


@pytest.mark.parametrize("unit", [unit for unit in UNITS if "doctor" not in unit.name], ids=lambda unit: unit.name)
def test_a_service_reports_when_it_is_ready_reloads_on_sighup_and_has_a_watchdog(unit: Path):
    found = properties(unit)
    assert (found["Type"], found["ExecReload"]) == (["notify"], ["/bin/kill -HUP $MAINPID"])
    assert found["WatchdogSec"] == ["60"]


def test_doctor_has_a_unit_so_that_it_sees_what_the_services_see():
    assert properties(FOLDER / "tocsin-doctor.service")["ExecStart"] == ["/opt/tocsin/bin/tocsin doctor"]


@needs_analyze
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_every_line_of_a_unit(unit: Path, tmp_path: Path):
    # What it starts is not installed here, nor is the page it may name.
    copy = tmp_path / unit.name.replace("@", "@1")
    copy.write_text(unit.read_text("utf-8").replace("/opt/tocsin/bin/tocsin", "/bin/true"), "utf-8")
    done = analyze("verify", "--man=no", copy)
    assert [line for line in done.stderr.splitlines() if unit.stem.partition("@")[0] in line] == []


@needs_analyze
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_exposure_of_a_unit_is_ok(unit: Path):
    done = analyze("security", "--offline=true", "--no-pager", "--threshold=30", unit)
    assert done.returncode == 0, done.stdout + done.stderr
