"""The address, model, key and time limits of a chat model."""

from dataclasses import dataclass
from typing import Any

from tocsin.core.config.core_variables import (
    ALLOW_INSECURE_API_URL,
    ANTHROPIC_API_KEY,
    ANTHROPIC_BASE_URL,
    OPENAI_API_KEY,
    OPENAI_BASE_URL,
)
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable
from tocsin.core.errors import MissingSettingError
from tocsin.core.http.addresses import refuse_clear_text
from tocsin.core.http.transport import displayed_host
from tocsin.providers.contract import ProviderError

_PRODUCTS = {
    "anthropic": ("Anthropic", ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL),
    "openai": ("OpenAI", OPENAI_API_KEY, OPENAI_BASE_URL),
}


@dataclass(frozen=True, slots=True, repr=False)  # no repr: it would show the key
class ModelEndpoint:
    """One model at one provider; `label` is the provider's name in messages."""

    provider: str  # anthropic or openai: the interface it speaks
    model: str
    key: str  # empty if the service needs none
    base_url: str
    label: str
    key_setting: str  # the settings behind these values, for hints
    url_setting: str
    model_setting: str


def product_name(provider: str) -> str:
    """Return the name of a provider as it is written in texts."""
    return _PRODUCTS[provider][0]


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """Time limits of a call."""

    connect_s: float = 5.0
    first_piece_s: float = 60.0  # a reasoning model sends nothing while it thinks
    between_pieces_s: float = 30.0
    whole_s: float = 120.0  # including the retry
    longest_wait_s: float = 30.0  # the longest Retry-After that is waited for


def read_endpoint(settings: Values, provider: Variable[str], model: Variable[str], name: str = "") -> ModelEndpoint:
    """Return the endpoint described by two settings; `name` overrides the model.

    Raises ConfigError, which names every missing setting.
    """
    kind = settings[provider]
    product, key, base_url = _PRODUCTS[kind]
    elsewhere = settings[base_url] != base_url.default
    needed: list[Variable[Any]] = [] if name else [model]
    # A self-hosted service with OpenAI's interface seldom needs a key.
    if kind != "openai" or not elsewhere:
        needed.append(key)
    if missing := [variable.name for variable in needed if not settings[variable]]:
        raise MissingSettingError(f"{provider.name}={kind} needs {' and '.join(missing)}", hint="set it")
    if not settings[ALLOW_INSECURE_API_URL]:
        refuse_clear_text(base_url.name, settings[base_url])
    label = displayed_host(settings[base_url]) if elsewhere else product
    chosen = name or settings[model]
    return ModelEndpoint(kind, chosen, settings[key], settings[base_url], label, key.name, base_url.name, model.name)


def refused_key_error(endpoint: ModelEndpoint) -> ProviderError:
    """Return the error for a missing key, or one that the provider refused."""
    what = "rejects the key" if endpoint.key else "requires a key"
    return ProviderError(
        f"{endpoint.label} {what} (401)",
        hint=f"set {endpoint.key_setting} to a valid key",
        provider_code="401",
        needs_operator=True,
    )
