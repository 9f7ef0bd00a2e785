"""The checks of `tocsin doctor` for the vault."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from tocsin.core.reading.value import suggestion
from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.vault.hooks import OpenVault
from tocsin.features.vault.rotation import RotationState
from tocsin.features.vault.service import Vault, VaultStatusRecord
from tocsin.terminal.findings import Finding, failure

_STATES = {RotationState.WARNING: "warning", RotationState.EXPIRED: "error"}


async def check_vault(opened: OpenVault) -> AsyncIterator[Finding]:
    """Check that only this user can read the vault, and the ages of its secrets."""
    vault = opened.vault
    policies, problem = vault.policies()
    if problem:
        yield Finding("error", "vault", str(problem), problem.hint or "correct the file", logged=True)
    status = await asyncio.to_thread(vault.status)
    if status.problem:
        yield failure("vault", status.problem)
    elif not status.initialized:
        yield Finding("off", "vault", "no vault exists", "create one with `tocsin vault init`")
    else:
        for finding in _ages(status):
            yield finding
        if not vault.store.counter.exists():
            detail = f"{vault.store.counter} is missing: a rollback to an older copy of the vault cannot be detected"
            yield Finding("warning", "vault", detail, "the next change of the vault writes it again")
        names = [age.name for age in status.rotation.items]
        for name in sorted(policies.by_name.keys() - set(names)):
            detail = f"secret {name} has a rotation policy, but is not in the vault{suggestion(name, names)}"
            yield Finding("warning", "vault", detail, "correct the name in rotation_policies.yaml")
        yield Finding("ok", "vault", _summary(vault, status))


def _ages(status: VaultStatusRecord) -> Iterator[Finding]:
    for age in status.rotation.items:
        if age.status in _STATES:
            detail = f"{age.name} is {age.status}: {age.age_days} of {age.max_age_days} days"
            yield Finding(_STATES[age.status], "vault", detail, f"tocsin vault rotate {age.name}")


def _summary(vault: Vault, status: VaultStatusRecord) -> str:
    count = number_of(len(status.rotation.items), "secret")
    return f"{count} in {vault.store.vault}, encrypted with {vault.store.cipher.name}"


CHECKS: Checks[OpenVault] = (FeatureCheck(check_vault, at_start=True),)
