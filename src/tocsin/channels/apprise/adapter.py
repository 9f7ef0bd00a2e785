"""apprise sends: hands a message to the library in a process of its own. Source: docs/facts/apprise.md."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import COMMONMARK, ChannelSpec, OutboundAdapter, Part, Shown, visible, within_limit
from tocsin.channels.model import FileLimits, degraded, native
from tocsin.core.errors import ChannelError
from tocsin.core.plugins import load_class

if TYPE_CHECKING:
    from tocsin.channels.apprise.sending import AppriseProcesses

MAX_LENGTH = 32_768  # of a body, by the library; services with less get several messages
MAX_FILE_BYTES = 25 * 2**20
_TYPES_BY_PRIORITY = {4: "warning", 5: "failure"}


class AppriseAdapter(OutboundAdapter):
    """Sends to the services of `targets.yaml`."""

    spec = ChannelSpec(
        kind="apprise",
        label="Apprise",
        product="services of the library Apprise",
        target_format="name of a target in targets.yaml",
        targets="tocsin.channels.apprise.settings:TARGET",
        arrival=(
            "The address is that of the recipient: `tocsin test apprise` names the service of each target.",
            "The service has taken the message: its own page or app shows what it did with it.",
            "The app of the service may send notifications, and is signed in to the same account.",
        ),
        max_length=MAX_LENGTH,
        abilities={
            "title": native("or the first line, by the service"),
            "priority": degraded("from 4 on the type, unless there is one"),
            "type": native("colour or symbol, by the service"),
            "click": degraded("a line after the text"),
            "actions": degraded("lines after the text"),
            "call": degraded("a link to a page that asks for the press"),
            "attach": native("where the service takes files"),
        },
        packages=("apprise",),
        requirement="tocsin[apprise]",
        files=FileLimits(each=MAX_FILE_BYTES, together=MAX_FILE_BYTES),
    )
    dressing = "tocsin.channels.apprise.content:AppriseDressing"
    layouts = "tocsin.channels.apprise.content:layout_of"
    standin = "tocsin.channels.apprise.standin:GotifyServer"
    services = "tocsin.channels.apprise.content:list_services"
    processes = "tocsin.channels.apprise.sending:AppriseProcesses"

    @cached_property
    def library(self) -> "AppriseProcesses":
        made: AppriseProcesses = load_class(self.processes)()  # its imports would slow down listing channels
        return made

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return the text as it was written: the library renders Markdown for the service."""
        return [(within_limit(visible(text), MAX_LENGTH), ())]

    async def deliver(self, part: Part) -> str:
        """Send one message; services with a small limit get several."""
        url = (await self.targets.read(part.target))["url"]
        return f"accepted by {await self.library.send(url, self.body(part), part.files)}"

    async def probe(self) -> str:
        """Let the library read all addresses; there is no call that sends nothing."""
        found = []
        for name in self.targets.names():
            try:
                url = (await self.targets.read(name))["url"]
                found.append(f"{name} ({await self.library.check(url)})")
            except ChannelError as error:
                raise ChannelError(f"{name}: {error}", hint=error.hint, kind=error.kind) from None
        return ", ".join(found)

    def body(self, part: Part) -> Mapping[str, Any]:
        """Return title, text, format and type."""
        title, kind, content = "", "", part.content
        if content:
            title = content.title if part.first and part.text != content.title else ""
            kind = content.type or _TYPES_BY_PRIORITY.get(content.priority, "")
        markup = "markdown" if part.parse_mode == COMMONMARK else "text"
        return {"title": title, "text": part.text, "format": markup, "type": kind or "info"}
