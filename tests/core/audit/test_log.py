"""The audit log: its lines, its chain, and what it masks."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.audit.reasons import facts

from tocsin.core.audit import reader as audit_reader
from tocsin.core.audit.log import AuditEntry, AuditError, AuditLog

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
ANY_METADATA = st.dictionaries(ANY_TEXT.filter(lambda key: key != "chain"), ANY_VALUE, max_size=5)

APPENDER = """
import sys
from pathlib import Path
from tocsin.core.audit.log import AuditLog
log = AuditLog(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    log.append("msg.send", f"{sys.argv[2]} {number}", source="cli", metadata={"number": number})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    log = AuditLog(path)
    yield log
    log.close()


def fill(log: AuditLog, count: int, start: int = 1) -> None:
    for number in range(start, start + count):
        log.append("msg.send", f"line {number}", source="cli", metadata={"number": number})


def details(entries: list[AuditEntry]) -> list[str]:
    return [entry.detail for entry in entries]


def problem_lines(log: AuditLog) -> list[int]:
    return [issue.line for issue in log.verify().problems]


def reasons(log: AuditLog) -> list[tuple[int, str]]:
    return [(issue.line, facts(issue.reason)) for issue in log.verify().problems]


def start(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", APPENDER, str(path), name, str(count)])


def rotate(path: Path, suffix: str) -> None:
    """Rename the log, and wait until a writer looks its name up again: it does so once a millisecond."""
    path.rename(f"{path}{suffix}")
    time.sleep(0.002)


def edit(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Rewrite the log in place, as a person with an editor would."""
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def joined(value: object) -> object:
    """Join surrogate halves that stand beside each other: JSON cannot keep them apart."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, dict):
        return {joined(key): joined(item) for key, item in value.items()}
    return [joined(item) for item in value] if isinstance(value, list) else value


# --- what a line looks like ---------------------------------------------------------------------


def test_a_line_has_exactly_the_five_keys_of_the_specification(log: AuditLog, path: Path) -> None:
    log.append("vault.set", "API key stored", source="cli", metadata={"name": "API_KEY"})
    assert list(json.loads(path.read_text())) == ["ts", "action", "detail", "source", "metadata"]


def test_the_time_is_utc_with_milliseconds(path: Path) -> None:
    AuditLog(path, now=lambda: 1_700_000_000.5).append("skill.run", "", source="cli")
    assert json.loads(path.read_text())["ts"] == "2023-11-14T22:13:20.500Z"


def test_what_is_appended_is_what_tail_returns(log: AuditLog) -> None:
    log.append("skill.run", "Zoë ran \U0001f600", source="intake", metadata={"code": 0, "names": ["a", "b"]})
    (entry,) = log.tail(1)
    assert (entry.action, entry.detail, entry.source) == ("skill.run", "Zoë ran \U0001f600", "intake")
    assert {key: value for key, value in entry.metadata.items() if key != "chain"} == {
        "code": 0,
        "names": ["a", "b"],
    }


def test_text_beyond_ascii_stays_readable_in_the_file(log: AuditLog, path: Path) -> None:
    log.append("msg.send", "Grüße an Zoë", source="cli")
    assert "Grüße an Zoë" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b[2J", "\x85", "\u2028", "\u202e", "\x9b", "\ud800"])
def test_nothing_in_a_text_breaks_or_disguises_the_line(log: AuditLog, path: Path, sign: str) -> None:
    log.append("msg.send", f"é before{sign}after", source="cli")
    assert sign.encode(errors="surrogatepass") not in path.read_bytes()[:-1]
    assert details(log.tail(1)) == [f"é before{sign}after"]


def test_values_that_json_lacks_are_written_as_text(log: AuditLog) -> None:
    values = {"path": Path("/a"), "nan": float("nan"), "huge": 1 << 20_000, "set": {1}, "bytes": b"x"}
    log.append("msg.send", "", source="cli", metadata=values)
    written = log.tail(1)[0].metadata
    assert (written["path"], written["nan"], written["set"], written["bytes"]) == ("/a", "nan", [1], "b'x'")


def test_metadata_that_holds_itself_is_cut_off_and_not_an_error(log: AuditLog) -> None:
    endless: dict[str, object] = {}
    endless["inner"] = endless
    log.append("msg.send", "endless", source="cli", metadata=endless)
    assert log.verify().ok


def test_an_entry_too_long_for_a_line_is_shortened(log: AuditLog, path: Path) -> None:
    log.append("msg.send", "x" * 5_000_000, source="cli", metadata={"also": "y" * 500})
    assert path.stat().st_size < 20_000
    assert log.tail(1)[0].detail.endswith(" 5000571 characters)")
    assert log.verify().ok


def test_the_key_of_the_chain_cannot_be_forged_by_metadata(log: AuditLog, path: Path) -> None:
    with pytest.raises(ValueError, match="chain"):
        log.append("msg.send", "", source="cli", metadata={"chain": 1})
    assert not path.exists()


def test_secrets_are_masked_in_detail_and_in_every_value(path: Path) -> None:
    log = AuditLog(path, redact=lambda text: text.replace("hunter2", "***"))
    nested = {"hunter2-key": {"list": ["a hunter2", ValueError("hunter2")]}, "count": 2}
    log.append("vault.set", "set to hunter2", source="cli", metadata=nested)
    (entry,) = log.tail(1)
    assert entry.detail == "set to ***"
    assert entry.metadata["hunter2-key"] == {"list": ["a ***", "***"]}


@given(detail=ANY_TEXT, metadata=ANY_METADATA)
def test_any_text_comes_back_from_one_line(detail: str, metadata: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog(Path(folder, "audit.log"))
        log.append("msg.send", detail, source="cli", metadata=metadata)
        log.close()
        assert len(log.path.read_text(encoding="utf-8").splitlines()) == 1
        (entry,) = log.tail(2)
        assert joined(entry.detail) == joined(detail)
        written = {key: value for key, value in entry.metadata.items() if key != "chain"}
        assert joined(written) == joined(metadata)
        assert log.verify().ok


# --- reading ------------------------------------------------------------------------------------


def test_a_missing_log_has_no_entries_and_no_problems(log: AuditLog) -> None:
    assert (log.tail(5), log.search("x", 5), log.verify().ok) == ([], [], True)


def test_an_empty_log_has_no_entries_and_no_problems(log: AuditLog, path: Path) -> None:
    path.touch()
    assert (log.tail(5), log.search("x", 5), log.verify().ok) == ([], [], True)


def test_tail_returns_the_newest_first_and_no_more_than_asked(log: AuditLog) -> None:
    fill(log, 5)
    assert details(log.tail(3)) == ["line 5", "line 4", "line 3"]
    assert len(log.tail(99)) == 5
    assert log.tail(0) == log.tail(-1) == []


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 333, 1 << 16])
def test_lines_are_whole_wherever_a_chunk_ends(tmp_path: Path, chunk: int) -> None:
    lines = [b"a", b"", b"\xc3\xa9" * 9, b"x" * 700, b"last"]
    file = tmp_path / "lines"
    file.write_bytes(b"\n".join(lines) + b"\nunfinished")
    with file.open("rb") as opened:
        assert list(audit_reader.newest_lines(opened.fileno(), chunk)) == lines[::-1]


def test_lines_without_end_are_passed_over_in_bounded_pieces(log: AuditLog, path: Path) -> None:
    fill(log, 1)
    with path.open("ab") as file:
        file.write(b"x" * (20 * audit_reader.MAX_LINE) + b"\n")
    fill(log, 1, start=2)
    tracemalloc.start()
    assert len(log.tail(9)) == 2
    assert tracemalloc.get_traced_memory()[1] < 8 * audit_reader.MAX_LINE
    tracemalloc.stop()
    assert details(log.tail(9)) == details(log.search("line", 9)) == ["line 2", "line 1"]
    assert problem_lines(log) == [2]


def test_lines_of_others_are_passed_over(log: AuditLog, path: Path) -> None:
    fill(log, 1)
    with path.open("ab") as file:
        file.write(b'no json\n[1]\n{"ts":1}\n\xff\xfe\n' + b"[" * 9999 + b"\n")
    fill(log, 1, start=2)
    assert details(log.tail(9)) == ["line 2", "line 1"]


def test_an_entry_without_metadata_is_an_entry(log: AuditLog, path: Path) -> None:
    path.write_text('{"ts":"2026-01-01T00:00:00.000Z","action":"a","detail":"d","source":"s"}\n')
    assert log.tail(1)[0].metadata == {}


@pytest.mark.parametrize("query", ["OPS", "msg.SEND", "grüsse", "GRÜSSE", '"quoted"', "4711", "channel", "a\nb"])
def test_search_finds_texts_keys_and_numbers_in_any_case(log: AuditLog, query: str) -> None:
    metadata = {"channel": "ops", "id": 4711, "more": ["a\nb", {"deep": 'a "quoted" word'}]}
    log.append("msg.send", "Grüße", source="cli", metadata=metadata)
    log.append("vault.get", "something else", source="web")
    assert details(log.search(query, 5)) == ["Grüße"]


def test_search_does_not_match_the_hashes(log: AuditLog) -> None:
    fill(log, 1)
    digest = log.tail(1)[0].metadata["chain"]["hash"]  # type: ignore[index]
    assert log.search(digest[:3], 5) == log.search("hash", 5) == []


def test_search_returns_the_newest_first_and_no_more_than_asked(log: AuditLog) -> None:
    fill(log, 30)
    assert details(log.search("line 2", 3)) == ["line 29", "line 28", "line 27"]
    assert len(log.search("", 99)) == 30
    assert log.search("line", 0) == []


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=6), data=st.data())
def test_search_finds_every_piece_of_every_text(texts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts))
    first = data.draw(st.integers(0, len(text)))
    piece = text[first : data.draw(st.integers(first, len(text)))]
    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog(Path(folder, "audit.log"))
        for detail in texts:
            log.append("", detail, source="")
        log.close()
        found = details(log.search(piece, 10))
        if joined(text) == text:
            assert text in found


