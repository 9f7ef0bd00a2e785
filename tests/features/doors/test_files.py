"""Files that arrive at doors: stored before the answer, sent with the message, and pruned afterwards."""

import base64
import hashlib
import hmac
import json
import tracemalloc
from pathlib import Path

import pytest
from tests.features.doors.conftest import FrontBench, names_of, open_front

from tocsin.core.config.core_variables import FILES_KEEP_DAYS
from tocsin.features.doors.receiving.files import safe_name
from tocsin.messaging.outbound.caller import Caller

PNG = b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(range(256)) * 20
MIB = 1024 * 1024


def form(*parts: tuple[str, str, bytes]) -> bytes:
    """Return a form with boundary x, of fields and of files with a name."""
    head = 'Content-Disposition: form-data; name="{}"'
    made = [
        (head.format(name) + (f'; filename="{file}"' if file else "")).encode() + b"\r\n\r\n" + content
        for name, file, content in parts
    ]
    return b"--x\r\n" + b"\r\n--x\r\n".join(made) + b"\r\n--x--\r\n"


FORM = ("Content-Type", "multipart/form-data; boundary=x")


async def stored(front: FrontBench) -> frozenset[str]:
    return await front.bench.app.files().store().hashes()


async def prune(front: FrontBench) -> None:
    """Remove the files that nothing needs, as services do each hour."""
    app = front.bench.app
    waiting = await app.features.needed_files()
    since = front.clock.now() - app.settings[FILES_KEEP_DAYS] * 86_400
    await app.files().store().prune(waiting | await app.outbox.store.needed_files(since))


@pytest.mark.parametrize(
    ("protocol", "path", "body", "headers", "name"),
    [
        ("webhook", "/in/{token}", PNG, (("Content-Type", "image/png"),), "attachment.png"),
        ("webhook", "/in/{token}", PNG, (), "attachment"),
        ("webhook", "/in/{token}", PNG, (("Content-Disposition", 'attachment; filename="a/b\\"c.png"'),), 'b"c.png'),
        ("webhook", "/in/{token}", form(("payload", "", b'{"title": "T"}'), ("thumb", "t.png", PNG)), (FORM,), "t.png"),
        ("apprise", "/notify/{token}", form(("body", "", b"see"), ("file01", "f.png", PNG)), (FORM,), "f.png"),
        ("discord", "/api/webhooks/1/{token}", form(("files[0]", "d.png", PNG)), (FORM,), "d.png"),
        ("gotify", "/message?token={token}", form(("message", "", b"m"), ("file", "g.png", PNG)), (FORM,), "g.png"),
        ("ntfy", "/alerts", PNG, (("Filename", "n.png"), ("Authorization", "Bearer {token}")), "n.png"),
    ],
)
async def test_a_file_is_stored_before_the_answer_and_sent_with_the_message(
    front: FrontBench, protocol: str, path: str, body: bytes, headers: tuple[tuple[str, str], ...], name: str
):
    address = await front.add(protocol=protocol)
    given = [(key, value.format(token=address.token)) for key, value in headers]

    answer = await front.post(path.format(token=address.token), body, *given)
    kept = await stored(front)
    [sent] = await front.work()

    assert answer.status in {200, 204}
    assert kept == {hashlib.sha256(PNG).hexdigest()}
    assert names_of(sent) == [name]
    assert (sent.content["attach"][0]["hash"], sent.content["attach"][0]["size"]) == (*kept, len(PNG))
    last = await front.last()
    assert (last.note in {"", None}, bool(last.payload)) == (True, True)


async def test_files_of_a_form_are_named_for_rules_and_the_rest_is_the_payload(front: FrontBench):
    address = await front.add()
    front.doors.rules.path.write_text("alerts:\n- title: ${payload.title} ${payload.files.0.name}\n")
    body = form(("payload", "", b'{"title": "Scan"}'), ("thumb", "a.png", PNG), ("more", "empty.txt", b""))

    await front.post(f"/in/{address.token}", body, FORM)
    [sent] = await front.work()

    assert (sent.content["title"], names_of(sent)) == ("Scan a.png", ["a.png"])
    assert "empty or too many: empty.txt" in (await front.last()).note


async def test_the_request_is_shown_with_the_fields_and_files_of_its_form(front: FrontBench):
    address = await front.add()
    body = form(("title", "", b"Scan"), ("thumb", "a.png", PNG))
    await front.post(f"/in/{address.token}", body, FORM)
    await front.work()

    files = [{"field": "thumb", "name": "a.png", "size": len(PNG)}]
    assert json.loads((await front.last()).payload) == {"title": "Scan", "files": files}


