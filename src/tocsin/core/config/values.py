"""Types of settings that only the core has: each raises ValueError with the accepted values."""


def password_hash(value: str) -> str:
    """Parse an argon2id hash; surrounding quotes are removed, because some readers of env files keep them."""
    import re

    stripped = value.strip().strip("'\"")
    if not re.fullmatch(
        r"\$argon2id\$v=19\$m=[0-9]{1,7},t=[0-9]{1,3},p=[0-9]{1,3}(\$[A-Za-z0-9+/]{11,200}){2}", stripped
    ):
        raise ValueError("the output of `tocsin dashboard hash-password`, starting with $argon2id$")
    return stripped


def time_zone(value: str) -> str:
    """Parse a time zone; a value that is not an IANA name, which other programs accept in TZ, counts as not set."""
    from zoneinfo import ZoneInfo

    name = value.strip().removeprefix(":")
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, KeyError):
        return ""


def user_name(value: str) -> str:
    """Parse a login name; RFC 7617 forbids a colon, which also distinguishes it from `token:NAME` and `chat:ID`."""
    if ":" in value:
        raise ValueError("a name without a colon")
    return value.strip()


def anchor(value: str) -> str:
    """Parse the destination of audit anchors: the path of a file, or a channel and a target."""
    stripped = value.strip()
    channel, colon, target = stripped.partition(":")
    if not stripped.startswith("/") and not (colon and channel and target):
        raise ValueError("an absolute path of a file, or <channel>:<target>")
    return stripped


def model_name(value: str) -> str:
    """Parse the name of a chat model, such as `gpt-5` or `meta-llama/llama-4:free`."""
    stripped = value.strip()
    if not stripped.isascii() or not stripped.isprintable() or " " in stripped or len(stripped) > 200:
        raise ValueError("a model name without spaces")
    return stripped


def pairs(value: str) -> str:
    """Parse a list of `name=value` pairs, as the variables of OpenTelemetry have it; `read_pairs` reads the result."""
    stripped = value.strip()
    if not all(name.strip() for name in read_pairs(stripped)) or not stripped.isprintable():
        raise ValueError("name=value pairs, separated by commas")
    return stripped


def read_pairs(value: str) -> dict[str, str]:
    """Return the pairs of a list; names and values are percent-decoded."""
    from urllib.parse import unquote

    items = [item.partition("=") for item in value.split(",") if item.strip()]
    return {unquote(name.strip()) if equals else "": unquote(text.strip()) for name, equals, text in items}


def ratio(value: str) -> float:
    """Parse a share from 0 to 1."""
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ValueError("a number from 0 to 1")
    return share


def people(value: str) -> frozenset[str]:
    """Parse people as `channel:ID`, separated by commas or blanks."""
    found = value.replace(",", " ").split()
    if not all(channel and id_ and ":" not in id_ for channel, _, id_ in (each.partition(":") for each in found)):
        raise ValueError("people as channel:ID, separated by commas")
    return frozenset(found)
