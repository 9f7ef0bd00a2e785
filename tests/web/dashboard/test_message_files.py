"""Files on the dashboard's API: forms, as on the gateway, and what a preview shows of files (docs/http.md, "Files")."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.web.dashboard.conftest import open_program
from tests.web.forms import FORM_TYPE, field, file, form

from tocsin.assembly.program import App
from tocsin.delivery.store import DeliveryFilter
from tocsin.testing.dashboard import DashboardAnswer, DashboardClient, open_dashboard
from tocsin.testing.fakes import ScriptedTransport

WHOLE = {"channel": "teamchat", "target": "#ops", "message": "Root is 91 % full"}
Opened = tuple[DashboardClient, App]


@pytest.fixture
async def opened(tmp_path: Any) -> AsyncIterator[Opened]:
    """Open a dashboard that takes at most 1 MiB of files in a message."""
    (tmp_path / "profiles.yaml").write_text("oncall:\n  - {channel: teamchat, target: '#ops'}\n")
    async with (
        open_program(tmp_path, ScriptedTransport(), {"MAX_FILES_MB": "1"}) as app,
        open_dashboard(app) as client,
    ):
        yield client, app


def message(values: Mapping[str, Any], kind: str = "application/json") -> bytes:
    return field("message", json.dumps(values), kind)


async def post(client: DashboardClient, path: str, *parts: bytes, **headers: str) -> DashboardAnswer:
    return await client.call("POST", path, form(*parts), headers={"content-type": FORM_TYPE, **headers})


async def test_the_files_of_a_form_are_attached_in_order(opened: Opened):
    client, app = opened
    parts = [file("b.log", b"2"), message({**WHOLE, "queue": True, "title": "web1"}), file("a.png", b"1", "image/png")]
    answer = await post(client, "/api/msg/send", *parts)
    assert answer.status == 202, answer.json()
    content = (await app.outbox.get(answer.json()["id"])).content
    assert [(each["name"], each["type"], each["size"]) for each in content["attach"]] == [
        ("b.log", "text/plain", 1), ("a.png", "image/png", 1),
    ]  # fmt: skip
    assert content["title"] == "web1"
    assert len(await app.files().store().hashes()) == 2


async def test_a_message_that_a_browser_writes_as_a_file_is_the_message(opened: Opened):
    client, _ = opened
    head = b'Content-Disposition: form-data; name="message"; filename="blob"\r\nContent-Type: application/json\r\n\r\n'
    body = json.dumps({**WHOLE, "queue": True}).encode()
    assert (await post(client, "/api/msg/send", head + body, file("a.log", b"1"))).status == 202


async def test_a_form_is_sent_to_a_profile(opened: Opened):
    client, app = opened
    path, said = "/api/msg/profiles/oncall/send", message({"message": "Root is 91 % full"})
    answer = await post(client, path, said, file("a.log", b"1"), prefer="respond-async")
    assert answer.status == 202, answer.json()
    [queued] = (await app.outbox.store.search(DeliveryFilter())).items
    assert queued.content["attach"][0]["name"] == "a.log"


REFUSED: dict[str, tuple[list[bytes], int, str]] = {
    "an empty file": ([message(WHOLE), file("a.log", b"")], 422, "a.log is empty"),
    "too large together": ([message(WHOLE), *[file("a", b"x" * 600_000)] * 2], 422, "MAX_FILES_MB"),
    "eleven files": ([message(WHOLE), *[file("a.log", b"x")] * 11], 422, "at most 10 files, not 11"),
    "a hostile name": ([message(WHOLE), file("..", b"x")], 422, "not the name of a file"),
    "an unknown field": ([message({**WHOLE, "colour": "red"}), file("a.log", b"x")], 422, "unknown-key"),
    "no message": ([file("a.log", b"x")], 422, "validation-failed"),
    "fields of more than 1 MiB": ([field("message", "x" * 1_100_000)], 413, "larger than 1 MiB"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_form_that_cannot_be_sent_is_refused(name: str, opened: Opened):
    parts, status, said = REFUSED[name]
    client, _ = opened
    answer = await post(client, "/api/msg/send", *parts)
    assert (answer.status, said in answer.body.decode()) == (status, True), answer.body


@pytest.mark.parametrize(("user", "scopes", "status"), [("", [], 401), ("reader", ["read"], 403)])
async def test_nothing_is_stored_for_a_caller_who_may_not_send(
    opened: Opened, user: str, scopes: list[str], status: int
):
    client, app = opened
    stranger = replace(client, user=user, scopes=frozenset(scopes))
    answer = await post(stranger, "/api/msg/send", message(WHOLE), file("a.log", b"1"))
    assert answer.status == status
    assert await app.files().store().hashes() == frozenset()


async def test_a_form_from_another_site_is_refused_and_stores_nothing(opened: Opened):
    client, app = opened
    browser = replace(client, login="session")
    foreign = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    answer = await post(browser, "/api/msg/send", message(WHOLE), file("a.log", b"1"), **foreign)
    assert (answer.status, answer.json()["code"]) == (403, "cross-site-request")
    assert await app.files().store().hashes() == frozenset()


async def test_an_operation_without_files_takes_no_form(opened: Opened):
    client, _ = opened
    answer = await post(client, "/api/runs/none/cancel", file("a.log", b"1"))
    assert (answer.status, answer.json()["code"]) == (415, "unsupported-media-type")


async def test_a_repeated_form_is_sent_once_and_one_with_another_file_is_refused(opened: Opened):
    client, _ = opened
    said, key = message({**WHOLE, "queue": True}), "the first key"
    answers = [
        await post(client, "/api/msg/send", said, file("a.log", data), **{"idempotency-key": key})
        for data in (b"1", b"1", b"2")
    ]
    assert [each.status for each in answers] == [202, 202, 422]
    assert answers[0].json() == answers[1].json()
    assert answers[2].json()["code"] == "idempotency-key-reused"


async def test_a_dry_run_needs_only_the_names_and_sizes_of_files(opened: Opened):
    client, app = opened
    attach = [{"name": "graph.png", "type": "image/png", "size": 4_096}, {"name": "df.log", "size": 20}]
    answer = await client.post("/api/msg/send", {**WHOLE, "attach": attach, "dry_run": True})
    assert answer.json()["files"] == [
        {"name": "graph.png", "type": "image/png", "size": 4_096, "part": 2},
        {"name": "df.log", "type": "application/octet-stream", "size": 20, "part": 2},
    ], answer.json()
    assert await app.files().store().hashes() == frozenset()
    refused = await client.post("/api/msg/send", {**WHOLE, "attach": attach})
    assert refused.status == 422


async def test_a_dry_run_names_a_file_that_is_too_large(opened: Opened):
    client, _ = opened
    attach = [{"name": "graph.png", "size": 2**20 + 1}]
    answer = await client.post("/api/msg/send", {**WHOLE, "attach": attach, "dry_run": True})
    assert (answer.status, "MAX_FILES_MB" in answer.json()["detail"]) == (422, True)


async def test_a_dry_run_of_a_long_text_with_a_key_shows_that_the_whole_is_a_file(opened: Opened):
    client, _ = opened
    answer = await client.post("/api/msg/send", {**WHOLE, "message": "line\n" * 2_000, "key": "disk", "dry_run": True})
    [part], [whole] = answer.json()["parts"], answer.json()["files"]
    assert "message.txt" in part["text"]
    assert (whole["name"], whole["size"]) == ("message.txt", 10_000)


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 600_000
SHOWN: dict[str, tuple[str, str, bytes, str, str]] = {
    "an image": ("graph.png", "image/png", PNG, "image/png", "inline"),
    "a text": ("df.log", "text/plain", b"<script>alert(1)</script>", "application/octet-stream", "attachment"),
    "a page": ("a.html", "text/html", b"<script>alert(1)</script>", "application/octet-stream", "attachment"),
    "a drawing with scripts": ("a.svg", "image/svg+xml", b"<svg/>", "application/octet-stream", "attachment"),
    "what only claims to be an image": ("a.png", "image/png", b"<html>", "application/octet-stream", "attachment"),
}


@pytest.mark.parametrize("name", SHOWN)
async def test_a_file_of_a_delivery_is_shown_only_if_it_is_a_safe_image(name: str, opened: Opened):
    client, _ = opened
    file_name, kind, data, shown_kind, disposition = SHOWN[name]
    sent = await post(client, "/api/msg/send", message({**WHOLE, "queue": True}), file(file_name, data, kind))
    answer = await client.get(f"/api/deliveries/{sent.json()['id']}/file?number=1")
    assert (answer.status, answer.body) == (200, data)
    assert (answer.headers["content-type"], answer.headers["content-length"]) == (shown_kind, str(len(data)))
    assert answer.headers["content-disposition"] == f"{disposition}; filename*=UTF-8''{file_name}"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_a_file_that_is_gone_or_was_never_there_is_not_found(opened: Opened):
    client, app = opened
    sent = await post(client, "/api/msg/send", message({**WHOLE, "queue": True}), file("a.log", b"1"))
    path = f"/api/deliveries/{sent.json()['id']}/file"
    [stored] = await app.files().store().hashes()
    await app.files().store().remove(stored)
    for query, said in (("?number=1", "content of a file is gone"), ("?number=2", "no file 2")):
        answer = await client.get(path + query)
        assert (answer.status, said in answer.json()["detail"]) == (404, True), answer.json()


@pytest.mark.parametrize(("attach", "stored"), [({}, ["a.log"]), ({"attach": []}, [])])
async def test_an_edit_says_whether_it_removes_the_files_of_its_message(
    opened: Opened, attach: Mapping[str, Any], stored: list[str]
):
    client, app = opened
    keyed = {**WHOLE, "key": "disk", "queue": True}
    await post(client, "/api/msg/send", message(keyed), file("a.log", b"1"))
    edit = await client.post("/api/msg/send", {**keyed, "message": "fine again", **attach})
    files = (await app.outbox.get(edit.json()["id"])).content["attach"]
    assert [each["name"] for each in files] == stored
