"""A documented sentence is one that the program can say: people search for what they see."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from tests.docs.pages import PAGES, ROOT, name_of

HEADINGS = re.compile(r"(Error|It says|Reason|Phrase|Message|What you see)\b")
# The sentences of other programs, and those that are filled in so far that little of them is in the source.
OTHERS = {
    "database is locked",
    "Name or service not known",
    "Unable to create ….lock: File exists",
    "401: invalid token",
    "BOTCHAT_MODE=webhook needs …",
    "cannot write the audit log …",
    "DASHBOARD_PASS and DASHBOARD_PASS_HASH are both set",
    "HTTP 3…: redirects are not followed",
    "HTTP 413: the message or its file is too large for the provider or a proxy before it",
    "HTTP 5…: the provider has an internal problem",
    "it filled its home directory (… MiB)",
    "Redis at … is older than 7.0",
    "Telegram needs BOTCHAT_BOT_TOKEN",
    "the gateway cannot listen on … port …",
    "TLS failed (WRONG_VERSION_NUMBER)",
    "… has … MiB; MAX_FILES_MB is … MiB",
}
LEAST_SHARE = 0.55  # of a documented sentence that the constant text of one in the source must cover
LEAST_PART = 12  # characters of a part that tells a sentence from others


def test_the_program_can_say_every_sentence_of_a_table_of_errors():
    unknown = [(page, said) for page, said in documented() if said not in OTHERS and not is_said(said)]
    assert unknown == []


def test_every_exception_is_still_documented():
    assert {said for _, said in documented()} >= OTHERS


@pytest.mark.parametrize(
    "said", ["the disk is full of cheese …", "cannot be unpacked", "the login was refused by the host"]
)
def test_a_sentence_that_the_program_never_says_is_found(said: str):
    assert not is_said(said)


def documented() -> Iterator[tuple[str, str]]:
    """Yield page and sentence for each code in the first column of a table of errors."""
    for page in PAGES:
        table = in_table = False
        for line in page.read_text("utf-8").splitlines():
            first = re.split(r"(?<!\\)\|", f"{line}||")[1].strip()
            if not line.startswith("|"):
                table = False
            elif not table:
                table, in_table = True, bool(HEADINGS.match(first))
            elif in_table:
                codes = re.findall(r"``(.+?)``|`([^`]+)`", first)
                found = (plain("".join(code)).replace("\\|", "|") for code in codes)
                yield from ((name_of(page), said) for said in found if len(said.split()) >= 3)


def is_said(documented: str) -> bool:
    """Whether a text of the source is, contains or covers a sentence in which `…` stands for anything."""
    texts, patterns = said_texts()
    pieces = [piece for each in documented.split("…") if len(piece := each.strip(" .:;,")) > 3]
    if all(piece in texts for piece in pieces):
        return True
    parts = documented.replace("…", "X").split(": ")  # one is of the program, another may be of what it calls
    return any(
        size >= LEAST_SHARE * len(part) and pattern.search(part)
        for size, pattern in patterns
        for part in (": ".join(parts), *(each for each in parts if len(each) >= LEAST_PART))
    )


@cache
def said_texts() -> tuple[str, list[tuple[int, re.Pattern[str]]]]:
    """Return the texts of the source in one, and a pattern for each, with the length of its constant part."""
    texts = set[str]()
    for path in (ROOT / "src").rglob("*.py"):
        texts |= {plain(text) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if (text := text_of(node))}
    for path in (ROOT / "src").rglob("*.js"):
        texts |= {plain(text) for text in re.findall(r'"[^"\n]+"|`[^`]+`', path.read_text("utf-8"))}
    wild = {re.sub(r"\$?\{[^{}]*\}|%s", "…", text).rstrip(" .:;") for text in texts}
    patterns = [
        (size, re.compile(".+?".join(map(re.escape, text.split("…")))))
        for text in wild
        if (size := len(text.replace("…", ""))) >= 8
    ]
    return "\n".join(wild), patterns


def text_of(node: ast.AST) -> str:
    """Return a text of the source, with `…` for what is filled in; empty for other nodes."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(each.value if isinstance(each, ast.Constant) else "…" for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            found = text_of(left), text_of(right)
            return "".join(each or "…" for each in found) if any(found) else ""
    return ""


def plain(text: str) -> str:
    """Return a text without quotes, on one line."""
    return " ".join(re.sub("[`'\"“”]", "", text).split())
