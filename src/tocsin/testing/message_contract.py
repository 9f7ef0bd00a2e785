"""The part of the channel contract about title, urgency, links, buttons and mentions, as tests."""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tocsin.channels.contract import NO_CONTENT, Outgoing, Part
from tocsin.channels.model import BASE_ABILITIES, COMMONMARK, PLAIN, Support
from tocsin.core.records.as_json import to_json
from tocsin.testing.channel_bench import ChannelBench
from tocsin.testing.fakes import ScriptedTransport

WHOLE: dict[str, Any] = {
    "title": "Disk_full on *web1* <!channel>",
    "priority": "urgent",
    "type": "failure",
    "click": "https://graphs.example/d?x=1",
    "actions": [{"label": "Run book", "url": "https://wiki.example/run"}],
    "mention": ["@here", "@anna", "U0ADA", "123456789"],
    "silent": True,
}
BAD: dict[str, dict[str, Any]] = {
    "an unknown field": {"titel": "T"},
    "a title of two lines": {"title": "a\nb"},
    "a long title": {"title": "x" * 251},
    "a priority of 9": {"priority": 9},
    "an unknown priority": {"priority": "loud"},
    "an unknown type": {"type": "panic"},
    "an address of another scheme": {"click": "javascript:alert(1)"},
    "a button without a label": {"actions": [{"label": " ", "url": "https://x.example"}]},
    "a button with a script": {"actions": [{"label": "x", "url": "javascript:alert(1)"}]},
    "a button that calls back and has no name": {"actions": [{"action": "call", "label": "Go"}]},
    "six buttons": {"actions": [{"label": str(n), "url": "https://x.example"} for n in range(6)]},
    "a mention with a blank": {"mention": ["@here @there"]},
    "a flag that is a text": {"silent": "yes"},
    "a value of the wrong type": {"title": 7},
}


class MessageContract(ChannelBench):
    """The promises about the fields of docs/messages.md."""

    def test_it_says_of_each_field_how_it_is_shown(self) -> None:
        """`--dry-run`, the composer and the docs read it."""
        abilities = self.adapter.spec.abilities
        assert set(abilities) <= set(BASE_ABILITIES), "a field that no message has"
        assert all(each.note for each in abilities.values() if each.support is Support.DEGRADED), "degraded: how?"

    @pytest.mark.parametrize("mode", ["", PLAIN, COMMONMARK])
    def test_a_message_with_every_field_arrives(self, mode: str) -> None:
        """Fields that the product lacks are left out, and named in the note."""

        async def work() -> tuple[bool, str, list[str]]:
            async with self.opened() as adapter:
                outgoing = Outgoing(self.target, "91 % _full_", parse_mode=mode, content=WHOLE)
                receipt = await adapter.transmit(outgoing)
                lacking = [e for e in adapter.dresser.plan(outgoing).fields if e.support is Support.IGNORED]
                names = [f"{each.field} {each.note}".strip() for each in lacking]
                return receipt.result.ok, receipt.result.error or receipt.result.message, names

        ok, said, names = asyncio.run(work())
        assert ok, said
        assert all(name in said for name in names), f"the note is silent about {names}"

    def test_a_title_alone_is_a_message(self) -> None:
        """A message needs a text or a title."""

        async def work() -> tuple[bool, str]:
            async with self.opened() as adapter:
                found = await adapter.transmit(Outgoing(self.target, "", content={"title": "Backup done"}))
                return found.result.ok, found.result.error

        ok, error = asyncio.run(work())
        assert ok, error

    @pytest.mark.parametrize("name", BAD)
    def test_a_wrong_field_is_refused_before_any_call(self, name: str) -> None:
        """The error names the field; no part of the message is sent."""
        http = ScriptedTransport()
        receipt = asyncio.run(self.build(http).transmit(Outgoing(self.target, "hello", content=BAD[name])))
        assert not self.well_formed(receipt.result).ok
        assert next(iter(BAD[name])) in receipt.result.error
        assert http.sent == []

    def test_the_plan_names_every_field_that_is_used_and_the_parts_to_send(self) -> None:
        """A dry run shows what a send would do."""
        parts: list[Part] = []

        async def deliver(part: Part) -> str:
            parts.append(part)
            return "note"

        adapter, outgoing = self.faked(deliver), Outgoing(self.target, "91 % full", content=WHOLE)
        plan = adapter.dresser.plan(outgoing)
        assert {each.field for each in plan.fields} == set(WHOLE)
        assert asyncio.run(adapter.transmit(outgoing)).result.ok
        assert [part.text for part in parts] == [part.text for part in plan.parts]

    @pytest.mark.parametrize("mode", ["", PLAIN, COMMONMARK])
    def test_the_layout_of_the_plan_shows_what_would_be_sent(self, mode: str) -> None:
        """The composer draws it."""
        content = {
            "title": "Disk full",
            "click": "https://graphs.example/d",
            "actions": [{"label": "Run book", "url": "https://wiki.example/run"}],
        }
        plan = self.build().dresser.plan(Outgoing(self.target, "Root is 91 % full", parse_mode=mode, content=content))
        shown = _texts([to_json(each) for each in plan.parts])
        assert all(text in shown for text in ("Disk full", "91 % full", "https://graphs.example/d", "Run book")), shown

    def test_fields_with_their_default_change_nothing(self) -> None:
        """A caller may send every field."""
        defaults = {"title": "", "priority": "default", "type": "", "click": "", "actions": [], "silent": False}
        texts = []
        for content in (NO_CONTENT, defaults):
            found = self.build().dresser.plan(Outgoing(self.target, "hello", content=content))
            texts.append(found.parts)
            assert found.fields == ()
        assert texts[0] == texts[1]


def _texts(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return every text of the layouts of parts."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                yield from walk(each)

    return "\n".join(text for part in parts for text in walk(part["layout"]))
