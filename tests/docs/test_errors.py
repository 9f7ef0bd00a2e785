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
KINDS = [adapter.spec.kind for adapter in discover().classes]
# What makes an error of its first argument that is not the address.
MAKERS = {
    "ChannelError": 0,
    "ConfigError": 0,
    "UnknownChannelError": 0,
    "UnknownProfileError": 0,
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


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_the_guide_has_every_sentence_of_what_channels_share(path: Path):
    assert missing([path], GUIDE) == []


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
