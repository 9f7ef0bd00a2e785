"""Finding the programs of browsers, and starting them."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.features.browser.model import BrowserKind, BrowserProfile

_NAMES = {
    BrowserKind.CHROMIUM: ("chromium", "chromium-browser"),
    BrowserKind.CHROME: ("google-chrome", "google-chrome-stable", "chrome"),
}
_ON_MACOS = {
    BrowserKind.CHROMIUM: Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    BrowserKind.CHROME: Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
}
_INSTALL = {
    BrowserKind.CHROMIUM: "install it (Debian: apt-get install chromium), or set its program: executable: /path",
    BrowserKind.CHROME: "install it from https://www.google.com/chrome/, or set its program: executable: /path",
}


def program_of(profile: BrowserProfile, environment: Mapping[str, str]) -> Path:
    """Return the program of a managed profile; raises ConfigError if it is not installed."""
    if profile.executable:
        if not os.access(profile.executable, os.X_OK) or profile.executable.is_dir():
            raise ConfigError(
                f"{profile.executable} is not an executable program", hint="correct executable in browser_profiles.yaml"
            )
        return profile.executable
    for name in _NAMES[profile.browser]:
        if found := shutil.which(name, path=environment.get("PATH", os.defpath)):
            return Path(found)
    if sys.platform == "darwin" and _ON_MACOS[profile.browser].exists():
        return _ON_MACOS[profile.browser]
    raise ConfigError(f"{profile.browser} is not installed", hint=_INSTALL[profile.browser])


def command_of(profile: BrowserProfile, environment: Mapping[str, str]) -> list[str]:
    """Return the command that starts a managed profile; raises ConfigError for one that cannot work here."""
    program = program_of(profile, environment)
    if os.geteuid() == 0 and profile.sandbox:
        sentence = f"{profile.browser} cannot run as root with its sandbox"
        raise ConfigError(sentence, hint="run Tocsin as another user, or set sandbox: false for this profile")
    if not profile.headless and sys.platform != "darwin" and not environment.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}:
        raise ConfigError("no display is available for its window", hint="set headless: true for this profile")
    options = [
        f"--user-data-dir={profile.user_data_dir}",
        f"--remote-debugging-port={profile.port}",
        "--remote-debugging-address=127.0.0.1",
        "--no-first-run",
        "--no-default-browser-check",
        *(["--headless"] if profile.headless else []),
        *(["--no-sandbox"] if not profile.sandbox else []),
        *([f"--proxy-server={profile.proxy}"] if profile.proxy else []),
    ]
    return [str(program), *options, "about:blank"]
