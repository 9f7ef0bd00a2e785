"""notifications: list, show, mark, delete, and the feed."""

import argparse
from dataclasses import replace

from tocsin.core.audit.actions import CLI
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell
from tocsin.core.text.strings import number_of
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import NoticeLevel
from tocsin.features.contract import Commands
from tocsin.features.notifications.feeds import atom_feed, feed_address, json_feed
from tocsin.features.notifications.hooks import OpenNotifications
from tocsin.features.notifications.model import KEEP, Notification, NotificationCategory
from tocsin.features.notifications.service import UnreadNotifications
from tocsin.features.notifications.store import MAX_PAGE, NotificationFilter
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.parsing import UsageError
from tocsin.terminal.program import Program
from tocsin.terminal.text import add_limit, moment, readable

USUAL_LIMIT = 20


def configure_notifications(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin notifications`."""
    summaries = {
        "list": "list notifications, newest first",
        "show": "show the full text of one notification",
        "unread": "count the unread notifications, and list the newest",
        "read": "mark notifications as read",
        "read-all": "mark all notifications as read",
        "delete": "delete a notification",
        "feed": "print the notifications as a feed",
    }
    commands = add_subcommands(parser, summaries)
    parser.epilog = "example: tocsin notifications list --unread"
    _configure_list(commands["list"])
    commands["unread"].epilog = "example: tocsin notifications unread --json"
    commands["unread"].set_defaults(run=_unread)
    for name, run in (("show", _show), ("read", _read), ("delete", _delete)):
        commands[name].epilog = f"example: tocsin notifications {name} 2b8d7c6e"
        commands[name].add_argument(
            "id", help="ID of the notification, or its short form from `tocsin notifications list`"
        )
        commands[name].set_defaults(run=run)
    commands["delete"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    _configure_read_all(commands["read-all"])
    feed = commands["feed"]
    feed.epilog = "example: tocsin notifications feed --format atom > notifications.xml"
    feed.add_argument(
        "--format", choices=("json", "atom"), default="json", help="feed format: JSON Feed 1.1 (json) or Atom (atom)"
    )
    feed.set_defaults(run=_feed)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin notifications list --unread --level error"
    parser.add_argument("--unread", action="store_true", help="list only unread notifications")
    parser.add_argument("--level", choices=[str(level) for level in NoticeLevel], help="level of the notifications")
    _add_category(parser)
    add_limit(parser, USUAL_LIMIT, KEEP)
    parser.set_defaults(run=_list)


def _configure_read_all(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin notifications read-all --category cron"
    _add_category(parser)
    parser.add_argument("--before", type=moment, metavar="TIME", help="only notifications created before this time")
    parser.set_defaults(run=_read_all)


def _add_category(parser: argparse.ArgumentParser) -> None:
    categories = [str(category) for category in NotificationCategory]
    parser.add_argument("--category", choices=categories, help="category of the notifications")


def _list(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    level, category = arguments.level, arguments.category
    query = NotificationFilter(
        unread=arguments.unread,
        level=NoticeLevel(level) if level else None,
        category=NotificationCategory(category) if category else None,
    )
    found = program.run(lambda opened: _newest(opened, query, arguments.limit))
    return out.listing(found, _COLUMNS, map(_row, found), empty="no notifications")


async def _newest(opened: OpenNotifications, query: NotificationFilter, limit: int) -> list[Notification]:
    found: list[Notification] = []
    cursor: str | None = ""
    while cursor is not None and len(found) < limit:
        page = await opened.service.search(replace(query, limit=min(limit - len(found), MAX_PAGE), cursor=cursor))
        found += page.items
        cursor = page.next_cursor
    return found


_COLUMNS = ("id", "created", "level", "category", "count", "read", "title")


def _row(notification: Notification) -> tuple[str, ...]:
    return (
        notification.id.rpartition("-")[2][:8],
        (timestamp(notification.created_at) or "")[5:16].replace("T", " "),
        str(notification.level),
        str(notification.category),
        str(notification.count),
        "" if notification.read_at is None else "yes",
        notification.title,
    )


def _unread(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(opened: OpenNotifications) -> UnreadNotifications:
        return await opened.service.unread()

    unread = program.run(work)
    document = {"count": unread.count, "items": unread.items}
    out.answer(document, f"{number_of(unread.count, 'notification')} unread")
    if unread.items:
        out.table(_COLUMNS, list(map(_row, unread.items)))
    return DONE


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(opened: OpenNotifications) -> Notification:
        return await opened.service.get(readable(arguments.id))

    document = to_json(program.run(work))
    rows = [(name, cell(value)) for name, value in document.items() if name != "body"]
    out.listing(document, ("field", "value"), rows)
    if document["body"]:
        out.text(f"\n{document['body']}")
    return DONE


def _read(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(opened: OpenNotifications) -> Notification:
        return await opened.service.mark_read(readable(arguments.id), source=CLI.name)

    found = program.run(work, writes=True)
    out.effect_done("the notification was marked as read")
    return out.answer(found, f"{found.title}: read")


def _read_all(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    category = NotificationCategory(arguments.category) if arguments.category else None

    async def work(opened: OpenNotifications) -> int:
        return await opened.service.mark_all_read(source=CLI.name, before=arguments.before, category=category)

    count = program.run(work, writes=True)
    out.effect_done("the notifications were marked as read")
    return out.answer({"updated": count}, f"{number_of(count, 'notification')} marked as read")


def _delete(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(opened: OpenNotifications) -> Notification:
        found = await opened.service.get(readable(arguments.id))
        await out.confirm(f"Delete the notification {found.title!r}?", yes=arguments.yes)
        await opened.service.delete(found.id, source=CLI.name)
        return found

    found = program.run(work, writes=True)
    out.effect_done("the notification was deleted")
    return out.answer({"id": found.id, "deleted": True}, f"{found.title}: deleted")


def _feed(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    as_atom = arguments.format == "atom"
    if as_atom and out.as_json:
        raise UsageError(
            "--json and --format atom cannot be combined", prog=arguments.parser.prog, hint="remove one of them"
        )

    async def work(opened: OpenNotifications) -> str | dict[str, object]:
        found = await _newest(opened, NotificationFilter(), KEEP)
        if as_atom:
            return atom_feed(found, feed_address(opened.context.settings), now=opened.context.clock.now())
        return json_feed(found, feed_address(opened.context.settings))

    feed = program.run(work)
    if isinstance(feed, str):
        out.text(feed, end="")
    else:
        out.document(feed)
    return DONE


COMMANDS: Commands = {"notifications": configure_notifications}
