"""ntfy sends: publishes to a topic, by headers and body. Source: docs/facts/ntfy.md."""

import re
from collections.abc import Mapping

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Sent, Tools
from tocsin.channels.model import FILES, NO_REF, FileLimits, degraded, native
from tocsin.channels.ntfy.api import NtfyApi
from tocsin.channels.ntfy.files import file_headers, kept_file
from tocsin.channels.ntfy.settings import PER_MINUTE, TOKEN, URL
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError
from tocsin.core.http.bodies import file_body
from tocsin.core.text.measures import utf8_bytes
from tocsin.core.text.strings import split
from tocsin.core.time.ratelimit import Rate

MAX_BYTES = 4_000  # a body of 4,096 or more becomes an attachment
_TOPIC = r"[A-Za-z0-9_-]{1,64}"
_WHOLE = 2**21  # more than a text has that a message may have
_BURST = 30  # half of what the server allows at once


class NtfyAdapter(OutboundAdapter):
    """Publishes to topics."""

    spec = ChannelSpec(
        kind="ntfy",
        label="ntfy",
        schemes=("ntfys",),
        product="ntfy publish API",
        secrets=(TOKEN,),
        options=(URL, PER_MINUTE),
        target_format="name of a topic: 1 to 64 letters, digits, _ and -",
        arrival=(
            "The app is subscribed to this topic on this server, and signed in if the topic is protected.",
            "The phone lets the app send notifications; on Android, instant delivery is on for the topic.",
            "An own server forwards pushes to iPhones only with `upstream-base-url: https://ntfy.sh`.",
        ),
        max_length=MAX_BYTES,
        chunk_at=MAX_BYTES,
        measure=utf8_bytes,
        abilities={
            "title": native(),
            "priority": native(),
            "type": native("a tag, shown as a symbol before the title"),
            "click": native("opened by a tap"),
            "actions": degraded("the first three are buttons, further ones lines"),
            "call": degraded("one of the buttons; `confirm` is not asked, and who presses is not known"),
            "attach": native("one; the server keeps it for hours, by default 3", 1),
            "silent": native("priority 2 at most"),
            "key": native("replaces on Android and in the browser, not on iOS; servers from 2.16"),
            "withdraw": native("on Android and in the browser, not on iOS; servers from 2.16"),
        },
        files=FileLimits(count=1),  # the server says how large: 15 MB by default, 2 MB on ntfy.sh
    )
    dressing = "tocsin.channels.ntfy.dressing:NtfyDressing"
    layouts = "tocsin.channels.ntfy.layout:layout_of"
    standin = "tocsin.channels.ntfy.standin:NtfyServer"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = NtfyApi(config, tools.http)

    def check_target(self, target: str) -> str:
        """Accept the name of a topic."""
        if not re.fullmatch(_TOPIC, target):
            raise ChannelError(f"{target!r} is not a topic", hint=f"write the {self.spec.target_format}")
        return target

    def chunk_at(self) -> int | None:
        """Return no limit if the page of a delivery has the text that a notification has no room for."""
        return _WHOLE if self.public_url else MAX_BYTES

    def account_rate(self) -> Rate:
        """Return the configured rate: an own server may allow more than ntfy.sh."""
        return Rate(self.config[PER_MINUTE], 60.0, _BURST)

    async def deliver(self, part: Part) -> Sent:
        """Publish one part; the note is the message's ID.

        Its sequence ID is the same at every attempt, so that a device shows a repeated message once.
        """
        sequence = sequence_id(part)
        sent = await self._publish(part, sequence)
        # Servers before 2.16 neither know sequences nor refuse them.
        ref = {"topic": part.target, "sequence": sequence} if sent.get("sequence_id") == sequence else {}
        return Sent(_note(sent, part), {**ref, **kept_file(sent)} if ref else {})

    async def edit(self, part: Part, ref: Mapping[str, str]) -> Sent:
        """Publish a message that replaces the earlier one on the devices, with its file unless that goes."""
        sent = await self._publish(part, ref["sequence"], ref if part.keeps_files else {})
        return Sent(_note(sent, part), kept_file(sent))

    async def withdraw(self, ref: Mapping[str, str]) -> str:
        """Remove the message from the devices; repeating this has no further effect."""
        await self._api.call("DELETE", f"/{ref['topic']}/{ref['sequence']}", proof="id")
        return f"withdrew sequence={ref['sequence']}"

    async def probe(self) -> str:
        """Look up the account that the token belongs to."""
        name = str((await self._api.call("GET", "/v1/account", proof="username"))["username"])
        return "everyone, without an account" if name == "*" else name

    def body(self, part: Part) -> dict[str, str]:
        """Return the headers that show the content, and the text, which is shortened to the limit."""
        headers: dict[str, str] = {}
        if part.content:
            self.dresser.dress(headers, part, part.content)
        return {**headers, "text": self._fitted(part)}

    async def _publish(self, part: Part, sequence: str, kept: Mapping[str, str] = NO_REF) -> dict[str, object]:
        headers = {"X-Sequence-ID": sequence, "Content-Type": "text/plain; charset=utf-8"}
        headers |= self.body(part)
        text = headers.pop("text")
        if not part.files and FILES not in kept:
            return await self._api.call("PUT", f"/{part.target}", headers, text.encode(), proof="id")
        headers |= file_headers(text, part.files, kept)
        return await self._api.call("PUT", f"/{part.target}", headers, *map(file_body, part.files), proof="id")

    def _fitted(self, part: Part) -> str:
        """Return the text of a part; one that is too long ends with a link to the page of its delivery."""
        if utf8_bytes(part.text) <= MAX_BYTES:
            return part.text
        link = f" …\n{self.public_url}/#/deliveries/{part.key.partition(':')[0]}"
        room = MAX_BYTES - utf8_bytes(link)
        return split(part.text[:room], room, utf8_bytes)[0] + link


def _note(sent: Mapping[str, object], part: Part) -> str:
    length = utf8_bytes(part.text)
    shortened = f" (shortened: {MAX_BYTES:,} of {length:,} bytes)" if length > MAX_BYTES else ""
    return f"id={sent['id']}{shortened}"


def sequence_id(part: Part) -> str:
    """Return the sequence of a part, by its message's key if it has one."""
    from hashlib import sha256

    if part.keyed and re.fullmatch(_TOPIC, part.keyed.key):
        return part.keyed.key
    return sha256((f"key {part.keyed.key}" if part.keyed else part.key).encode()).hexdigest()[:32]
