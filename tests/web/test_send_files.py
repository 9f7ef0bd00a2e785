"""Files over HTTP: forms, which are stored while they arrive, and Base64 in JSON (docs/http.md, "Files")."""

import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.web.asgi_client import Client
from tests.web.conftest import Gateway, MakeGateway
from tests.web.forms import BOUNDARY, FORM_TYPE, field, file, form

from tocsin.assembly.program import App
from tocsin.core.errors import ChannelError
from tocsin.delivery.store import DeliveryFilter
from tocsin_standins import StandinCluster
from tocsin_standins.faults import Fault

FORM = ("Content-Type", FORM_TYPE)
ASYNC = ("Prefer", "respond-async")
WHOLE = {"channel": "teamchat", "target": "#ops", "message": "Root is 91 % full"}

Live = tuple[Client, App]


def message(**more: Any) -> bytes:
    return field("message", json.dumps({**WHOLE, **more}), "application/json")


def pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


async def post(client: Client, raw: bytes, *headers: tuple[str, str], size: int = 65_536) -> Any:
    return await client.request("POST", "/send", FORM, *headers, body=pieces(raw, size))


@pytest.mark.parametrize("size", [1, 7, 65_536])
async def test_a_form_is_sent_however_it_is_divided(live: Live, town: StandinCluster, size: int):
    client, _ = live
    data = b"\r\n--" + BOUNDARY.encode()[:-1] + b"\r\n\r\n-" * 20
    answer = await post(client, form(message(), file("a \u00e4.log", data)), size=size)
    assert answer.status == 200, answer.json()
    assert list(town.teamchat.files.values()) == [data]


async def test_every_file_part_is_attached_in_order(live: Live, town: StandinCluster):
    client, app = live
    parts = [file("b.log", b"2"), message(title="web1"), file("a.log", b"1"), file("c.png", b"3", "image/png")]
    answer = await post(client, form(*parts), ASYNC)
    assert answer.status == 202, answer.json()
    delivery = await app.outbox.get(answer.json()["id"])
    names = [(each["name"], each["type"], each["size"]) for each in delivery.content["attach"]]
    assert names == [("b.log", "text/plain", 1), ("a.log", "text/plain", 1), ("c.png", "image/png", 1)]
    assert delivery.content["title"] == "web1"


async def test_the_fields_of_a_form_may_be_parts_of_their_own(live: Live, town: StandinCluster):
    client, _ = live
    fields = [field(name, value) for name, value in {**WHOLE, "priority": "high"}.items()]
    answer = await post(client, form(*fields, file("a.log", b"line")))
    assert answer.status == 200, answer.json()
    assert list(town.teamchat.files.values()) == [b"line"]


def named(part: str, name: str, data: bytes) -> bytes:
    return file(name, data).replace(b'name="file"', f'name="{part}"'.encode(), 1)


@pytest.mark.parametrize("kind", ["application/json", ""])
async def test_the_message_describes_the_files_of_named_parts(live: Live, kind: str):
    client, app = live
    attach = [{"part": "b", "alt": "Use of the disk", "mime": "image/png"}, {"part": "a", "name": "renamed.log"}]
    document = field("message", json.dumps({**WHOLE, "attach": attach}), kind)
    answer = await post(client, form(named("a", "a.log", b"1"), document, named("b", "b", b"2")), ASYNC)
    assert answer.status == 202, answer.json()
    stored = (await app.outbox.get(answer.json()["id"])).content["attach"]
    assert [(each["name"], each["type"], each.get("alt", "")) for each in stored] == [
        ("renamed.log", "text/plain", ""),
        ("b", "image/png", "Use of the disk"),
    ]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"part": "b"}, "no further file in a part 'b'"),
        ({"part": "a", "size": 1}, "unknown key 'size'"),
        ({"part": "a", "mimetype": "text/plain"}, "unknown key 'mimetype'"),
        ({"part": "a", "name": {"a": 1}}, "`name` must be text"),
        ({"part": "a", "alt": None}, "`alt` must be text"),
    ],
)
async def test_a_description_without_its_file_is_refused(live: Live, item: dict[str, object], said: str):
    client, _ = live
    answer = await post(client, form(message(attach=[item]), named("a", "a.log", b"1")))
    assert (answer.status, said in answer.json()["detail"]) == (422, True)


async def test_a_file_may_be_base64_in_json(live: Live, town: StandinCluster):
    client, _ = live
    attach = [{"name": "a.log", "content": base64.b64encode(b"line").decode()}]
    answer = await client.send({**WHOLE, "attach": attach})
    assert answer.status == 200, answer.json()
    assert list(town.teamchat.files.values()) == [b"line"]


