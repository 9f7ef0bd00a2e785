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
