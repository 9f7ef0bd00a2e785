"""The metrics of the vault. They contain no names of secrets: those who may read metrics need not know them."""

from asyncio import to_thread
from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.hooks import FeatureMetrics
from tocsin.features.vault.hooks import OpenVault

SECRETS = Metric("tocsin_vault_secrets", "Secrets by state of their rotation.", ("state",))
AGE = Metric("tocsin_vault_secret_age_seconds", "Time since the secret that was rotated least recently was rotated.")
LOCKED = Metric("tocsin_vault_locked", "1 if the vault cannot be read, so that its values are not masked.")


async def read_metrics(opened: OpenVault) -> Iterable[Sample]:
    """Return the ages of secrets; nothing if there is no vault."""
    status = await to_thread(opened.vault.status)
    if not status.initialized:
        return []
    ok, warning, expired, items = status.rotation
    rotated = [item.rotated_at for item in items]
    return [
        Sample(LOCKED, status.locked),
        *([] if status.locked else count_samples(SECRETS, {"ok": ok, "warning": warning, "expired": expired})),
        *([Sample(AGE, max(0.0, opened.context.clock.now() - min(rotated)))] if rotated else []),
    ]


METRICS = FeatureMetrics[OpenVault]((SECRETS, AGE, LOCKED), read_metrics)
