"""How a channel shows what a message has besides its text: natively, as lines of the text, or not at all.

Loaded for messages with content only: an adapter names its class as `module:Class`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, final

from tocsin.channels.action_tokens import LINK_PATH, make_token
from tocsin.channels.attached import AttachedFile, ReadFile, open_files, text_file
from tocsin.channels.content import Content, MessageAction, read_content, with_lines
from tocsin.channels.contract import OutboundAdapter, visible, within_limit
from tocsin.channels.layout.model import MessageLayout
from tocsin.channels.model import (
    COMMONMARK,
    PLAIN,
    Outgoing,
    Part,
    Shown,
    Support,
)
from tocsin.core.errors import ChannelError
from tocsin.core.text.markup import literal, render
from tocsin.core.text.strings import split

REST_IN_FILE = "(the whole text is in message.txt)"


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """How a channel renders one field of a message."""

    field: str
    support: Support
    note: str = ""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """One of the messages into which a text is split, with its length in the product's units."""

    text: str
    length: int
    layout: MessageLayout


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One of the files of a message, with its media type and its bytes."""

    name: str
    type: str
    size: int
    part: Annotated[int, "The message that has it, from 1; beyond the number of `parts`: one without a text."] = 1


@dataclass(frozen=True, slots=True)
class MessagePlan:
    """The preview of a message on a channel; `parts` are those with a text."""

    channel: str
    target: str
    parts: tuple[PartPlan, ...]
    fields: tuple[FieldPlan, ...]
    files: tuple[FilePlan, ...] = ()


class Dressing:
    """Shows the content of messages on one channel; this class writes what it can as lines of the text."""

    def __init__(self, adapter: OutboundAdapter) -> None:
        self.adapter = adapter

    def mention(self, name: str) -> str | None:
        """Return the product's markup for `@here`, `@channel`, `@name` or an ID; `None` if it has none."""
        return None

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of a text with `content`; what `dress` does not show becomes lines of them."""
        shown = [name for name in content.used() if self.adapter.spec.ability(name).support is Support.DEGRADED]
        text = with_lines(text, content, shown, markdown=parse_mode == COMMONMARK)
        return self.adapter.parts_of(text, parse_mode)

    def dress(self, body: Any, part: Part, content: Content) -> None:
        """Add the content to the body that the adapter made from the text of a part."""

    @final
    def fit(self, text: str, parse_mode: str, limit: int, *, splits: bool = True) -> Sequence[Shown]:
        """Return the rendered parts of a text, whose limit differs from that of plain messages."""
        clean, dialect, measure = visible(text), self.adapter.dialect(parse_mode), self.adapter.spec.measure
        if dialect is not None and parse_mode in {COMMONMARK, PLAIN}:
            dialect.limit = limit
            return (literal if parse_mode == PLAIN else render)(clean, dialect)
        pieces = split(clean, limit, measure) if splits else [within_limit(clean, limit, measure)]
        return [(piece, ()) for piece in pieces]

    @final
    def prepare(
        self, outgoing: Outgoing, text: str, read: ReadFile | None
    ) -> tuple[Sequence[Shown], Content | None, tuple[AttachedFile, ...], bool]:
        """Return the parts of a message with content or a key, content, files, and whether an edit keeps its files.

        Raises like `OutboundAdapter.check`.
        """
        content = self.read(outgoing.content) if outgoing.content else None
        files = self.files(content, read) if content and content.attach else ()
        if content and content.is_plain:
            content = None
        if content:
            content = self.with_tokens(content, outgoing)
        given, render_text = files, partial(self._render, outgoing, content, files)
        parts, files = self.fit_keyed(text, files, render_text) if outgoing.keyed else (render_text(text), files)
        # The file of a text that is cut takes the place of that of the last edit.
        keeps = files == given and outgoing.leaves_files
        return parts, content, () if keeps else files, keeps

    def _render(
        self, outgoing: Outgoing, content: Content | None, files: tuple[AttachedFile, ...], text: str
    ) -> Sequence[Shown]:
        """Return a text in parts; none for a message that has only files."""
        if content:
            names = ", ".join(each.name for each in files)
            parts = self.parts(text if text.strip() else content.title or names, outgoing.parse_mode, content)
        elif files and not text.strip():
            return ()
        else:
            parts = self.adapter.parts_of(text, outgoing.parse_mode)
        if outgoing.keyed:
            self.check_keyed([part for part, _ in parts])
        return parts

    @final
    def read(self, values: Mapping[str, Any]) -> Content | None:
        """Read the content of a message; raise ChannelError for an invalid field, and for one the channel refuses."""
        content = read_content(values)
        for name in content.used() if content else ():
            ability, label = self.adapter.spec.ability(name), self.adapter.spec.label
            if ability.support is Support.REFUSED:
                raise ChannelError(f"{label} cannot send a message with {name}", hint=ability.note or f"omit {name}")
        return content

    @final
    def files(self, content: Content, read: ReadFile | None) -> tuple[AttachedFile, ...]:
        """Return the files as `deliver` gets them; raise ChannelError if the product does not take them."""
        return open_files(content.attach, self.adapter.spec.files, self.adapter.spec.label, read)

    @final
    def fit_keyed(
        self, text: str, files: tuple[AttachedFile, ...], render: Callable[[str], Sequence[Shown]]
    ) -> tuple[Sequence[Shown], tuple[AttachedFile, ...]]:
        """Return the parts of a message with a key, which has one text: a longer one is cut, and the whole is a file.

        Raises what `render` raises, where the product takes no files.
        """
        spec, kept = self.adapter.spec, files
        try:
            return render(text), kept
        except ChannelError:
            limit = min(filter(None, (spec.edit_length, self.adapter.chunk_at(), spec.max_length)), default=0)
            if not spec.shows("attach") or len(kept) >= spec.files.count or spec.measure(text) <= limit // 2:
                raise
        for share in (0.9, 0.7):  # escapes and a title need room as well
            short = split(text, int(limit * share), spec.measure)[0]
            with suppress(ChannelError):
                return render(f"{short}\n\n{REST_IN_FILE}"), (*kept, text_file("message.txt", text))
        return render(text), kept

    @final
    def share(
        self, texts: Sequence[Shown], files: tuple[AttachedFile, ...], *, keyed: bool
    ) -> Sequence[tuple[Shown, tuple[AttachedFile, ...]]]:
        """Return the parts of a message: the last text with all files, or, if they are `apart`, each file after it.

        Then a message with a key has a text, for `edit`.
        """
        if not self.adapter.spec.files.apart:
            *others, last = texts or [("", ())]
            return [*((shown, ()) for shown in others), (last, files)]
        if keyed and not texts:
            texts = [(", ".join(file.name for file in files), ())]
        return [*((shown, ()) for shown in texts), *((("", ()), (file,)) for file in files)]

    @final
    def check_keyed(self, parts: Sequence[str]) -> None:
        """Raise ChannelError for a message with a key that is longer than an edit may be."""
        spec = self.adapter.spec
        limit, length = spec.edit_length, max(map(spec.measure, parts), default=0)
        if len(parts) > 1 or (limit is not None and length > limit):
            most = f"{limit or self.adapter.chunk_at() or spec.max_length:,} characters"
            raise ChannelError(
                f"a message with a key must fit one message: {spec.label} takes {most}",
                hint="shorten it, or send it without a key",
            )

    @final
    def with_tokens(self, content: Content, outgoing: Outgoing) -> Content:
        """Return the content whose `call` buttons can be pressed: with tokens, and with addresses where they are links.

        Raises ChannelError if a press could not arrive.
        """
        if not content.calls:
            return content
        adapter, is_native = self.adapter, self.adapter.spec.shows("call")
        missing = adapter.lacks_presses() if is_native else ""
        if missing and not all(each.url for each in content.calls):
            raise ChannelError(
                f"a button with `call` cannot be pressed on {adapter.spec.label}: {missing} is not set",
                hint="set it, or use an action `view`",
            )
        if missing:  # their addresses take the place of presses
            actions = [replace(each, action="view") for each in content.actions]
            return replace(content, actions=tuple(actions))
        tokens = [make_token(outgoing, number) if each.calls else "" for number, each in enumerate(content.actions)]
        actions = [replace(each, token=token) for each, token in zip(content.actions, tokens, strict=True)]
        return replace(content, actions=tuple(actions if is_native else map(self._as_link, actions)))

    def _as_link(self, action: MessageAction) -> MessageAction:
        """Return a `call` button with the address of the page that stands for it."""
        if action.url or not action.calls:
            return action
        if not self.adapter.public_url:
            raise ChannelError(
                f"on {self.adapter.spec.label} a button with `call` is a link to the gateway; PUBLIC_URL is not set",
                hint="set PUBLIC_URL to the address at which people reach the gateway, or use an action `view`",
            )
        return replace(action, url=self._press_page(action))

    @final
    def is_pressed_by_post(self, action: MessageAction) -> bool:
        """Whether a `POST` to the address of a button presses it, because that is the page that stands for it."""
        return action.calls and action.url == self._press_page(action)

    def _press_page(self, action: MessageAction) -> str:
        return f"{self.adapter.public_url}{LINK_PATH}{action.token.removeprefix('a:')}"

    @final
    def ignored(self, content: Content) -> list[str]:
        """Return the fields and mentions that the product lacks."""
        return [f"{each.field} {each.note}".strip() for each in self._fields(content) if _is_ignored(each)]

    @final
    def plan(self, outgoing: Outgoing) -> MessagePlan:
        """Return what a message would become; raises like `OutboundAdapter.check`."""
        adapter = self.adapter
        target, shown, _, files, _ = adapter._prepare(outgoing)  # noqa: SLF001  # this object is a part of its adapter
        content, last = self.read(outgoing.content), len(shown) - 1
        said = None if content is None or content.is_plain else content
        parts = tuple(
            self._part_plan(
                Part(target, text, "", outgoing.parse_mode, markup, outgoing.extra, not number, number == last, said)
            )
            for number, (text, markup) in enumerate(shown)
        )
        fields = tuple(self._fields(content)) if content else ()
        shared = adapter.share_files(shown, files, keyed=bool(outgoing.keyed)) if files else ()
        planned = tuple(
            FilePlan(each.name, each.type, each.size, number)
            for number, (_, attached) in enumerate(shared, start=1)
            for each in attached
        )
        return MessagePlan(adapter.spec.kind, target, parts, fields, planned)

    def _part_plan(self, part: Part) -> PartPlan:
        return PartPlan(part.text, self.adapter.spec.measure(part.text), self.adapter.layout(part))

    def _fields(self, content: Content) -> Iterator[FieldPlan]:
        for name in content.used():
            ability = self.adapter.spec.ability(name)
            if name in {"if_gone", "unable", "ttl"}:
                continue  # they say what the queue does
            if name == "mention" and ability.support is not Support.IGNORED:
                lacking = [each for each in content.mention if self.mention(each) is None]
                if lacking:
                    yield FieldPlan(name, Support.IGNORED, ", ".join(lacking))
                if len(lacking) == len(content.mention):
                    continue
            yield FieldPlan(name, ability.support, ability.note)
            if name == "actions" and content.calls:
                call = self.adapter.spec.ability("call")
                yield FieldPlan("call", call.support, call.note)


def _is_ignored(each: FieldPlan) -> bool:
    return each.support is Support.IGNORED
