"""What `tocsin doctor` looks at."""

from collections.abc import AsyncIterator

from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding
from tocsin_heartbeat.service import Heartbeat


async def check_heartbeat(heartbeat: Heartbeat) -> AsyncIterator[Finding]:
    """Check that a service runs."""
    age_s = await heartbeat.age_s()
    if age_s is None:
        yield Finding("off", "heartbeat", "no service has run yet", "start `tocsin up`")
    elif age_s > 2 * heartbeat.every_s:
        yield Finding("warning", "heartbeat", f"no service ran for {age_s:.0f} s", "start `tocsin up`")
    else:
        yield Finding("ok", "heartbeat", f"the last sign of life came {age_s:.0f} s ago")


CHECKS: Checks[Heartbeat] = (FeatureCheck(check_heartbeat),)
