"""webhook sends: an event for each message, edit and withdrawal. Source: docs/facts/standard-webhooks.md."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import COMMONMARK, PLAIN, ChannelSpec, OutboundAdapter, Part, Sent, Shown, visible
from tocsin.channels.model import PRESS, FileLimits, degraded, native
from tocsin.core.errors import RemoteError
from tocsin.core.plugins import load_class
from tocsin.core.text.measures import utf8_bytes
from tocsin.core.text.strings import split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tocsin.channels.webhook.sending import WebhookClient

MAX_BYTES = 15_000  # Standard Webhooks advises to keep an event below 20 kB
_FORMATS = {COMMONMARK: "markdown", PLAIN: "plain", "": "plain"}
_CLIENT = "tocsin.channels.webhook.sending:WebhookClient"
_DATA = "a field of the event"


class WebhookAdapter(OutboundAdapter):
    """Posts events to receivers of `targets.yaml`."""

    spec = ChannelSpec(
        kind="webhook",
        label="Webhook",
        product="Standard Webhooks 1.0",
        target_format="name of a target in targets.yaml",
        targets="tocsin.channels.webhook.settings:TARGET",
        arrival=(
            "The receiver's log has an event with this ID; it may drop an ID that it knows already.",
            "The receiver's clock is right: it refuses events that are older than some minutes.",
            "The receiver verifies the signature over the raw body, with the same secret.",
        ),
        max_length=MAX_BYTES,
        chunk_at=MAX_BYTES,
        measure=utf8_bytes,
        recognises_repeats=True,
        abilities={
            **dict.fromkeys(("title", "priority", "type", "click", "actions", "mention", "silent"), native(_DATA)),
            "call": degraded("an address that the receiver calls with POST"),
            "attach": native("events `message.file`, after that of the text"),
            "thread": native(_DATA),
            "key": native("an event `message.updated`"),
            "withdraw": native("an event `message.withdrawn`"),
        },
        takes_presses=True,
        files=FileLimits(each=10 * 2**20, apart=True),  # a receiver keeps the whole of an event in memory
    )
    dressing = "tocsin.channels.webhook.events:WebhookDressing"
    layouts = "tocsin.channels.webhook.events:layout_of"
    standin = "tocsin.channels.webhook.standin:WebhookReceiver"

    @cached_property
    def _client(self) -> "WebhookClient":
        # Its imports would slow down listing channels.
        client: WebhookClient = load_class(_CLIENT)(self)
        return client

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return the text as it was written: the event names its format."""
        return [(part, ()) for part in split(visible(text), MAX_BYTES, utf8_bytes)]

    async def deliver(self, part: Part) -> Sent:
        """Post the event of a message; the note has its ID, which is the same at every attempt."""
        event_id, kind = _id(part.key), "message.file" if part.files else "message.created"
        data = {"id": part.message.get("message", event_id), **self.body(part)}
        if press := part.extra.get(PRESS):
            kind, data = "message.action", {"target": part.target, **press}
        note = await self._client.post(part.target, event_id, kind, data, *part.files)
        return Sent(note, {"target": part.target, "message": event_id, "key": part.keyed.key if part.keyed else ""})

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> str:
        """Post an event with the new text."""
        data = {"id": ref["message"], **self.body(part), "keeps_files": part.keeps_files}
        return await self._client.post(part.target, _id(part.key), "message.updated", data)

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Post an event that the message is withdrawn."""
        data = {"id": ref["message"], "target": ref["target"], "key": ref["key"]}
        return await self._client.post(ref["target"], f"{ref['message']}_withdrawn", "message.withdrawn", data)

    async def probe(self) -> str:
        """Look up secrets and addresses of all receivers, without a call; return their names."""
        names = self.targets.names()
        for name in names:
            try:
                await self._client.check(name)
            except RemoteError as error:
                raise RemoteError(f"{name}: {error}", hint=error.hint, kind=error.kind) from None
        return ", ".join(names)

    def body(self, part: Part) -> dict[str, Any]:
        """Return the data of the event: target, text, format and the fields of the message, or those of a file."""
        for file in part.files:
            return {"target": part.target, "name": file.name, "type": file.type, "size": file.size, "alt": file.alt}
        data: dict[str, Any] = {"target": part.target, "message": part.text, "format": _FORMATS[part.parse_mode]}
        if not (part.first and part.last):
            data |= {"is_first": part.first, "is_last": part.last}
        if part.keyed:
            data["key"] = part.keyed.key
        if part.thread:
            data["thread"] = part.thread.name
        if part.content:
            self.dresser.dress(data, part, part.content)
        return data


def _id(key: str) -> str:
    """Return the ID of an event: the signature is over the ID, a full stop and more, so it has none."""
    return f"msg_{key.replace(':', '_').replace('.', '_')}"
