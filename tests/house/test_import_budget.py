"""The command answers at once because it loads only what the call needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {
    "aiohttp",
    "aiosmtplib",
    "asyncio",
    "concurrent",
    "email",
    "http",
    "multiprocessing",
    "prometheus_client",
    "regex",
    "rich",
    "ruamel",
    "sqlite3",
    "ssl",
    "starlette",
    "structlog",
    "unittest",
    "uvicorn",
    "uvloop",
}
# What importing a module must not load, by the name of the top-level package.
FORBIDDEN = {
    "tocsin": SLOW | {"argparse", "dotenv", "platformdirs"},
    "tocsin.cli.main": SLOW | {"logging", "pkgutil", "shutil"},
    "tocsin.assembly.light": SLOW | {"logging", "pkgutil"},
}
PROBE = """
import sys
before = set(sys.modules)
__import__(sys.argv[1])
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize(("module", "forbidden"), FORBIDDEN.items(), ids=FORBIDDEN)
def test_importing_a_module_does_not_load_what_only_some_calls_need(module: str, forbidden: set[str]):
    # -I and no environment: what this test run loads into children (coverage) is not what a user's does.
    command = [sys.executable, "-I", "-c", PROBE, module]
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded & forbidden == set()


def modules_of(tmp_path: Path, *arguments: str) -> set[str]:
    """Return what a command loads."""
    probe = PROBE.replace("__import__(sys.argv[1])", f"from tocsin.cli.main import run; run({list(arguments)})")
    env = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off"}
    done = subprocess.run([sys.executable, "-I", "-c", probe], env=env, capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_listing_the_channels_loads_nothing_that_only_other_commands_need(tmp_path: Path):
    loaded = modules_of(tmp_path, "channels", "-q")
    assert loaded & (SLOW | {"difflib", "logging", "pkgutil", "platformdirs", "shutil"}) == set()


def test_printing_a_schema_loads_neither_a_web_framework_nor_a_reader_of_yaml(tmp_path: Path):
    needless = {"fastapi", "pydantic", "re2", "ruamel", "starlette"}
    for name in ("cron_job", "triggers", "workflow"):
        assert {module.partition(".")[0] for module in modules_of(tmp_path, "schema", name)} & needless == set()


def test_listing_secrets_loads_neither_the_audit_log_nor_an_event_loop(tmp_path: Path):
    assert modules_of(tmp_path, "vault", "list", "-q") & {"asyncio", "hashlib", "tocsin.core.audit.log"} == set()


def test_the_status_loads_nothing_that_only_runs_and_watches(tmp_path: Path):
    loaded = modules_of(tmp_path, "status", "-q")
    needless = (
        "tocsin.channels.inbound", "tocsin.core.storage.redis_client", "tocsin.core.watching",
        "tocsin.features.abilities",
        "tocsin.features.assistant_skills.running", "tocsin.features.cron.work", "tocsin.features.cron.scheduler",
        "tocsin.features.ssh.execution", "tocsin.features.watchers.running", "tocsin.features.workflows.engine",
        "tocsin.providers",
    )  # fmt: skip
    assert {name for name in loaded if name.startswith(needless)} == set()


def test_a_workflow_is_checked_without_what_runs_it_and_without_features_that_it_does_not_name(tmp_path: Path):
    (tmp_path / "workflows").mkdir(0o700)
    path = tmp_path / "workflows" / "a.yaml"
    path.write_text("name: a\nsteps:\n  - {name: a, command: 'true'}\n")
    path.chmod(0o600)
    loaded = modules_of(tmp_path, "workflows", "validate", "-q")
    needless = (
        "tocsin.features.ssh.hooks", "tocsin.features.vault.hooks", "tocsin.features.skills.hooks",
        "tocsin.features.workflows.engine", "tocsin.runs.recorder", "tocsin.runs.service",
    )  # fmt: skip
    assert {name for name in loaded if name.startswith(needless)} == set()