# --- the chain ----------------------------------------------------------------------------------


def test_an_untouched_log_is_in_order(log: AuditLog) -> None:
    fill(log, 20)
    result = log.verify()
    assert (result.ok, result.lines, result.first, result.last) == (True, 20, 1, 20)


def test_an_edited_line_shows(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: [line.replace(b"line 3", b"line 9") for line in lines])
    assert problem_lines(log) == [3]


def test_a_line_removed_in_the_middle_shows(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: lines[:2] + lines[3:])
    assert reasons(log) == [(3, "4 3 1")]


def test_removed_first_lines_show(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: lines[2:])
    assert reasons(log) == [(1, "3")]


def test_removed_last_lines_show(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: lines[:-2])
    assert reasons(log) == [(3, "2")]


def test_removed_last_lines_still_show_after_the_next_append(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: lines[:-2])
    fill(log, 2, start=6)
    assert problem_lines(log) == [4]


def test_a_replaced_last_line_shows(log: AuditLog, path: Path, tmp_path: Path) -> None:
    fill(log, 3)
    other = AuditLog(tmp_path / "other.log")
    fill(other, 2)
    other.append("msg.send", "forged", source="cli")
    forged = other.path.read_bytes().splitlines(keepends=True)[-1]
    edit(path, lambda lines: [*lines[:-1], forged])
    assert 3 in problem_lines(log)


