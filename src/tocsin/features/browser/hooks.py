"""The browser profiles of a data directory as the rest of the program uses them."""

from tocsin.core.text.strings import number_of
from tocsin.features.browser.model import BrowserStatus
from tocsin.features.browser.profiles_file import FILE_NAME, ProfilesFile
from tocsin.features.browser.service import Browsers
from tocsin.features.browser.store import BrowserStore
from tocsin.features.context import AttentionItem, FeatureContext, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks

FOLDER = "browser"


def open_browser(context: FeatureContext) -> Browsers:
    """Return the browser profiles of the data directory."""
    folder = context.data_dir / FOLDER
    file = ProfilesFile(context.data_dir / FILE_NAME, folder)
    return Browsers(file, BrowserStore(context.database), folder, context)


async def check_subsystem(browsers: Browsers) -> SubsystemStatus:
    """Return the number of profiles and their problems; remote ones are counted, but not checked."""
    profiles, problem = browsers.file.all(), browsers.file.problem
    if not profiles and not problem:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no profiles")
    looks = await browsers.looks(remote=False)
    number = {status: sum(look.status is status for look in looks) for status in BrowserStatus}
    wrong = [look for look in looks if look.status is BrowserStatus.ERROR]
    attention = [
        AttentionItem(NoticeLevel.WARNING, f"browser profile {look.profile.name}: {look.error}", "#/browser")
        for look in wrong
    ]
    if problem:
        attention.append(AttentionItem(NoticeLevel.ERROR, str(problem), "#/browser"))
    said = [f"{number[status]} {status.replace('_', ' ')}" for status in BrowserStatus if number[status]]
    return SubsystemStatus(
        SubsystemState.DEGRADED if attention else SubsystemState.OK,
        ", ".join([number_of(len(profiles), "profile"), *said]),
        {"profiles": len(profiles), "running": number[BrowserStatus.RUNNING], "failing": len(wrong)},
        await browsers.last_event_at(),
        attention=attention,
    )


HOOKS = FeatureHooks[Browsers](
    open=open_browser,
    subsystems={"browser": check_subsystem},
    hourly=Browsers.look_hourly,
)
