"""What a channel is, is data: outside `channels/` and `standins/` no file names one."""

import re
from collections.abc import Iterator

from tests.house.source import SourceFile, source_files

ROOMS_OF_CHANNELS = {"channels", "standins"}
# A protocol of doors is named after the product whose senders speak it, whether or not there is a channel for it.
ROOM_OF_PROTOCOLS = "tocsin/features/doors/protocols"
CHANNEL_NAME = re.compile(
    r"teamchat|botchat|guildchat|devicemsg|e-?mail|slack|telegram|discord|smtp|imessage", re.IGNORECASE
)
# A phrase that may name a channel, and why. One that nothing uses any more fails the last test.
ALLOWED = {
    "tocsin send email": "an example in a help text is a command that a person can type",
    "tocsin withdraw email": "an example in a help text is a command that a person can type",
    "tocsin publish email": "an example in a help text is a command that a person can type",
    "--channel email": "an example in a help text is a command that a person can type",
    "- channel: email": "an example of profiles.yaml shows a whole entry",
    "email:": "the recipient that a crontab names gets mail",
    "aiosmtpd": "the name of a package",
    "SMTP": "the protocol in which other programs send mail to a door",
    "user.email": "a setting of git",
    "tocsin test email": "an example in a help text is a command that a person can type",
}


def test_no_text_outside_the_channels_names_a_channel():
    found = [
        f"{file.path}:{line}: {text!r}"
        for file in outside_the_channels()
        for line, text in file.texts
        if CHANNEL_NAME.search(without_allowed_phrases(text))
    ]
    assert found == []


def test_no_file_outside_the_channels_imports_one():
    found = [
        f"{file.path}:{line}: {module}"
        for file in outside_the_channels()
        for line, module in file.imports
        if module.startswith("tocsin.channels.") and CHANNEL_NAME.search(module)
    ]
    assert found == []


def test_every_allowed_phrase_is_still_used():
    everything = "\n".join(text for file in outside_the_channels() for _, text in file.texts)
    assert [phrase for phrase in ALLOWED if phrase not in everything] == []


def without_allowed_phrases(text: str) -> str:
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    return text


def outside_the_channels() -> Iterator[SourceFile]:
    for file in source_files():
        is_ours = file.path.parts[0] == "tocsin" and file.path.parts[1] not in ROOMS_OF_CHANNELS
        if is_ours and not file.path.is_relative_to(ROOM_OF_PROTOCOLS):
            yield file