@pytest.mark.parametrize("inserted", [b"garbage\n", b"\n", b'{"ts":"","action":"","detail":"","source":""}\n'])
def test_an_inserted_line_shows(log: AuditLog, path: Path, inserted: bytes) -> None:
    fill(log, 5)
    edit(path, lambda lines: [*lines[:2], inserted, *lines[2:]])
    assert problem_lines(log) == [3]


def test_a_repeated_line_shows(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: [*lines[:4], lines[1], *lines[4:]])
    assert problem_lines(log) == [5]


def test_reordered_lines_show(log: AuditLog, path: Path) -> None:
    fill(log, 5)
    edit(path, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]])
    assert problem_lines(log) == [2, 3]


def test_a_line_appended_by_another_program_shows_and_harms_no_other(log: AuditLog, path: Path) -> None:
    fill(log, 2)
    with path.open("a") as file:
        file.write("echo was here\n")
    fill(log, 2, start=3)
    assert problem_lines(log) == [3]


def test_every_changed_byte_shows(log: AuditLog, path: Path) -> None:
    fill(log, 2)
    good = path.read_bytes()
    for offset in range(len(good)):
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 1]) + good[offset + 1 :])
        assert not log.verify().ok, f"byte {offset}"


def test_a_lost_head_file_shows_and_the_chain_goes_on(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    Path(f"{path}.head").unlink()
    assert problem_lines(log) == [3]
    fill(AuditLog(path), 2, start=4)
    fill(log, 2, start=6)
    assert [entry.metadata["chain"]["seq"] for entry in log.tail(2)] == [7, 6]  # type: ignore[index]
    head = audit_reader.decode_head(Path(f"{path}.head").read_bytes())
    assert head is not None
    assert head.tip.seq == 7, "the old writer has gone over to the new head"
    assert problem_lines(log) == [4]


def test_a_head_lost_on_a_full_disk_still_shows(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    Path(f"{path}.head").unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 9, hard))
    try:
        with pytest.raises(AuditError):
            fill(AuditLog(path), 1, start=4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    fill(AuditLog(path), 1, start=4)
    assert problem_lines(log) == [4]


def test_a_broken_head_file_is_a_lost_one(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    Path(f"{path}.head").write_bytes(b"\0" * 99)
    fill(log, 1, start=4)
    assert problem_lines(log) == [4]


def test_verify_reads_while_others_append(log: AuditLog, path: Path) -> None:
    fill(log, 1)
    child = start(path, "other", 3_000)
    while child.poll() is None:
        assert log.verify().ok
    assert log.verify().lines == 3_001


# --- rotation -----------------------------------------------------------------------------------


def test_the_chain_goes_on_after_a_rename(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    rotate(path, ".1")
    assert log.verify().ok
    fill(log, 2, start=4)
    result = log.verify()
    assert (result.ok, result.lines, result.files, result.first, result.last) == (True, 5, 2, 1, 5)


def test_the_chain_goes_on_after_logrotate_made_the_new_file(path: Path) -> None:
    fill(AuditLog(path), 3)
    rotate(path, "-20260101")
    path.touch()
    fill(AuditLog(path), 2, start=4)
    assert AuditLog(path).verify().ok


def test_the_chain_goes_on_after_copytruncate(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    shutil.copy(path, f"{path}.1")
    os.truncate(path, 0)
    assert log.verify().ok
    fill(log, 2, start=4)
    assert log.verify().ok


def test_a_line_lost_between_two_files_shows(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    edit(path, lambda lines: lines[:-1])
    rotate(path, ".1")
    fill(log, 2, start=4)
    assert problem_lines(log) == [1]


def test_a_deleted_log_shows_before_and_after_the_next_append(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    path.unlink()
    assert reasons(log) == [(0, "audit.log.head 3")]
    time.sleep(0.002)
    fill(log, 2, start=4)
    assert reasons(log) == [(1, "3")]
    assert details(log.tail(9)) == ["line 5", "line 4"]


def test_the_chain_is_found_in_rotated_files_when_the_head_is_lost(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    rotate(path, ".1")
    Path(f"{path}.head").unlink()
    fill(AuditLog(path), 1, start=4)
    assert reasons(log) == [(1, "audit.log.head")]
    assert log.verify().last == 4


def test_a_first_line_removed_after_rotation_shows(log: AuditLog, path: Path) -> None:
    fill(log, 3)
    rotate(path, ".1")
    fill(log, 3, start=4)
    edit(path, lambda lines: lines[1:])
    assert problem_lines(log) == [1]


# --- several writers ----------------------------------------------------------------------------


def test_processes_that_append_at_once_make_one_chain(log: AuditLog, path: Path) -> None:
    children = [start(path, f"child {number}", 400) for number in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    result = log.verify()
    assert (result.problems, result.lines) == ((), 1_600)
    assert len({entry.detail for entry in log.tail(2_000)}) == 1_600


def test_rotation_under_several_writers_loses_no_line(log: AuditLog, path: Path) -> None:
    children = [start(path, f"child {number}", 2_000) for number in range(3)]
    rotations = 0
    while any(child.poll() is None for child in children):
        if path.exists() and rotations < 9:
            rotations += 1
            rotate(path, f".{rotations}")
        time.sleep(0.01)
    files = [file for file in path.parent.iterdir() if file.suffix != ".head"]
    entries = [entry for file in files for entry in AuditLog(file).tail(9_999)]
    assert len({entry.detail for entry in entries}) == len(entries) == 6_000
    assert sorted(entry.metadata["chain"]["seq"] for entry in entries) == list(range(1, 6_001))  # type: ignore[index]


def test_threads_may_share_one_log(log: AuditLog) -> None:
    threads = [threading.Thread(target=fill, args=(log, 200, 1_000 * number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (log.verify().problems, log.verify().lines) == ((), 800)


def test_a_forked_child_takes_its_own_lock(log: AuditLog) -> None:
    fill(log, 1)
    child = os.fork()
    if not child:
        fill(log, 1_000, start=10_000)
        os._exit(0)
    fill(log, 1_000)
    assert os.waitpid(child, 0)[1] == 0
    assert (log.verify().problems, log.verify().lines) == ((), 2_001)


def test_a_process_stopped_with_the_lock_gives_an_error_and_no_hang(log: AuditLog, path: Path) -> None:
    fill(log, 1)
    impatient = AuditLog(path, lock_wait_s=0.05)
    hold = "import fcntl,sys; f=open(sys.argv[1]); fcntl.flock(f,fcntl.LOCK_EX); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold, f"{path}.head"], **pipes) as child:  # type: ignore[call-overload]
        child.stdout.readline()
        with pytest.raises(AuditError, match="another process"):
            fill(impatient, 1)
        child.communicate(b"\n")
    fill(log, 1, start=2)
    assert log.verify().ok


# --- failures -----------------------------------------------------------------------------------


def test_a_killed_writer_leaves_no_torn_line_and_the_chain_goes_on(log: AuditLog, path: Path) -> None:
    for number in range(4):
        before = path.stat().st_size if path.exists() else 0
        child = start(path, f"child {number}", 10_000_000)
        while not path.exists() or path.stat().st_size < before + 50_000:
            time.sleep(0.001)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    fill(log, 1)
    assert log.verify().problems == ()


def test_a_writer_killed_between_line_and_head_is_caught_up_with(log: AuditLog, path: Path) -> None:
    head = Path(f"{path}.head")
    fill(log, 2)
    earlier = head.read_bytes()
    fill(log, 1, start=3)
    head.write_bytes(earlier)
    assert log.verify().ok
    fill(AuditLog(path), 1, start=4)
    assert (log.verify().problems, log.verify().last) == ((), 4)


def test_a_writer_killed_after_the_first_line_of_a_new_file_is_caught_up_with(path: Path) -> None:
    head = Path(f"{path}.head")
    fill(AuditLog(path), 2)
    earlier = head.read_bytes()
    rotate(path, ".1")
    fill(AuditLog(path), 1, start=3)
    head.write_bytes(earlier)
    fill(AuditLog(path), 1, start=4)
    assert (AuditLog(path).verify().problems, AuditLog(path).verify().last) == ((), 4)


@pytest.mark.parametrize("kept", [1, 40, -2, -1])
def test_a_line_torn_by_a_power_failure_is_named_and_harms_no_other(log: AuditLog, path: Path, kept: int) -> None:
    fill(log, 2)
    whole = path.read_bytes()
    line = whole.splitlines(keepends=True)[1]
    path.write_bytes(whole + line[:kept])
    assert problem_lines(log) == [3]
    fill(log, 2, start=3)
    assert details(log.tail(2)) == ["line 4", "line 3"]
    assert problem_lines(log) == [3]


def test_a_full_disk_leaves_no_torn_line_and_appends_go_on_when_space_returns(log: AuditLog, path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from tocsin.core.audit.log import AuditError, AuditLog
log = AuditLog(Path(sys.argv[1]))
failed = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))
for number in range(30):
    try:
        log.append("msg.send", f"line {number}", source="cli")
    except AuditError as error:
        failed += 1
        assert "File too large" in str(error) or "part of the line" in str(error), error
        assert Path(sys.argv[1]).read_bytes().endswith(b"\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed > 10, failed
log.append("msg.send", "space again", source="cli")
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    assert (log.verify().problems, details(log.tail(1))) == ((), ["space again"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_file_system_is_an_error_with_a_next_step(small_disk: Path) -> None:
    log = AuditLog(small_disk / "audit.log")
    with pytest.raises(AuditError) as caught:
        fill(log, 1_000)
    assert "free space" in caught.value.hint
    assert log.path.read_bytes().endswith(b"\n")
    assert log.verify().ok
    lines = log.verify().lines
    rotate(log.path, ".1")
    shutil.move(small_disk / "audit.log.1", small_disk.parent)
    fill(log, 3)
    assert [entry.metadata["chain"]["seq"] for entry in log.tail(9)] == [lines + 3, lines + 2, lines + 1]  # type: ignore[index]
    log.close()


def test_a_device_that_takes_nothing_is_an_error(path: Path) -> None:
    path.symlink_to("/dev/full")
    with pytest.raises(AuditError, match="No space"):
        AuditLog(path).append("msg.send", "", source="cli")


def test_a_log_that_cannot_be_opened_is_an_error_for_reader_and_writer(path: Path) -> None:
    path.mkdir()
    log = AuditLog(path)
    with pytest.raises(AuditError, match="Is a directory"):
        log.append("msg.send", "", source="cli")
    with pytest.raises(AuditError, match="cannot read"):
        log.tail(1)


# --- files --------------------------------------------------------------------------------------


def test_only_the_owner_may_read_log_and_head(log: AuditLog, path: Path) -> None:
    fill(log, 1)
    assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {
        "audit.log": 0o600,
        "audit.log.head": 0o600,
    }


def test_the_folder_is_made_when_it_is_missing(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "data" / "audit.log")
    fill(log, 1)
    assert len(log.tail(1)) == 1


def test_an_append_after_close_opens_the_log_again(log: AuditLog) -> None:
    fill(log, 1)
    log.close()
    log.close()
    fill(log, 1, start=2)
    assert log.verify().lines == 2


def test_each_line_is_one_write(path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    command = ["strace", "-f", "-y", "-e", "trace=write", sys.executable, "-c", APPENDER, str(path), "x", "7"]
    traced = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert sum(f"{path}>" in line for line in traced.splitlines()) == 7


def test_importing_the_log_loads_neither_asyncio_nor_logging() -> None:
    script = "import sys, tocsin.core.audit.log; print({'asyncio', 'logging', 'uuid', 'pathlib'} & set(sys.modules))"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, 'src'); {script}"]
    root = Path(__file__).parents[3]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout == "set()\n"


def test_a_log_that_nobody_holds_any_more_has_closed_its_files(tmp_path: Path):
    def open_here() -> list[str]:
        links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [link for link in links if link.startswith(str(tmp_path))]

    log = AuditLog(tmp_path / "audit.log")
    log.append("msg.send", "hello", source="test")
    assert len(open_here()) == 2
    del log
    assert open_here() == []
