"""bot: run the bot, and manage the chats that may talk to it."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tocsin.assembly.full.bot import open_access
from tocsin.assembly.program import App
from tocsin.bot.door.access import Access, Change, Listed, label_details
from tocsin.channels.conversation import ConversationAdapter
from tocsin.cli.running import serve, with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.time.timestamps import timestamp
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import Console
from tocsin.terminal.parsing import UsageError

T = TypeVar("T")

CALLER = Caller(CLI.name)


def configure_bot(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin bot`; without a subcommand it runs the bot."""
    parser.set_defaults(run=serve, parts=frozenset({"bot"}))
    summaries = {"access": "list, approve, deny and remove chats"}
    commands = add_subcommands(parser, summaries, required=False)
    parser.epilog = "examples:\n  tocsin bot\n  tocsin bot access approve 123456789"
    commands["access"].epilog = "example: tocsin bot access approve 123456789"
    changes = add_subcommands(
        commands["access"],
        {
            "list": "list the allowed, denied and waiting chats",
            "approve": "allow a chat, and notify it if it asked for access",
            "deny": "deny a chat; it cannot ask again",
            "remove": "remove a chat from the allowlist; it can ask again",
        },
    )
    changes["list"].epilog = "example: tocsin bot access list --json"
    changes["list"].set_defaults(run=_list)
    for name in ("approve", "deny", "remove"):
        changes[name].epilog = f"example: tocsin bot access {name} -1001234567890"
        changes[name].add_argument("chat_id", help="chat ID; groups have a negative one")
        changes[name].set_defaults(run=_change, change=name)


def _list(_: argparse.Namespace, options: Options, out: Console) -> int:
    chats = _with_access(options, out, lambda access, _: access.listing())
    return out.listing(
        chats,
        ("chat", "state", "from", "since", "who"),
        (_row(chat) for chat in chats),
        empty="no chats are allowed, denied or waiting",
    )


def _row(chat: Listed) -> tuple[str, ...]:
    since = (timestamp(chat.changed_at) or "")[:19]
    return chat.chat_id, chat.state, chat.origin, since, ", ".join(label_details(chat.details))


def _change(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(access: Access, channel: ConversationAdapter) -> Change:
        try:
            chat_id = channel.variables.admin.parse(arguments.chat_id)
        except ValueError as error:
            raise UsageError(f"argument chat_id: must be {error}", prog=arguments.parser.prog) from None
        changes = {"approve": access.approve, "deny": access.deny, "remove": access.remove}
        return await changes[arguments.change](chat_id, CALLER)

    change = _with_access(options, out, work, writes=True)
    out.effect_done("the decision was stored")
    return out.answer(change, change.sentence)


def _with_access(
    options: Options,
    out: Console,
    work: Callable[[Access, ConversationAdapter], Awaitable[T]],
    *,
    writes: bool = False,
) -> T:
    async def call(app: App) -> T:
        return await work(*open_access(app, CALLER, app.stores.bot().access))

    return with_app(options, out, call, writes=writes)
