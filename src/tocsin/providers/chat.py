"""Make a `ChatProvider` from the settings, without importing an SDK or opening a connection."""

from collections.abc import Callable

from tocsin.core.config.core_variables import (
    CHAT_FALLBACK_MODEL,
    CHAT_FALLBACK_PROVIDER,
    CHAT_MODEL,
    CHAT_MODEL_CAPABLE,
    CHAT_MODEL_FAST,
    CHAT_PROVIDER,
)
from tocsin.core.config.settings import Values
from tocsin.core.time.clock import Clock
from tocsin.providers.contract import ChatProvider
from tocsin.providers.endpoint import CallTimeouts, read_endpoint
from tocsin.providers.fallback import Fallback
from tocsin.providers.remote import RemoteChat, load_model
from tocsin.providers.watch import ModelWatch

# The aliases that skills use for models (docs/skills.md, "Instructions for the assistant").
ALIASES = {"vendor-fast-4": CHAT_MODEL_FAST, "vendor-capable-4": CHAT_MODEL_CAPABLE}

NOT_CONFIGURED = "no chat model is configured"
HOW_TO_CONFIGURE = (
    f"set {CHAT_PROVIDER.name} to anthropic or openai, {CHAT_MODEL.name} to one of its models, and "
    "ANTHROPIC_API_KEY or OPENAI_API_KEY; OPENAI_BASE_URL selects your own model server"
)


def open_chat(
    settings: Values,
    clock: Clock,
    redact: Callable[[str], str],
    *,
    model: str = "",
    limits: CallTimeouts | None = None,
    watch: ModelWatch | None = None,
) -> ChatProvider | None:
    """Return the configured chat provider with its fallback, or `None` if none is configured.

    `model`, a name or an alias used by skills, overrides CHAT_MODEL. The caller closes the provider. `watch` is
    notified when a model fails or works. Raises ConfigError if a setting is missing, or if the key would be sent
    unencrypted.
    """
    if not settings[CHAT_PROVIDER]:
        return None
    limits = limits or CallTimeouts()
    endpoint = read_endpoint(settings, CHAT_PROVIDER, CHAT_MODEL, model_named(settings, model))
    has_fallback = bool(settings[CHAT_FALLBACK_PROVIDER])
    chat = RemoteChat(endpoint, clock, redact, limits, watch, has_fallback=has_fallback)
    if not has_fallback:
        return chat
    second = read_endpoint(settings, CHAT_FALLBACK_PROVIDER, CHAT_FALLBACK_MODEL)
    return Fallback(chat, RemoteChat(second, clock, redact, limits, watch))


def load_clients(settings: Values) -> None:
    """Import the clients of the configured chat models, so that the first question does not wait.

    Takes seconds. Raises ConfigError and ProviderError.
    """
    for provider, model in ((CHAT_PROVIDER, CHAT_MODEL), (CHAT_FALLBACK_PROVIDER, CHAT_FALLBACK_MODEL)):
        if settings[provider]:
            load_model(read_endpoint(settings, provider, model), str, CallTimeouts())


def model_named(settings: Values, name: str) -> str:
    """Return the model that `name` means; empty means CHAT_MODEL."""
    alias = ALIASES.get(name.strip())
    return settings[alias] if alias else name.strip()
