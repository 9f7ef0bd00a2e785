"""The command answers at once because it loads only what the call needs."""

import json
import subprocess
import sys

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
    "tocsin.cli.main": SLOW | {"logging"},
    "tocsin.assembly.program": SLOW | {"logging"},
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
