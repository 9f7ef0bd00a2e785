"""The hooks of the vault feature.

Commands of the vault import this module, and start without asyncio.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.core.config.settings import Values, platform
from tocsin.core.errors import TocsinError
from tocsin.core.storage.files import WatchedFile
from tocsin.core.text.strings import number_of
from tocsin.features.context import AttentionItem, FeatureContext, Notice, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.vault.cipher import select_cipher
from tocsin.features.vault.declarations import BACKEND, IDENTITY, VAULT
from tocsin.features.vault.model import NoVaultError
from tocsin.features.vault.rotation import FILE_NAME, RotationPolicies, RotationState, SecretAgeRecord, parse_policies
from tocsin.features.vault.service import Vault
from tocsin.features.vault.store import IDENTITY_FILE, VaultStore

if TYPE_CHECKING:
    from sqlite3 import Connection

    from tocsin.core.audit.trail import AuditTrail
_KEEP_DAYS = 30
_CLAIM_S = 600.0  # notifying takes seconds; a process that has not finished after this time was killed
_CLAIM = """
INSERT INTO vault_notices (day, claimed_until) VALUES (?, ?)
ON CONFLICT (day) DO UPDATE SET claimed_until = excluded.claimed_until WHERE claimed_until <= ?
"""
_TOLD_NAMES = 10


class OpenVault(NamedTuple):
    """The vault in a running program: implements `Secrets`."""

    vault: Vault
    context: "FeatureContext"

    async def reveal(self, name: str, /, *, reader: str) -> str:
        """Return one secret."""
        return (await self._reveal((name,), reader))[name]

    async def reveal_several(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        """Return secrets by name, by default all; empty if there is no vault and no name is given."""
        try:
            return await self._reveal(names, reader)
        except NoVaultError:
            if names:
                raise
            return {}

    async def store(self, name: str, value: str, /, *, source: str) -> None:
        """Store a value; one that is there already keeps its age."""
        import asyncio

        await asyncio.to_thread(self.vault.import_values, {name: value}, origin=source, source=source)

    async def names(self) -> Sequence[str] | None:
        """Return the names of the secrets; `None` if the vault cannot be read."""
        import asyncio

        try:
            return [age.name for age in await asyncio.to_thread(self.vault.ages)]
        except NoVaultError:
            return ()
        except TocsinError:  # the status of the vault gives the reason
            return None

    async def _reveal(self, names: Collection[str] | None, reader: str) -> Mapping[str, str]:
        import asyncio

        return await asyncio.to_thread(self.vault.reveal, names, source=VAULT.name, reader=reader)


def open_store(data_dir: Path, settings: Values) -> VaultStore:
    identity = settings[IDENTITY]
    if identity is None and platform() == "darwin":
        from tocsin.features.vault.programs import find_identity

        identity = find_identity(data_dir, data_dir / IDENTITY_FILE)
    return VaultStore(data_dir, select_cipher(settings[BACKEND]), identity)


def open_service(
    data_dir: Path, settings: Values, audit: "Callable[[], AuditTrail]", now: Callable[[], float]
) -> Vault:
    """Return the vault without opening the rest of the program."""
    path = data_dir / FILE_NAME
    policies = WatchedFile(path, partial(parse_policies, path=path), RotationPolicies())
    return Vault(open_store(data_dir, settings), audit, policies.read, now)


def open_vault(context: "FeatureContext") -> OpenVault:
    vault = open_service(context.data_dir, context.settings, lambda: context.audit, context.clock.now)
    return OpenVault(vault, context)


async def check_subsystem(opened: OpenVault) -> "SubsystemStatus":
    """Return the state of the vault for the status report."""
    import asyncio

    status = await asyncio.to_thread(opened.vault.status)
    if not status.initialized:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no vault")
    if status.problem:
        item = AttentionItem(
            NoticeLevel.ERROR,
            f"the vault is locked, so its values are not masked: {status.problem.sentence()}",
            "#/vault",
        )
        return SubsystemStatus(SubsystemState.ERROR, "locked", attention=[item])
    levels = {RotationState.EXPIRED: NoticeLevel.ERROR, RotationState.WARNING: NoticeLevel.WARNING}
    due = [age for age in status.rotation.items if age.status in levels]
    ok, warning, expired, ages = status.rotation
    counts = {"secrets": len(ages), "ok": ok, "warning": warning, "expired": expired}
    many = [f"{counts[state]} {state}" for state in levels if counts[state]]
    return SubsystemStatus(
        SubsystemState.DEGRADED if due else SubsystemState.OK,
        ", ".join([number_of(len(status.rotation.items), "secret"), *many]),
        counts,
        max((age.rotated_at for age in status.rotation.items), default=None),
        attention=[AttentionItem(levels[age.status], _age_sentence(age), "#/vault") for age in due],
    )


def _age_sentence(age: SecretAgeRecord) -> str:
    if age.status is RotationState.EXPIRED:
        return f"{age.name} has expired ({age.age_days} of {age.max_age_days} days)"
    return f"{age.name} is {age.age_days} of {age.max_age_days} days old"


async def notify_of_age(opened: OpenVault) -> None:
    """Notify the operator of old secrets, once a day across all processes.

    If a process ends before it has notified, another one does; repeated notices are merged into one notification.
    """
    import asyncio

    try:
        ages = await asyncio.to_thread(opened.vault.ages)
    except NoVaultError:
        return
    due = [age for age in ages if age.status is not RotationState.OK]
    now = opened.context.clock.now()
    if not due or not await opened.context.database.write(partial(_claim_day, now=now)):
        return
    expired = any(age.status is RotationState.EXPIRED for age in due)
    notice = Notice(
        title="Secrets of the vault have expired" if expired else "Secrets of the vault expire soon",
        body=told(due),
        level=NoticeLevel.ERROR if expired else NoticeLevel.WARNING,
        category="vault",
        source="vault",
        link="#/vault",
        dedupe_key="vault.rotation",
    )
    await opened.context.abilities.notices.notify(notice)
    await opened.context.database.write(partial(_mark_told, day=_day_of(now).isoformat()))


def told(due: Collection[SecretAgeRecord]) -> str:
    """Return a line for each old secret, the oldest first, and the remedy."""
    by_date = sorted(due, key=lambda age: age.expires_at)
    lines = [f"{age.name}: {age.status}, {age.age_days} of {age.max_age_days} days" for age in by_date[:_TOLD_NAMES]]
    more = [f"and {len(due) - _TOLD_NAMES} more"] if len(due) > _TOLD_NAMES else []
    return "\n".join([*lines, *more, "Enter a new value with: tocsin vault rotate NAME"])


def _claim_day(connection: "Connection", now: float) -> bool:
    """Claim the notification of this day (UTC); False if another process has claimed or sent it."""
    today = _day_of(now)
    connection.execute("DELETE FROM vault_notices WHERE day < ?", ((today - timedelta(_KEEP_DAYS)).isoformat(),))
    return connection.execute(_CLAIM, (today.isoformat(), now + _CLAIM_S, now)).rowcount > 0


def _mark_told(connection: "Connection", day: str) -> None:
    connection.execute("UPDATE vault_notices SET claimed_until = NULL WHERE day = ?", (day,))


def _day_of(now: float) -> date:
    return datetime.fromtimestamp(now, UTC).date()


HOOKS = FeatureHooks[OpenVault](
    open=open_vault,
    subsystems={"vault": check_subsystem},
    hourly=notify_of_age,
    provides=ProvidedAbilities(secrets=lambda opened: opened),
)
