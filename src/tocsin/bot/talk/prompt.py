"""The texts of a message for the chat model and for the history."""

from tocsin.bot.contract import Prepared
from tocsin.channels.inbound import InboundMessage
from tocsin.messaging.inbound.attribution import attribute_text


def format_for_model(message: InboundMessage, ready: Prepared) -> str:
    """Return the text of a message for the model; images without text are to be described."""
    is_wordless = bool(ready.images) and not ready.text.strip()
    text = _describe(message, len(ready.images)) if is_wordless else ready.text
    return attribute_text(message, _joined(text, *_answered(ready), *ready.unread))


def format_for_history(message: InboundMessage, ready: Prepared) -> str:
    """Return the text of a message for the history, with the number of its images."""
    count = len(ready.images)
    pictures = f"[{'A picture' if count == 1 else f'{count} pictures'}]" if count else ""
    return attribute_text(message, _joined(ready.text, *_answered(ready), *ready.unread, pictures))


def _answered(ready: Prepared) -> list[str]:
    return [f"[Quoted message:]\n{text}" for text in ready.quoted]


def _describe(message: InboundMessage, count: int) -> str:
    what = "this picture" if count == 1 else f"these {count} pictures"
    # Without text, the model cannot detect the language.
    language = f", else in the language “{message.sender_language}”" if message.sender_language.isalnum() else ""
    return f"[I send {what} without words. Describe what is to be seen, in the language of our conversation{language}.]"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())