async def test_a_stored_file_may_be_named_by_its_hash(live: Live, town: StandinCluster):
    client, app = live
    queued = await post(client, form(message(), file("a.log", b"line")), ASYNC)
    [stored] = (await app.outbox.get(queued.json()["id"])).content["attach"]
    answer = await client.send({**WHOLE, "attach": [{"name": "again.log", "hash": stored["hash"]}]})
    assert answer.status == 200, answer.json()


@pytest.mark.parametrize(("attach", "stored"), [({}, None), ({"attach": []}, [])])
async def test_an_edit_says_whether_it_removes_the_files_of_its_message(
    live: Live, attach: dict[str, Any], stored: list[object] | None
):
    client, app = live
    answer = await client.send({**WHOLE, "key": "disk", **attach}, ASYNC)
    assert (await app.outbox.get(answer.json()["id"])).content.get("attach") == stored


@pytest.mark.parametrize("attach", ["PATH", ["PATH"], [{"name": "PATH"}], [{"name": "a.log", "path": "PATH"}]])
async def test_a_file_of_the_server_is_never_attached_by_its_path(live: Live, tmp_path: Path, attach: object):
    client, app = live
    secret = tmp_path / "secret"
    secret.write_text("not for callers")
    given = json.loads(json.dumps(attach).replace("PATH", str(secret)))
    answer = await client.send({**WHOLE, "attach": given})
    assert answer.status == 422, answer.json()
    with pytest.raises(ChannelError):
        await app.files().take({"attach": given})
    assert await app.files().store().hashes() == frozenset()


BAD: dict[str, tuple[Sequence[bytes], int, str]] = {
    "an empty file": ([message(), file("a.log", b"")], 422, "a.log is empty"),
    "a file that is too large": ([message(), file("a.log", b"x" * (2**20 + 1))], 422, "MAX_FILES_MB"),
    "files that are too large together": (
        [message(), file("a", b"x" * 600_000), file("b", b"x" * 600_000)], 422, "MAX_FILES_MB",
    ),
    "eleven files": ([message(), *(file(f"{n}.log", b"x") for n in range(11))], 422, "at most 10 files, not 11"),
    "a hostile name": ([message(), file("..", b"x")], 422, "not the name of a file"),
    "a name of 202 bytes": ([message(), file("é" * 101, b"x")], 422, "expected at most 200 bytes, found 202"),
    "no message": ([file("a.log", b"x")], 422, "need attention"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_a_form_that_cannot_be_sent_is_refused(name: str, make_gateway: MakeGateway):
    parts, status, said = BAD[name]
    gateway: Gateway = make_gateway({"MAX_FILES_MB": "1"})
    answer = await post(gateway.client, form(*parts))
    assert answer.status == status, answer.json()
    assert said in json.dumps(answer.json())
    assert gateway.transport.sent == []


CUT: dict[str, Iterable[bytes]] = {
    "no final delimiter": [form(message(), file("a.log", b"x"))[:-8]],
    "an endless header": [b"--" + BOUNDARY.encode() + b"\r\nX: " + b"y" * 10_000],
    "no form at all": [b"hello"],
}


@pytest.mark.parametrize("name", CUT)
async def test_a_form_that_is_not_complete_is_refused_and_leaves_no_file(
    name: str, make_gateway: MakeGateway, tmp_path: Path
):
    answer = await make_gateway().client.request("POST", "/send", FORM, body=CUT[name])
    assert (answer.status, answer.json()["code"]) == (400, "invalid-request")
    assert list((tmp_path / "files").glob("tmp/*")) == []


async def test_a_file_that_the_product_refuses_for_good_is_a_422_that_says_that_the_text_was_sent(
    live: Live, town: StandinCluster
):
    client, _ = live
    town.teamchat.faults.push(Fault.error("file_uploads_disabled").only("files.getUploadURLExternal"))
    answer = await post(client, form(message(), file("a.log", b"line")))
    assert answer.status == 422
    assert "the text was sent, but not every file" in answer.json()["error"]


async def test_a_file_that_may_be_sent_later_is_sent_by_the_replay(live: Live, town: StandinCluster):
    client, app = live
    town.teamchat.faults.push(Fault.error("internal_error").only("files.getUploadURLExternal"))
    answer = await post(client, form(message(), file("a.log", b"line")))
    assert answer.status == 504
    assert "/replay" in answer.json()["error"]
    [found] = (await app.outbox.store.search(DeliveryFilter())).items
    assert (found.parts_sent, found.parts_total) == (1, 2)
    assert json.loads(found.ref)["channel"] == "C00000OPS"
