"""The conversation that is sent to the provider: the history, and questions whose answers are in progress."""

from dataclasses import dataclass

from tocsin.bot.contract import ASSISTANT, USER
from tocsin.bot.talk.sessions import Sessions
from tocsin.providers.contract import Turn

_OPEN = 50  # exchanges per chat; one that is never closed must not stay forever
# Placeholder for missing answers, so that the model does not answer an earlier question with the next one.
IN_WORK = "(I will answer this separately.)"
UNANSWERED = "(I could not answer this.)"


@dataclass(eq=False, slots=True)
class Exchange:
    """A question that will be added to the history."""

    key: str  # key of the history: the chat or topic
    message_id: str
    text: str  # the person's text, until it is read
    question: str  # the question in the form sent to the model
    answer: str = ""
    forgotten: bool = False  # it was cancelled, or the history was cleared meanwhile

    @property
    def id(self) -> str:
        """The unique ID of the exchange, the same at every attempt."""
        return f"{self.key}:{self.message_id}"


class ConversationBuffer:
    """Adds question and answer to the history together, once the answer is durably queued."""

    def __init__(self, sessions: Sessions, max_turns: int) -> None:
        self._sessions = sessions
        self._max_turns = max_turns  # including the question
        self._open: dict[str, list[Exchange]] = {}

    def ask(self, key: str, message_id: str, text: str, question: str) -> Exchange:
        """Add a question; later questions of the chat see it immediately."""
        exchange = Exchange(key, message_id, text, question)
        others = [other for other in self._open.get(key, []) if other.message_id != message_id]
        # Messages sent at the same moment may arrive here out of order.
        self._open[key] = sorted([*others, exchange], key=lambda one: (len(one.message_id), one.message_id))[-_OPEN:]
        return exchange

    async def turns(self, exchange: Exchange, asked: Turn) -> tuple[Turn, ...]:
        """Return the conversation up to the question, then `asked`; roles alternate, starting with the user's."""
        turns = [_turn(entry.role, entry.content) for entry in await self._sessions.get(exchange.key)]
        for other in self._open.get(exchange.key, []):
            if other is exchange:
                break
            turns += [Turn(USER, other.question), Turn(ASSISTANT, other.answer or IN_WORK)]
        turns.append(asked)
        return _alternating(turns[-self._max_turns :])

    async def close(self, exchange: Exchange) -> None:
        """Add the exchange to the history; without an answer, the question alone."""
        try:
            if exchange.forgotten or not exchange.question.strip():
                return
            if exchange.answer:
                said = (exchange.question, exchange.answer, exchange.id, exchange.message_id)
                await self._sessions.add_exchange(exchange.key, *said)
            else:
                await self._sessions.add(exchange.key, USER, exchange.question, exchange.message_id)
        finally:
            self.drop(exchange)

    def withdraw(self, exchange: Exchange) -> None:
        """Keep a cancelled question out of the history."""
        exchange.forgotten = True
        self.drop(exchange)

    def drop(self, exchange: Exchange) -> None:
        """Remove a question that will be retried."""
        others = [other for other in self._open.get(exchange.key, []) if other is not exchange]
        if others:
            self._open[exchange.key] = others
        else:
            self._open.pop(exchange.key, None)

    async def edit(self, key: str, message_id: str, text: str, question: str) -> None:
        """Replace the text of a message with its edited text; ignore a message that is not in the history."""
        for exchange in self._open.get(key, []):
            if exchange.message_id == message_id:
                exchange.text, exchange.question = text, question
        await self._sessions.edit(key, message_id, question)

    async def clear(self, key: str) -> None:
        """Clear the history and all exchanges in progress."""
        for exchange in self._open.pop(key, []):
            exchange.forgotten = True
        await self._sessions.clear(key)


def _turn(role: str, text: str) -> Turn:
    return Turn(ASSISTANT if role == ASSISTANT else USER, text)


def _alternating(turns: list[Turn]) -> tuple[Turn, ...]:
    """Fill gaps, join consecutive answers, and omit an answer whose question left the window."""
    shown: list[Turn] = []
    for turn in turns:
        before = shown[-1].role if shown else ASSISTANT
        if turn.role == USER and before == USER:
            shown.append(Turn(ASSISTANT, UNANSWERED))
        if USER in {turn.role, before}:
            shown.append(turn)
        elif shown:
            shown[-1] = Turn(ASSISTANT, f"{shown[-1].text}\n\n{turn.text}")
    return tuple(shown)
