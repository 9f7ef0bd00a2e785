"""Values of settings as users write them."""

from typing import Any

from tocsin.core.config.core_variables import DATA_DIR, FORCE_HTTPS
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable
from tocsin.core.text.redaction import MASK


def format_for_env(value: object) -> str:
    """Return the value of a setting as it is written in a `.env` file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):  # it has no order; shortest first is readable for numbers
        return ", ".join(sorted(map(str, value), key=lambda text: (len(text), text)))
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def display_value(settings: Settings, variable: Variable[Any]) -> str:
    """Return the current value for display; a secret is masked."""
    if variable.name == DATA_DIR.name:
        return str(settings.data_dir)
    value = settings[variable]
    if variable.secret:
        return MASK if value else ""
    if variable.name == FORCE_HTTPS.name:
        return format_for_env(settings.https_enforced)
    if variable.name not in settings.sources and variable.shown_default:
        return variable.shown_default
    # A word such as REDIS_URL=off, which is parsed as an empty value, is displayed as it was written.
    return format_for_env(value) or next(
        (text for layer in settings.layers if (text := layer.values.get(variable.name))), ""
    )
