"""import: take over the configuration of other tools."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.doors.commands.changing import CALLER
from tocsin.features.doors.importing.formats import READERS
from tocsin.features.doors.importing.plan import ImportedDoor, ImportPlan, LeftOut
from tocsin.features.doors.model import DoorAddress
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.service import Doors
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable

_FILES = {
    "apprise": "a configuration of Apprise or of the Apprise API, as text or YAML",
    "alertmanager": "alertmanager.yml",
    "ntfy": "server.yml or client.yml of ntfy",
    "mailrise": "mailrise.conf",
}


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin import`."""
    parser.epilog = "example: tocsin import alertmanager alertmanager.yml --write"
    for tool, command in add_subcommands(parser, _FILES).items():
        command.epilog = (
            f"example: tocsin import {tool} {_FILES[tool].split()[0] if '.' in _FILES[tool] else 'FILE'}\n\n"
            "Channels must be set up first: only their targets are taken over. Addresses of other services of\n"
            "Apprise go to the vault, which `tocsin vault init` creates.\n"
            "exit code 0: all is taken over, 1: some is not"
        )
        command.add_argument("file", type=Path, help=_FILES[tool])
        command.add_argument(
            "--profile", metavar="PROFILE", help="profile of doors whose own targets are not taken over"
        )
        command.add_argument("--write", action="store_true", help="add the profiles and doors, and print the addresses")
        command.set_defaults(run=_import, tool=tool)


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    try:
        text = arguments.file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot read {arguments.file}: {reason}", hint="check the path") from None

    async def work(doors: Doors) -> tuple[ImportPlan, list[DoorAddress]]:
        fallback = readable(arguments.profile or "")
        if fallback:
            doors.context.messenger.check_profile(fallback)
        plan = ImportPlan(doors.context.output, fallback)
        READERS[arguments.tool](text, arguments.file, plan)
        known = {each.name for each in await doors.all()}
        plan.doors = [each for each in plan.doors if _is_possible(each, known, plan)]
        return plan, await _write(doors, plan) if arguments.write else []

    plan, added = program.run(work, writes=arguments.write)
    if arguments.write:
        out.effect_done("the profiles and doors were added")
    for each in plan.left_out:
        out.error(f"{each.what}: {each.why}")
    document = {
        "profiles": _profiles(plan),
        "targets": [{"channel": each.channel, "name": each.name, "entry": each.entry} for each in plan.services],
        "doors": [each._asdict() for each in plan.doors],
        "left_out": [each._asdict() for each in plan.left_out],
        "addresses": added,
    }
    lines = [f"profile {each.profile}: {each.channel} {each.target}" for each in plan.targets]
    lines += [f"targets.yaml, {each.channel}: {each.name}: {each.entry}" for each in plan.services]
    lines += [f"door {each.name}: {each.protocol}, to {each.profile}" for each in plan.doors]
    lines += [f"address of {each.name}: {each.url}" for each in added]
    verb = "imported" if arguments.write else "would import"
    counted = f"{verb} {number_of(len(_profiles(plan)), 'profile')} and {number_of(len(plan.doors), 'door')}"
    return out.answer(document, *lines, counted, ok=not plan.left_out)


def _is_possible(door: ImportedDoor, known: set[str], plan: ImportPlan) -> bool:
    if door.name in known:
        plan.left_out.append(LeftOut(door.name, "a door with this name exists already"))
    elif door.protocol not in PROTOCOLS:
        plan.left_out.append(LeftOut(door.name, f"the protocol {door.protocol} is not available"))
    else:
        return True
    return False


async def _write(doors: Doors, plan: ImportPlan) -> list[DoorAddress]:
    """Add the targets and profiles, then the doors; one that fails is left out."""
    for service in list(plan.services):
        try:
            await doors.context.abilities.secrets.store(service.secret, service.address, source=CALLER.source)
            doors.context.output.add_service(service.name, service.entry)
        except TocsinError as error:
            plan.services.remove(service)
            plan.targets = [each for each in plan.targets if each[1:] != service[:2]]
            plan.left_out.append(LeftOut(service.name, error.sentence()))
    for each in plan.targets:
        doors.context.output.add_to_profile(*each)
    added = []
    for door in list(plan.doors):
        try:
            fields = {"protocol": door.protocol, "profile": door.profile}
            added.append(await doors.add(door.name, fields, CALLER))
        except TocsinError as error:
            plan.doors.remove(door)
            plan.left_out.append(LeftOut(door.name, error.sentence()))
    return added


def _profiles(plan: ImportPlan) -> Mapping[str, list[Mapping[str, str]]]:
    found: dict[str, list[Mapping[str, str]]] = {}
    for each in plan.targets:
        found.setdefault(each.profile, []).append({"channel": each.channel, "target": each.target})
    return found
