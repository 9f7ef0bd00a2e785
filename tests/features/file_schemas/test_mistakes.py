"""Mistakes in files that people write are found by editors, with the published schemas, and by our readers."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.features.file_schemas.language_server import Diagnostic, LanguageServer
from tests.features.file_schemas.mistakes import MISTAKES, Mistake
from tests.features.file_schemas.readers import places

from tocsin.features.file_schemas import modeline, written_files
from tocsin.features.registry import find_features

FILES = written_files(find_features().features)


def name_of(mistake: Mistake) -> str:
    return f"{mistake.kind}-{mistake.text.splitlines()[mistake.line - 1].strip()}"


@pytest.fixture(scope="module")
def found(server: LanguageServer, data_dir: Path) -> Mapping[str, list[Diagnostic]]:
    """What the server says about every file with a mistake, by text; lines are those of the text."""
    texts = {(data_dir / FILES[each.kind].place).with_name(f"{n}.yaml"): each for n, each in enumerate(MISTAKES)}
    found = server.diagnostics({path: modeline(FILES[each.kind]) + each.text for path, each in texts.items()})
    return {each.text: [said._replace(line=said.line - 1) for said in found[path]] for path, each in texts.items()}


def test_there_are_sixty_mistakes_in_files_of_every_kind():
    assert len(MISTAKES) >= 60
    assert {each.kind for each in MISTAKES} == FILES.keys()


@pytest.mark.parametrize("mistake", MISTAKES, ids=name_of)
def test_our_reader_finds_a_mistake_at_its_place(mistake: Mistake, tmp_path: Path):
    assert places(mistake.kind, mistake.text, tmp_path) == [(mistake.line, mistake.column)]


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if not each.beyond], ids=name_of)
def test_an_editor_finds_a_mistake_at_its_place(mistake: Mistake, found: Mapping[str, list[Diagnostic]]):
    assert (mistake.line, mistake.column) in {(each.line, each.column) for each in found[mistake.text]}


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if each.beyond], ids=name_of)
def test_what_is_listed_as_beyond_a_schema_is_not_found_by_an_editor(
    mistake: Mistake, found: Mapping[str, list[Diagnostic]]
):
    assert found[mistake.text] == []
