"""devicemsg: macOS Messages, by AppleScript. Source: docs/facts/devicemsg.md."""

import re
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.model import FileLimits, native
from tocsin.core.config.settings import platform
from tocsin.core.config.variables import Variable, choice, text
from tocsin.core.errors import ChannelError, FailureKind, ProcessError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.model import Shown
    from tocsin.core.process.starting import Finished

PLATFORM = Variable("DEVICEMSG_PLATFORM", text, "", "Platform to simulate in tests (`darwin`).")
OSASCRIPT = Variable("DEVICEMSG_OSASCRIPT", text, "osascript", "Command that runs AppleScript.")
PGREP = Variable("DEVICEMSG_PGREP", text, "pgrep", "Command that finds processes by name.")
SERVICE = Variable(
    "DEVICEMSG_SERVICE",
    choice("imessage", "sms"),
    "imessage",
    "Service to use: `imessage`, or `sms` through a paired iPhone.",
)

SERVICE_TYPE = {"imessage": "iMessage", "sms": "SMS"}  # as AppleScript spells them

# Text and target are arguments, so they stay data. The vocabulary changed with macOS 11.
SEND = """
on run argv
    set theTarget to item 1 of argv
    set theText to item 2 of argv
    with timeout of 25 seconds
        tell application "Messages"
            set theAccount to first {account} whose service type is {service} and enabled is true
            send theText to {participant} theTarget of theAccount
        end tell
    end timeout
end run
"""
# `POSIX file` is a command of the script, not of Messages.
SEND_FILE = SEND.replace("set theText to item 2 of argv", "set theText to POSIX file (item 2 of argv)")
# The sandbox of Messages reads files below this folder; elsewhere it reports success and sends nothing.
STAGED = "Library/Messages/Attachments"
STAGED_FOR_S = 3_600.0  # Messages reads a file some time after the script has ended
WORDS = {"account": "account", "participant": "participant"}
WORDS_BEFORE_11 = {"account": "service", "participant": "buddy"}
# Prints the number of contacts with the name and, if there is one, its numbers and addresses.
FIND = """
on run argv
    set theName to item 1 of argv
    with timeout of 25 seconds
        tell application "Contacts"
            set thePeople to every person whose name is theName
            set theLines to {(count of thePeople) as text}
            if (count of thePeople) is 1 then
                set thePerson to item 1 of thePeople
                set theLines to theLines & (value of every phone of thePerson)
                set theLines to theLines & (value of every email of thePerson)
            end if
        end tell
    end timeout
    set AppleScript's text item delimiters to linefeed
    return theLines as text
end run
"""

TIMED_OUT, NOT_RUNNING, NOT_COMPILED = -1712, {-600, -609}, {-2740, -2741}
# Remedies by the error number in brackets at the end of osascript's message.
ADVICE = {
    **dict.fromkeys(NOT_RUNNING, "open Messages and sign in"),
    **dict.fromkeys(NOT_COMPILED, "Messages of this macOS does not understand the script"),
    **dict.fromkeys((-1719, -1728), "no such recipient or account; check both in Messages"),
    TIMED_OUT: "check Messages before you send again; macOS may be asking for a permission there",
    -1743: (
        "allow it in System Settings > Privacy & Security > Automation (and Contacts); macOS never asks a "
        "daemon for permission, so run Tocsin as a LaunchAgent"
    ),
}

_NUMBER = r"\+[1-9][0-9]{6,14}"
_ADDRESS = r"[^\s@,;:<>\"()]+@[^\s@,;:<>\"()]+\.[^\s@,;:<>\"()]+"
_PUNCTUATION = r"[\s.()\[\]\-\u2010-\u2015]"
_CODE = r"\((-[0-9]+)\)"


