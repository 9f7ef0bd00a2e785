"""heartbeats url, new-address, new-key."""

import argparse
from collections.abc import Mapping
from typing import NamedTuple

from tocsin.core.config.security import is_front_door_local
from tocsin.core.records.as_json import to_json
from tocsin.features.heartbeats.commands.changing import CALLER
from tocsin.features.heartbeats.commands.pasting import crontab_schedule, lines_for, lines_to_paste
from tocsin.features.heartbeats.model import Heartbeat, HeartbeatAddress
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.heartbeats.store import BADGE_KEY, PING_KEY
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable


class _Shown(NamedTuple):
    heartbeat: Heartbeat
    addresses: HeartbeatAddress
    badge: str
    is_local_only: bool


def configure_addresses(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    commands["url"].epilog = "example: tocsin heartbeats url nightly --for cron"
    commands["url"].add_argument(
        "--for", dest="place", choices=list(lines_for("", "", "")), help="print only the lines for this place"
    )
    commands["url"].set_defaults(run=_url)
    commands["new-address"].epilog = "example: tocsin heartbeats new-address nightly"
    commands["new-address"].set_defaults(run=_new_address)
    for name in ("url", "new-address"):
        commands[name].add_argument("heartbeat", help="name or ID; `tocsin heartbeats list` shows them")
    commands[
        "new-key"
    ].epilog = (
        "example: tocsin heartbeats new-key badge\n\nAddresses that contain the former key are refused from now on."
    )
    commands["new-key"].add_argument("purpose", choices=[PING_KEY, BADGE_KEY], help="which key")
    commands["new-key"].set_defaults(run=_new_key)


async def _find(heartbeats: Heartbeats, found: Heartbeat) -> _Shown:
    addresses, badge = await heartbeats.addresses(found), await heartbeats.badge_url(found.name)
    return _Shown(found, addresses, badge, is_front_door_local(heartbeats.context.settings))


def _url(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> _Shown:
        return await _find(heartbeats, await heartbeats.get(readable(arguments.heartbeat)))

    return _show(program.run(work, writes=True), out, arguments.place or "")


def _new_address(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> _Shown:
        return await _find(heartbeats, await heartbeats.new_address(readable(arguments.heartbeat), CALLER))

    return _show(program.run(work, writes=True), out)


def _show(shown: _Shown, out: Console, place: str = "") -> int:
    addresses, schedule = shown.addresses, crontab_schedule(shown.heartbeat.definition)
    if out.as_json:
        out.document({**to_json(addresses), "badge_url": shown.badge or None})
        return DONE
    if shown.is_local_only:
        out.note("Only this machine reaches the address: set FRONT_DOOR_HOST, or FRONT_DOOR_URL for a proxy.")
    if place:
        out.text(lines_for(addresses.ping_url, shown.heartbeat.name, schedule)[place])
        return DONE
    out.line(addresses.ping_url)
    out.line(f"by name:     {addresses.slug_url}")
    out.line(f"Uptime Kuma: {addresses.push_url}?status=up&msg=OK&ping=")
    out.line(f"Cronitor:    {addresses.cronitor_url}")
    if shown.badge:
        out.line(f"badge:       {shown.badge}")
    out.text(lines_to_paste(addresses.ping_url, shown.heartbeat.name, schedule))
    return DONE


def _new_key(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    key = program.run(lambda heartbeats: heartbeats.new_key(arguments.purpose, CALLER), writes=True)
    out.effect_done("the key was replaced")
    out.secret({"purpose": arguments.purpose, "key": key}, "key")
    return DONE
