"""What code and documents cite can be opened in this repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "tools", "docs", "examples")
KINDS = {".py", ".lua", ".js", ".md", ".yaml", ".toml"}
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS)

_PAGE = re.compile(r'\bdocs/((?:\w[\w-]*/)*\w[\w-]*\.md)(?:, "([^"\n]+)")?')
_DECISION = re.compile(r"\bdocs/decisions/(\d{4}[\w-]*)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@pytest.mark.parametrize("folder", FOLDERS)
def test_cited_pages_and_headings_exist(folder: str):
    broken = []
    for file in FILES:
        if file.is_relative_to(ROOT / folder):
            cited = _PAGE.findall(file.read_text("utf-8"))
            broken += [f"{file.relative_to(ROOT)}: {page} {heading}" for page, heading in cited if lost(page, heading)]
    assert broken == []


def test_cited_decisions_exist():
    cited = {(file, name) for file in FILES for name in _DECISION.findall(file.read_text("utf-8"))}
    broken = [f"{file}: {name}" for file, name in sorted(cited) if not any(ROOT.glob(f"docs/decisions/{name}*"))]
    assert broken == []


def lost(page: str, heading: str) -> bool:
    path = ROOT / "docs" / page
    return not path.is_file() or bool(heading and heading not in _HEADING.findall(path.read_text("utf-8")))
