"""Services log JSON lines, or text on a terminal; no line ever holds a secret."""

import json
import logging
import stat
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from tocsin.core.errors import ConfigError
from tocsin.core.log import configure, reopen
from tocsin.core.text.redaction import Redactor

FORMS = ["json", "text", "logfmt", "journal"]
SECRET = 'canary-"secret"-for-test'

Start = Callable[..., StringIO]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Configure logging into memory; afterwards put the root logger back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def start(severity: str, form: str, secret: str = SECRET, file: Path | None = None) -> StringIO:
        stream = StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        configure(severity, form, Redactor([secret]), file=file)
        return stream

    yield start
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


log = logging.getLogger("tocsin.test")


def test_a_json_line_holds_phrase_level_logger_time_and_fields(start: Start):
    stream = start("info", "json")
    log.warning("queue is full", extra={"size": 3, "name_of_it": "ä"})
    line = json.loads(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "queue is full",
        "level": "warning",
        "logger": "tocsin.test",
        "size": 3,
        "name_of_it": "ä",
    }


def test_a_field_named_like_the_phrase_does_not_take_its_place(start: Start):
    stream = start("info", "json")
    log.warning("a message was not handled", extra={"event": "0199", "channel": "bell"})
    line = json.loads(stream.getvalue())
    assert (line["event"], line["event_id"], line["channel"]) == ("a message was not handled", "0199", "bell")


def test_auto_is_json_where_there_is_no_terminal(start: Start):
    stream = start("info", "auto")
    log.info("listening")
    assert json.loads(stream.getvalue())["event"] == "listening"


def test_text_is_one_readable_line(start: Start):
    stream = start("info", "text")
    log.info("listening", extra={"address": "http://127.0.0.1:8100"})
    assert len(stream.getvalue().splitlines()) == 1
    assert "listening" in stream.getvalue()
    assert "address=http://127.0.0.1:8100" in stream.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_lines_below_the_level_are_left_out(start: Start, form: str):
    stream = start("warning", form)
    log.info("quiet")
    log.warning("loud")
    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_a_library_is_formatted_the_same_way(start: Start, form: str):
    stream = start("info", form)
    logging.getLogger("uvicorn.error").info("Started process [%d]", 7)
    assert "Started process [7]" in stream.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_is_logged_as_phrase_field_argument_or_in_a_traceback(start: Start, form: str):
    stream = start("debug", form)
    log.info(f"phrase {SECRET}")  # noqa: G004  # what must never be written is written on purpose
    log.info("argument %s", SECRET)
    log.info("field", extra={"value": SECRET, "nested": {"deep": [SECRET]}, "raw": SECRET.encode()})
    try:
        int(SECRET)
    except ValueError:
        log.exception("it broke")
    written = stream.getvalue()
    assert "it broke" in written
    assert "ValueError" in written
    assert "canary" not in written
    assert written.count("[secret]") >= 6


@pytest.mark.parametrize("form", FORMS)
def test_a_line_break_in_a_field_starts_no_new_line(start: Start, form: str):
    stream = start("info", form)
    log.info("target", extra={"value": "a\n2030-01-01 [error] forged\r\nb"})
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("form", FORMS)
def test_strange_values_break_no_line(start: Start, form: str):
    stream = start("info", form)
    log.info("odd", extra={"value": "\ud800\0", "object": object(), "set": {1}})
    assert "odd" in stream.getvalue()


def test_configuring_twice_writes_every_line_once(start: Start):
    start("info", "json")
    stream = start("info", "json")
    log.info("once")
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_text_of_a_provider_begins_no_line_and_drives_no_terminal(start: Start, form: str):
    stream = start("info", form)
    forged = "no\n2026-01-01T00:00:00Z [info] all is well\r\x1b[2K\x9b2J\u2028end"
    log.warning("a call failed: %s", forged, extra={"reason": forged})
    (line,) = stream.getvalue().splitlines()
    assert not set("\n\r\x1b\x9b\u2028") & set(line)


def test_a_logfmt_line_has_time_level_logger_and_phrase_first(start: Start):
    stream = start("info", "logfmt")
    log.warning("queue is full", extra={"size": 3, "is_late": True, "path": 'a "b"\\c'})
    time, line = stream.getvalue().split(" ", 1)
    assert time.startswith("timestamp=")
    expected = r'level=warning logger=tocsin.test event="queue is full" size=3 is_late=true path="a \"b\"\\c"'
    assert line == f"{expected}\n"


@pytest.mark.parametrize(("level", "priority"), [("debug", 7), ("info", 6), ("warning", 4), ("error", 3)])
def test_a_journal_line_begins_with_its_priority_and_leaves_the_time_to_the_journal(
    start: Start, level: str, priority: int
):
    stream = start("debug", "journal")
    getattr(log, level)("listening", extra={"port": 8100})
    assert stream.getvalue().startswith(f"<{priority}>listening")
    assert "port=8100" in stream.getvalue()


def test_each_line_of_a_traceback_has_a_priority_in_the_journal(start: Start):
    stream = start("info", "journal")
    log.error("broken", exc_info=ValueError("odd"))
    assert {line[:3] for line in stream.getvalue().splitlines()} == {"<3>"}


def test_a_log_file_is_private_and_is_opened_again_after_a_rotation(start: Start, tmp_path: Path):
    path, stream = tmp_path / "tocsin.log", start("info", "auto", file=tmp_path / "tocsin.log")
    log.info("before")
    path.rename(tmp_path / "tocsin.log.1")
    reopen()
    log.info("after")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["after"]
    assert stream.getvalue() == ""


def test_a_log_file_that_cannot_be_opened_is_an_error_that_names_its_setting(start: Start, tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        start("info", "auto", file=tmp_path / "missing" / "tocsin.log")
    assert "LOG_FILE" in caught.value.hint


def test_a_line_that_the_log_file_does_not_take_goes_to_standard_error_masked(start: Start):
    stream = start("info", "json", file=Path("/dev/full"))
    log.info("kept %s", SECRET)
    assert "kept" in stream.getvalue()
    assert "canary" not in stream.getvalue()


def test_a_traceback_drives_no_terminal(start: Start):
    stream = start("info", "text")
    log.error("broken", exc_info=ValueError("odd \x1b[2K"))
    assert "ValueError: odd \\u001b[2K" in stream.getvalue()


def test_a_secret_of_several_lines_is_masked_in_one(start: Start):
    stream = start("info", "text", "first\nsecond")
    log.warning("it says", extra={"reason": "first\nsecond"})
    assert "second" not in stream.getvalue()
