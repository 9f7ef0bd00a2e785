"""Describe content that is neither text nor file: a place, a contact, a poll. Source: Bot API, "Message"."""

from collections.abc import Callable, Mapping
from typing import Any

from tocsin.channels.botchat.messages.fields import number, record, records, words
from tocsin.core.text.strings import truncate

MAX_CHARS = 200  # of each name
MAX_OPTIONS = 100  # more than a poll or a checklist can have
# Service messages, which no person wrote. Newer kinds are recognised by SERVICE_PREFIXES.
SERVICE = frozenset({
    "left_chat_member", "delete_chat_photo", "group_chat_created", "supergroup_chat_created", "channel_chat_created",
    "message_auto_delete_timer_changed", "migrate_to_chat_id", "migrate_from_chat_id", "pinned_message",
    "successful_payment", "refunded_payment", "users_shared", "user_shared", "chat_shared", "gift", "unique_gift",
    "gift_upgrade_sent", "connected_website", "write_access_allowed", "passport_data", "proximity_alert_triggered",
    "boost_added", "chat_background_set", "direct_message_price_changed", "paid_message_price_changed",
    "giveaway_created", "giveaway_completed", "web_app_data",
})  # fmt: skip
SERVICE_PREFIXES = (
    "new_chat_", "forum_topic_", "general_forum_topic_", "video_chat_", "voice_chat_", "suggested_post_",
    "checklist_tasks_", "chat_owner_",
)  # fmt: skip


def describe_things(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe in words the content that is neither text nor file."""
    found = {field: record(message.get(field)) for field in THINGS if field in message}
    if "venue" in found:  # the API repeats the location of a venue
        found.pop("location", None)
    return tuple(THINGS[field](thing) for field, thing in found.items())


def is_service(message: Mapping[str, Any]) -> bool:
    """Whether this is a service message, such as a new member."""
    return any(field in SERVICE or field.startswith(SERVICE_PREFIXES) for field in message)


def _location(place: dict[str, Any]) -> str:
    latitude, longitude = place.get("latitude"), place.get("longitude")
    return f"location {_degrees(latitude, 90)}, {_degrees(longitude, 180)}"


def _degrees(value: object, most: int) -> str:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= most
    return f"{value:.10g}" if usable else "unknown"


def _venue(venue: dict[str, Any]) -> str:
    names = [_line(venue.get("title")), _line(venue.get("address")), _location(record(venue.get("location")))]
    return f"venue {', '.join(filter(None, names))}"


def _contact(contact: dict[str, Any]) -> str:
    name = f"{_line(contact.get('first_name'))} {_line(contact.get('last_name'))}".strip()
    phone = _line(contact.get("phone_number"))
    return f"contact {', '.join(filter(None, [name, phone and f'phone {phone}']))}".strip()


def _poll(poll: dict[str, Any]) -> str:
    return _titled("poll", poll.get("question"), poll.get("options"))


def _checklist(checklist: dict[str, Any]) -> str:
    return _titled("checklist", checklist.get("title"), checklist.get("tasks"))


def _titled(kind: str, title: object, lines: object) -> str:
    options = filter(None, (_line(option.get("text")) for option in records(lines)[:MAX_OPTIONS]))
    return f"{kind} “{_line(title)}”: {' / '.join(options)}"


def _dice(dice: dict[str, Any]) -> str:
    value = number(dice.get("value"))
    return f"dice {_line(dice.get('emoji'))}, value {'unknown' if value is None else value}"


def _sticker(sticker: dict[str, Any]) -> str:
    return f"sticker {_line(sticker.get('emoji'))}".strip()


def _line(value: object) -> str:
    return truncate(" ".join(words(value, 2 * MAX_CHARS).split()), MAX_CHARS)


THINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "venue": _venue,
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "checklist": _checklist,
    "dice": _dice,
    "sticker": _sticker,
}
