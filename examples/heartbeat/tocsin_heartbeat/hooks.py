"""What the feature does while the program runs."""

from tocsin.features.hooks import FeatureHooks
from tocsin_heartbeat.service import Heartbeat


async def status(heartbeat: Heartbeat) -> list[str]:
    """Return the line for `/status`."""
    age_s = await heartbeat.age_s()
    return ["Heartbeat: none" if age_s is None else f"Heartbeat: {age_s:.0f} s ago"]


HOOKS = FeatureHooks[Heartbeat](open=Heartbeat, status=status, services=(lambda heartbeat: heartbeat.loop,))
