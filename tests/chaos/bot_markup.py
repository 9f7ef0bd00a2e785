"""A corpus of Markdown on its way to the chat app: what is refused, what changes code, what it costs."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from tests.chaos.figures import Figure, none_of, percentile
from tests.chaos.markdown_corpus import documents

from tocsin.channels.botchat.adapter import BotchatAdapter
from tocsin.channels.contract import COMMONMARK, Outgoing
from tocsin.core.text.markup import Shown
from tocsin.core.text.measures import utf16_units
from tocsin.testing.fakes import build_adapter
from tocsin_standins.botchat.server import TOKEN
from tocsin_standins.botchat.world import MAX_TEXT, formatted
from tocsin_standins.serving import RefusalError

MOST_MS = 15.0
# A line that no message holds is cut.
LONGEST_LINE = 4_000
# The server trims texts: at the start of a message, a no-break space stays in the place of a blank.
KEPT_BLANK = "\u00a0"


def show_corpus(how_many: int = 400) -> list[Figure]:
    """Render a corpus as the bot's answers are, and have the stand-in check every part."""
    adapter = build_adapter(BotchatAdapter, {"BOTCHAT_BOT_TOKEN": TOKEN})
    adapter.check(Outgoing("1", "# Once\n\n`for` the *imports*", parse_mode=COMMONMARK))
    corpus = list(documents(how_many))
    refused, changed, costs = [], [], []
    parts_total = lines_total = blanks_kept = 0
    for number, source in enumerate(corpus):
        begun = time.process_time()
        _, parts = adapter.check(Outgoing("1", source, parse_mode=COMMONMARK))
        costs.append((time.process_time() - begun) * 1000)
        parts_total += len(parts)
        seen = []
        for part in parts:
            try:
                seen.append(_as_shown(*part))
            except RefusalError as refusal:
                refused.append(f"document {number}: {refusal.response.text}")
        lines = _code_lines(source)
        lines_total += len(lines)
        changed += [f"document {number}: {line!r}" for line in _missing(lines, seen)]
        blanks_kept += sum(code.startswith(KEPT_BLANK) for part in seen for code in _code_of(part))
    return [
        Figure("documents", len(corpus), "≥", how_many),
        Figure("parts", parts_total),
        none_of("refused parts", refused),
        Figure("code lines", lines_total),
        none_of("changed code lines", changed),
        Figure("messages with a no-break space as the first blank of their code", blanks_kept),
        Figure("processor time for a document, median", percentile(costs, 0.5), unit="ms"),
        Figure("processor time for a document, p99", percentile(costs, 0.99), "≤", MOST_MS, "ms"),
        Figure("processor time for a document, mean", sum(costs) / len(costs), "≤", MOST_MS, "ms"),
    ]


def _as_shown(text: str, entities: Sequence[object]) -> Shown:
    """Return what people see of a part; raises where the server would refuse it, or repair it in silence."""
    shown, kept = formatted({"text": text, "entities": list(entities)}, max_chars=MAX_TEXT, utf16=True, strict=True)
    return Shown(shown, tuple(kept))


def _code_lines(source: str) -> list[str]:
    """Return the lines of all blocks of code, as CommonMark understands them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    blocks = [token.content for token in tokens if token.type in {"fence", "code_block"}]
    lines = [line for block in blocks for line in block.removesuffix("\n").split("\n")]
    return [line for line in lines if line.strip() and utf16_units(line) <= LONGEST_LINE]


def _code_of(part: Shown) -> Iterator[str]:
    """Yield the text of every block of code in a part."""
    wide = part.text.encode("utf-16-le")
    for entity in part.markup:
        if entity["type"] == "pre":
            begin = entity["offset"] * 2
            yield wide[begin : begin + entity["length"] * 2].decode("utf-16-le")


def _missing(lines: Sequence[str], parts: Sequence[Shown]) -> list[str]:
    """Return the lines of code that are not shown exactly, as often as in the source."""
    shown: Counter[str] = Counter()
    for part in parts:
        for code in _code_of(part):
            first, *others = code.split("\n")
            blank = first.startswith(KEPT_BLANK)
            firsts = (f" {first[1:]}", f"\t{first[1:]}") if blank else (first,)
            shown.update(_plain(line) for line in (*firsts, *others))
    return list((Counter(_plain(line) for line in lines) - shown).elements())


def _plain(line: str) -> str:
    """Return a line without the blanks at its end, which nobody sees."""
    return line.rstrip()
