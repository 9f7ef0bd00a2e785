"""Use the REST API with third-party clients: `python -m tools.api_clients`.

Generates a typed Python client from the OpenAPI document with openapi-python-client, imports all of it, and drives a
real dashboard with it. Ends with 1 where something does not work; a test runs it with `--used`.
"""

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.quick_start import starter
from tests.waiting import until

ROOT = Path(__file__).parent.parent
BINARIES = Path(sysconfig.get_path("scripts"))
USER, PASSWORD = "anna", secrets.token_urlsafe(16)
TOCSIN = BINARIES / "tocsin"

# What docs/dashboard.md shows, and more; run by the interpreter of the other environment.
USE = """
import importlib, io, os, pathlib, sys

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder.parent))
modules = [".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.rglob("*.py")]
for module in modules:
    importlib.import_module(module)

from tocsin_client import AuthenticatedClient, Client
from tocsin_client.api.chat import create_chat_attachment
from tocsin_client.api.cron import create_cron_job, list_cron_jobs, run_cron_job
from tocsin_client.api.login import sign_in
from tocsin_client.api.tokens import create_token
from tocsin_client.models import CreateCronJobBody, NewToken, NewTokenScopesItem, Problem, SignInBody
from tocsin_client.types import File

address, user, password = sys.argv[2], os.environ["API_USER"], os.environ["API_PASSWORD"]
signed_in = sign_in.sync(client=Client(address), body=SignInBody(username=user, password=password))
assert signed_in.user == user, signed_in
import base64
basic = base64.b64encode(f"{user}:{password}".encode()).decode()
admin = AuthenticatedClient(address, token=basic, prefix="Basic")
made = create_token.sync(client=admin, body=NewToken(name="client", scopes=[NewTokenScopesItem.ADMIN]))
client = AuthenticatedClient(address, token=made.token)

job = create_cron_job.sync(client=client, body=CreateCronJobBody(name="hello", schedule="@daily", command="echo hello"))
assert [each.name for each in list_cron_jobs.sync(client=client).items] == ["hello"]
run = run_cron_job.sync(job.id, client=client, prefer="wait=20", idempotency_key="once")
assert (run.status, run.output.tail) == ("succeeded", "hello"), run
problem = create_cron_job.sync(client=client, body=CreateCronJobBody(name="x", schedule="61 * * * *", command="df"))
assert isinstance(problem, Problem) and problem.errors[0].pointer == "#/schedule", problem
file = create_chat_attachment.sync(client=client, body=File(io.BytesIO(b"hello")), name="a.txt")
assert (file.name, file.bytes_) == ("a.txt", 5), file
print(f"{len(modules)} modules imported; signed in, made a token, made and ran a job, was refused, sent a file")
"""


def main(words: Sequence[str] | None = None) -> int:
    """Generate, use, and tell what was done; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.api_clients", description=__doc__)
    parser.add_argument("--used", action="store_true", help="generate only the operations that the client calls")
    used = parser.parse_args(words).used
    with tempfile.TemporaryDirectory() as folder, _dashboard(Path(folder)) as address:
        client = _generate(Path(folder), used=used)
        env = {**os.environ, "API_USER": USER, "API_PASSWORD": PASSWORD}
        return subprocess.run([sys.executable, "-c", USE, client, address], env=env, check=False).returncode


def _generate(folder: Path, *, used: bool) -> Path:
    """Return the package that is generated from the document which the command prints."""
    document, made = folder / "openapi.json", folder / "tocsin_client"
    with document.open("w") as out:
        env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder / "empty")}
        with starter(env)([TOCSIN, "openapi"], stdout=out, env=env) as printing:
            if code := printing.wait():
                raise subprocess.CalledProcessError(code, "tocsin openapi")
    if used:
        document.write_text(json.dumps(_reduce(json.loads(document.read_text()))))
    argv: list[str | Path] = [BINARIES / "openapi-python-client", "generate", "--meta", "none"]
    (plain := folder / "generator.json").write_text('{"post_hooks": []}')  # how the code looks proves nothing
    argv += ["--path", document, "--output-path", made, "--config", plain]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    # Of bodies with several media types it leaves out those that it does not know, and says so.
    for line in sorted({line for line in done.stdout.splitlines() if line.startswith(("WARNING", "ERROR"))}):
        print(line)
    return made


def _reduce(document: dict[str, Any]) -> dict[str, Any]:
    """Keep the operations that USE calls, and the components that they refer to."""
    calls = set(re.findall(r"\b(\w+)\.sync\(", USE))
    paths: dict[str, Any] = {}
    for path, methods in document["paths"].items():
        kept = {name: each for name, each in methods.items() if _module(each) in calls or name == "parameters"}
        if kept.keys() - {"parameters"}:
            paths[path] = kept
    components: dict[str, Any] = {"securitySchemes": document["components"].get("securitySchemes", {})}
    waiting = [paths]
    while waiting:
        for kind, name in re.findall(r'"#/components/(\w+)/([^"/]+)"', json.dumps(waiting.pop())):
            if name not in (found := components.setdefault(kind, {})):
                waiting.append(found.setdefault(name, document["components"][kind][name]))
    return {**document, "paths": paths, "components": components}


def _module(operation: Any) -> str:
    """Return the module that the generator names after an operation."""
    words = operation.get("operationId", "") if isinstance(operation, dict) else ""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()


@contextmanager
def _dashboard(folder: Path) -> Iterator[str]:
    port = free_port()
    env = {
        "PATH": os.environ["PATH"],
        "TOCSIN_DATA_DIR": str(folder / "data"),
        "REDIS_URL": "off",
        "DASHBOARD_USER": USER,
        "DASHBOARD_PASS": PASSWORD,
        "DASHBOARD_PORT": str(port),
    }
    log = folder / "dashboard.log"
    with log.open("wb") as out:
        process = starter(env)([TOCSIN, "dashboard"], env=env, cwd=folder, stderr=out, stdout=out)
    try:
        until(lambda: b'"listening"' in log.read_bytes() or process.poll() is not None, "the dashboard listens")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
