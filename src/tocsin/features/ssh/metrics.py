"""The metrics of SSH hosts, as they were when they were last probed; scraping probes no host."""

from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.hooks import FeatureMetrics
from tocsin.features.ssh.model import HostHealth
from tocsin.features.ssh.service import Ssh

HOSTS = Metric("tocsin_ssh_hosts", "SSH hosts by health at the last probe.", ("state",))
KEYS_CHANGED = Metric("tocsin_ssh_host_keys_changed", "SSH hosts with another key than the trusted one.")
PROBED = Metric("tocsin_ssh_last_probe_timestamp_seconds", "Time of the latest probe of any SSH host.")


async def read_metrics(ssh: Ssh) -> Iterable[Sample]:
    """Return the health of all hosts."""
    known = ssh.inventory.value.hosts
    probes = await ssh.last_probes() if known else []
    counts = {str(state): sum(probe.status is state for probe in probes) for state in HostHealth}
    return [
        *count_samples(HOSTS, counts),
        Sample(KEYS_CHANGED, sum(probe.key_changed for probe in probes)),
        *([Sample(PROBED, max(probe.checked_at for probe in probes))] if probes else []),
    ]


METRICS = FeatureMetrics[Ssh]((HOSTS, KEYS_CHANGED, PROBED), read_metrics)
