"""doctor, models: the models for conversations and for voice messages; no provider is called."""

from collections.abc import AsyncIterator, Iterator

from tocsin.assembly.full.receiving import MODELS_FOLDER
from tocsin.assembly.program import App
from tocsin.cli.doctor.channels import check_shapes
from tocsin.core.config.core_variables import (
    ANTHROPIC_API_KEY,
    ANTHROPIC_BASE_URL,
    CHAT_FALLBACK_PROVIDER,
    CHAT_PROVIDER,
    OPENAI_API_KEY,
    OPENAI_BASE_URL,
)
from tocsin.providers.chat import HOW_TO_CONFIGURE, open_chat
from tocsin.providers.files.reading import read_in_child
from tocsin.providers.files.speech import Speech
from tocsin.terminal.findings import Finding
from tocsin.terminal.packages import is_installed

SUBJECT = "chat model"
KEYS = {"anthropic": (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL), "openai": (OPENAI_API_KEY, OPENAI_BASE_URL)}


async def check_chat_model(app: App) -> AsyncIterator[Finding]:
    """Check settings, packages and keys of the chat model and its fallback, without calling it: calls cost money."""
    chat = open_chat(app.settings, app.clock, app.redact)
    if chat is None:
        yield Finding(
            "off", SUBJECT, "no model is configured: the bot answers only commands and triggers", HOW_TO_CONFIGURE
        )
        return
    await chat.aclose()
    used = dict.fromkeys(app.settings[setting] for setting in (CHAT_PROVIDER, CHAT_FALLBACK_PROVIDER))
    providers = [name for name in used if name]
    # The client package of a provider has the provider's name.
    if missing := [package for package in ("pydantic_ai", *providers) if not is_installed(package)]:
        yield Finding("error", SUBJECT, f"{', '.join(missing)}: package not installed", 'pip install "tocsin[chat]"')
    for provider in providers:
        key, address = KEYS[provider]
        # Other services with the same API have keys of any format.
        if app.settings[address] == address.default:
            for finding in check_shapes(app.settings, SUBJECT, [key]):
                yield finding
    yield Finding("ok", SUBJECT, f"{chat.model} ({chat.name}; not tested)")


def check_speech(app: App) -> Iterator[Finding]:
    """Check the requirements of transcription; without them the bot answers voice messages with how to install it."""
    speech = Speech(app.settings.data_dir / MODELS_FOLDER, read_in_child)
    problem = speech.problem()
    detail, _, fix = problem.partition(": ")
    if not problem:
        yield Finding("ok", "speech", f"voice messages are transcribed with {speech.path.name}")
    elif speech.path.exists():  # it was installed
        yield Finding("warning", "speech", detail, fix)
    else:
        yield Finding("off", "speech", f"voice messages are not transcribed: {detail}", fix)
