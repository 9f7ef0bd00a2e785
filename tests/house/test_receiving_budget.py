"""Who only lists or sends does not pay for receiving, and a service that idles has loaded nothing it does not use."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# What only receiving and answering need.
OF_RECEIVING = (
    "tocsin.channels.inbound",
    "tocsin.messaging.inbound.handling",
    "tocsin.messaging.inbound.inbox",
    "tocsin.assembly.full.receiving",
)
SHARED = {"tocsin.bot", "tocsin.bot.schema"}  # the tables of the database, which are text
COMMAND = """
import json, sys
from tocsin.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
SERVICE = """
import asyncio, json, sys
import tocsin.core.log, tocsin.assembly.full.services, tocsin.web.gateway.app, tocsin.web.http.serving
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.assembly.full.receiving import open_receiving

async def main():
    settings, discovery = load_settings(environ=json.loads(sys.argv[1]))
    async with open_app(settings, discovery, direct_transport) as app:
        receiving = await open_receiving(app, fetch=True)
        assert receiving.source is not None
        app.features.services(), app.features.gateway_routes()

asyncio.run(main())
print(json.dumps([0, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded_by(program: str, *arguments: str) -> tuple[int, set[str]]:
    """Run a program without any setting of this machine; return its exit code and every module it has loaded."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, *arguments], env={}, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("words", [["channels"], ["send", "teamchat", "#ops", "hi"]], ids=["channels", "send"])
def test_listing_and_sending_load_nothing_of_receiving(tmp_path: Path, words: list[str]):
    code, modules = loaded_by(COMMAND, "--data-dir", str(tmp_path), *words)
    assert code == (words[0] == "send"), "without a token it cannot be sent"
    assert modules.intersection(OF_RECEIVING) == set()
    assert {name for name in modules if name.startswith("tocsin.bot")} <= SHARED


def test_a_service_that_waits_has_loaded_nothing_that_only_some_messages_need(tmp_path: Path):
    settings = {
        "TOCSIN_DATA_DIR": str(tmp_path),
        "REDIS_URL": "off",
        "BOTCHAT_BOT_TOKEN": "7000000001:AAmadeup",
        "CHAT_PROVIDER": "openai",
        "CHAT_MODEL": "gpt-5",
        "OPENAI_API_KEY": "made-up",
    }
    _, modules = loaded_by(SERVICE, json.dumps(settings))
    heavy = {"aiohttp", "anthropic", "av", "markdown_it", "nacl", "numpy", "openai", "pydantic", "pydantic_ai", "pypdf"}
    assert {name.partition(".")[0] for name in modules} & {*heavy, "pywhispercpp", "re2", "rich", "ruamel"} == set()
