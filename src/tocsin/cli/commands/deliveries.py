"""deliveries, publish: the durable queue and the bus."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import time

from tocsin.assembly.program import App
from tocsin.cli.commands.contents import add_contents, parse_mode_of, stored_contents
from tocsin.cli.running import with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import REDIS_URL
from tocsin.core.errors import UnknownChannelError
from tocsin.core.reading.value import shorten
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell
from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.model import WAITING, Delivery, DeliveryStatus
from tocsin.delivery.short_ids import shortened
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.publisher import Publisher
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import Console
from tocsin.terminal.parsing import UsageError
from tocsin.terminal.text import add_limit, moment, read_message, readable

USUAL_LIMIT, MAX_LIMIT = 20, 1_000


def configure_deliveries(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin deliveries`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list deliveries, newest first",
            "show": "show one delivery in detail",
            "replay": "queue a failed, expired or cancelled delivery again",
            "retry": "make the next attempt of a waiting delivery now",
            "dismiss": "dismiss a failed delivery, so that it is no longer reported",
            "cancel": "cancel a waiting delivery",
            "counts": "count deliveries by state",
        },
    )
    parser.epilog = "example: tocsin deliveries list --status dead"
    _configure_list(commands["list"])
    commands["counts"].epilog = "example: tocsin deliveries counts --json"
    commands["counts"].set_defaults(run=_counts)
    for name in ("show", "replay", "dismiss", "retry", "cancel"):
        commands[name].epilog = f"example: tocsin deliveries {name} 2b8d7c6e"
        commands[name].add_argument(
            "id",
            help="ID of the delivery, or its short form from `tocsin deliveries list`",
        )
        commands[name].set_defaults(run=_one, change=name)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin deliveries list --status dead --channel email"
    parser.add_argument("--status", choices=[str(status) for status in DeliveryStatus], help="state of the deliveries")
    parser.add_argument("--channel", default="", help="channel or alias of the deliveries")
    parser.add_argument("--target", default="", help="target of the deliveries")
    parser.add_argument("--key", default="", help="key of the message")
    parser.add_argument("--search", default="", metavar="WORDS", help="words in the message or target")
    parser.add_argument("--since", type=moment, metavar="TIME", help="earliest time of creation")
    add_limit(parser, USUAL_LIMIT, MAX_LIMIT)
    parser.set_defaults(run=_list)


def configure_publish(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: tocsin publish email ops@example.org "Backup done"'
    parser.add_argument("channel", help="channel or alias; `tocsin channels` lists them")
    parser.add_argument("target", help="address of the recipient on the channel, such as a chat ID")
    parser.add_argument("message", help="message text; `-` reads standard input")
    add_contents(parser, planned=False)
    parser.set_defaults(run=_publish, free_text="message")


def _list(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[Sequence[Delivery], Mapping[str, str], Callable[[str], str]]:
        query = DeliveryFilter(
            status=DeliveryStatus(arguments.status) if arguments.status else None,
            channel=_kind(arguments, app),
            target=readable(arguments.target),
            text=readable(arguments.search),
            key=readable(arguments.key),
            since=arguments.since,
            limit=arguments.limit,
        )
        page = await app.outbox.store.search(query)
        found = list(page.items)
        while page.next_cursor and len(found) < arguments.limit:  # Redis may end a page before it is full
            rest = replace(query, cursor=page.next_cursor, limit=arguments.limit - len(found))
            page = await app.outbox.store.search(rest)
            found += page.items
        short = {} if out.as_json else await shortened(app.outbox.store, [delivery.id for delivery in found])
        return found, short, app.registry.label

    found, short, label = with_app(options, out, work)
    return out.listing(
        found,
        ("id", "created", "channel", "target", "status", "tries", "next try", "outcome"),
        (_row(delivery, short[delivery.id], label, time()) for delivery in found),
        empty="no matching deliveries",
    )


def _kind(arguments: argparse.Namespace, app: App) -> str:
    """Return the kind of the requested channel; empty selects all channels."""
    if not arguments.channel:
        return ""
    name = readable(arguments.channel)
    try:
        return app.registry.known_kind(name)
    except UnknownChannelError as error:
        sentence = f"--channel: unknown channel {shorten(name)}"
        raise UsageError(sentence, prog=arguments.parser.prog, hint=error.hint) from None


def _row(delivery: Delivery, short: str, label: Callable[[str], str], now: float) -> tuple[str, ...]:
    created = (timestamp(delivery.created_at) or "")[5:16].replace("T", " ")  # `show` has year and seconds
    outcome = delivery.error or delivery.provider_id
    return (
        short,
        created,
        label(delivery.channel),
        delivery.target,
        str(delivery.status),
        str(delivery.attempts),
        _next_try(delivery, now),
        outcome if len(outcome) <= 80 else outcome[:79] + "…",
    )


def _next_try(delivery: Delivery, now: float) -> str:
    """Return the time until a waiting delivery is due or retried; empty if nothing delays it."""
    at = delivery.next_attempt_at or delivery.not_before
    if delivery.status not in WAITING or at is None:
        return ""
    left_s = at - now
    for unit_s, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if left_s >= (2 * unit_s if unit_s > 1 else 1):
            return f"in {left_s / unit_s:.0f} {unit}"
    return "now"


def _one(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[Delivery, str]:
        outbox = app.outbox
        if arguments.change == "show":
            delivery = await outbox.get(arguments.id)
        else:
            changes = {
                "replay": outbox.replay,
                "dismiss": outbox.dismiss,
                "retry": outbox.retry,
                "cancel": outbox.cancel,
            }
            delivery = await changes[arguments.change](arguments.id, Caller(CLI.name))
        return delivery, app.registry.label(delivery.channel)

    delivery, channel = with_app(options, out, work, writes=arguments.change != "show")
    document = to_json(delivery)
    if arguments.change != "show":
        out.effect_done(f"the delivery is {'dismissed' if delivery.dismissed else document['status']}")
    shown = {**document, "channel": channel}
    return out.listing(document, ("field", "value"), ((name, cell(value)) for name, value in shown.items()))


def _counts(_: argparse.Namespace, options: Options, out: Console) -> int:
    counts = with_app(options, out, lambda app: app.outbox.store.counts())
    return out.listing(
        {str(status): number for status, number in counts.items()},
        ("status", "deliveries"),
        ((str(status), str(number)) for status, number in counts.items()),
    )


def _publish(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    message = read_message(arguments.message, out)

    async def work(app: App) -> str:
        target = readable(arguments.target)
        publisher = Publisher(app.outbox, app.redis if app.settings[REDIS_URL] else None)
        mode, content = parse_mode_of(arguments), await stored_contents(arguments, app)  # before they are published
        channel = readable(arguments.channel)
        return await publisher.publish(channel, target, message, Caller(CLI.name), parse_mode=mode, content=content)

    where = with_app(options, out, work)
    out.effect_done("the message was published")
    return out.answer({"published": where}, f"published: {where}")
