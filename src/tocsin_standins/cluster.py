"""All stand-ins at once: `async with open_standins() as cluster:`."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.world import GROUP_CHAT
from tocsin_standins.chatmodel.server import CAPABLE, FAST, MODEL, ChatModel
from tocsin_standins.guildchat.calls import PUBLIC_KEY
from tocsin_standins.guildchat.server import OPS, GuildChat
from tocsin_standins.page.demo_users import ALICE, DemoUsers
from tocsin_standins.page.server import DemoPage
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn
from tocsin_standins.teamchat.server import TeamChat

if TYPE_CHECKING:
    from tocsin_standins.mail import MailServer


PRODUCTS = {"teamchat": "slack", "botchat": "telegram", "guildchat": "discord"}


@dataclass(frozen=True, slots=True)
class StandinCluster:
    """The running stand-ins, their recorder, and the demo page."""

    recorder: Recorder
    teamchat: TeamChat
    botchat: BotChat
    guildchat: GuildChat
    mail: MailServer
    page: DemoPage
    chatmodel: ChatModel
    further: tuple[HttpStandIn, ...] = ()  # of channels that bring their own

    @property
    def ca_file(self) -> Path:
        """The certificate authority of the mail server."""
        return self.mail.ca_file

    def control(self) -> dict[str, str]:
        """Return the base URL of each stand-in's `/_standin/…` endpoints; the mail server's are on the page."""
        chats = {"teamchat": self.teamchat, "botchat": self.botchat, "guildchat": self.guildchat}
        standins = {**chats, "chatmodel": self.chatmodel, **{each.channel: each for each in self.further}}
        return {name: standin.url for name, standin in standins.items()} | {"page": self.page.url}

    def samples(self) -> dict[str, str]:
        """Return a target that works on each channel."""
        return {"teamchat": "#ops", "botchat": "1001", "guildchat": OPS, "email": "ops@example.org"}

    def product(self, channel: str) -> str:
        return PRODUCTS.get(channel, channel)

    def environment(self) -> dict[str, str]:
        """Return the variables that point Tocsin at these stand-ins."""
        tls = {"starttls": "starttls", "implicit": "implicit", "plain": "none"}
        return {
            "TEAMCHAT_API_URL": self.teamchat.api_url,
            "TEAMCHAT_BOT_TOKEN": self.teamchat.token,
            "TEAMCHAT_SIGNING_SECRET": self.teamchat.signing_secret,
            "BOTCHAT_API_URL": self.botchat.api_url,
            "BOTCHAT_BOT_TOKEN": self.botchat.token,
            "GUILDCHAT_API_URL": self.guildchat.api_url,
            "GUILDCHAT_BOT_TOKEN": self.guildchat.token,
            "GUILDCHAT_PUBLIC_KEY": PUBLIC_KEY,
            "SMTP_HOST": self.mail.host,
            "SMTP_PORT": str(self.mail.port),
            "SMTP_USER": self.mail.user,
            "SMTP_PASS": self.mail.password,
            "SMTP_FROM": self.mail.user,
            "SMTP_TLS": tls[self.mail.mode],
            "SMTP_CA_FILE": str(self.ca_file),
            "CHAT_PROVIDER": "openai",
            "CHAT_MODEL": MODEL,
            "CHAT_MODEL_FAST": FAST,
            "CHAT_MODEL_CAPABLE": CAPABLE,
            "OPENAI_API_KEY": self.chatmodel.key,
            "OPENAI_BASE_URL": self.chatmodel.openai_url,
            "ANTHROPIC_API_KEY": self.chatmodel.key,
            "ANTHROPIC_BASE_URL": self.chatmodel.anthropic_url,
            **{name: value for each in self.further for name, value in each.environment().items()},
        }

    def targets(self) -> dict[str, Mapping[str, Mapping[str, Any]]]:
        """Return the content of the `targets.yaml` that points Tocsin at these stand-ins, by channel."""
        return {each.channel: found for each in self.further if (found := each.targets())}

    def access(self) -> dict[str, str]:
        """Return the variables that allow Alice and her group, and make her chat the admin chat."""
        return {
            "ALLOWED_CHAT_IDS": f"{ALICE},{GROUP_CHAT}",
            "BOTCHAT_DEFAULT_CHAT_ID": str(ALICE),
            "BOTCHAT_ADMIN_CHAT_ID": str(ALICE),
        }

    def connect(self, gateway: str, texts: Sequence[str] = ()) -> None:
        """Tell the page the gateway's address, and texts that trigger an action there."""
        self.page.users.gateway, self.page.users.texts = gateway, tuple(texts)

    def say_command(self, text: str) -> str:
        """Return a command line that writes to the bot as Alice."""
        body = json.dumps({"chat_id": ALICE, "text": text})
        return f"curl {self.page.url}/_standin/say -H 'Content-Type: application/json' -d {shlex.quote(body)}"


@contextlib.asynccontextmanager
async def open_standins(
    *,
    host: str = "127.0.0.1",
    ports: Mapping[str, int] | None = None,
    paced: bool = False,
    further: Sequence[type[HttpStandIn]] = (),
) -> AsyncIterator[StandinCluster]:
    """Start everything, each on a free loopback port unless `ports` names one.

    The names in `ports` are teamchat, botchat, guildchat, email, chatmodel and page. `paced` enforces the products'
    rate limits. `further` are the stand-ins of channels that bring their own.
    """
    from tocsin_standins.mail import MailServer

    at = {} if ports is None else dict(ports)
    recorder = Recorder()
    async with contextlib.AsyncExitStack() as stack:
        teamchat = TeamChat(recorder, host=host, port=at.get("teamchat", 0), paced=paced)
        botchat = BotChat(recorder, host=host, port=at.get("botchat", 0), paced=paced)
        guildchat = GuildChat(recorder, host=host, port=at.get("guildchat", 0), paced=paced)
        mail = MailServer(recorder, host=host, port=at.get("email", 0))
        chatmodel = ChatModel(recorder, host=host, port=at.get("chatmodel", 0))
        others = tuple(each(recorder, host=host, port=at.get(each.channel, 0)) for each in further)
        for standin in (teamchat, botchat, guildchat, chatmodel, *others):
            await stack.enter_async_context(standin)
        await stack.enter_async_context(mail)
        users = DemoUsers(botchat, teamchat, guildchat)
        page = DemoPage(recorder, mail.faults, users, host=host, port=at.get("page", 0))
        await stack.enter_async_context(page)
        yield StandinCluster(recorder, teamchat, botchat, guildchat, mail, page, chatmodel, others)
