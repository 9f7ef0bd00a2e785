"""Files are replaced in one step; a broken edit leaves the last good version in force."""

import errno
import fcntl
import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import (
    GONE_AFTER_S,
    QUIET_NS,
    WatchedFile,
    WriteError,
    only_writer,
    read_limited,
    refuse_others,
    refused_by_system,
    write_atomically,
)
from tocsin.testing.fakes import FakeClock

as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")


class Watched:
    """A watched file of upper-case words, and how often it was parsed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parsed = 0
        self.clock = FakeClock()
        self.file: WatchedFile[list[str]] = WatchedFile(path, self._parse, [], monotonic=self.clock.monotonic)

    def _parse(self, content: bytes) -> list[str]:
        self.parsed += 1
        words = content.decode().split()
        if bad := [word for word in words if not word.isupper()]:
            raise ConfigError(f"{self.path}: {bad[0]} is not upper-case", hint="correct the file")
        return words

    @property
    def value(self) -> list[str]:
        return self.file.value

    @property
    def problem(self) -> str:
        return str(self.file.problem or "")


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "words")


def settle(path: Path) -> None:
    """Make the last change old enough for its stamp to be believed."""
    before = path.stat().st_mtime - 60
    os.utime(path, (before, before))


def temporary_files(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.endswith(".tmp")]


# Writing


@pytest.mark.parametrize(("data", "content"), [("Glocke ♪\n", "Glocke ♪\n".encode()), (b"\xff\0", b"\xff\0")])
def test_text_is_written_as_utf8_and_bytes_as_they_are(tmp_path: Path, data: str | bytes, content: bytes):
    write_atomically(tmp_path / "file", data)
    assert (tmp_path / "file").read_bytes() == content
    assert temporary_files(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_a_written_file_has_exactly_the_wanted_mode_whatever_the_umask_says(tmp_path: Path, mode: int):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o666)
    before = os.umask(0o277)
    try:
        write_atomically(path, "new", mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_readers_with_the_old_file_open_keep_the_old_content(tmp_path: Path):
    path = tmp_path / "file"
    write_atomically(path, "old")
    with path.open() as reader:
        write_atomically(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


def test_a_symbolic_link_stays_and_its_destination_is_replaced(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere" / "file")
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path: Path):
    (tmp_path / "taken").mkdir()  # a file cannot replace a directory
    with pytest.raises(WriteError, match=r"taken: Is a directory"):
        write_atomically(tmp_path / "taken", "new")
    assert (tmp_path / "taken").is_dir()
    assert temporary_files(tmp_path) == []


def test_a_failed_write_says_what_to_do(tmp_path: Path):
    with pytest.raises(WriteError) as raised:
        write_atomically(tmp_path / "missing" / "file", "new")
    assert mentions(str(raised.value), "file ", "No such file or directory")
    assert raised.value.hint == "create the directory"
    assert raised.value.code == "write-failed"


def test_a_link_of_a_loop_is_replaced_by_the_file(tmp_path: Path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    write_atomically(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


@as_root
def test_a_directory_without_write_permission_is_reported(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(WriteError, match="Permission denied"):
        write_atomically(tmp_path / "file", "new")


# Reading


def test_a_file_up_to_the_limit_is_read_and_a_larger_one_refused(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_limited(path, 100) == b"x" * 100
    with pytest.raises(ConfigError, match=r"file .* 99 bytes"):
        read_limited(path, 99)


def test_a_missing_file_is_reported_with_what_to_do(tmp_path: Path):
    with pytest.raises(ConfigError) as raised:
        read_limited(tmp_path / "file")
    assert mentions(str(raised.value), f"{tmp_path}/file: No such file or directory")
    assert raised.value.hint == "create it"


def test_a_directory_or_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ConfigError):
            read_limited(path)


# Watching


def test_a_file_that_is_missing_from_the_start_is_empty_and_no_problem(watched: Watched, caplog):
    assert (watched.value, watched.problem) == ([], "")
    assert caplog.messages == []


def test_a_file_that_appears_later_comes_into_force(watched: Watched):
    assert watched.value == []
    watched.path.write_text("A")
    assert watched.value == ["A"]


def test_an_unchanged_file_is_parsed_once(watched: Watched):
    watched.path.write_text("A")
    settle(watched.path)
    assert [watched.value for _ in range(3)] == [["A"]] * 3
    assert watched.parsed == 1


def test_an_edit_comes_into_force_at_the_next_access(watched: Watched):
    watched.path.write_text("A")
    settle(watched.path)
    assert watched.value == ["A"]
    watched.path.write_text("A B")
    assert watched.value == ["A", "B"]


def test_an_edit_that_keeps_size_and_time_is_noticed(watched: Watched):
    watched.path.write_text("A")
    settle(watched.path)
    assert watched.value == ["A"]
    old = watched.path.stat()
    watched.path.write_text("B")
    os.utime(watched.path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert watched.value == ["B"]


def test_a_second_edit_within_one_tick_of_the_clock_is_noticed(watched: Watched):
    for word in "ABCDEFGH":
        watched.path.write_text(word)
        assert watched.value == [word]


def test_a_replaced_file_is_noticed(watched: Watched):
    write_atomically(watched.path, "A")
    assert watched.value == ["A"]
    write_atomically(watched.path, "B")
    assert watched.value == ["B"]


def test_a_changed_time_alone_parses_nothing_again(watched: Watched):
    watched.path.write_text("A")
    for age in (60, 50, 40):
        moment = watched.path.stat().st_mtime + age
        os.utime(watched.path, (moment, moment))
        assert watched.value == ["A"]
    assert watched.parsed == 1


def test_a_broken_edit_keeps_the_last_good_value_and_says_why(watched: Watched, caplog):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    watched.path.write_text("A bad")
    assert watched.value == ["A"]
    assert "bad is not upper-case" in watched.problem
    assert [mentions(each, watched.path, "bad is not upper-case") for each in caplog.messages] == [True]


def test_a_mistake_is_logged_once_for_every_change(watched: Watched, caplog):
    for content in ("bad", "worse"):
        watched.path.write_text(content)
        for _ in range(3):
            assert watched.value == []
    assert [message.count("no earlier version") for message in caplog.messages] == [1, 1]
    assert watched.parsed == 2


def test_a_correction_comes_into_force_and_ends_the_problem(watched: Watched, caplog):
    caplog.set_level(logging.INFO)
    for content in ("A", "bad", "B"):
        watched.path.write_text(content)
        value = watched.value
    assert (value, watched.problem) == (["B"], "")
    assert str(watched.path) in caplog.messages[-1]


def test_taking_a_broken_edit_back_ends_the_problem(watched: Watched):
    for content in ("A", "bad", "A"):
        watched.path.write_text(content)
        value = watched.value
    assert (value, watched.problem) == (["A"], "")


def test_a_file_that_cannot_be_read_any_more_keeps_its_last_good_value(watched: Watched):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    watched.path.unlink()
    watched.path.mkdir()
    assert watched.value == ["A"]
    assert watched.problem
    watched.path.rmdir()
    watched.path.write_text("A")
    assert (watched.value, watched.problem) == (["A"], "")


def test_a_path_below_a_file_is_a_problem_and_not_an_empty_list(tmp_path: Path):
    (tmp_path / "file").write_text("A")
    watched = Watched(tmp_path / "file" / "words")
    assert watched.value == []
    assert "Not a directory" in watched.problem


@pytest.mark.parametrize("gap", ["gone", "without a byte"])
def test_a_file_that_is_away_while_an_editor_saves_keeps_its_value(watched: Watched, gap: str, caplog):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    if gap == "gone":
        watched.path.unlink()
    else:
        watched.path.write_bytes(b"")
    assert watched.value == ["A"]
    watched.path.write_text("B")
    assert watched.value == ["B"]
    assert caplog.messages == []


@pytest.mark.parametrize("gap", ["gone", "without a byte"])
def test_a_file_that_stays_away_empties_the_list_with_one_warning(watched: Watched, gap: str, caplog):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    if gap == "gone":
        watched.path.unlink()
    else:
        watched.path.write_bytes(b"")
    for _ in range(3):
        value = watched.value
        watched.clock.advance(GONE_AFTER_S)
    assert value == []
    assert caplog.messages == [f"a file is missing or empty and is treated as having no entries: {watched.path}"]


def test_two_short_absences_are_not_one_long_one(watched: Watched):
    for _ in range(3):
        watched.path.write_text("A")
        assert watched.value == ["A"]
        watched.path.unlink()
        assert watched.value == ["A"]
        watched.clock.advance(GONE_AFTER_S * 0.9)


def test_a_deleted_file_that_comes_back_unchanged_is_in_force_again(watched: Watched):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    watched.path.unlink()
    assert watched.value == ["A"]
    watched.clock.advance(GONE_AFTER_S)
    assert watched.value == []
    watched.path.write_text("A")
    assert watched.value == ["A"]


def test_deleting_a_file_that_was_never_good_ends_its_problem(watched: Watched):
    watched.path.write_text("bad")
    assert watched.problem
    watched.path.unlink()
    assert (watched.value, watched.problem) == ([], "")


def test_an_edit_that_removes_the_last_entry_is_logged_as_a_warning(watched: Watched, caplog):
    watched.path.write_text("A")
    assert watched.value == ["A"]
    watched.path.write_text("\n")
    assert watched.value == []
    assert caplog.messages == [f"a file no longer has any entries: {watched.path}"]


def test_value_and_problem_can_be_taken_together(watched: Watched):
    watched.path.write_text("bad")
    value, problem = watched.file.read()
    assert value == []
    assert "bad is not upper-case" in str(problem)


# --- what others may write to


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as failure:
        refuse_others(path)
    return failure.value.sentence()


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664, 0o775])
def test_what_its_owner_alone_or_with_the_owners_own_group_may_write_is_accepted(tmp_path: Path, mode: int):
    tmp_path.chmod(mode | 0o300)
    refuse_others(tmp_path)


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o777, 0o1777])
def test_what_everybody_may_write_is_refused_with_the_command_to_type(tmp_path: Path, mode: int):
    path = tmp_path / "a file"
    path.touch()
    path.chmod(mode)
    assert refusal(path).endswith(f": chmod go-w '{path}'")


@only_root
def test_what_another_group_may_write_is_refused(tmp_path: Path):
    os.chown(tmp_path, 0, 12345)
    tmp_path.chmod(0o755)
    refuse_others(tmp_path)
    tmp_path.chmod(0o775)
    assert refusal(tmp_path).endswith(f": chmod go-w {tmp_path}")


@only_root
def test_what_belongs_to_another_user_is_refused(tmp_path: Path):
    os.chown(tmp_path, 12345, 0)
    assert refusal(tmp_path).endswith(f": chown 0 {tmp_path}")


def test_a_file_that_is_run_stays_as_it_was_while_others_may_write_to_it(tmp_path: Path, caplog):
    path = tmp_path / "rules"
    path.write_text("one")
    path.chmod(0o600)
    file: WatchedFile[bytes] = WatchedFile(path, bytes, b"", is_run=True)
    assert file.value == b"one"
    path.write_text("another")
    path.chmod(0o666)
    assert [file.value for _ in range(3)] == [b"one"] * 3
    assert file.problem is not None
    assert file.problem.hint == f"chmod go-w {path}"
    (told,) = caplog.messages
    assert "the last valid version remains active" in told
    path.chmod(0o600)
    assert file.read() == (b"another", None)


def test_half_a_file_that_somebody_is_writing_does_not_come_into_force(tmp_path: Path):
    path, passed_ns = tmp_path / "rules", 0
    path.write_text("one")
    file = WatchedFile(path, bytes.decode, "", rests=True, now_ns=lambda: path.stat().st_ctime_ns + passed_ns)
    assert file.value == "one"  # nothing is in force yet: a command does not wait
    path.write_text("one, tw")
    passed_ns = QUIET_NS - 1
    assert file.read() == ("one", None)
    path.write_text("one, two")
    assert file.read() == ("one", None)
    passed_ns = QUIET_NS
    assert file.value == "one, two"
    passed_ns = 0
    write_atomically(path, "three")  # nobody writes to it any more
    assert file.value == "three"


def test_no_change_is_lost_among_many_writers_of_a_file(tmp_path: Path):
    path = tmp_path / "names"
    path.write_text("")

    def add(number: int) -> None:
        with only_writer(path):
            path.write_text(f"{path.read_text()}{number}\n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert sorted(map(int, path.read_text().split())) == list(range(40))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["names", "names.lock"]


def test_a_lock_that_is_kept_is_told_and_nothing_is_changed(tmp_path: Path):
    path = tmp_path / "names"
    with (tmp_path / "names.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ConfigError), only_writer(path, timeout_s=0.0):
            pytest.fail("two are at work")


def test_a_lock_that_cannot_be_opened_is_told(tmp_path: Path):
    with pytest.raises(WriteError, match="names"), only_writer(tmp_path / "missing" / "names"):
        pytest.fail("there is no lock")


def test_what_the_system_refuses_is_told_with_the_place_and_what_can_be_done():
    told = refused_by_system(PermissionError(errno.EACCES, "Permission denied", "/data/workflows"))
    assert told is not None
    assert mentions(str(told), "/data/workflows: Permission denied")
    long = refused_by_system(OSError(errno.ENAMETOOLONG, "File name too long", "/data/x"))
    assert long is not None
    assert mentions(str(long), "/data/x: File name too long")
    assert refused_by_system(OSError(errno.ENOTEMPTY, "Directory not empty", "/data")) is None
    assert refused_by_system(PermissionError(errno.EACCES, "Permission denied")) is None


def test_a_link_that_leads_nowhere_leaves_the_last_good_value_in_force(tmp_path: Path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("good")
    link.symlink_to(there)
    file = WatchedFile(link, bytes.decode, "")
    assert file.read() == ("good", None)
    there.rename(tmp_path / "away")
    value, problem = file.read()
    assert (value, str(link) in str(problem)) == ("good", True)
    (tmp_path / "away").rename(there)
    assert file.read() == ("good", None)
