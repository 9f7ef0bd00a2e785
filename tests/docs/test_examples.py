"""Whatever a page tells people to type works: commands parse, paths exist, Python compiles."""

import re
from argparse import ArgumentParser
from functools import cache
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.docs.pages import PAGES, ROOT, Block, as_pattern, blocks, commands, name_of

from tocsin.cli.main import build_parser
from tocsin.terminal.parsing import UsageError
from tocsin.testing.fakes import ScriptedTransport, build_adapter
from tocsin.web.gateway.openapi import describe_gateway

SHELL = list(blocks("sh"))
PYTHON = list(blocks("python"))
GATEWAY = re.compile(r"127\.0\.0\.1:8100|tocsin\.example\.org")


# Not at the import: every process of tests collects this module, and one of them needs these.
@cache
def whole_parser() -> ArgumentParser:
    return build_parser([], everything=True)


@cache
def gateway_routes() -> dict[str, Any]:
    return describe_gateway([])["paths"]


def where(block: Block) -> str:
    return f"{block.page}:{block.line}"


def stripped(code: str) -> str:
    """Return code without indentation and empty lines: a piece of a class stands in a page by itself."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def test_every_tocsin_command_parses(capsys: pytest.CaptureFixture[str]):
    calls = [
        (where(block), words)
        for block in SHELL
        for words in commands(block)
        if words and PurePath(words[0]).name == "tocsin" and is_call(words)
    ]
    assert calls
    assert [(place, wrong) for place, words in calls if (wrong := complaint(words, capsys))] == []


def test_every_tocsin_command_in_a_sentence_parses(capsys: pytest.CaptureFixture[str]):
    calls = [
        (name_of(page), words)
        for page in PAGES
        for code in re.findall(r"(?<!`)`(tocsin [^`\n]+)`(?!`)", page.read_text("utf-8"))
        if not re.search(r"[<…]", code)
        for words in commands(Block("", 0, "sh", code))
    ]
    assert calls
    assert [(page, wrong) for page, words in calls if (wrong := complaint(mentioned(words), capsys))] == []


def test_every_curl_call_of_the_gateway_has_a_route():
    calls = [
        (where(block), method_of(words), url.path)
        for block in SHELL
        for words in commands(block)
        if words and words[0] == "curl"
        for url in map(urlsplit, words)
        if GATEWAY.fullmatch(url.netloc)
    ]
    assert calls
    assert [call for call in calls if call[1] not in methods_of(call[2])] == []


def method_of(words: list[str]) -> str:
    """Return the method of a call of curl."""
    return "delete" if "DELETE" in words else "post" if {"-d", "-F", "POST"} & set(words) else "get"


def methods_of(path: str) -> set[str]:
    """Return the methods that the gateway has for a path."""
    return {
        method
        for route, methods in gateway_routes().items()
        if re.fullmatch(as_pattern(route), path)
        for method in methods
    }


def test_every_python_example_compiles():
    assert PYTHON
    for block in PYTHON:
        compile(block.text, where(block), "exec")


EXAMPLE = "\n".join(stripped(path.read_text("utf-8")) for path in (ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("block", [b for b in PYTHON if b.page == "docs/writing-a-channel.md"], ids=where)
def test_every_piece_of_the_example_channel_is_as_in_its_file(block: Block):
    assert stripped(block.text) in EXAMPLE


async def test_the_twenty_line_channel_works():
    (channel,) = (block.text for block in PYTHON if block.page == "CONTRIBUTING.md")
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(channel, "CONTRIBUTING.md", "exec"), namespace)
    http = ScriptedTransport().will_answer({})
    adapter = build_adapter(namespace["PagerAdapter"], {"PAGER_URL": "https://pager.example.org"}, http=http)

    assert (await adapter.send("4711", "disk full")).message == "paged"
    assert (await adapter.test_connection()).ok


def complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the real parser says against a command; nothing when it takes it."""
    try:
        whole_parser().parse_args(words[1:])
    except UsageError as mistake:
        return f"{' '.join(words)}: {mistake}"
    except SystemExit as end:
        return f"{' '.join(words)}: {capsys.readouterr().err}" if end.code else ""
    return ""


def is_call(words: list[str]) -> bool:
    """Whether a command is complete: neither the name of a function nor its body."""
    return len(words) > 1 and "$@" not in words


def mentioned(words: list[str]) -> list[str]:
    """Return a command as a sentence may mention it: a name alone stands without its arguments."""
    return [*words, "--help"] if len(words) == 2 else words
