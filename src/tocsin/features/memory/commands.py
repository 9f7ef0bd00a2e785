"""memory: store, find and remove entries, undo removals, and move entries between installations."""

import argparse
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.pages import ListPage
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell
from tocsin.core.storage.files import read_limited
from tocsin.features.contract import Commands
from tocsin.features.memory.exchange import format_line, read_entries
from tocsin.features.memory.model import (
    FADED_BELOW,
    HALF_LIFE_DAYS,
    IMPORTANCE,
    EntryDraft,
    EntrySource,
    EntryType,
    MemoryEntry,
    read_half_life,
    read_importance,
    read_key,
    read_scope,
    read_tag,
)
from tocsin.features.memory.options import argument, expiry, forever_or, number
from tocsin.features.memory.service import DecayReport, Memories, MemoryCaller
from tocsin.features.memory.store import SORTS
from tocsin.features.memory.tables.rows import EntryFilter
from tocsin.terminal.options import add_subcommands, read_options
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message, readable, whole_number

CALLER = MemoryCaller(EntrySource.CLI)
MAX_IMPORT_BYTES = 512 * 1024 * 1024
_SHOWN_CHARS = 80


def configure_memory(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin memory`."""
    commands = add_subcommands(
        parser,
        {
            "set": "store an entry, or replace the one with the same key",
            "get": "print the value of an entry; -v prints all fields",
            "search": "search entries by words",
            "list": "list entries",
            "delete": "delete an entry; `restore` can undo this for 30 days",
            "restore": "restore an entry that was deleted, replaced or removed by decay",
            "pin": "pin an entry, so that it does not decay",
            "unpin": "unpin an entry, so that it decays again",
            "decay": "remove decayed and expired entries; `restore` can undo this for 30 days",
            "stats": "show statistics",
            "export": "print every entry as one line of JSON",
            "import": "import entries from a file written by `export`",
        },
    )
    parser.epilog = "example: tocsin memory set office.wifi 'The guest network is called Lighthouse' --tag office"
    _configure_set(commands["set"])
    _configure_finding(commands["search"], commands["list"])
    for name, run, example in (
        ("get", _get, "office.wifi"),
        ("delete", _delete, "office.wifi"),
        ("restore", _restore, "office.wifi"),
        ("pin", _pin, "office.wifi"),
        ("unpin", _pin, "office.wifi"),
    ):
        commands[name].epilog = f"example: tocsin memory {name} {example}"
        commands[name].add_argument("key", type=readable, help="key of the entry")
        commands[name].set_defaults(run=run, pinned=name == "pin")
    commands["get"].add_argument("--touch", action="store_true", help="count this as a use, which resets the decay")
    commands["delete"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    _configure_decay(commands["decay"])
    commands["stats"].epilog = "example: tocsin memory stats"
    commands["stats"].set_defaults(run=_stats)
    commands["export"].epilog = "example: tocsin memory export > memory.jsonl"
    commands["export"].set_defaults(run=_export)
    commands[
        "import"
    ].epilog = "example: tocsin memory import memory.jsonl\n\nIf one entry is invalid, none is imported."
    commands["import"].add_argument("file", help="file to import; `-` reads standard input")
    commands["import"].add_argument(
        "--replace", action="store_true", help="replace existing entries (default: keep them)"
    )
    commands["import"].set_defaults(run=_import)


def _configure_set(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin memory set office.wifi 'The guest network is called Lighthouse' --tag office\n\n"
        "Do not store secrets here: `tocsin memory` rejects values that look like one."
    )
    parser.add_argument("key", type=argument(read_key), help="key: letters, digits, `.`, `_`, `:` and `-`")
    parser.add_argument("value", help="value, up to 64 KiB; `-` reads standard input")
    parser.add_argument("--type", choices=[str(kind) for kind in EntryType], default=str(EntryType.FACT))
    parser.add_argument(
        "--tag", action="append", default=[], type=argument(read_tag), metavar="TAG", help="tag; may be repeated"
    )
    parser.add_argument(
        "--scope",
        type=argument(read_scope),
        help="global, or chat:ID for one chat (default: the chat named in the key, else global)",
    )
    parser.add_argument(
        "--importance",
        default=IMPORTANCE,
        type=argument(number(read_importance)),
        metavar="0..1",
        help=f"importance from 0 to 1; important entries decay more slowly (default: {IMPORTANCE})",
    )
    parser.add_argument(
        "--half-life",
        default=HALF_LIFE_DAYS,
        type=argument(forever_or(number(read_half_life))),
        metavar="DAYS",
        help=f"days until an unused entry has half its strength, or `never` (default: {HALF_LIFE_DAYS:.0f})",
    )
    parser.add_argument(
        "--expires", type=expiry, metavar="WHEN", help="time of expiry, or a duration such as 12h or 90d"
    )
    parser.add_argument("--pin", action="store_true", help="pin the entry, so that it does not decay")
    parser.add_argument("--if-absent", action="store_true", help="fail if the key already exists")
    parser.set_defaults(run=_set, free_text="value")


def _configure_finding(search: argparse.ArgumentParser, listing: argparse.ArgumentParser) -> None:
    search.epilog = (
        "example: tocsin memory search 'guest network'\n\nexit code 0: an entry was found, 1: none was found"
    )
    search.add_argument("query", type=readable, help="words that an entry must contain")
    search.add_argument(
        "--limit", type=whole_number(1, 200), default=20, help="maximum number of results, 1 to 200 (default: 20)"
    )
    search.set_defaults(run=_search, free_text="query")
    listing.epilog = "example: tocsin memory list --sort strength --tag office"
    listing.add_argument(
        "--sort", choices=SORTS, default="updated_at", help="order of the results (default: newest first)"
    )
    listing.add_argument(
        "--limit", type=whole_number(1, 200), default=50, help="maximum number of results, 1 to 200 (default: 50)"
    )
    listing.add_argument("--cursor", default="", help="cursor printed with the previous page")
    listing.add_argument("--text", default="", type=readable, help="text in the key or value")
    listing.set_defaults(run=_list)
    for parser in (search, listing):
        parser.add_argument("--tag", type=argument(read_tag), help="tag of the entries")
        parser.add_argument("--type", choices=[str(kind) for kind in EntryType], help="type of the entries")
        parser.add_argument("--scope", type=argument(read_scope), help="scope of the entries: global, or chat:ID")


def _configure_decay(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin memory decay --dry-run\n\nServices do this once a day. Pinned entries do not decay."
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed, and remove nothing")
    parser.add_argument(
        "--threshold",
        type=argument(number(read_importance, "a number from 0 to 1")),
        default=FADED_BELOW,
        metavar="0..1",
        help=f"strength below which entries are removed (default: {FADED_BELOW})",
    )
    parser.add_argument(
        "--half-life",
        type=argument(number(read_half_life)),
        metavar="DAYS",
        help="half-life to use instead of that of each entry",
    )
    parser.set_defaults(run=_decay)


def _set(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    draft = EntryDraft(
        key=arguments.key,
        value=read_message(arguments.value, out),
        type=EntryType(arguments.type),
        tags=tuple(arguments.tag),
        scope=arguments.scope or "",
        importance=arguments.importance,
        pinned=arguments.pin,
        half_life_days=arguments.half_life,
    )

    async def work(memory: Memories) -> tuple[MemoryEntry, bool]:
        expires_at = arguments.expires(memory.now()) if arguments.expires else None
        return await memory.set(replace(draft, expires_at=expires_at), CALLER, if_absent=arguments.if_absent)

    entry, created = program.run(work, writes=True)
    out.effect_done("the entry was stored")
    _tell(out, entry, "stored" if created else "replaced")
    if not created:
        out.note(f"undo: tocsin memory restore {entry.key}")
    return DONE


def _get(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    entry = program.run(lambda memory: memory.get(arguments.key, touch=arguments.touch), writes=arguments.touch)
    if out.as_json:
        out.document(entry)
        return DONE
    if read_options(arguments).verbose:
        shown = {name: value for name, value in to_json(entry).items() if name != "value"}
        out.table(("field", "value"), [(name, cell(value)) for name, value in shown.items()])
        out.text("")
    out.text(entry.value)
    return DONE


def _tell(out: Console, entry: MemoryEntry, done: str) -> None:
    out.answer(entry, f"{done} {entry.key}")


def _filter(arguments: argparse.Namespace, text: str = "") -> EntryFilter:
    kind = EntryType(arguments.type) if arguments.type else None
    return EntryFilter((arguments.scope,) if arguments.scope else (), arguments.tag or "", kind, text)


def _search(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    found = program.run(lambda memory: memory.search(arguments.query, _filter(arguments), limit=arguments.limit))
    items = found.items
    return out.listing(
        items,
        ("key", "score", "value"),
        ((item.entry.key, f"{item.score:.2f}", item.snippet.text) for item in items),
        empty="no matching entries; an entry must contain all words",
        ok=bool(items),
    )


def _list(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(memory: Memories) -> ListPage[MemoryEntry]:
        wanted = _filter(arguments, arguments.text)
        return await memory.listing(wanted, sort=arguments.sort, limit=arguments.limit, cursor=arguments.cursor)

    page = program.run(work)
    columns = ("key", "type", "scope", "strength", "value")
    out.listing(
        page.items, columns, map(_row, page.items), empty="no entries; store one with `tocsin memory set KEY VALUE`"
    )
    if page.next_cursor:
        out.note(f"more results: --cursor {page.next_cursor}")
    return DONE


def _row(entry: MemoryEntry) -> tuple[str, ...]:
    value, strength = entry.value, "pinned" if entry.pinned else f"{entry.strength:.2f}"
    shown = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…"
    return entry.key, entry.type, entry.scope, strength, shown


def _delete(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(memory: Memories) -> MemoryEntry:
        entry = await memory.get(arguments.key)
        await out.confirm(f"Delete the entry {entry.key}?", yes=arguments.yes)
        return await memory.delete(entry.key, CALLER)

    deleted = program.run(work, writes=True)
    out.effect_done("the entry was deleted")
    _tell(out, deleted, "deleted")
    out.note(f"undo: tocsin memory restore {deleted.key}")
    return DONE


def _restore(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    entry = program.run(lambda memory: memory.restore(arguments.key, CALLER), writes=True)
    out.effect_done("the entry was restored")
    _tell(out, entry, "restored")
    return DONE


def _pin(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    entry = program.run(lambda memory: memory.pin(arguments.key, CALLER, pinned=arguments.pinned), writes=True)
    out.effect_done("the entry was changed")
    _tell(out, entry, "pinned" if arguments.pinned else "unpinned")
    return DONE


def _decay(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(memory: Memories) -> DecayReport:
        return await memory.decay(
            str(CALLER.source),
            dry_run=arguments.dry_run,
            threshold=arguments.threshold,
            half_life_days=arguments.half_life,
        )

    report = program.run(work, writes=not arguments.dry_run)
    if not arguments.dry_run:
        out.effect_done("the decay was run")
    found, more = report.found, report.found.removed - len(report.found.removed_keys)
    verb = "would be removed" if arguments.dry_run else "removed"
    counted = f"{found.evaluated} checked, {found.fading} decayed, {found.removed} {verb}"
    return out.answer(report, counted, *found.removed_keys, *([f"… and {more} more"] if more > 0 else []))


def _stats(_: argparse.Namespace, out: Console, program: Program) -> int:
    stats = to_json(program.run(lambda memory: memory.stats()))
    last = stats["last_decay"]
    shown = {
        **{name: stats[name] for name in ("count", "bytes", "pinned", "fading", "newest_at", "oldest_at")},
        "types": ", ".join(f"{name} {count}" for name, count in stats["by_type"].items()),
        "tags": ", ".join(f"{name} {count}" for name, count in stats["by_tag"].items()),
        "by strength, 0 to 1": " ".join(map(str, stats["strength_histogram"])),
        "last decay": f"{last['at']}, {last['removed']} removed" if last else "never",
    }
    return out.listing(stats, ("what", "value"), ((name, cell(value)) for name, value in shown.items()))


def _export(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(memory: Memories) -> list[MemoryEntry]:
        found = []
        async for entry in memory.export():
            if out.as_json:
                found.append(entry)
            else:
                out.text(format_line(entry))
        return found

    return out.answer(program.run(work))


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    text = read_message("-", out) if arguments.file == "-" else _content(Path(readable(arguments.file)))

    async def work(memory: Memories) -> dict[str, int]:
        entries = read_entries(text, memory.now())
        added, replaced, kept = await memory.import_all(entries, str(CALLER.source), overwrite=arguments.replace)
        return {"added": added, "replaced": replaced, "kept": kept}

    counts = program.run(work, writes=True)
    out.effect_done("the entries were imported")
    return out.answer(counts, f"{counts['added']} added, {counts['replaced']} replaced, {counts['kept']} kept")


def _content(path: Path) -> str:
    try:
        return read_limited(path, MAX_IMPORT_BYTES).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not valid UTF-8", hint="use a file written by `tocsin memory export`") from None


COMMANDS: Commands = {"memory": configure_memory}
