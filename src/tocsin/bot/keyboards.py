"""Inline keyboards and the data of their buttons: `skill:`, `mode:`, `confirm:`, `cancel:`."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from tocsin.bot.contract import ChatMode
from tocsin.channels.conversation import Keyboard
from tocsin.features.ability_records import SkillInfo

SKILL, MODE, CONFIRM, CANCEL = PREFIXES = ("skill:", "mode:", "confirm:", "cancel:")
MAX_DATA_BYTES = 64  # the smallest limit among the chat products: docs/facts/botchat.md, "Calls"
MAX_LABEL = 60
PER_PAGE = 20
PER_ROW = 2
# Neither can occur in a skill name: names have lower-case letters, digits and dashes.
_HASHED, _PAGE = "#", ">"


def parse(data: str) -> tuple[str, str]:
    """Split a button's data into prefix and rest; an unknown prefix becomes the empty string."""
    prefix = next((prefix for prefix in PREFIXES if data.startswith(prefix)), "")
    return prefix, data.removeprefix(prefix)


def mode_keyboard(current: ChatMode) -> Keyboard:
    """Return one button per mode; the current one is marked."""
    return [[(f"• {mode}" if mode is current else str(mode), f"{MODE}{mode}") for mode in ChatMode]]


def cancel_keyboard(task_id: str) -> Keyboard:
    return [[("Cancel", f"{CANCEL}{task_id}")]]


def decision_keyboard(chat_id: str) -> Keyboard:
    """Return the admin's two buttons."""
    return [[("Approve", f"{CONFIRM}approve:{chat_id}"), ("Deny", f"{CONFIRM}deny:{chat_id}")]]


def parse_decision(data: str) -> tuple[str, str] | None:
    """Return `approve` or `deny` and the chat ID of an admin button; `None` for other buttons."""
    prefix, rest = parse(data)
    verb, _, chat = rest.partition(":")
    return (verb, chat) if prefix == CONFIRM and verb in {"approve", "deny"} else None


def skill_data(name: str) -> str:
    """Return the button data of a skill: its name, or a hash of a name that is too long."""
    data = f"{SKILL}{name}"
    if len(data.encode()) <= MAX_DATA_BYTES and not name.startswith((_HASHED, _PAGE)):
        return data
    return f"{SKILL}{_HASHED}{sha256(name.encode()).hexdigest()[:32]}"


def find_skill(rest: str, names: Iterable[str]) -> str | None:
    """Find the skill of a button by its data after the prefix."""
    return next((name for name in names if skill_data(name) == f"{SKILL}{rest}"), None)


def parse_page(rest: str) -> int | None:
    """Return the page that a button opens, counted from 0; `None` for the button of a skill."""
    number = rest.removeprefix(_PAGE)
    if not rest.startswith(_PAGE) or not (number.isascii() and number.isdigit() and len(number) < 6):
        return None
    return int(number)


def pages(skills: Sequence[SkillInfo]) -> int:
    """Return the number of pages of skills, at least one."""
    return max(1, -(-len(skills) // PER_PAGE))


def skills_keyboard(skills: Sequence[SkillInfo], page: int) -> Keyboard:
    """Return the buttons of one page, counted from 0, with links to its neighbours."""
    shown = skills[page * PER_PAGE : (page + 1) * PER_PAGE]
    buttons = [(_label(skill.name), skill_data(skill.name)) for skill in shown]
    rows = [buttons[i : i + PER_ROW] for i in range(0, len(buttons), PER_ROW)]
    turns = []
    if page > 0:
        turns.append(("« back", f"{SKILL}{_PAGE}{page - 1}"))
    if page + 1 < pages(skills):
        turns.append(("more »", f"{SKILL}{_PAGE}{page + 1}"))
    return [*rows, turns] if turns else rows


def _label(name: str) -> str:
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
