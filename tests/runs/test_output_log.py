"""What a run prints is kept: bounded, in order of arrival, readable while it runs."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.core.text.redaction import Redactor
from tocsin.runs.log_file import MAX_LINES, LogPage, format_text, log_path, page, read_lines, summarise
from tocsin.runs.model import Line
from tocsin.runs.output_log import MAX_LINE_BYTES, REFRESH_S, OutputLog
from tocsin.testing.fakes import FakeClock

KIB = 1024


class Log:
    """A capture, and what is in its file."""

    def __init__(self, folder: Path, max_bytes: int = 64 * KIB, secret: str = "", *, watched: bool = False) -> None:
        self.path = folder / "2026-11" / "run.log"
        self.clock = FakeClock()
        self.seen: list[Line] = []
        self.capture = OutputLog(
            self.path, max_bytes, self.clock, Redactor([secret]), self.seen.append if watched else None
        )

    def lines(self) -> list[Line]:
        return list(read_lines(self.path))

    def texts(self) -> list[str]:
        return [line.text for line in self.lines()]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_lines_have_number_time_stream_and_text_in_the_order_in_which_they_ended(log: Log):
    log.capture.feed("stdout", b"one\ntw")
    log.capture.feed("stderr", b"bad\n")
    log.clock.advance(1.5)
    log.capture.feed("stdout", b"o\n")
    start = log.clock.now() - 1.5
    assert log.lines() == [
        Line(1, start, "stdout", "one"),
        Line(2, start, "stderr", "bad"),
        Line(3, start + 1.5, "stdout", "two"),
    ]
    assert json.loads(log.path.read_text().splitlines()[0]) == {
        "n": 1, "ts": "2023-11-14T22:13:20.000Z", "stream": "stdout", "text": "one"
    }  # fmt: skip


def test_the_first_lines_are_in_the_file_at_once(log: Log):
    log.capture.feed("stdout", b"now\n")
    assert log.texts() == ["now"]


def test_a_last_line_without_its_end_is_kept(log: Log):
    log.capture.feed("stdout", b"one\nno end")
    output = log.capture.close()
    assert (log.texts(), output.lines, output.bytes, output.truncated) == (["one", "no end"], 2, 10, False)


def test_the_tail_is_the_last_twenty_lines(log: Log):
    log.capture.feed("stdout", b"".join(b"%d\n" % n for n in range(100)))
    assert log.capture.close().tail == "\n".join(str(n) for n in range(80, 100))


def test_no_output_is_no_file_and_no_lines(log: Log):
    output = log.capture.close()
    assert (output.lines, output.tail, log.path.exists(), log.lines()) == (0, "", False, [])


def test_what_is_no_text_is_shown_as_far_as_it_is(log: Log):
    log.capture.feed("stdout", b"a\xffb\0c\r\n")
    assert log.texts() == ["a\N{REPLACEMENT CHARACTER}b\0c"]


def test_a_character_that_arrives_in_two_parts_is_one(log: Log):
    for byte in "ä😀\n".encode():
        log.capture.feed("stdout", bytes([byte]))
    assert log.texts() == ["ä😀"]


def test_a_line_that_is_too_long_is_cut_and_says_so(log: Log):
    for _ in range(MAX_LINE_BYTES // KIB + 2):
        log.capture.feed("stdout", b"x" * KIB)
    log.capture.feed("stdout", b"\nnext\n")
    assert log.texts() == ["x" * MAX_LINE_BYTES + "… (2,048 more bytes)", "next"]


def test_secrets_are_masked_in_the_file_in_the_tail_and_for_whoever_watches(tmp_path: Path):
    log = Log(tmp_path, secret="correct-horse", watched=True)
    log.capture.feed("stdout", b"token correct-horse\n")
    assert log.capture.close().tail == "token [secret]"
    assert log.texts() == [line.text for line in log.seen] == ["token [secret]"]


def test_beyond_its_size_a_log_keeps_the_first_quarter_and_the_last_three_with_a_marker(log: Log):
    for n in range(1, 5001):
        log.capture.feed("stdout", b"line %d\n" % n)
    output = log.capture.close()
    lines = log.lines()
    marker = next(line for line in lines if line.stream == "system")
    before, after = [[line for line in lines if (line.n - marker.n) * side > 0] for side in (-1, 1)]
    assert [line.text for line in lines if line != marker] == [f"line {line.n}" for line in lines if line != marker]
    assert (before[0].n, after[-1].n, output.lines, output.truncated) == (1, 5000, 5000, True)
    assert after[0].n == marker.n + 1
    assert mentions(marker.text, f"{marker.n - before[-1].n:,}")
    assert log.path.stat().st_size <= 64 * KIB + 200
    assert len(before) / len(after) == pytest.approx(1 / 3, abs=0.05)
    assert output.tail.endswith("line 4999\nline 5000")


def test_just_at_its_size_nothing_is_left_out(log: Log):
    log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(700)))
    assert not log.capture.close().truncated
    assert log.texts() == [f"line {n}" for n in range(700)]
    assert log.path.stat().st_size > 32 * KIB  # beyond the first quarter


def test_endless_short_lines_stay_bounded(log: Log):
    chunk = b"y\n" * 128 * KIB
    for _ in range(40):
        log.capture.feed("stdout", chunk)
    output = log.capture.close()
    assert (output.bytes, output.lines) == (40 * len(chunk), 40 * len(chunk) // 2)
    assert log.path.stat().st_size <= 64 * KIB + 200
    assert log.lines()[-1].n == output.lines


def test_an_endless_line_stays_bounded(tmp_path: Path):
    log = Log(tmp_path, max_bytes=1024 * KIB)
    for _ in range(400):
        log.capture.feed("stdout", b"\0" * 64 * KIB)
    output = log.capture.close()
    assert (output.bytes, output.lines) == (400 * 64 * KIB, 1)
    assert log.path.stat().st_size <= 6 * MAX_LINE_BYTES + 200  # as JSON has it, each is six characters


def test_long_lines_stay_bounded(tmp_path: Path):
    log = Log(tmp_path, max_bytes=1024 * KIB)
    for _ in range(200):
        log.capture.feed("stdout", b"x" * 2 * MAX_LINE_BYTES + b"\n")
    assert log.capture.close().lines == 200
    assert 512 * KIB <= log.path.stat().st_size <= 1024 * KIB + MAX_LINE_BYTES + 200


def test_the_end_of_a_long_log_is_in_the_file_while_it_grows(log: Log):
    log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(3000)))
    log.capture.refresh()
    assert log.texts()[-1] == "line 2999"
    log.capture.feed("stdout", b"more\nand")
    log.capture.refresh()
    assert log.texts()[-1] == "more"
    log.capture.feed("stdout", b" more\n")
    log.capture.refresh()
    assert [(line.n, line.text) for line in log.lines()[-2:]] == [(3001, "more"), (3002, "and more")]


def test_the_end_of_a_log_that_grows_fast_is_replaced_every_two_seconds(log: Log):
    log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(3000)))
    log.capture.refresh()
    log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(3000, 9000)))
    log.capture.refresh()
    assert log.texts()[-1] == "line 2999"
    log.clock.advance(REFRESH_S)
    log.capture.refresh()
    assert log.texts()[-1] == "line 8999"


def test_the_end_of_a_log_is_replaced_at_once_when_fast_output_calms_down(log: Log):
    for first in (0, 3000):
        log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(first, first + 3000)))
        log.capture.refresh()
    assert log.texts()[-1] == "line 2999"
    log.capture.feed("stdout", b"calm\n")
    log.capture.refresh()
    assert log.texts()[-1] == "calm"


def test_a_log_that_is_brought_up_to_date_line_by_line_stays_bounded_and_ends_as_any_other(tmp_path: Path):
    log, other = Log(tmp_path / "a"), Log(tmp_path / "b")
    for n in range(3000):
        log.capture.feed("stdout", b"line %d\n" % n)
        log.capture.refresh()
        log.clock.advance(REFRESH_S)
        assert log.path.stat().st_size <= 80 * KIB + 200
        other.capture.feed("stdout", b"line %d\n" % n)
        assert log.texts()[-1] == f"line {n}" if n % 100 == 0 else True
    assert log.capture.close() == other.capture.close()
    assert log.texts() == other.texts()


PROGRESS = b"".join(b"\r%3d %%" % n for n in range(101)) + b"\n"


def test_of_a_progress_bar_the_last_state_is_kept(log: Log):
    log.capture.feed("stdout", b"begin\r\n" + PROGRESS + b"10 %\r20 %\r")
    log.capture.feed("stdout", b"30 %")
    log.capture.feed("stdout", b" more\r")
    log.capture.feed("stdout", b"\nend\n")
    assert log.texts() == ["begin", "100 %", "30 % more", "end"]


@pytest.mark.parametrize("state", [b"\r%d %%", b"%d %%\r"])
def test_a_progress_bar_takes_the_place_of_one_line_in_a_long_log(log: Log, state: bytes):
    log.capture.feed("stdout", b"".join(b"line %d\n" % n for n in range(400)))
    for n in range(5000):
        log.capture.feed("stdout", state % n)
        if n % 7 == 0:
            log.capture.refresh()
    log.capture.feed("stdout", b"\nend\n")
    assert not log.capture.close().truncated
    assert log.texts()[-3:] == ["line 399", "4999 %", "end"]


def test_the_file_and_its_folder_are_private(log: Log):
    log.capture.feed("stdout", b"x\n")
    assert (log.path.stat().st_mode & 0o777, log.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_log_that_cannot_be_written_is_told_once_and_the_tail_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "2026-11").write_text("in the way")
    log = Log(tmp_path)
    log.capture.feed("stdout", b"one\n")
    log.capture.feed("stdout", b"two\n")
    assert log.capture.close().tail == "one\ntwo"
    assert [record.levelname for record in caplog.records] == ["ERROR"]


PIECES = st.one_of(st.binary(max_size=60), st.text("ab\r\n", max_size=12).map(str.encode))


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), PIECES), max_size=60), st.booleans())
@example([("stdout", piece) for piece in (b"\n" * 20, b"a", b"\r", b"b")], False)
@example([("stdout", piece) for piece in (b"\n" * 20, b"a", b"b\r", b"c\n")], False)
def test_lines_are_those_of_each_stream_however_the_output_is_cut(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[str, bytes]], refreshed: bool
):
    log = Log(tmp_path_factory.mktemp("p"), max_bytes=4 * KIB, watched=True)
    for stream, data in chunks:
        log.capture.feed(stream, data)
        if refreshed:
            log.capture.refresh()
    output = log.capture.close()
    lines = log.lines()
    marker = [line for line in lines if line.stream == "system"]
    assert bool(marker) == output.truncated
    assert [line.n for line in lines] == sorted(line.n for line in lines)
    assert log.path.stat().st_size <= 4 * KIB + 700 if lines else True
    assert [line.n for line in log.seen] == list(range(1, output.lines + 1))
    by_number = {line.n: line.text for line in log.seen}
    if not marker:
        assert {line.n: line.text for line in lines} == by_number
    for stream in ("stdout", "stderr"):
        whole = b"".join(data for name, data in chunks if name == stream)
        parts = whole.split(b"\n")
        ended = parts if parts[-1].strip(b"\r") else parts[:-1]
        states = [part.rstrip(b"\r").rpartition(b"\r")[2] for part in ended]
        expected = [state.decode(errors="replace") for state in states]
        assert [line.text for line in log.seen if line.stream == stream] == expected


# --- reading


def test_a_log_is_kept_in_the_folder_of_its_month(tmp_path: Path):
    assert log_path(tmp_path, "r1", 1_700_000_000.0) == tmp_path / "2023-11" / "r1.log"


def test_what_a_crash_left_half_written_is_left_out(log: Log):
    log.capture.feed("stdout", b"one\n")
    with log.path.open("a") as file:
        file.write('no json\n{"n": 2, "ts": "2023-11-')
    assert log.texts() == ["one"]


def lines_of(count: int) -> list[Line]:
    return [Line(n, 0.0, "stderr" if n % 2 else "stdout", f"t{n}") for n in range(1, count + 1)]


def test_a_page_has_at_most_a_thousand_lines_and_says_where_to_go_on():
    lines = lines_of(MAX_LINES + 2)
    first = page(lines, 1, "", ended=True, truncated=True)
    assert (len(first.lines), first.next_line, first.complete, first.truncated) == (MAX_LINES, 1001, False, True)
    rest = page(lines, first.next_line, "", ended=True, truncated=True)
    assert [line.n for line in rest.lines] == [1001, 1002]
    assert (rest.next_line, rest.complete) == (1003, True)


def test_a_page_of_one_stream_has_only_its_lines():
    assert [line.n for line in page(lines_of(5), 2, "stderr", ended=False, truncated=False).lines] == [3, 5]


def test_the_log_of_a_run_at_work_is_not_complete():
    assert page([], 7, "", ended=False, truncated=False) == LogPage((), 7, complete=False, truncated=False)


@pytest.mark.parametrize(("text", "truncated"), [("[1,234 lines omitted here]", True), ("started: skill x", False)])
def test_only_the_line_for_what_was_left_out_makes_a_log_truncated(text: str, truncated: bool):
    lines = [Line(1, 0.0, "system", text)]
    assert page(lines, 1, "", ended=True, truncated=False).truncated is truncated
    assert summarise(lines).truncated is truncated


def test_the_text_of_a_log_has_at_most_so_many_characters():
    assert format_text(lines_of(3), 100) == "t1\nt2\nt3"
    assert format_text(lines_of(3), 4) == "t1\nt"


def test_of_an_interrupted_run_the_log_still_tells_lines_and_tail():
    output = summarise(lines_of(30))
    assert (output.lines, output.tail.splitlines()[0], output.truncated) == (30, "t11", False)


@pytest.mark.parametrize("max_bytes", [64 * KIB, 1024 * KIB])
def test_output_of_which_a_line_is_cut_counts_as_truncated(tmp_path: Path, max_bytes: int):
    whole, cut, begun = (Log(tmp_path / name, max_bytes) for name in ("whole", "cut", "begun"))
    whole.capture.feed("stdout", b"x" * MAX_LINE_BYTES + b"\nend\n")
    cut.capture.feed("stdout", b"x" * (MAX_LINE_BYTES + 1) + b"\nend\n")
    begun.capture.feed("stdout", b"x" * (MAX_LINE_BYTES + 1))
    assert [log.capture.close().truncated for log in (whole, cut, begun)] == [False, True, True]
