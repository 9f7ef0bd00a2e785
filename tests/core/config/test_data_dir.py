"""The data directory: usable or refused with owner and user, and recognised without telling its path."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.facts import mentions

from tocsin.core.config.data_dir import directory_id, require_usable
from tocsin.core.errors import ConfigError

NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[str]:
    os.seteuid(NOBODY)
    try:
        yield pwd.getpwuid(NOBODY).pw_name
    finally:
        os.seteuid(0)


@contextmanager
def as_root() -> Iterator[None]:
    os.seteuid(0)
    try:
        yield
    finally:
        os.seteuid(NOBODY)


def test_a_directory_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path):
    require_usable(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_the_directories_above_it_are_made_for_their_owner_alone_too(tmp_path: Path, mask: int):
    before = os.umask(mask)
    try:
        require_usable(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [place.stat().st_mode & 0o777 for place in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_directory_that_cannot_be_made_names_owner_and_user(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError) as refused:
        require_usable(tmp_path / "file" / "data")
    assert mentions(str(refused.value), tmp_path / "file" / "data", "Not a directory", f"{tmp_path}/file ")
    assert " belongs to " in str(refused.value)
    assert "TOCSIN_DATA_DIR" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file that this user may not write")
@pytest.mark.parametrize("name", ["", "tocsin.db", "audit.log"])
def test_what_another_user_made_is_refused_with_owner_and_user(name: str):
    with TemporaryDirectory() as directory, as_nobody() as nobody:
        place = Path(directory) / name
        with as_root():
            Path(directory).chmod(0o755)
            if name:
                os.chown(directory, NOBODY, -1)
                place.touch(mode=0o600)
        with pytest.raises(ConfigError) as refused:
            require_usable(Path(directory))
    assert mentions(str(refused.value), place, "Permission denied", "root", nobody)
    assert refused.value.hint.startswith(f"make {nobody} the owner of {place} (chown), or ")


def test_a_directory_has_an_id_that_a_copy_has_not(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    assert directory_id(one) == directory_id(tmp_path / "other" / ".." / "one")
    assert len({directory_id(one), directory_id(other), directory_id(tmp_path / "none")}) == 3
    assert (directory_id(tmp_path / "none"), len(directory_id(one))) == ("", 16)
