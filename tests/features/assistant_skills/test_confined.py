"""What skills read and write stays in the folder."""

import os
import threading
from pathlib import Path

import pytest
from tests.features.assistant_skills.escapes import SECRET, Escape, escapes

from tocsin.features.assistant_skills.folder.confined import ConfinedFolder, ConfinementError

ESCAPES = escapes(Path("/outside"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(SECRET)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "fine").write_text("fine")
    return folder


def prepared(folder: Path, title: str) -> Escape:
    found = next(escape for escape in escapes(folder.parent / "outside") if escape.title == title)
    found.prepare(folder)
    return found


def test_there_are_sixty_escapes():
    assert len({escape.title for escape in ESCAPES}) >= 60


@pytest.mark.parametrize("title", [escape.title for escape in ESCAPES])
def test_no_path_leads_out_by_reading_or_writing(folder: Path, title: str):
    escape = prepared(folder, title)
    before = sorted(str(path) for path in folder.rglob("*"))
    with ConfinedFolder(folder) as confined:
        with pytest.raises(ConfinementError):
            confined.read(escape.path)
        try:
            confined.replace(escape.path, b"changed")
        except ConfinementError:
            assert sorted(str(path) for path in folder.rglob("*")) == before or title.startswith("from a directory")
    assert (folder.parent / "outside" / "secret").read_text() == SECRET
    assert [path.name for path in (folder.parent / "outside").iterdir()] == ["secret"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["folder", "outside"]


def test_listing_follows_no_link_and_leaves_out_the_repository(folder: Path):
    (folder / "a").mkdir()
    (folder / "a" / "b").write_text("b")
    (folder / "out").symlink_to(folder.parent / "outside")
    (folder / "secret").symlink_to(folder.parent / "outside" / "secret")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    os.mkfifo(folder / "pipe")
    with ConfinedFolder(folder) as confined:
        assert list(confined.files()) == ["a/b", "fine"]


def test_a_folder_that_is_moved_away_is_still_the_one_that_was_opened(folder: Path):
    with ConfinedFolder(folder) as confined:
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(folder.parent / "outside")
        assert confined.read("fine") == b"fine"
        with pytest.raises(ConfinementError):
            confined.read("secret")


def test_a_directory_that_becomes_a_link_again_and_again_never_leads_out(folder: Path):
    (folder / "real").mkdir()
    (folder / "real" / "secret").write_text("inside")
    (folder / "link").symlink_to(folder.parent / "outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "link"):
                (folder / name).rename(folder / "d")
                (folder / "d").rename(folder / name)

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        with ConfinedFolder(folder) as confined:
            for _ in range(2000):
                try:
                    seen.add(confined.read("d/secret"))
                except ConfinementError:
                    continue
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"inside"}


def test_writing_replaces_the_name_and_leaves_a_hard_link_outside_alone(folder: Path):
    os.link(folder.parent / "outside" / "secret", folder / "hard")
    (folder / "hard").chmod(0o4755)
    with ConfinedFolder(folder) as confined:
        confined.replace("hard", b"new")
        confined.replace("a/b/new", b"new")
    assert (folder.parent / "outside" / "secret").read_text() == SECRET
    assert (folder / "hard").read_bytes() == (folder / "a" / "b" / "new").read_bytes() == b"new"
    assert (folder / "hard").stat().st_mode & 0o7777 == 0o755


def test_a_file_of_a_gigabyte_is_refused_without_reading_it(folder: Path):
    with (folder / "large").open("wb") as stream:
        stream.truncate(1024**3)
    with ConfinedFolder(folder) as confined, pytest.raises(ConfinementError, match="larger than 1,048,576 bytes"):
        confined.read("large")
