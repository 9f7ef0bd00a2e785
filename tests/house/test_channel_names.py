"""What a channel is, is data: outside `channels/` and `standins/` no file names one."""

import re
from collections.abc import Iterable, Iterator

from tests.house.source import SOURCE, SourceFile, source_files

from tocsin.channels.registry import discover

ROOMS_OF_CHANNELS = {"channels", "standins"}
# Rooms that may name a channel, and why.
ROOMS_ALLOWED = {
    "tocsin/features/doors/protocols": "a protocol is named after the product whose senders speak it",
    "tocsin/features/doors/importing": "a file is named after the program that it configures",
    "tocsin/features/doors/commands/importing.py": "a file is named after the program that it configures",
    "tocsin/features/devices": "the page and the commands for the devices of one channel, which no other has",
}
# `webhook` is left out: it is also the word for a call that arrives. Imports of that channel are found.
PRODUCT_NAME = re.compile(
    r"teamchat|botchat|guildchat|devicemsg|slack|telegram|discord|smtp|imessage"
    r"|apprise|ntfy|matrix|mattermost|web ?push|\bteams\b",
    re.IGNORECASE,
)
CHANNEL_NAME = re.compile(rf"{PRODUCT_NAME.pattern}|e-?mail", re.IGNORECASE)
# A phrase that may name a channel, and why. One that nothing uses any more fails the last test.
ALLOWED = {
    "tocsin send email": "an example in a help text is a command that a person can type",
    "tocsin withdraw slack": "an example in a help text is a command that a person can type",
    "tocsin publish email": "an example in a help text is a command that a person can type",
    "--channel email": "an example in a help text is a command that a person can type",
    "- channel: email": "an example of profiles.yaml shows a whole entry",
    "email:": "the recipient that a crontab names gets mail",
    "aiosmtpd": "the name of a package",
    "SMTP": "the protocol in which other programs send mail to a door",
    "user.email": "a setting of git",
    "tocsin test email": "an example in a help text is a command that a person can type",
    "senders of Apprise": "programs that send to doors, and know tags",
    "senders that embed Apprise": "programs that send to doors, and need an address of their own",
}

# The same for scripts of the dashboard, in which a person reads about mail addresses.
ALLOWED_IN_SCRIPTS = {
    "slack:#ops": "an example of a target",
    "- channel: slack": "an example of profiles.yaml shows a whole entry",
    "tocsin send slack": "an example of a command that a person can type",
    "`Slack` for `teamchat`": "a comment explains what it does by an example",
    "vault set SMTP_PASS": "an example of a command that a person can type",
}


def test_no_text_outside_the_channels_names_a_channel():
    found = [
        f"{file.path}:{line}: {text!r}"
        for file in outside_the_channels()
        for line, text in file.texts
        if CHANNEL_NAME.search(without(text, ALLOWED))
    ]
    assert found == []


def test_no_file_outside_the_channels_imports_one():
    kinds = {adapter.spec.kind for adapter in discover().classes}
    found = [
        f"{file.path}:{line}: {module}"
        for file in outside_the_channels()
        for line, module in file.imports
        if module.startswith("tocsin.channels.") and kinds & set(module.split("."))
    ]
    assert found == []


def test_no_script_or_style_of_the_dashboard_names_a_channel():
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()!r}"
        for suffix in ("js", "css")
        for path in (SOURCE / "tocsin").rglob(f"*.{suffix}")
        if "vendor" not in path.parts and path.relative_to(SOURCE).parts[:2] != ("tocsin", "channels")
        if not any(path.is_relative_to(SOURCE / room) for room in ROOMS_ALLOWED)
        for line in without(path.read_text("utf-8"), ALLOWED_IN_SCRIPTS).splitlines()
        if PRODUCT_NAME.search(line)
    ]
    assert found == []


def test_every_allowed_phrase_is_still_used():
    everything = "\n".join(text for file in outside_the_channels() for _, text in file.texts)
    scripts = "\n".join(path.read_text("utf-8") for path in (SOURCE / "tocsin").rglob("*.js"))
    assert [phrase for phrase in ALLOWED if phrase not in everything] == []
    assert [phrase for phrase in ALLOWED_IN_SCRIPTS if phrase not in scripts] == []
    assert [room for room in ROOMS_ALLOWED if not (SOURCE / room).exists()] == []


def without(text: str, phrases: Iterable[str]) -> str:
    for phrase in phrases:
        text = text.replace(phrase, "")
    return text


def outside_the_channels() -> Iterator[SourceFile]:
    for file in source_files():
        is_ours = file.path.parts[0] == "tocsin" and file.path.parts[1] not in ROOMS_OF_CHANNELS
        if is_ours and not any(file.path.is_relative_to(room) for room in ROOMS_ALLOWED):
            yield file
