"""The checks of browser profiles in `tocsin doctor`; they connect to no remote browser."""

import stat
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

from tocsin.core.errors import ConfigError
from tocsin.core.text.strings import number_of
from tocsin.features.browser.model import BrowserDriver, BrowserProfile, BrowserStatus, has_credentials
from tocsin.features.browser.programs import command_of
from tocsin.features.browser.service import Browsers
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding


async def check_browser(browsers: Browsers) -> AsyncIterator[Finding]:
    """Check the file of profiles, whether their browsers are installed, and how they are."""
    if problem := browsers.file.problem:
        yield Finding("error", "browser", str(problem), problem.hint or "correct the file", logged=True)
    profiles = browsers.file.all()
    if not profiles:
        return
    for profile in profiles.values():
        for finding in _check_profile(browsers, profile):
            yield finding
    mode = stat.S_IMODE(browsers.file.path.stat().st_mode) if browsers.file.path.exists() else 0
    if mode & 0o077 and any(has_credentials(profile.cdp_endpoint) for profile in profiles.values()):
        detail = f"other users can read {browsers.file.path}, which contains credentials"
        yield Finding("warning", "browser", detail, f"chmod 600 {browsers.file.path}")
    for look in await browsers.looks(remote=False):
        if look.status is BrowserStatus.ERROR:
            fix = f"tocsin browser {'stop' if look.pid else 'start'} {look.profile.name}"
            yield Finding("warning", "browser", f"{look.profile.name}: {look.error}", fix)
    yield Finding("ok", "browser", f"{number_of(len(profiles), 'profile')} in {browsers.file.path}")


def _check_profile(browsers: Browsers, profile: BrowserProfile) -> Iterator[Finding]:
    in_clear = urlsplit(profile.cdp_endpoint).scheme in {"http", "ws"}
    if profile.driver is BrowserDriver.REMOTE and in_clear and has_credentials(profile.cdp_endpoint):
        detail = f"{profile.name} sends its credentials unencrypted"
        yield Finding("warning", "browser", detail, "use https:// or wss:// in cdp_endpoint")
    if profile.driver is not BrowserDriver.MANAGED:
        return
    try:
        command_of(profile, browsers.environment())
    except ConfigError as error:
        yield Finding("warning", "browser", f"{profile.name}: {error}", error.hint)
    if not profile.sandbox:
        detail = f"{profile.name} runs without its sandbox: a malicious page can get the permissions of this user"
        yield Finding("warning", "browser", detail, "run Tocsin as a user other than root, and remove sandbox: false")


CHECKS: Checks[Browsers] = (FeatureCheck(check_browser, at_start=True),)
