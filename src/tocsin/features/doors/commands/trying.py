"""doors test, rule, presets."""

import argparse
from collections.abc import Mapping

from tocsin.core.errors import ConfigError
from tocsin.features.doors.commands.changing import CALLER
from tocsin.features.doors.model import DoorPreview
from tocsin.features.doors.rules.file import preset_names, preset_text
from tocsin.features.doors.service import Doors
from tocsin.features.doors.trying import make_rule, preview, send_test
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message, readable, whole_number


def configure_trying(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    """Add the arguments of the subcommands that try doors out."""
    commands["test"].epilog = (
        "examples:\n  tocsin doors test alerts\n  tocsin doors test alerts --last\n"
        "  tocsin doors test alerts --payload < event.json"
    )
    which = commands["test"].add_mutually_exclusive_group()
    which.add_argument("--last", action="store_true", help="show what the newest request would become; send nothing")
    which.add_argument("--request", type=whole_number(1, 2**53), metavar="N", help="the same for request N")
    which.add_argument("--payload", action="store_true", help="the same for a payload from standard input")
    commands["test"].set_defaults(run=_test)
    commands["rule"].epilog = "example: tocsin doors rule alerts --write"
    commands["rule"].add_argument(
        "--request", type=whole_number(1, 2**53), metavar="N", help="number of the request (default: the newest)"
    )
    commands["rule"].add_argument("--write", action="store_true", help="add the rule to doors.yaml")
    commands["rule"].set_defaults(run=_rule)
    for name in ("test", "rule"):
        commands[name].add_argument("door", help="name or ID; `tocsin doors list` shows them")
    commands["presets"].epilog = "example: tocsin doors presets github"
    commands["presets"].add_argument("preset", nargs="?", help="the preset to print (default: list all)")
    commands["presets"].set_defaults(run=_presets)


def _test(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name = readable(arguments.door)
    if not (arguments.last or arguments.request or arguments.payload):
        sent = program.run(lambda doors: send_test(doors, name, CALLER), writes=True)
        shown = ", ".join(sent.deliveries)
        return out.answer(sent, f"queued {shown}", ok=bool(sent.deliveries), error=sent.note)
    payload = read_message("-", out) if arguments.payload else None

    async def work(doors: Doors) -> list[DoorPreview]:
        return await preview(doors, name, payload, arguments.request)

    found = program.run(work)
    for each in found:
        _print(out, each)
    return out.answer(found)


def _print(out: Console, found: DoorPreview) -> None:
    facts = {
        "title": found.title,
        "text": found.text,
        "severity": found.severity,
        "key": found.key,
        "link": found.link,
        "profile": found.profile,
        "by": found.rule or "the generic form, or the protocol",
        "dropped": "yes" if found.drop else "",
        "note": found.note,
    }
    for name, value in facts.items():
        if value:
            out.text(f"{name}: " + value.replace("\n", "\n  ") + "\n")


def _rule(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name = readable(arguments.door)
    made = program.run(
        lambda doors: make_rule(doors, name, arguments.request, CALLER, write=arguments.write), writes=arguments.write
    )
    if out.as_json:
        out.document(made)
        return DONE
    out.text(made.rule)
    if made.written:
        out.effect_done("the rule was added")
        out.note(f"Edit it in doors.yaml; `tocsin doors test {name} --last` shows what the newest request becomes.")
    return DONE


def _presets(arguments: argparse.Namespace, out: Console, _program: Program) -> int:
    if arguments.preset is None:
        return out.answer(preset_names(), *preset_names())
    if arguments.preset not in preset_names():
        out.failure(
            ConfigError(f"unknown preset {arguments.preset[:60]!r}", hint=f"choose from {', '.join(preset_names())}")
        )
        return FAILED
    out.text(preset_text(arguments.preset))
    return out.answer({"name": arguments.preset, "rules": preset_text(arguments.preset)})
