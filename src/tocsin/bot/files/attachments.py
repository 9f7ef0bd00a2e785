"""The content of a message's files: text, images for the model, and notes for the person.

Every file is opened in its own child process (`providers/files/`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tocsin.bot.contract import Prepared
from tocsin.channels.inbound import Attachment, InboundMessage
from tocsin.core.errors import TocsinError
from tocsin.messaging.inbound.attribution import describe_file
from tocsin.providers.contract import Image
from tocsin.providers.files.documents import PICTURE, detect_kind, read_document
from tocsin.providers.files.pictures import fit
from tocsin.providers.files.reading import UnreadableFileError
from tocsin.providers.files.speech import Speech

Fetch = Callable[[Attachment], Awaitable[bytes]]

MAX_IMAGES = 10
ACCEPTED = "I can read texts, PDFs, Office documents (.docx, .xlsx, .pptx, .odt), pictures and voice messages"


class Attachments:
    """Downloads and reads the files of a message."""

    def __init__(self, fetch: Fetch, speech: Speech) -> None:
        self._fetch = fetch
        self._speech = speech

    async def prepare(self, message: InboundMessage) -> Prepared:
        """Read all files of `message`; unreadable files are reported to the person and the model."""
        taken = _Taken([message.text] if message.text else [])
        taken.texts += [f"[{thing}]" for thing in message.things]
        await self._take_all(message.attachments, taken)
        # Quoted files are for the model: the person who replies needs no notes about them.
        answered = _Taken([], taken.images, came_with="With the message that this one answers")
        await self._take_all(message.quote.attachments if message.quote else (), answered)
        return Prepared(
            "\n\n".join(taken.texts),
            tuple(taken.images),
            tuple(taken.notes),
            quoted=tuple(answered.texts),
            unread=(*taken.unread, *answered.unread),
        )

    async def _take_all(self, attachments: tuple[Attachment, ...], taken: "_Taken") -> None:
        for attachment in attachments:
            try:
                await self._take(attachment, taken)
            except TocsinError as error:
                taken.refuse(attachment, error)

    async def _take(self, attachment: Attachment, taken: "_Taken") -> None:
        mime = attachment.mime.partition(";")[0].strip().lower()
        kind = detect_kind(attachment.name, mime)
        if not attachment.file_id:
            raise UnreadableFileError("bots cannot see its content", hint=ACCEPTED)
        if attachment.kind in {"voice", "audio"} or mime.startswith("audio/"):
            said = await self._speech.words_of(await self._fetch(attachment))
            taken.notes.append(f"“{said}”" if said else "I could not hear any words.")
            taken.texts += [said] if said else []
        elif attachment.kind == "photo" or kind == PICTURE:
            if len(taken.images) >= MAX_IMAGES:
                raise UnreadableFileError(
                    f"more than {MAX_IMAGES} pictures in one message", hint="send fewer at a time"
                )
            data = await self._fetch(attachment)
            # The chat product re-encoded and scaled photos.
            taken.images.append(await fit(data, is_checked=attachment.kind == "photo"))
        elif kind:
            document = await read_document(kind, await self._fetch(attachment))
            taken.texts.append(document.titled(describe_file(attachment)))
        elif attachment.kind == "video" or mime.startswith("video/"):
            raise UnreadableFileError("I cannot watch videos", hint=ACCEPTED)
        else:
            raise UnreadableFileError("I cannot read this type of file", hint=ACCEPTED)


@dataclass(slots=True)
class _Taken:
    """The content of a message's files that was read so far."""

    texts: list[str]
    images: list[Image] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    came_with: str = "With this"

    def refuse(self, attachment: Attachment, error: TocsinError) -> None:
        """Note for the person and the model that a file cannot be read, and why."""
        name, hint = describe_file(attachment), f" {error.hint[0].upper()}{error.hint[1:]}." if error.hint else ""
        self.notes.append(f"I could not read {name}: {error}.{hint}")
        self.unread.append(f"[{self.came_with} came {name}. It could not be read: {error}.]")
