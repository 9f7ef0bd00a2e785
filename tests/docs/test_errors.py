"""Every sentence that a failure can have stands in the documentation, with what to do about it."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

from tocsin.channels.registry import discover

SOURCE = ROOT / "src" / "tocsin"
GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")
DELIVERY = (ROOT / "docs" / "delivery.md").read_text("utf-8")
KINDS = [adapter.spec.kind for adapter in discover().classes]
# What makes an error of its first argument that is not the address.
MAKERS = {
    "ChannelError": 0,
    "ConfigError": 0,
    "UnknownChannelError": 0,
    "UnknownProfileError": 0,
    "DatabaseError": 0,
    "StoreUnavailableError": 0,
    "TransitionError": 0,
    "UnknownDeliveryError": 0,
    "KeyReusedError": 0,
    "StillRunningError": 0,
    "EntryError": 0,
    "BotApiError": 1,
    "refused": 1,
    "connect_failed": 1,
    "outcome_unknown": 1,
}
# The same of what belongs to one page alone; `refuse` is what a reader of YAML says against a field.
MAKERS_OF_PAGES = MAKERS | {
    "AccessError": 0,
    "LockError": 0,
    "UnreadableFileError": 0,
    "RefusedError": 0,
    "SpeechError": 0,
    "_UnreadableError": 0,
    "ProviderError": 0,
    "DownloadError": 0,
    "UnusableError": 0,
    "PatternError": 0,
    "UnknownSkillError": 0,
    "InvalidSkillError": 0,
    "refuse": 0,
}
OWN_PAGES = {
    "bot.md": [
        *sorted((SOURCE / "bot").rglob("*.py")),
        *sorted((SOURCE / "providers").rglob("*.py")),
        SOURCE / "core" / "http" / "download.py",
        *(SOURCE / "cli" / "commands" / f"{name}.py" for name in ("bot", "ask", "voice")),
    ],
    "triggers.md": sorted((SOURCE / "features" / "triggers").glob("*.py")),
    "skills.md": sorted((SOURCE / "features" / "skills").glob("*.py")),
}
CHANNELS = SOURCE / "channels"
RECEIVERS = [path for path in sorted(CHANNELS.glob("*/**/*.py")) if path.relative_to(CHANNELS).parts[0] in KINDS]
SHARED = [
    SOURCE / "channels" / "contract.py",
    SOURCE / "channels" / "registry.py",
    SOURCE / "channels" / "replies.py",
    SOURCE / "core" / "http" / "transport.py",
    SOURCE / "core" / "http" / "direct.py",
    SOURCE / "core" / "http" / "proxy.py",
    SOURCE / "core" / "config" / "settings.py",
    SOURCE / "core" / "config" / "security.py",
    SOURCE / "cli" / "commands" / "messaging.py",
    SOURCE / "messaging" / "outbound" / "profiles.py",
    SOURCE / "web" / "http" / "serving.py",
]
QUEUE = [
    *sorted((SOURCE / "delivery").rglob("*.py")),
    *sorted((SOURCE / "messaging").rglob("*.py")),
    SOURCE / "core" / "storage" / "database.py",
    SOURCE / "core" / "storage" / "redis_client.py",
]


def test_the_guide_has_every_sentence_of_what_channels_share():
    assert missing(SHARED, GUIDE) == []


def test_the_page_of_the_queue_has_every_sentence_of_it():
    assert missing(QUEUE, DELIVERY + GUIDE) == []


def test_the_page_of_the_queue_has_every_sentence_about_redis_settings():
    tree = ast.parse((SOURCE / "delivery" / "redis" / "health.py").read_text("utf-8"))
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_problems")
    said = [node.value for node in ast.walk(function) if isinstance(node, ast.Yield) and node.value]
    pieces = [piece for value in said for piece in constant_pieces(value)]
    assert pieces
    assert [piece for piece in pieces if plain(piece) not in plain(DELIVERY)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_channel_has_every_sentence_of_it(kind: str):
    module = SOURCE / "channels" / kind
    files = sorted(module.rglob("*.py")) if module.is_dir() else [module.with_suffix(".py")]
    page = (ROOT / "docs" / "channels" / f"{kind}.md").read_text("utf-8")
    if (module / "receiving").is_dir():  # what fetches updates for the bot is described with the bot
        page += (ROOT / "docs" / "bot.md").read_text("utf-8")
    assert missing(files, page) == []


@pytest.mark.parametrize("page", OWN_PAGES)
def test_a_page_of_its_own_has_every_sentence_of_it(page: str):
    text = (ROOT / "docs" / page).read_text("utf-8") + GUIDE
    assert missing(OWN_PAGES[page], text, MAKERS_OF_PAGES) == []


@pytest.mark.parametrize("kind", sorted({path.relative_to(CHANNELS).parts[0] for path in RECEIVERS}))
def test_the_page_of_a_channel_has_every_reason_to_reject_a_call(kind: str):
    page = (ROOT / "docs" / "channels" / f"{kind}.md").read_text("utf-8")
    assert missing(sorted((CHANNELS / kind).rglob("*.py")), page, {"RejectedError": 0}) == []


def missing(files: list[Path], page: str, makers: Mapping[str, int] = MAKERS) -> list[tuple[str, str]]:
    """Return the constant pieces of sentences in these files that a page lacks, each with its file."""
    assert files
    text = plain(page)
    pieces = [(file, piece) for file in files for piece in sentences(file, makers)]
    return [(str(file.relative_to(SOURCE)), piece) for file, piece in pieces if plain(piece) not in text]


def sentences(file: Path, makers: Mapping[str, int]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        position = makers.get(name)
        if position is not None and len(node.args) > position:
            yield from constant_pieces(node.args[position])


def constant_pieces(node: ast.expr) -> Iterator[str]:
    """Yield the pieces of a text or an f-string that are long enough to be looked for."""
    values = node.values if isinstance(node, ast.JoinedStr) else [node]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from (piece for piece in re.split(r"[(),:;]", value.value) if len(plain(piece)) > 7)


def plain(text: str) -> str:
    """Return the letters of a text alone: quoting and placeholders do not matter."""
    return " ".join(re.sub(r"[^a-z ]", " ", text.lower().replace("\n", " ")).split())
