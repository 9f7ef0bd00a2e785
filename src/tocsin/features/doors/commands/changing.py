"""doors add, edit, rotate, remove."""

import argparse
from collections.abc import Mapping
from textwrap import indent
from typing import Any
from urllib.parse import urlsplit

from tocsin.core.config.security import is_loopback
from tocsin.core.records.as_json import to_json
from tocsin.features.doors.model import DoorAddress, DoorRecord, DoorSeverity, as_record
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.rules.file import preset_names
from tocsin.features.doors.service import Doors
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.program import Program
from tocsin.terminal.secret_input import secret_input
from tocsin.terminal.text import readable, whole_number

CALLER = Caller("cli")
_MAX_SECRET_BYTES = 4_096


def configure_changes(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    """Add the arguments of the subcommands that change doors."""
    commands["add"].epilog = (
        "examples:\n"
        "  tocsin doors add alerts --profile oncall\n"
        "  tocsin doors add code --profile team --secret - < secret.txt"
    )
    commands["add"].add_argument("name", help="new name: lower-case letters, digits, _ and -")
    commands["add"].add_argument(
        "--protocol", choices=sorted(PROTOCOLS), help="how its senders speak (default: webhook)"
    )
    _add_fields(commands["add"])
    commands["add"].set_defaults(run=_add)
    commands["edit"].epilog = "example: tocsin doors edit alerts --severity warning --from ''"
    _add_fields(commands["edit"])
    commands["edit"].add_argument("--no-secret", action="store_true", help="senders need no secret any more")
    commands["edit"].set_defaults(run=_edit)
    commands["rotate"].epilog = "example: tocsin doors rotate alerts"
    commands["rotate"].set_defaults(run=_rotate)
    commands["remove"].epilog = "example: tocsin doors remove alerts --yes"
    commands["remove"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    commands["remove"].set_defaults(run=_remove)
    for name in ("edit", "rotate", "remove"):
        commands[name].add_argument("door", help="name or ID; `tocsin doors list` shows them")


def _add_fields(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--profile", metavar="PROFILE", help="profile to which its messages go, unless a rule names another one")
    add("--preset", metavar="PRODUCT", help=f"rules for a product: {', '.join(preset_names())}")
    add(
        "--secret",
        nargs="?",
        const="",
        metavar="-",
        help="senders prove themselves with a secret, too: prompts for it, or reads standard input with `-`",
    )
    add("--secret-vault", metavar="NAME", help="the same with a secret of the vault")
    add("--from", dest="sources", metavar="ADDRESS,…", help="addresses and networks that may send (default: any)")
    add("--severity", choices=list(map(str, DoorSeverity)), help="of messages that name none (default: info)")
    add("--rate", type=whole_number(1, 1_000_000), metavar="N", help="requests per minute (default: 600)")


def _fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that were given as options; an empty text means the default."""
    given = {
        "preset": arguments.preset,
        "profile": None if arguments.profile is None else readable(arguments.profile),
        "severity": arguments.severity,
        "rate": arguments.rate,
        "secret_name": arguments.secret_vault,
        "sources": None
        if arguments.sources is None
        else [each.strip() for each in arguments.sources.split(",") if each],
    }
    return {name: value if value != "" else None for name, value in given.items() if value is not None}


def _secret(arguments: argparse.Namespace) -> str:
    """Return the secret that the option asks for; empty without it."""
    if arguments.secret is None:
        return ""
    if arguments.secret not in {"", "-"}:
        arguments.parser.error("a secret on the command line can be read by others: use --secret alone, or --secret -")
    if not (secret := secret_input("Secret", _MAX_SECRET_BYTES)):
        arguments.parser.error("the secret is empty")
    return secret


def _add(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    given = {name: value for name, value in _fields(arguments).items() if value is not None}
    if arguments.protocol:
        given["protocol"] = arguments.protocol
    secret = _secret(arguments)
    address = program.run(lambda doors: doors.add(readable(arguments.name), given, CALLER, secret), writes=True)
    out.effect_done("the door was added")
    return show_address(out, address)


def _edit(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    changes = _fields(arguments)
    secret = "" if arguments.no_secret else _secret(arguments) or None
    if not changes and secret is None:
        arguments.parser.error("no changes requested: give at least one option")

    async def work(doors: Doors) -> DoorRecord:
        return as_record(await doors.edit(readable(arguments.door), changes, CALLER, secret))

    record = program.run(work, writes=True)
    out.effect_done("the door was changed")
    return out.answer(record, f"changed {record.name}")


def _rotate(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    address = program.run(lambda doors: doors.rotate(readable(arguments.door), CALLER), writes=True)
    out.effect_done("the address was replaced")
    return show_address(out, address)


def show_address(out: Console, address: DoorAddress) -> int:
    """Print the address of a door, which is shown only now, with what to paste where."""
    if out.as_json:
        forms = {name: value for name, value in to_json(address).items() if value is not None}
        out.secret(forms, "url", only_here=True)
        return DONE
    server = urlsplit(address.base_url)
    if is_loopback(server.hostname or ""):
        is_front = server.scheme.startswith("http")
        fix = "set FRONT_DOOR_HOST, or FRONT_DOOR_URL for a proxy" if is_front else "set SMTP_IN_HOST"
        out.note(f"Only this machine reaches the address: {fix}.")
    instructions = PROTOCOLS[address.protocol].instructions(address).items()
    lines = [address.url, *(f"\n{product}:\n{indent(text, '  ')}" for product, text in instructions)]
    # Masking would take the address for that of a webhook, and hide it.
    out.secret({"text": "\n".join(lines)}, "text", only_here=True)
    out.note("The address is a secret and is not shown again. Requests are taken while `tocsin up` runs.")
    return DONE


def _remove(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(doors: Doors) -> str:
        found = await doors.get(readable(arguments.door))
        await out.confirm(f"Remove the door {found.name}?", yes=arguments.yes)
        return (await doors.remove(found.id, CALLER)).name

    removed = program.run(work, writes=True)
    out.effect_done("the door was removed")
    return out.answer({"name": removed, "removed": True}, f"removed {removed}")
