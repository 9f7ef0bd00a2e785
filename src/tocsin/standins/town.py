"""All stand-ins at once: `async with open_standins() as town:`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.standins.botchat import BotChat
from tocsin.standins.guildchat import OPS, GuildChat
from tocsin.standins.page import Page
from tocsin.standins.recorder import Recorder
from tocsin.standins.teamchat import TeamChat

if TYPE_CHECKING:
    from tocsin.standins.mail import MailServer


@dataclass(frozen=True, slots=True)
class Town:
    """The running stand-ins, what they received, and the page that shows it."""

    recorder: Recorder
    teamchat: TeamChat
    botchat: BotChat
    guildchat: GuildChat
    mail: MailServer
    page: Page

    @property
    def ca_file(self) -> Path:
        """The certificate authority that the mail server's certificate comes from."""
        return self.mail.ca_file

    def control(self) -> dict[str, str]:
        """Give the base URL of each stand-in's `/_standin/…` endpoints; the mail server's are on the page."""
        standins = {"teamchat": self.teamchat, "botchat": self.botchat, "guildchat": self.guildchat}
        return {name: standin.url for name, standin in standins.items()} | {"page": self.page.url}

    def samples(self) -> dict[str, str]:
        """Give a target that works on each channel."""
        return {"teamchat": "#ops", "botchat": "1001", "guildchat": OPS, "email": "ops@example.org"}

    def environment(self) -> dict[str, str]:
        """Give the variables that point Tocsin at these stand-ins."""
        tls = {"starttls": "starttls", "implicit": "implicit", "plain": "none"}
        return {
            "TEAMCHAT_API_URL": self.teamchat.api_url,
            "TEAMCHAT_BOT_TOKEN": self.teamchat.token,
            "BOTCHAT_API_URL": self.botchat.api_url,
            "BOTCHAT_BOT_TOKEN": self.botchat.token,
            "GUILDCHAT_API_URL": self.guildchat.api_url,
            "GUILDCHAT_BOT_TOKEN": self.guildchat.token,
            "SMTP_HOST": self.mail.host,
            "SMTP_PORT": str(self.mail.port),
            "SMTP_USER": self.mail.user,
            "SMTP_PASS": self.mail.password,
            "SMTP_FROM": self.mail.user,
            "SMTP_TLS": tls[self.mail.mode],
            "SMTP_CA_FILE": str(self.ca_file),
        }


@contextlib.asynccontextmanager
async def open_standins(
    *, host: str = "127.0.0.1", ports: Mapping[str, int] | None = None, paced: bool = False
) -> AsyncIterator[Town]:
    """Start everything, each on a free loopback port unless `ports` names one.

    The names in `ports` are teamchat, botchat, guildchat, email and page. `paced` enforces the products' rate
    limits.
    """
    from tocsin.standins.mail import MailServer

    at = {} if ports is None else dict(ports)
    recorder = Recorder()
    async with contextlib.AsyncExitStack() as stack:
        teamchat = TeamChat(recorder, host=host, port=at.get("teamchat", 0), paced=paced)
        botchat = BotChat(recorder, host=host, port=at.get("botchat", 0), paced=paced)
        guildchat = GuildChat(recorder, host=host, port=at.get("guildchat", 0), paced=paced)
        mail = MailServer(recorder, host=host, port=at.get("email", 0))
        for standin in (teamchat, botchat, guildchat):
            await stack.enter_async_context(standin)
        await stack.enter_async_context(mail)
        page = Page(recorder, mail.faults, botchat.say, host=host, port=at.get("page", 0))
        await stack.enter_async_context(page)
        yield Town(recorder, teamchat, botchat, guildchat, mail, page)
