"""The hooks of processes that run assistant skills."""

from tocsin.features.assistant_skills.running.assistant_runner import AssistantRuns
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.assistant_skills.settings import SKILLS_WATCH
from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
from tocsin.features.assistant_skills.watch.watch_service import LEASE, WatchService
from tocsin.features.hooks import WorkHooks
from tocsin.scheduling.lease import Lease


def watch_service_of(skills: AssistantSkills) -> WatchService:
    """Return the service that watches the folders of SKILLS_WATCH."""
    context = skills.context
    folders = context.settings[SKILLS_WATCH]
    lease = Lease(context.database, LEASE, context.clock)
    return WatchService((lambda: AssistantWatch(skills, folders)) if folders else None, lease, context.clock)


WORK = WorkHooks[AssistantSkills](
    services=(watch_service_of,),
    run_types={"skill": lambda skills: AssistantRuns(skills.context.abilities.notices)},
)
