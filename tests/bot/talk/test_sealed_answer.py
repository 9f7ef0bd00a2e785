"""A preview becomes the answer, in the chat of the stand-in: bot, Bot API client and outbound adapter together."""

import asyncio

from tests.bot.bench import conversation
from tests.bot.conftest import MakeBench

from tocsin.bot.settings import BotSettings
from tocsin.bot.talk.preview import FIRST_AFTER_S
from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import Outgoing
from tocsin.core.http.direct import DirectTransport
from tocsin.testing.fakes import build_adapter
from tocsin_standins.botchat.server import TOKEN, BotChat

CHAT = 1001


async def test_the_preview_becomes_the_answer_and_loses_its_button(make_bench: MakeBench):
    async with BotChat() as botchat:
        http = DirectTransport()
        env = {"BOTCHAT_BOT_TOKEN": TOKEN, "BOTCHAT_API_URL": botchat.url}
        bench = make_bench(
            BotSettings(allowed=frozenset({str(CHAT)})), channel=lambda clock: conversation(http, clock, **env)
        )
        assert bench.provider is not None
        bench.provider.reply = None
        asking = asyncio.create_task(bench.send("hello", chat=str(CHAT)))
        while not bench.provider.calls:
            await bench.settle()
        bench.provider.calls[0].write("A **bold** ans")
        await bench.settle()
        await bench.pass_time(FIRST_AFTER_S)
        while not botchat.world.messages:
            await bench.settle()
        (preview,) = botchat.world.messages.values()
        assert (preview["text"], preview["entities"][0]["type"]) == ("A bold ans", "bold")
        assert preview["reply_markup"]["inline_keyboard"][0][0]["text"] == "Cancel"

        bench.provider.calls[0].answer("A **bold** answer")
        await bench.settle()
        await bench.pass_time(bench.channel.edit_every_s)
        (reply,) = (await asking).replies
        adapter = build_adapter(BotchatAdapter, env, http=http)
        outgoing = Outgoing(str(CHAT), reply.text, parse_mode=reply.parse_mode, extra=reply.extra)
        assert (await adapter.transmit(outgoing)).result.ok
        (answer,) = botchat.world.messages.values()
        assert answer["text"] == "A bold answer"
        assert [entity["type"] for entity in answer["entities"]] == ["bold"]
        assert "reply_markup" not in answer
        await http.aclose()
