"""Albums: several messages that a person sent as one are answered as one."""

import asyncio

from tocsin.bot.contract import answered
from tocsin.bot.talk.albums import Albums
from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext
from tocsin.testing import FakeClock


def item(number: int, album: str | None = "a", text: str = "") -> MessageContext:
    photo = (Attachment("photo", f"p{number}"),)
    message = InboundMessage(
        "botchat", MessageKind.MESSAGE, str(number), (f"k{number}",), "7", text=text, attachments=photo, album_id=album
    )
    return MessageContext(f"id{number}", message)


class Work:
    def __init__(self, *failures: Exception) -> None:
        self.seen: list[InboundMessage] = []
        self._failures = list(failures)

    async def __call__(self, received: MessageContext) -> HandlerResult:
        self.seen.append(received.message)
        if self._failures:
            raise self._failures.pop(0)
        return answered("nice pictures")


async def test_the_items_of_an_album_are_answered_once_in_the_order_in_which_they_were_sent():
    albums, work = Albums(FakeClock()), Work()
    verdicts = await asyncio.gather(*(albums.handle(item(n, text=t), work) for n, t in ((10, ""), (9, "look"))))
    assert [[a.file_id for a in m.attachments] for m in work.seen] == [["p9", "p10"]]
    assert work.seen[0].text == "look"
    assert sorted(v.ending for v in verdicts) == [HandlingStatus.ANSWERED, HandlingStatus.IGNORED]


async def test_a_single_message_does_not_wait():
    work = Work()
    verdict = await Albums(FakeClock()).handle(item(1, album=None), work)
    assert verdict.ending is HandlingStatus.ANSWERED


async def test_an_item_whose_album_could_not_be_answered_is_worked_on_by_itself():
    albums, work = Albums(FakeClock()), Work(RuntimeError("the first try breaks"))
    first, second = await asyncio.gather(*(albums.handle(item(n), work) for n in (1, 2)), return_exceptions=True)
    assert isinstance(first, RuntimeError)
    assert isinstance(second, HandlerResult)
    assert second.ending is HandlingStatus.ANSWERED


async def test_an_item_that_comes_after_its_album_was_answered_is_answered_too():
    albums, work = Albums(FakeClock()), Work()
    await albums.handle(item(1), work)
    await albums.handle(item(2), work)
    assert len(work.seen) == 2
