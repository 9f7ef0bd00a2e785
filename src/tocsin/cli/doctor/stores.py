"""doctor, stores: the queue, received messages, and the bus."""

from collections.abc import AsyncIterator

from tocsin.assembly.files import FOLDER
from tocsin.assembly.full.sqlite_receiving import left_in_database
from tocsin.assembly.program import App
from tocsin.assembly.storage import LEFT_FIX
from tocsin.assembly.stores import DATABASE_FILE
from tocsin.core.config.core_variables import FILES_KEEP_DAYS, FILES_QUOTA_MB, FILES_REDIS_MB, REDIS_URL, STORE
from tocsin.core.errors import TocsinError
from tocsin.core.storage.redis_client import open_redis
from tocsin.core.text.strings import number_of
from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.model import DeliveryStatus
from tocsin.messaging.inbound.store import SET_ASIDE
from tocsin.terminal.findings import Finding, failure

# Received messages are processed immediately; one that waits longer has no process to handle it.
WAITS_S = 600
NEARLY_FULL = 0.9


def has_database(app: App) -> bool:
    """Return True if the database exists: a check must not create it."""
    return (app.settings.data_dir / DATABASE_FILE).exists()


async def check_queue(app: App) -> AsyncIterator[Finding]:
    health = await app.outbox.store.health()
    held: list[Finding] = []
    try:
        if has_database(app) or health.backend != "sqlite":
            held = await _find_waiting(app)
            await app.outbox.store.try_write()
    except TocsinError as error:
        yield failure("queue", error)
    else:
        yield Finding("ok" if health.ok else "error", "queue", health.backend)
    for problem in health.problems:
        state = "warning" if health.ok else "error"
        yield Finding(state, "queue", f"{health.backend}: {problem}", "see docs/delivery.md")
    for finding in held:
        yield finding


async def _find_waiting(app: App) -> list[Finding]:
    """Return the reasons why deliveries wait longer than expected."""
    findings = []
    if waiting := (await app.outbox.store.counts())[DeliveryStatus.RETRY_WAIT]:
        detail = f"{number_of(waiting, 'queued message')} failed and will be retried"
        findings.append(
            Finding("warning", "queue", detail, "`tocsin deliveries list --status retry_wait` shows the reasons")
        )
    for channel, hold in (await app.outbox.store.account_holds(app.registry.configured())).items():
        until = (timestamp(hold.until) or "")[:19]
        detail = f"{app.registry.label(channel)}: the provider limits the account until {until} UTC ({hold.reason})"
        findings.append(
            Finding("warning", "queue", detail, "sending resumes automatically; send less often if this happens again")
        )
    return findings


async def check_message_files(app: App) -> AsyncIterator[Finding]:
    """Check that the files of waiting messages are stored, and that there is room for more."""
    if app.settings[STORE] != "redis" and not (has_database(app) and (app.settings.data_dir / FOLDER).exists()):
        return
    store = app.files().store()
    try:
        now, queue = app.clock.now(), app.outbox.store
        hashes, usage = await store.hashes(), await store.usage()
        missing = await queue.needed_files(now) - hashes
        unneeded = hashes - await queue.needed_files(now - app.settings[FILES_KEEP_DAYS] * 86_400)
    except TocsinError as error:
        yield failure("files", error)
        return
    if missing:
        detail = f"{number_of(len(missing), 'file')} of waiting messages are not stored: these messages will fail"
        yield Finding("error", "files", detail, "restore the files from the backup, or send the messages again")
    used, quota = usage.size / 2**20, usage.quota / 2**20
    told = f"{number_of(usage.count, 'file')} of messages, {used:,.0f} of {quota:,.0f} MiB"
    told += f"; {len(unneeded):,} not needed any more, removed within two hours" if unneeded else ""
    if usage.size > usage.quota * NEARLY_FULL:
        setting = (FILES_REDIS_MB if app.settings[STORE] == "redis" else FILES_QUOTA_MB).name
        yield Finding("warning", "files", told, f"lower FILES_KEEP_DAYS, or raise {setting}")
    elif usage.count:
        yield Finding("ok", "files", told)


async def check_bus(app: App) -> AsyncIterator[Finding]:
    """Check that the configured Redis answers."""
    if not app.settings[REDIS_URL]:
        yield Finding("off", "bus", "REDIS_URL=off: Redis is not used")
        return
    if REDIS_URL.name not in app.settings.sources:
        yield Finding("off", "bus", "REDIS_URL is not set: Redis is used only if it runs at the default address")
        return

    client = open_redis(app.settings[REDIS_URL])
    try:
        await client.command("PING")
        yield Finding("ok", "bus", f"{client.where} answers")
    except TocsinError as error:
        yield Finding("warning", "bus", str(error), error.hint or "start Redis, or set REDIS_URL=off")
    finally:
        await client.aclose()


async def check_inbox(app: App) -> AsyncIterator[Finding]:
    """Check that a process handles the received messages."""
    shared = app.settings[STORE] == "redis"
    if has_database(app) and shared and (left := await left_in_database(app.database)):
        yield Finding("warning", "inbox", left, LEFT_FIX)
    if not has_database(app) and not shared:
        return
    store = app.stores.inbox()
    try:
        backlog, counts, owners = await store.backlog(), await store.counts(), await store.owners()
    except TocsinError as error:
        yield failure("inbox", error)
        return
    if aside := owners.get(SET_ASIDE):
        detail = f"{number_of(aside, 'received message')} of a type unknown to this version: kept, but not processed"
        yield Finding("warning", "inbox", detail, "start the version that stored them, which can process them")
    failed = sum(count for status, count in counts.items() if status == "failed")
    told = f"{number_of(sum(counts.values()), 'received message')}: {backlog.open} open, {failed} failed"
    age_s = app.clock.now() - backlog.oldest_at if backlog.oldest_at is not None else 0.0
    if age_s > WAITS_S:
        detail = f"{number_of(backlog.open, 'received message')} not processed yet, the oldest for {age_s / 60:.0f} min"
        yield Finding("warning", "inbox", detail, "start `tocsin up`; if it is running, see its log")
    elif counts:
        yield Finding("ok", "inbox", told)
