"""What the provider is shown: the history, and the questions whose answers are still being written."""

from dataclasses import dataclass

from tocsin.bot.contract import ASSISTANT, USER, ChatHistory
from tocsin.providers.contract import Turn

_OPEN = 50  # exchanges of one chat; one that is never closed must not stay for ever
# In the place of answers that a question does not have, so that the model does not answer it with the next one.
IN_WORK = "(I will answer this separately.)"
UNANSWERED = "(I could not answer this.)"


@dataclass(eq=False, slots=True)
class Exchange:
    """A question on its way to the history."""

    key: str  # of the history: the chat, or a topic of it
    message_id: str
    text: str  # what the person wrote, until it is read
    question: str  # the same as the model is shown it
    answer: str = ""
    forgotten: bool = False  # it was cancelled, or the history was cleared meanwhile

    @property
    def id(self) -> str:
        """What makes it one of a kind, at every attempt."""
        return f"{self.key}:{self.message_id}"


class ConversationBuffer:
    """Adds question and answer to the history together, once the answer is durably on its way."""

    def __init__(self, sessions: ChatHistory, max_turns: int) -> None:
        self._sessions = sessions
        self._max_turns = max_turns  # the question included
        self._open: dict[str, list[Exchange]] = {}

    def ask(self, key: str, message_id: str, text: str, question: str) -> Exchange:
        """Take a question in; later ones of the chat see it at once."""
        exchange = Exchange(key, message_id, text, question)
        others = [other for other in self._open.get(key, []) if other.message_id != message_id]
        # What came in one moment may arrive here in another order.
        self._open[key] = sorted([*others, exchange], key=lambda one: (len(one.message_id), one.message_id))[-_OPEN:]
        return exchange

    async def turns(self, exchange: Exchange, asked: Turn) -> tuple[Turn, ...]:
        """Return the conversation up to the question, then `asked`; roles take turns, the user's comes first."""
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
        """Keep a question out of the history that its person has cancelled."""
        exchange.forgotten = True
        self.drop(exchange)

    def drop(self, exchange: Exchange) -> None:
        """Forget a question that will come again."""
        others = [other for other in self._open.get(exchange.key, []) if other is not exchange]
        if others:
            self._open[exchange.key] = others
        else:
            self._open.pop(exchange.key, None)

    async def edit(self, key: str, message_id: str, text: str, question: str) -> None:
        """Put the corrected text of a message in the place of the first one; one that is not there stays away."""
        for exchange in self._open.get(key, []):
            if exchange.message_id == message_id:
                exchange.text, exchange.question = text, question
        await self._sessions.edit(key, message_id, question)

    async def clear(self, key: str) -> None:
        """Forget the history, and what would have become part of it."""
        for exchange in self._open.pop(key, []):
            exchange.forgotten = True
        await self._sessions.clear(key)


def _turn(role: str, text: str) -> Turn:
    return Turn(ASSISTANT if role == ASSISTANT else USER, text)


def _alternating(turns: list[Turn]) -> tuple[Turn, ...]:
    """Fill gaps, join answers in a row, and leave out an answer whose question the window has lost."""
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
