"""Entities as the Bot API takes them."""

import pytest

from tocsin_standins.botchat.entities import MOST_ENTITIES, cleaned, mistake
from tocsin_standins.botchat.server import BotChat

TEXT = "one two three"


def entity(kind, offset, length, **fields):
    return {"type": kind, "offset": offset, "length": length, **fields}


def test_blanks_are_taken_out_of_the_start_of_entities():
    entities = [entity("italic", 0, 8), entity("bold", 8, 2), entity("code", 11, 2)]
    assert cleaned("  \n code  \n😀", entities) == [entity("italic", 4, 4), entity("code", 11, 2)]


@pytest.mark.parametrize(
    ("entities", "wrong"),
    [
        ([entity("bold", 0, 7), entity("italic", 4, 3), entity("blockquote", 0, 13)], ""),
        ([entity("blockquote", 0, 13), entity("pre", 4, 9), entity("code", 0, 3)], ""),
        ([entity("text_link", 0, 7, url="https://a.b"), entity("bold", 0, 7)], ""),
        ([entity("bold", 0, 7), entity("italic", 4, 9)], "crosses another one"),
        ([entity("bold", 0, 7), entity("bold", 4, 3)], "nested in its own kind"),
        ([entity("code", 0, 7), entity("italic", 4, 3)], "verbatim text with a style"),
        ([entity("bold", 0, 7), entity("code", 4, 3)], "verbatim text with a style"),
        ([entity("text_link", 0, 7, url="https://a.b"), entity("blockquote", 0, 3)], "a quote in a link"),
        ([entity("text_link", 0, 7, url="javascript:x")], "not a web address"),
        ([entity("italic", 3, 1)], "blank"),
        ([entity("loud", 0, 3)], "unknown type"),
        ([entity("bold", 0, 1)] * (MOST_ENTITIES + 1), "101 entities"),
    ],
)
def test_what_the_product_would_repair_is_a_mistake(entities, wrong):
    found = mistake(TEXT, entities)
    assert found.startswith(wrong)
    assert bool(found) is bool(wrong)


def test_a_text_that_the_server_would_trim_is_a_mistake():
    assert mistake(" a", []) == "the text has leading or trailing blanks"


@pytest.mark.parametrize("strict", [False, True])
async def test_mistakes_are_refused_only_if_that_is_asked_for(http, strict):
    entities = [entity("bold", 0, 7), entity("italic", 4, 9)]
    async with BotChat() as botchat:
        botchat.strict_entities = strict
        body = {"chat_id": 1001, "text": TEXT, "entities": entities}
        async with http.post(f"{botchat.api_url}/bot{botchat.token}/sendMessage", json=body) as answer:
            said = await answer.json()
    assert said["ok"] is not strict
    assert ("can't parse entities: crosses another one" in said.get("description", "")) is strict