class DevicemsgAdapter(OutboundAdapter):
    """Passes texts to the Messages app of the user who runs Tocsin."""

    timeout_s = 30.0  # the scripts themselves give up after 25 s and then say why
    spec = ChannelSpec(
        kind="devicemsg",
        label="Messages",
        product="macOS Messages",
        aliases=("messages", "imessage"),
        options=(PLATFORM, OSASCRIPT, PGREP, SERVICE),
        target_format="phone number such as +15551234567, email address, or exact name of a contact",
        arrival=(
            "Messages on this Mac is signed in and shows the message as delivered.",
            "The number has its country code, or the address is one that the phone uses for iMessage.",
            "The phone does not filter messages from unknown senders.",
        ),
        max_length=20_000,  # ours: it must fit into an argument of a command
        platform="darwin",
        platform_variable=PLATFORM,
        at_most_once=True,
        abilities={"attach": native("messages of their own, after the text")},
        files=FileLimits(each=100 * 2**20),
        # A look into Contacts and two forms of the script: the longest that `deliver` takes.
        send_timeout_s=3 * timeout_s + 10,
    )

    def check_target(self, target: str) -> str:
        """Normalise a phone number, accept an email address, and treat any other text as a contact's name."""
        if handle := normalise_handle(target):
            return handle
        if "@" in target or target.startswith("+"):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"use a {self.spec.target_format}")
        return target

    def split_text(self, text: str) -> list[str]:
        """Refuse a text that cannot be a command's argument."""
        if "\0" in text:
            raise ChannelError("the message contains a NUL character", hint="remove it")
        return super().split_text(text)

    def share_files(
        self, texts: "Sequence[Shown]", files: "tuple[AttachedFile, ...]", *, keyed: bool
    ) -> "Sequence[tuple[Shown, tuple[AttachedFile, ...]]]":
        """Send each file as a message of its own."""
        return [*((shown, ()) for shown in texts), *((("", ()), (file,)) for file in files)]

    async def deliver(self, part: Part) -> str:
        """Pass a text or a file to Messages, which does not report whether it was delivered."""
        script, said = (SEND_FILE, await self._stage(part.files[0])) if part.files else (SEND, part.text)
        target = normalise_handle(part.target) or await self._find(part.target)
        service = SERVICE_TYPE[self.config[SERVICE]]
        forms = (WORDS, WORDS_BEFORE_11) if is_modern(self.macos_version()) else (WORDS_BEFORE_11, WORDS)
        for words in forms:
            done = await self._script(script.format(service=service, **words), target, said)
            if _error_code(done) not in NOT_COMPILED:
                break
        _check(done)
        return "accepted by Messages"

    async def _stage(self, file: "AttachedFile") -> str:
        """Copy a file to where Messages can read it, and remove copies that were sent; return its path."""
        import shutil

        folder = Path.home() / STAGED
        for old in folder.glob("tocsin-*"):
            if old.stat().st_mtime < self.clock.now() - STAGED_FOR_S:
                shutil.rmtree(old, ignore_errors=True)
        place = folder / f"tocsin-{urandom(8).hex()}" / file.name.encode()[:200].decode(errors="ignore")
        try:
            place.parent.mkdir(mode=0o700, parents=True)
            with place.open("wb") as copy:
                async for block in file.blocks():
                    copy.write(block)
        except OSError as error:
            shutil.rmtree(place.parent, ignore_errors=True)  # a part of it, on a full disk
            raise ChannelError(
                f"the file cannot be copied to {folder}: {error.strerror}",
                hint="free space, or correct its permissions",
            ) from None
        return str(place)

    async def probe(self) -> str:
        """Check that the app is running."""
        done = await self._run(PGREP, "-x", "Messages")
        if done.exit_code == 1:
            raise ChannelError("Messages is not running", hint=ADVICE[-600])
        if done.exit_code:
            raise ChannelError(f"{self.config[PGREP]}: {_reason(done)}", hint=f"check {PGREP.name}")
        return "Messages"

    def macos_version(self) -> str:
        """Return the version of macOS, such as `14.5`, or `""` on other systems."""
        from platform import mac_ver

        return mac_ver()[0]

    async def _find(self, name: str) -> str:
        """Return the only phone number, or else the only email address, of the only contact named `name`."""
        try:
            done = await self._script(FIND, name)
            _check(done)
        except ChannelError as failure:
            if failure.kind is not FailureKind.AMBIGUOUS:
                raise
            raise ChannelError(
                "Contacts did not respond in time", hint=ADVICE[-1743], kind=FailureKind.TRANSIENT
            ) from None
        count, *values = done.stdout.split("\n")
        if count != "1":
            raise ChannelError(f"{count or 0} contacts have the name {name!r}", hint=f"use a {self.spec.target_format}")
        handles = {handle for value in values if (handle := normalise_handle(value))}
        chosen = {handle for handle in handles if handle.startswith("+")} or handles
        if len(chosen) != 1:
            hint = "use the number with its country code, or the email address"
            raise ChannelError(f"the contact {name!r} has {len(chosen)} numbers or addresses", hint=hint)
        return chosen.pop()

    async def _script(self, script: str, *arguments: str) -> "Finished":
        return await self._run(OSASCRIPT, "-l", "AppleScript", "-", *arguments, stdin=script)

    async def _run(self, command: Variable[str], *arguments: str, stdin: str = "") -> "Finished":
        from tocsin.core.process.starting import ProcessTimeoutError, run

        if (here := self.config[PLATFORM] or platform()) != self.spec.platform:
            raise ChannelError(f"Messages is available on macOS only, this is {here}", hint="run Tocsin on a Mac")
        try:
            return await run([self.config[command], *arguments], timeout_s=self.timeout_s, stdin=stdin)
        except ProcessTimeoutError as error:
            raise _unanswered(str(error)) from None
        except ProcessError as error:
            raise ChannelError(str(error), hint=f"check {command.name}") from None


def normalise_handle(target: str) -> str:
    """Return a phone number as `+` and digits, an email address unchanged, and `""` for any other text."""
    if re.fullmatch(_NUMBER, number := re.sub(_PUNCTUATION, "", target)):
        return number
    return target.strip() if re.fullmatch(_ADDRESS, target.strip()) else ""


def is_modern(version: str) -> bool:
    """Whether Messages uses the vocabulary of macOS 11; an unknown version counts as new."""
    numbers = [int(number) for number in version.split(".")[:2] if number.isdecimal()]
    return not numbers or numbers >= [10, 16]  # 10.16: what macOS 11 tells programs built before it


def _check(done: "Finished") -> None:
    """Raise ChannelError with reason and remedy unless the script succeeded."""
    if done.exit_code == 0:
        return
    code, reason = _error_code(done), _reason(done)
    if code == TIMED_OUT:
        raise _unanswered(reason)
    kind = FailureKind.TRANSIENT if code in NOT_RUNNING else FailureKind.PERMANENT
    raise ChannelError(reason, hint=ADVICE.get(code, ""), kind=kind, provider_code=str(code))


def _unanswered(reason: str) -> ChannelError:
    kind, code = FailureKind.AMBIGUOUS, str(TIMED_OUT)
    return ChannelError(f"outcome unknown: {reason}", hint=ADVICE[TIMED_OUT], kind=kind, provider_code=code)


def _error_code(done: "Finished") -> int:
    codes = re.findall(_CODE, done.stderr)
    return int(codes[-1]) if codes and done.exit_code else done.exit_code


def _reason(done: "Finished") -> str:
    return (done.stderr.strip().splitlines() or [f"it ended with exit code {done.exit_code}"])[-1][:300]
