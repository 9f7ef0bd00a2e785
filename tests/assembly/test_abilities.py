"""The conversations of the bot, for those who show them."""

from pathlib import Path

from tocsin.assembly.full.bot import build_sessions
from tocsin.assembly.full.bot_view import ELSEWHERE
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.bot.settings import BotSettings
from tocsin.features.ability_records import BotWindow, BotWindowList


def environment(folder: Path, token: str) -> dict[str, str]:
    return {"TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "BOTCHAT_BOT_TOKEN": token}


async def test_the_process_that_runs_the_bot_shows_its_chats_and_another_one_says_where_they_are(tmp_path: Path):
    token = "123456789:AAF1xMqTb7uQ0w-0123456789abcdefghi"
    settings, installed = load_settings(environ=environment(tmp_path, token), env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        assert await app.features.abilities.bot.windows() == BotWindowList(notice=ELSEWHERE)
        sessions = build_sessions(BotSettings(), app.clock)
        app.bot_view().use(sessions)  # as `open_receiving` does
        await sessions.add_exchange("7", "ping", "pong", "e1")
        turns = [("user", "ping"), ("assistant", "pong")]
        assert await app.features.abilities.bot.windows() == BotWindowList(
            [BotWindow("7", app.registry.bot_channel().spec.kind, turns)]
        )


async def test_without_a_bot_there_are_no_chats_and_nothing_to_say(tmp_path: Path):
    settings, installed = load_settings(environ=environment(tmp_path, ""), env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        assert await app.features.abilities.bot.windows() == BotWindowList()
