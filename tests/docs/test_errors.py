"""Every sentence that a failure can have stands in the documentation, with what to do about it."""

import ast
import re
from collections.abc import Iterator
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
SHARED = [
    SOURCE / "channels" / "contract.py",
    SOURCE / "channels" / "registry.py",
    SOURCE / "channels" / "replies.py",
    SOURCE / "core" / "http.py",
    SOURCE / "core" / "http_direct.py",
    SOURCE / "core" / "http_pooled.py",
    SOURCE / "core" / "settings.py",
    SOURCE / "core" / "security.py",
    SOURCE / "cli" / "messaging.py",
    SOURCE / "messaging" / "profiles.py",
    SOURCE / "web" / "serving.py",
]
QUEUE = [
    *sorted((SOURCE / "delivery").glob("*.py")),
    *sorted((SOURCE / "messaging").glob("*.py")),
    SOURCE / "core" / "database.py",
    SOURCE / "core" / "redis_client.py",
]


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_the_guide_has_every_sentence_of_what_channels_share(path: Path):
    assert missing([path], GUIDE) == []


@pytest.mark.parametrize("path", QUEUE, ids=lambda path: path.stem)
def test_the_page_of_the_queue_has_every_sentence_of_it(path: Path):
    assert missing([path], DELIVERY + GUIDE) == []


def test_the_page_of_the_queue_has_every_sentence_about_redis_settings():
    tree = ast.parse((SOURCE / "delivery" / "redis_store.py").read_text("utf-8"))
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_problems")
    said = [node.value for node in ast.walk(function) if isinstance(node, ast.Yield) and node.value]
    pieces = [piece for value in said for piece in constant_pieces(value)]
    assert pieces
    assert [piece for piece in pieces if plain(piece) not in plain(DELIVERY)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_channel_has_every_sentence_of_it(kind: str):
    module = SOURCE / "channels" / kind
    files = sorted(module.rglob("*.py")) if module.is_dir() else [module.with_suffix(".py")]
    assert missing(files, (ROOT / "docs" / "channels" / f"{kind}.md").read_text("utf-8")) == []


def missing(files: list[Path], page: str) -> list[str]:
    """Return the constant pieces of sentences in these files that a page lacks."""
    text = plain(page)
    return [piece for file in files for piece in sentences(file) if plain(piece) not in text]


def sentences(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        position = MAKERS.get(name)
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
