"""channels: list the channels, with the missing settings of each.

This is the most frequent command of people and scripts, so it imports only what listing needs.
"""

import argparse

from tocsin.assembly.light import Installed, list_channels, load_settings
from tocsin.channels.registry import ChannelState
from tocsin.core.config.unknown_settings import unknown_settings
from tocsin.core.plugins import load_class
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console


def configure_channels(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin channels --json"
    parser.add_argument(
        "--services",
        action="store_true",
        help="list the services behind channels that reach several, with the form of each address",
    )
    parser.set_defaults(run=_channels)


def _channels(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, installed = load_settings(data_dir=options.data_dir, env_file=options.env_file)
    if arguments.services:
        return _services(installed, out)
    for problem in installed.problems:
        out.error(problem)
    states = list_channels(settings, installed)
    if out.as_json:
        out.document([_state_document(state) for state in states])
    else:
        out.table(
            ("channel", "product", "state", "target"),
            [(s.word, s.spec.label, _state_sentence(s), s.spec.target_format) for s in states],
        )
    if any(state.missing for state in states):
        for unread in settings.problems:
            out.error(str(unread), unread.hint)
        for unknown in unknown_settings(settings):
            out.error(str(unknown), unknown.hint)
    return DONE


def _services(installed: Installed, out: Console) -> int:
    import asyncio  # 40 ms, which listing channels avoids

    channels = [channel for channel in installed.channels if channel.services]
    found = [
        {"channel": channel.spec.kind, **service}
        for channel in channels
        for service in asyncio.run(load_class(channel.services)())
    ]
    rows = [
        (each["channel"], each["service"], form, "yes" if each["files"] else "no", each["page"])
        for each in found
        for form in each["forms"]
    ]
    return out.listing(found, ("channel", "service", "address", "files", "page"), rows)


def _state_sentence(state: ChannelState) -> str:
    if not state.available:
        return f"unavailable (needs {state.spec.platform})"
    return f"missing {', '.join(state.missing)}" if state.missing else "configured"


def _state_document(state: ChannelState) -> dict[str, object]:
    spec = state.spec
    return {
        "channel": spec.kind,
        "configured": state.configured,
        "missing": list(state.missing),
        "available": state.available,
        "aliases": list(spec.aliases),
        "target": spec.target_format,
        "max_length": spec.max_length,
        "inbound": list(spec.inbound),
    }