async def test_a_body_with_null_bytes_is_a_file_whatever_curl_claims(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", b"\x00\x01", ("Content-Type", "application/x-www-form-urlencoded"))
    [sent] = await front.work()

    [file] = sent.content["attach"]
    assert (sent.message, file["type"]) == ("You received a file: attachment", "application/octet-stream")


async def test_a_form_with_files_may_be_signed_over_its_raw_body(front: FrontBench):
    address = await front.add(secret="s3cret-s3cret")
    body = form(("title", "", b"Scan"), ("f", "a.png", PNG))
    good = "sha256=" + hmac.new(b"s3cret-s3cret", body, hashlib.sha256).hexdigest()

    forged = await front.post(f"/in/{address.token}", body + b" ", FORM, ("X-Hub-Signature-256", good))
    before = await stored(front)
    signed = await front.post(f"/in/{address.token}", body, FORM, ("X-Hub-Signature-256", good))
    large = await front.post(f"/in/{address.token}", bytes(9 * MIB), FORM, ("X-Hub-Signature-256", good))

    assert (forged.status, before, signed.status, large.status) == (401, frozenset(), 200, 413)
    assert [names_of(each) for each in await front.work()] == [["a.png"]]


async def test_at_most_ten_files_are_sent(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", form(*[("f", f"{n}.txt", b"x") for n in range(12)]), FORM)
    [sent] = await front.work()

    assert len(names_of(sent)) == 10
    assert (await front.last()).note.endswith("10.txt, 11.txt")


async def test_a_channel_without_files_gets_the_text_which_names_them(front: FrontBench):
    address = await front.add(profile="plain")
    await front.post(f"/in/{address.token}", form(("message", "", b"see"), ("f", "a.txt", b"x")), FORM)
    texts, echo = await front.work()

    assert texts.message.startswith("see\n\nFiles that were not sent (")
    assert texts.message.endswith(": a.txt")
    assert (names_of(texts), echo.message, names_of(echo)) == ([], "see", ["a.txt"])


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (form(("f", "a.bin", bytes(2 * MIB))), (FORM,)),
        (form(("f", "a.bin", bytes(MIB)), ("f", "b.bin", bytes(1))), (FORM,)),
        (bytes(2 * MIB), (("Content-Type", "image/png"),)),
        (form(("text", "", b"x" * (MIB + 1))), (FORM,)),
    ],
    ids=["one", "together", "raw", "fields"],
)
async def test_files_beyond_the_limit_of_messages_are_refused(tmp_path: Path, body: bytes, headers: tuple):
    async with open_front(tmp_path, {"MAX_FILES_MB": "1"}) as front:
        address = await front.add()

        answer = await front.post(f"/in/{address.token}", body, *headers)

        assert (answer.status, await front.work()) == (413, [])
        assert (await front.last()).state == "refused"


async def test_a_full_store_of_files_is_a_503(tmp_path: Path):
    async with open_front(tmp_path, {"FILES_QUOTA_MB": "1"}) as front:
        address = await front.add()

        answer = await front.post(f"/in/{address.token}", bytes(2 * MIB), ("Content-Type", "image/png"))

        assert (answer.status, bool(answer.header("retry-after"))) == (503, True)


@pytest.mark.parametrize("cut", [b"", form(("f", "a.txt", b"whole"))[:-10]])
async def test_a_form_that_is_not_complete_is_refused(front: FrontBench, cut: bytes):
    address = await front.add()
    no_boundary = ("Content-Type", "multipart/form-data")

    assert (await front.post(f"/in/{address.token}", cut, FORM)).status == 400
    assert (await front.post(f"/in/{address.token}", cut, no_boundary)).status == 400


async def test_a_sender_of_files_proves_itself_before_anything_is_stored(front: FrontBench):
    address = await front.add(secret="s3cret-s3cret")
    basic = base64.b64encode(b"me:s3cret-s3cret").decode()
    body = form(("f", "a.png", PNG))

    unproved = await front.post(f"/in/{address.token}", body, FORM)
    signed = await front.post(f"/in/{address.token}", body, FORM, ("X-Hub-Signature-256", "sha256=x"))
    before = await stored(front)
    proved = await front.post(f"/in/{address.token}", body, FORM, ("Authorization", f"Basic {basic}"))

    assert (unproved.status, signed.status, proved.status) == (401, 401, 200)
    assert (before, len(await stored(front))) == (frozenset(), 1)


async def test_a_large_file_takes_no_memory_of_its_size(front: FrontBench):
    address = await front.add()
    body = [bytes(64 * 1024)] * 320
    await front.post(f"/in/{address.token}", b"warm")
    tracemalloc.start()
    try:
        answer = await front.client.request("PUT", f"/in/{address.token}", ("Content-Type", "video/mp4"), body=body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert answer.status == 200
    assert peak < 4 * MIB


async def test_files_are_kept_while_their_request_waits_and_pruned_when_nothing_needs_them(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", PNG, ("Content-Type", "image/png"))
    front.clock.advance(2 * 3_600)
    await prune(front)
    waiting = await stored(front)
    [sent] = await front.work()
    await prune(front)
    queued = await stored(front)
    await front.bench.app.outbox.cancel(sent.id, Caller("cli"))
    front.clock.advance(30 * 86_400)
    await prune(front)

    assert (len(waiting), len(queued), len(await stored(front))) == (1, 1, 0)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.txt", "a.txt"),
        ("a\x00\r\n\u202egpj.exe", "agpj.exe"),
        ("..", "attachment"),
        ("", "attachment"),
        ("x" * 300 + ".txt", "x" * 196 + ".txt"),
        ("é" * 300 + ".txt", "é" * 98 + ".txt"),
    ],
)
def test_names_of_files_are_made_safe(given: str, name: str):
    assert safe_name(given) == name
