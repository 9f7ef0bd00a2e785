"""What watchers do in processes that run them."""

from tocsin.features.hooks import WorkHooks
from tocsin.features.watchers.run_type import WatcherRuns
from tocsin.features.watchers.service import Watchers
from tocsin.features.watchers.store import LEASE
from tocsin.features.watchers.watching.watcher_service import WatcherService
from tocsin.scheduling.lease import Lease


def run_type_of(watchers: Watchers) -> WatcherRuns:
    """Return what the engine asks about runs of watchers."""
    return WatcherRuns(watchers.context)


def service_of(watchers: Watchers, holder: str = "", *, poll: bool | None = None) -> WatcherService:
    """Return what watches the folders beside the other services."""
    context = watchers.context
    lease = Lease(context.database, LEASE, context.clock, holder)
    return WatcherService(context, watchers.rules, watchers.store, lease, poll=poll)


WORK = WorkHooks[Watchers](
    schedulers=(service_of,),
    run_types={"watcher": run_type_of},
)
