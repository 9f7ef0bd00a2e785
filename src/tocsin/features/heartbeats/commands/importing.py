"""heartbeats import: take over the checks of healthchecks, by its API."""

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.http.direct import DirectTransport
from tocsin.core.text.strings import number_of
from tocsin.features.heartbeats.commands.changing import CALLER
from tocsin.features.heartbeats.model import is_name
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.terminal.output import Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
USUAL_URL = "https://healthchecks.io"


class ImportedCheck(NamedTuple):
    """A check as a heartbeat, or the reason why it cannot be one."""

    name: str
    fields: Mapping[str, Any]
    problem: str = ""
    code: str = ""  # the UUID of its address, which a read-only key does not show


def configure_import(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin heartbeats import --url https://hc.example.org --dry-run < api-key.txt\n\n"
        "Standard input has the API key of the project. With a full key, heartbeats keep the UUIDs of the checks, so "
        "that only the beginning of each job's address changes; with a read-only key, they get new ones.\n"
        "exit code 0: all checks were imported, 1: some were not"
    )
    parser.add_argument("--url", default=USUAL_URL, help=f"address of healthchecks (default: {USUAL_URL})")
    parser.add_argument("--notify", metavar="WHERE", help="where down and up are sent: <channel>:<target> or a profile")
    parser.add_argument("--dry-run", action="store_true", help="print what would be imported, and store nothing")
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    key = read_message("-", out).strip()

    async def work(heartbeats: Heartbeats) -> tuple[list[str], list[ImportedCheck], int]:
        found = read_checks(await _fetch(arguments.url.rstrip("/"), key), arguments.notify or "")
        known = {each.name for each in await heartbeats.all()}
        added, refused, there = list[str](), [check for check in found if check.problem], 0
        for check in found:
            if check.problem:
                continue
            if check.name in known:
                there += 1
                continue
            try:
                if arguments.dry_run:
                    heartbeats.reader.read(check.name, check.fields)
                else:
                    await heartbeats.add(check.name, check.fields, CALLER, check.code)
                added.append(check.name)
            except TocsinError as error:
                refused.append(check._replace(problem=error.sentence()))
        return added, refused, there

    added, refused, there = program.run(work, writes=not arguments.dry_run)
    if not arguments.dry_run:
        out.effect_done("the heartbeats were added")
    for check in refused:
        out.error(f"{check.name}: {check.problem}")
    said = "would import" if arguments.dry_run else "imported"
    known_line = [f"{number_of(there, 'heartbeat')} with the same name already exist"] if there else []
    document = {"imported": added, "existing": there, "refused": {check.name: check.problem for check in refused}}
    return out.answer(document, f"{said} {number_of(len(added), 'heartbeat')}", *known_line, ok=not refused)


async def _fetch(base: str, key: str) -> Sequence[Mapping[str, Any]]:
    transport = DirectTransport()
    try:
        response = await transport.request("GET", f"{base}/api/v3/checks/", headers={"X-Api-Key": key})
    finally:
        await transport.aclose()
    if response.status in {401, 403}:
        raise ConfigError("healthchecks refused the API key", hint="create one in the settings of the project")
    found = response.json_object()
    if response.status != 200 or found is None or not isinstance(found.get("checks"), list):
        raise ConfigError(f"healthchecks answered with status {response.status}", hint="check --url")
    return [check for check in found["checks"] if isinstance(check, Mapping)]


def read_checks(checks: Sequence[Mapping[str, Any]], notify: str) -> list[ImportedCheck]:
    """Return the checks of `GET /api/v3/checks/` as heartbeats."""
    found, taken = [], set[str]()
    for check in checks:
        title = str(check.get("name") or check.get("slug") or "unnamed")
        name = str(check.get("slug") or "") or re.sub(r"[^a-z0-9_-]+", "-", title.lower()).strip("-_")
        if not is_name(name) or name in taken:
            why = "its name is taken by another check" if name in taken else "it has no usable name or slug"
            found.append(ImportedCheck(title, {}, f"{why}; give it another slug in healthchecks"))
            continue
        taken.add(name)
        fields: dict[str, Any] = {"grace": check.get("grace", 3600)}
        if check.get("schedule"):
            fields |= {"schedule": check["schedule"], "timezone": check.get("tz", "UTC")}
        else:
            fields["period"] = check.get("timeout", 86_400)
        tags = str(check.get("tags") or "").split()
        fields |= {"tags": tags} if tags else {}
        fields |= {"description": str(check["desc"])[:500]} if check.get("desc") else {}
        fields |= {"notify": notify} if notify else {}
        code = str(check.get("uuid") or "").lower()
        found.append(ImportedCheck(name, fields, code=code if _UUID.fullmatch(code) else ""))
    return found
