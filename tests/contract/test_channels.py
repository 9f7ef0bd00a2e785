"""Every built-in channel keeps the channel contract; the examples of plug-ins do in test_copied_examples."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.devicemsg import DevicemsgAdapter
from tocsin.channels.email import EmailAdapter
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.registry import discover
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.testing.channel_contract import ChannelContract
from tocsin.testing.http_channel_contract import HttpChannelContract
from tocsin_standins.mail import PASSWORD, USER, MailServer


class TestTeamchat(HttpChannelContract):
    adapter = TeamchatAdapter
    env = {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"}
    target = "#ops"
    bad_targets = ("@anna", "ops", "#", "#two words", "c0general", "C0GENERAL/1", "#a,#b")
    sent = {"ok": True, "channel": "C0GENERAL", "ts": "1503435956.000247", "message": {"text": "hello"}}
    probed = {"ok": True, "url": "https://x.slack.com/", "team": "Name", "user": "bot", "user_id": "U0BOT"}


class TestBotchat(HttpChannelContract):
    adapter = BotchatAdapter
    env = {"BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example"}
    target = "-1001234567890/7"
    bad_targets = ("ops", "0", "1.5", "@x", "1/2/3", "9" * 20)
    sent = {"ok": True, "result": {"message_id": 5, "chat": {"id": -1001234567890}, "text": "hello"}}
    probed = {"ok": True, "result": {"id": 7, "is_bot": True, "username": "tocsin_bot"}}


class TestGuildchat(HttpChannelContract):
    adapter = GuildchatAdapter
    env = {"GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample"}
    target = "100000000000000001"
    bad_targets = ("#ops", "1", "1" * 21, "10000000000000000a")
    sent = {"id": "1400000000000000001", "channel_id": "100000000000000001", "content": "hello"}
    probed = {"id": "200000000000000001", "username": "tocsin"}
    splitting = {"GUILDCHAT_SPLIT": "true"}
    resends_safely = True  # by its nonce


class TestEmail(ChannelContract):
    adapter = EmailAdapter
    env = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": "9",
        "SMTP_USER": USER,
        "SMTP_PASS": "made-up example p@ss/wörd",
    }
    target = "ops@example.org"
    bad_targets = ("ops", "a@x.example, b@x.example", "Anna <anna@x.example>", "a@b@c", "@x.example", "a b@x.example")
    packages = ("aiosmtplib",)

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        async with MailServer(mode="plain") as server:
            yield self.build(
                SMTP_TLS="none",
                SMTP_HOST=server.host,
                SMTP_PORT=str(server.port),
                SMTP_PASS=PASSWORD,
            )


class TestDevicemsg(ChannelContract):
    adapter = DevicemsgAdapter
    env = {"DEVICEMSG_PLATFORM": "darwin", "DEVICEMSG_OSASCRIPT": "false", "DEVICEMSG_PGREP": "false"}
    target = "+15551234567"
    bad_targets = ("+1", "a@", "@b.example")

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        with TemporaryDirectory() as directory:
            obliging = Path(directory) / "osascript"
            obliging.write_text("#!/bin/sh\nexec cat >/dev/null\n")
            await asyncio.to_thread(obliging.chmod, 0o755)
            yield self.build(DEVICEMSG_OSASCRIPT=str(obliging), DEVICEMSG_PGREP="true")


def test_every_channel_there_is_has_its_suite():
    suites = [*ChannelContract.__subclasses__(), *HttpChannelContract.__subclasses__()]
    tested = {suite.adapter for suite in suites if suite is not HttpChannelContract}
    kinds = [channel.spec.kind for channel in discover().classes if channel not in tested]
    beside = Path(__file__).parents[1] / "channels"  # a folder for each further channel
    assert [kind for kind in kinds if not (beside / kind / f"test_{kind}.py").exists()] == []
