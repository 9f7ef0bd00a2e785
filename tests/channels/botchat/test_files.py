"""Files that people send: size limits, paths, and local mode."""

from pathlib import Path

import pytest

from tocsin.channels.botchat.api import BotApi
from tocsin.channels.botchat.files import MAX_FILE_BYTES, BotFiles
from tocsin.channels.inbound import Attachment
from tocsin.core.errors import ChannelError
from tocsin.core.http.transport import HttpResponse, outcome_unknown
from tocsin.testing import FakeClock, ScriptedTransport

BASE, TOKEN = "https://api.example", "123456:abcdefghijklmnopqrstuvwxyz012345678"
FILE = Attachment("document", "file-1", size=5)


def files(http: ScriptedTransport, local_dir: Path | None = None) -> BotFiles:
    return BotFiles(BotApi(http, BASE, TOKEN), FakeClock(), local_dir)


def named(path: str) -> ScriptedTransport:
    return ScriptedTransport().will_answer({"ok": True, "result": {"file_id": "file-1", "file_path": path}})


async def test_a_file_is_asked_for_by_its_id_and_fetched_from_its_path():
    http = named("documents/file_1.txt").will_answer(b"hello")
    assert await files(http).read(FILE) == b"hello"
    assert http.sent[0].json() == {"file_id": "file-1"}
    assert http.sent[1].url == f"{BASE}/file/bot{TOKEN}/documents/file_1.txt"
    assert http.sent[1].method == "GET"


@pytest.mark.parametrize(("size", "shown"), [(30 * 1024 * 1024, "30 MB"), (MAX_FILE_BYTES + 1, "20.1 MB")])
async def test_a_file_over_20_mb_is_refused_before_any_call(size: int, shown: str):
    http = ScriptedTransport()
    with pytest.raises(ChannelError, match=rf"too large \({shown}\), limit 20 MB"):
        await files(http).read(Attachment("document", "f", size=size))
    assert http.sent == []


async def test_a_file_that_turns_out_larger_than_it_said_is_refused():
    http = named("a")
    http.script.append(HttpResponse(200, {}, bytes(MAX_FILE_BYTES), complete=False))
    with pytest.raises(ChannelError, match="too large"):
        await files(http).read(FILE)


async def test_a_file_that_breaks_off_is_not_taken_for_whole():
    http = ScriptedTransport()
    for _ in range(4):
        http.will_answer({"ok": True, "result": {"file_path": "a"}})
        http.script.append(HttpResponse(200, {}, b"hel", complete=False))
    with pytest.raises(ChannelError):
        await files(http).read(FILE)


async def test_a_failure_that_passes_costs_no_file():
    http = ScriptedTransport().will_answer({"ok": False, "error_code": 502, "description": "Bad Gateway"}, 502)
    http.will_raise(outcome_unknown(BASE, "closed the connection"))
    http.will_answer({"ok": True, "result": {"file_path": "a"}}).will_answer(b"", 503)
    http.will_answer({"ok": True, "result": {"file_path": "a"}}).will_answer(b"hello")
    assert await files(http).read(FILE) == b"hello"


async def test_a_wait_that_nobody_would_bear_is_a_failure():
    http = ScriptedTransport().will_answer(
        {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 31}}, 429
    )
    with pytest.raises(ChannelError, match="Too Many Requests"):
        await files(http).read(FILE)
    assert len(http.sent) == 1


@pytest.mark.parametrize(("path", "asked"), [("a b", "a%20b"), ("a?x=1#%2e", "a%3Fx%3D1%23%252e"), ("é/f", "%C3%A9/f")])
async def test_a_path_is_asked_for_as_it_is_named(path: str, asked: str):
    http = named(path)
    http.script.append(HttpResponse(200, {}, b"hello"))
    assert await files(http).read(FILE) == b"hello"
    assert http.sent[1].url.endswith(f"/{asked}")


@pytest.mark.parametrize("path", ["../etc/passwd", "a/../../b", "a\nb", "\udcff"])
async def test_a_path_that_could_lead_elsewhere_is_not_followed(path: str):
    http = named(path)
    with pytest.raises(ChannelError, match="invalid path"):
        await files(http).read(FILE)
    assert len(http.sent) == 1


async def test_in_local_mode_only_files_below_the_directory_are_read(tmp_path: Path):
    inside, outside = tmp_path / "files", tmp_path / "secret"
    inside.mkdir()
    (inside / "a.txt").write_bytes(b"inside")
    outside.write_bytes(b"outside")
    (inside / "link").symlink_to(outside)
    assert await files(named(str(inside / "a.txt")), inside).read(FILE) == b"inside"
    for path in (outside, inside / ".." / "secret", inside / "link"):
        with pytest.raises(ChannelError):
            await files(named(str(path)), inside).read(FILE)


async def test_without_the_directory_a_local_path_is_never_read():
    with pytest.raises(ChannelError):
        await files(named("/etc/hostname")).read(FILE)
