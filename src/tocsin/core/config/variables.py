"""Settings: their definition and their types."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Variable(Generic[T_co]):
    """A setting. `parse` raises ValueError with the accepted values, as in "a port, 1 to 65535"."""

    name: str
    parse: Callable[[str], T_co]
    default: T_co
    doc: str
    secret: bool = False
    login: bool = False  # a user name; common ones cause a warning
    required: bool = False  # by the channel it belongs to
    shape: str = ""  # regular expression of the provider's format; `doctor` warns about other values
    # Returns the weakness of a value: a problem, "; " and the remedy; the start and `doctor` warn about it.
    weakness: Callable[[Any], str] | None = None
    shown_default: str = ""  # if the default is computed, such as a directory of the platform
    former: str = ""  # its previous name, which still works
    min_length: int = 0  # characters; the start and `doctor` warn about shorter values


def text(value: str) -> str:
    """Return the value without surrounding blanks."""
    return value.strip()


def password(value: str) -> str:
    """Return the value unchanged; only a final line end of a file is removed."""
    line = value.rstrip("\r\n")
    if len(line.splitlines()) > 1:
        raise ValueError("one line")  # no login form and no mail server accepts more
    return line


def token(value: str) -> str:
    """Parse a token: printable ASCII without blanks, because it is sent in a header or a URL."""
    stripped = value.strip()
    if not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise ValueError("a token of printable ASCII characters without spaces")
    return stripped


def integer(lowest: int, highest: int) -> Callable[[str], int]:
    """Return the parser of an integer between two bounds, both included."""

    def parse(value: str) -> int:
        stripped = value.strip()
        # Python rejects thousands of digits.
        plain = stripped.isascii() and stripped.isdigit() and len(stripped) <= 20
        if not plain or not lowest <= int(stripped) <= highest:
            raise ValueError(f"a whole number from {lowest} to {highest}")
        return int(stripped)

    return parse


port = integer(1, 65535)


def boolean(value: str) -> bool:
    word = value.strip().lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise ValueError("true or false")


def choice(*accepted: str) -> Callable[[str], str]:
    """Return the parser of one of the `accepted` words."""

    def parse(value: str) -> str:
        word = value.strip().lower()
        if word not in accepted:
            raise ValueError(f"one of: {', '.join(accepted)}")
        return word

    return parse


def directory(value: str) -> Path:
    """Parse a path; `~` is the home directory, and relative paths start at the working directory."""
    try:
        return Path(value.strip()).expanduser().absolute()
    except (RuntimeError, OSError):  # no such home directory; the working directory was deleted
        raise ValueError("an absolute path of a directory, because the home directory is unknown") from None


def directories(value: str) -> tuple[Path, ...]:
    """Parse paths of directories, separated by commas."""
    try:
        return tuple(directory(item) for item in value.split(",") if item.strip())
    except ValueError:
        raise ValueError("absolute paths of directories, separated by commas") from None


def file_path(value: str) -> Path:
    """Parse the path of a file; `~` is the home directory, and relative paths start at the working directory."""
    try:
        return directory(value)
    except ValueError:
        raise ValueError("an absolute path of a file, because the home directory is unknown") from None


def base_url(value: str) -> str:
    """Parse the base address of a provider; a trailing `/` is removed."""
    from urllib.parse import urlsplit  # 3 ms, which a start without such a setting avoids

    stripped = value.strip().rstrip("/")
    try:
        parts = urlsplit(stripped)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.password or {*"?# \t\r\n"} & {*stripped}:
        raise ValueError("an http or https URL without user, query or fragment")
    return stripped
