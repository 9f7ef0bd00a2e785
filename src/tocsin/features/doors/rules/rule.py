"""Rules: what a door makes of a request, as people write it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from tocsin.core.expressions.expression import Expression, ExpressionError
from tocsin.core.expressions.parser import parse_expression
from tocsin.core.expressions.text import TextTemplate, parse_text
from tocsin.core.reading.fields import BooleanType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written, record_type
from tocsin.core.reading.value import did_you_mean, near_word
from tocsin.features.doors.model import NAME_PATTERN, NAME_RULE
from tocsin.features.doors.rules.functions import NAMES, VOCABULARY

MAX_RULES = 100  # of a door
MAX_DOORS = 1_000
MESSAGE_FIELDS = ("title", "text", "severity", "key", "link")
_MESSAGE = frozenset(MESSAGE_FIELDS)


def _condition(text: str) -> Expression:
    try:
        expression = parse_expression(text, VOCABULARY)
    except ExpressionError as error:
        raise ValueError(str(error)) from None
    _check_names([(expression, frozenset())])
    return expression


def _text(text: str) -> TextTemplate:
    try:
        template = parse_text(text, VOCABULARY)
    except ExpressionError as error:
        raise ValueError(str(error)) from None
    _check_names(template.expressions())
    return template


def _check_names(found: Iterable[tuple[Expression, frozenset[str]]]) -> None:
    """Raise ValueError for a name that no request has."""
    for expression, loops in found:
        for path in dict.fromkeys(expression.names()):
            root, _, rest = path.partition(".")
            known = {*NAMES, *loops}
            if root not in known:
                near = near_word(root, known)
                raise ValueError(f"unknown name {path!r}: names begin with {', '.join(NAMES)}{did_you_mean(near)}")
            if root == "message" and rest not in _MESSAGE:
                raise ValueError(f"unknown name {path!r}: message has {', '.join(MESSAGE_FIELDS)}")


_TEXT = Written(TextType(blank=True, parse=_text, schema={"type": "string"}), inferred=True)


_FLAG = Written(BooleanType())


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRule:
    """One rule: what is made of the requests that match."""

    match: Annotated[
        Expression | None,
        Written(TextType(parse=_condition, schema={"type": "string"}), inferred=True),
        "Which requests it is for, such as `payload.status == 'firing'` (default: all)",
    ] = None
    title: Annotated[TextTemplate | None, _TEXT, "Title of the message"] = None
    text: Annotated[TextTemplate | None, _TEXT, "Text of the message"] = None
    severity: Annotated[TextTemplate | None, _TEXT, "ok, info, warning, critical, or a word of the product"] = None
    key: Annotated[TextTemplate | None, _TEXT, "What a later message edits, and `ok` ends"] = None
    link: Annotated[TextTemplate | None, _TEXT, "Address of the message"] = None
    profile: Annotated[TextTemplate | None, _TEXT, "Profile to send to instead of the door's"] = None
    only_if_open: Annotated[bool, _FLAG, "Send an `ok` only if it ends an open problem"] = False
    drop: Annotated[bool, _FLAG, "Send nothing"] = False


RULE = record_type(DoorRule, "DoorRule")
RULES = ListType(RULE, max_items=MAX_RULES)
DOORS_FILE = MappingType(RULES, key_pattern=NAME_PATTERN, key_rule=NAME_RULE, max_keys=MAX_DOORS)
