"""What the chat model is shown of a message, and what the history keeps of it."""

from tocsin.bot.contract import Prepared
from tocsin.channels.inbound import InboundMessage


def question_of(message: InboundMessage, ready: Prepared) -> str:
    """Return the message as it is put to the model; pictures without a word are to be described."""
    if ready.images and not ready.text.strip():
        return _joined(_describe(message, len(ready.images)), *ready.unread)
    return _joined(ready.text, *ready.unread)


def memory_of(ready: Prepared) -> str:
    """Return the message as the history keeps it: words only, and how many pictures there were."""
    count = len(ready.images)
    pictures = f"[{'A picture' if count == 1 else f'{count} pictures'}]" if count else ""
    return _joined(ready.text, *ready.unread, pictures)


def _describe(message: InboundMessage, count: int) -> str:
    what = "this picture" if count == 1 else f"these {count} pictures"
    # The model cannot tell the language by words that are not there.
    language = f", else in the language “{message.sender_language}”" if message.sender_language.isalnum() else ""
    return f"[I send {what} without words. Describe what is to be seen, in the language of our conversation{language}.]"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())
