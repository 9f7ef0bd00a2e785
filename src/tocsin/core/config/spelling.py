"""Values of settings as a person would write them."""

from typing import Any

from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import DATA_DIR, FORCE_HTTPS, Variable
from tocsin.core.text.redaction import MASK


def format_for_env(value: object) -> str:
    """Return the value of a setting as a person would write it into a `.env` file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):  # it has no order; short ones first reads well for numbers
        return ", ".join(sorted(map(str, value), key=lambda text: (len(text), text)))
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def display_value(settings: Settings, variable: Variable[Any]) -> str:
    """Return the value in force, for a person; a secret is masked."""
    if variable.name == DATA_DIR.name:
        return str(settings.data_dir)
    value = settings[variable]
    if variable.secret:
        return MASK if value else ""
    if variable.name == FORCE_HTTPS.name:
        return format_for_env(settings.https_enforced)
    if variable.name not in settings.sources and variable.shown_default:
        return variable.shown_default
    # What means "none of it" inside, such as REDIS_URL=off, is shown in the word that was written.
    return format_for_env(value) or next(
        (text for layer in settings.layers if (text := layer.values.get(variable.name))), ""
    )
