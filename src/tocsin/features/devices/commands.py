"""devices: list, rename and remove the devices of Web Push."""

import argparse
from collections.abc import Sequence

from tocsin.core.audit.actions import CLI
from tocsin.core.time.timestamps import timestamp
from tocsin.features.contract import Commands
from tocsin.features.devices.service import PushDevice, PushDevices
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable


def configure_devices(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin devices`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list the devices by name, with their push services",
            "rename": "give a device another name",
            "remove": "remove a device: no further message is sent to it",
        },
    )
    parser.epilog = "example: tocsin devices list"
    commands["list"].epilog = "example: tocsin devices list --json"
    commands["list"].set_defaults(run=_list)
    commands["rename"].epilog = "example: tocsin devices rename phone annas-phone"
    commands["remove"].epilog = "example: tocsin devices remove phone"
    for name, run in (("rename", _rename), ("remove", _remove)):
        commands[name].add_argument("name", metavar="NAME", help="name of the device, from `tocsin devices list`")
        commands[name].set_defaults(run=run)
    commands["rename"].add_argument("new", metavar="NEW", help="its new name")
    commands["remove"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(devices: PushDevices) -> Sequence[PushDevice]:
        return await devices.all()

    found = program.run(work)
    return out.listing(
        found,
        ("name", "service", "added by", "added"),
        map(_row, found),
        empty="no devices; open the dashboard on one and choose `Notify this device`",
    )


def _row(device: PushDevice) -> tuple[str, ...]:
    return device.name, device.service, device.user or "–", (timestamp(device.created_at) or "–")[:10]


def _rename(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(devices: PushDevices) -> PushDevice:
        return await devices.rename(readable(arguments.name), readable(arguments.new), Caller(CLI.name))

    renamed = program.run(work, writes=True)
    out.effect_done("the device was renamed")
    return out.answer(renamed, f"{arguments.name} is {renamed.name} now")


def _remove(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name = readable(arguments.name)

    async def work(devices: PushDevices) -> PushDevice:
        await out.confirm(f"Remove the device {name!r}?", yes=arguments.yes)
        return await devices.remove(name, Caller(CLI.name))

    removed = program.run(work, writes=True)
    out.effect_done("the device was removed")
    return out.answer(removed, f"{removed.name}: removed")


COMMANDS: Commands = {"devices": configure_devices}
