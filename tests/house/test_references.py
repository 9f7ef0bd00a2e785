"""What code and documents cite can be opened in this repository."""

import pkgutil
import re
from pathlib import Path

import pytest
from tests.house.test_repository import repository_files

ROOT = Path(__file__).parents[2]
BASES = (ROOT, ROOT / "src", ROOT / "src" / "tocsin")
FOLDERS = ("src", "tests", "tools", "docs", "examples")
KINDS = {".py", ".lua", ".js", ".md", ".yaml", ".toml"}
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS)

_PAGE = re.compile(r'\bdocs/((?:\w[\w-]*/)*\w[\w-]*\.md)(?:, "([^"\n]+)")?')
_DECISION = re.compile(r"\bdocs/decisions/(\d{4}[\w-]*)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
# A path of ours, in code or between backticks of a page that describes code.
_PATH = re.compile(r"`([\w./-]*\w\.(?:py|lua|js)|(?:\w+/)+)`")
_DOTTED = re.compile(r"`(tocsin(?:_standins)?(?:\.\w+)+)`")
_NOT_MODULES = {"tocsin.db", "tocsin.env", "tocsin.service"}
_PAGES_ON_CODE = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
# Documents that lie elsewhere. A numbered decision is fine as the text of a link.
_ELSEWHERE = re.compile(
    r"\bfact" + r" book|\bspec(?:ification)?,? \d|\bdecisions? \d+(?!\d|-|\]\()|\bHTTP API, section|\bissue \d",
    re.IGNORECASE,
)


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


@pytest.mark.parametrize("page", _PAGES_ON_CODE, ids=lambda page: page.name)
def test_pages_about_the_code_name_files_that_exist(page: Path):
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(_PATH.findall(text))
    assert sorted(path for path in named if not any((base / path).exists() for base in BASES)) == []


def test_dotted_names_between_backticks_can_be_imported():
    named = {(file, name) for file in FILES for name in _DOTTED.findall(file.read_text("utf-8"))}
    broken = [f"{file.relative_to(ROOT)}: {name}" for file, name in sorted(named) if not resolves(name)]
    assert broken == []


def test_no_file_cites_a_document_that_lies_elsewhere():
    broken = []
    for file in repository_files():
        lines = file.read_text("utf-8", errors="replace").splitlines()
        broken += [f"{file.relative_to(ROOT)}:{i}: {line.strip()}" for i, line in enumerate(lines, 1) if cites(line)]
    assert broken == []


def cites(line: str) -> bool:
    return _ELSEWHERE.search(line) is not None


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    try:
        return name in _NOT_MODULES or pkgutil.resolve_name(name) is not None
    except (ImportError, AttributeError):
        return False


def lost(page: str, heading: str) -> bool:
    path = ROOT / "docs" / page
    return not path.is_file() or bool(heading and heading not in _HEADING.findall(path.read_text("utf-8")))
