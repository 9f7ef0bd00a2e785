"""One language server for all tests of this folder, in a data directory with all schemas."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.features.file_schemas.language_server import LanguageServer, running

from tocsin.features.file_schemas import write_schemas, written_files
from tocsin.features.registry import find_features


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_schemas(folder, written_files(find_features().features).values())
    return folder


@pytest.fixture(scope="session")
def server(data_dir: Path) -> Iterator[LanguageServer]:
    with running(data_dir) as server:
        yield server
