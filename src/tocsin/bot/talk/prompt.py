"""What the chat model is shown of a message, and what the history keeps of it."""

from tocsin.bot.contract import Prepared
from tocsin.channels.inbound import InboundMessage
from tocsin.messaging.inbound.attribution import attributed


def question_of(message: InboundMessage, ready: Prepared) -> str:
    """Return the message as it is put to the model; pictures without a word are to be described."""
    is_wordless = bool(ready.images) and not ready.text.strip()
    text = _describe(message, len(ready.images)) if is_wordless else ready.text
    return attributed(message, _joined(text, *_answered(ready), *ready.unread))


def history_text_of(message: InboundMessage, ready: Prepared) -> str:
    """Return the message as the history keeps it: words only, and how many pictures there were."""
    count = len(ready.images)
    pictures = f"[{'A picture' if count == 1 else f'{count} pictures'}]" if count else ""
    return attributed(message, _joined(ready.text, *_answered(ready), *ready.unread, pictures))


def _answered(ready: Prepared) -> list[str]:
    return [f"[From the message that this one answers:]\n{text}" for text in ready.quoted]


def _describe(message: InboundMessage, count: int) -> str:
    what = "this picture" if count == 1 else f"these {count} pictures"
    # The model cannot tell the language by words that are not there.
    language = f", else in the language “{message.sender_language}”" if message.sender_language.isalnum() else ""
    return f"[I send {what} without words. Describe what is to be seen, in the language of our conversation{language}.]"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())
