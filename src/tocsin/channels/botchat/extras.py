"""Read the extras of a message to a chat: the message to reply to or to replace, and buttons.

As JSON: `{"reply_to": 7, "edit_message_id": 8, "buttons": [[["Yes", "confirm:1"], ["No", "cancel:1"]]]}`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.core.errors import ChannelError

MOST_DATA_BYTES = 64  # InlineKeyboardButton, callback_data
MOST_BUTTONS = 100  # per message

InlineKeyboard = list[list[dict[str, str]]]


class Extras(NamedTuple):
    """The extras that this channel knows; other keys are ignored."""

    reply_to: int | None = None
    edit_message_id: int | None = None
    keyboard: InlineKeyboard | None = None


def read_extras(extra: Mapping[str, Any]) -> Extras:
    """Read the extras of a message; raise ChannelError if the server would refuse them."""
    return Extras(
        _message_id(extra, "reply_to"),
        _message_id(extra, "edit_message_id"),
        _keyboard(extra["buttons"]) if extra.get("buttons") else None,
    )


def _message_id(extra: Mapping[str, Any], name: str) -> int | None:
    value = extra.get(name)
    if value is None or value == "":
        return None
    digits = str(value)
    if isinstance(value, bool) or not digits.isascii() or not digits.isdigit() or not 0 < int(digits) < 2**31:
        raise ChannelError(f"{name} is not a valid message ID", hint="use a positive number")
    return int(digits)


def _keyboard(rows: object) -> InlineKeyboard:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise _no_buttons()
    keyboard = [[_button(button) for button in row] for row in rows if _is_row(row)]
    if sum(map(len, keyboard)) > MOST_BUTTONS:
        raise ChannelError(f"more than {MOST_BUTTONS} buttons", hint="split them into pages")
    return keyboard


def _is_row(row: object) -> bool:
    if not isinstance(row, Sequence) or isinstance(row, str):
        raise _no_buttons()
    return bool(row)


def _button(button: object) -> dict[str, str]:
    if not isinstance(button, Sequence) or len(button) != 2 or not all(isinstance(item, str) for item in button):
        raise _no_buttons()
    text, data = button
    if not text.strip():
        raise ChannelError("a button has no text", hint="write at least one visible character")
    if not 1 <= len(data.encode("utf-8", "surrogatepass")) <= MOST_DATA_BYTES:
        raise ChannelError(
            f"the data of the button {text[:40]!r} must have 1 to {MOST_DATA_BYTES} bytes",
            hint="replace long values by an index or a hash",
        )
    return {"text": text, "callback_data": data}


def _no_buttons() -> ChannelError:
    return ChannelError("the buttons have an invalid format", hint="use a list of rows, each a list of [text, data]")
