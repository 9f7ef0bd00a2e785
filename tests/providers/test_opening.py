"""From settings to a chat provider: what is missing is named, and nothing is loaded before it is used."""

import asyncio
import json
import subprocess
import sys

import pytest
from tests.providers.conftest import question
from tests.waiting import PATIENCE_S

from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError
from tocsin.providers.chat import open_chat
from tocsin.testing import FakeClock


def opened(**env: str):
    return open_chat(Settings.load(environ={"TOCSIN_DATA_DIR": "/nonexistent", **env}), FakeClock(), str)


def test_no_chat_is_opened_without_a_provider():
    assert opened() is None
    assert opened(OPENAI_API_KEY="k", CHAT_MODEL="m") is None


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({"CHAT_PROVIDER": "anthropic"}, "CHAT_PROVIDER=anthropic needs CHAT_MODEL and ANTHROPIC_API_KEY"),
        ({"CHAT_PROVIDER": "openai", "CHAT_MODEL": "m"}, "CHAT_PROVIDER=openai needs OPENAI_API_KEY"),
        (
            {
                "CHAT_PROVIDER": "openai",
                "CHAT_MODEL": "m",
                "OPENAI_API_KEY": "k",
                "CHAT_FALLBACK_PROVIDER": "anthropic",
            },
            "CHAT_FALLBACK_PROVIDER=anthropic needs CHAT_FALLBACK_MODEL and ANTHROPIC_API_KEY",
        ),
    ],
)
def test_every_setting_that_is_missing_is_named(env, missing):
    with pytest.raises(ConfigError, match=missing):
        opened(**env)


def test_a_model_on_ones_own_machine_needs_no_key():
    chat = opened(CHAT_PROVIDER="openai", CHAT_MODEL="m", OPENAI_BASE_URL="http://localhost:11434/v1")
    assert (chat.name, chat.model) == ("openai", "m")


def test_an_address_that_would_send_the_key_in_clear_over_the_internet_is_refused():
    env = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "m", "OPENAI_API_KEY": "k"}
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        opened(**env, OPENAI_BASE_URL="http://models.example.com/v1")
    assert opened(**env, OPENAI_BASE_URL="http://models.example.com/v1", ALLOW_INSECURE_API_URL="true")
    assert opened(**env, OPENAI_BASE_URL="https://models.example.com/v1")


@pytest.mark.parametrize("url", ["ftp://x", "https://user:pass@host", "https://host/?key=1", "host"])
def test_malformed_address_is_refused_with_what_is_accepted(url):
    with pytest.raises(ConfigError) as caught:
        opened(ANTHROPIC_BASE_URL=url)
    assert "ANTHROPIC_BASE_URL" in str(caught.value)
    assert "without user" in caught.value.hint
    assert "pass@" not in caught.value.sentence()


OPENING = """
import asyncio, json, sys
from tocsin.core.config.settings import Settings
from tocsin.providers.chat import open_chat
from tocsin.providers.contract import ProviderError, Question, Turn
from tocsin.testing.fakes import FakeClock
{before}
env = {{"CHAT_PROVIDER": "openai", "CHAT_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1"}}
chat = open_chat(Settings.load(environ=env | {{"TOCSIN_DATA_DIR": "/nonexistent"}}), FakeClock(), str)
heavy = sorted({{"pydantic_ai", "openai", "anthropic", "httpx2"}} & set(sys.modules))
async def ask():
    try:
        await chat.ask(Question((Turn("user", "hi"),)))
    except ProviderError as error:
        return [str(error), error.hint]
{instead}
failure = asyncio.run(ask()) if {asking} else None
print(json.dumps([heavy, failure]))
"""


def in_a_process_of_its_own(before: str = "", *, asking: bool = False, instead: str = ""):
    script = OPENING.format(before=before, asking=asking, instead=instead)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return json.loads(done.stdout)


def test_opening_imports_nothing_heavy():
    assert in_a_process_of_its_own() == [[], None]


@pytest.mark.parametrize(
    ("module", "package"), [("pydantic_ai", "pydantic-ai-slim"), ("openai", "openai"), ("httpx2", "httpx2")]
)
def test_a_missing_package_is_named_with_what_installs_it(module, package):
    _, failure = in_a_process_of_its_own(f"sys.modules[{module!r}] = None", asking=True)
    assert failure == [f"{package}: package not installed", 'pip install "tocsin[chat]"']


LOADING = """
async def ask():
    from tocsin.providers.chat import load_clients
    both = env | {"CHAT_FALLBACK_PROVIDER": "anthropic", "CHAT_FALLBACK_MODEL": "m", "ANTHROPIC_API_KEY": "k"}
    load_clients(Settings.load(environ=both | {"TOCSIN_DATA_DIR": "/nonexistent"}))
    before = set(sys.modules)
    for provider in ("openai", "anthropic"):
        given = both | {"CHAT_PROVIDER": provider, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
        chat = open_chat(Settings.load(environ=given | {"TOCSIN_DATA_DIR": "/nonexistent"}), FakeClock(), str)
        try:
            await chat.ask(Question((Turn("user", "hi"),)))
        except ProviderError:
            pass
    return sorted(name for name in set(sys.modules) - before if name.startswith(("pydantic", "openai", "anthropic")))
"""


def test_loading_the_clients_leaves_none_of_their_modules_to_the_first_question():
    _, imported_by_questions = in_a_process_of_its_own(asking=True, instead=LOADING)
    assert imported_by_questions == []


IMPORTING = """
import importlib.abc, threading
class Witness(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("pydantic_ai", "openai", "httpx2"):
            threads.add(threading.current_thread() is threading.main_thread())
threads, usual = set(), ask
sys.meta_path.insert(0, Witness())
async def ask():
    await usual()
    return list(threads)
"""


def test_the_event_loop_goes_on_while_the_sdk_is_loaded():
    _, in_the_thread_of_the_loop = in_a_process_of_its_own(asking=True, instead=IMPORTING)
    assert in_the_thread_of_the_loop == [False]


async def test_many_first_questions_start_the_provider_once(desk):
    chat = desk.open("openai")
    answers = await asyncio.gather(*(chat.ask(question(str(n))) for n in range(5)))
    assert len(answers) == 5


async def test_closing_twice_or_before_the_first_question_is_fine(desk):
    chat = desk.open("openai")
    await chat.aclose()
    await chat.ask(question())
    await chat.aclose()
    await chat.aclose()
