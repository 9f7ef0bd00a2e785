"""Doors that speak as the API server of Apprise."""

from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.features.doors.conftest import FrontBench, names_of, open_front

from tocsin.features.doors.model import DoorAddress
from tocsin.features.doors.receiving.html import html_to_markdown

FORM = ("Content-Type", "application/x-www-form-urlencoded")
MULTIPART = ("Content-Type", "multipart/form-data; boundary=x")
JSON = ("Accept", "application/json")


@pytest.fixture
async def address(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="apprise")


async def test_both_forms_of_the_address_are_printed(address: DoorAddress):
    assert address.url == f"{address.base_url}/notify/{address.token}"
    assert address.apprise_url == f"apprise://127.0.0.1:8300/{address.token}"


async def test_the_key_is_in_the_path_or_in_a_header(front: FrontBench, address: DoorAddress):
    key = ("X-Apprise-Config-ID", address.token)
    for path, headers in ((f"/notify/{address.token}", ()), (f"/notify/{address.token}/", ()), ("/notify", (key,))):
        answer = await front.post(path, {"body": "x"}, *headers)
        assert (answer.status, answer.json()["error"]) == (200, None)
    assert len(await front.work()) == 3


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"title": "Disk", "body": "full", "type": "failure"}', ()),
        (b"title=Disk&body=full&type=failure&format=text&tag=ops", (FORM,)),
        (
            b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nDisk\r\n'
            b'--x\r\nContent-Disposition: form-data; name="body"\r\n\r\nfull\r\n'
            b'--x\r\nContent-Disposition: form-data; name="type"\r\n\r\nfailure\r\n'
            b'--x\r\nContent-Disposition: form-data; name="file01"; filename="a.txt"\r\n\r\nhi\r\n--x--\r\n',
            (MULTIPART,),
        ),
        (b"full", (("X-Apprise-Title", "Disk"), ("X-Apprise-Type", "failure"), ("Content-Type", "text/plain"))),
    ],
    ids=["json", "form", "multipart", "text"],
)
async def test_fields_come_as_json_form_multipart_or_text(
    front: FrontBench, address: DoorAddress, body: bytes, headers: tuple[tuple[str, str], ...]
):
    assert (await front.post(f"/notify/{address.token}", body, *headers)).status == 200

    [sent] = await front.work()
    assert (sent.message, sent.parse_mode) == ("full", "plain")
    assert {**sent.content, "attach": 0} == {"title": "Disk", "type": "failure", "priority": 5, "attach": 0}
    assert names_of(sent) == (["a.txt"] if MULTIPART in headers else [])


async def test_query_parameters_give_what_the_body_does_not(front: FrontBench, address: DoorAddress):
    query = urlencode({"title": "by query", "type": "warning", "format": "markdown"})
    await front.post(f"/notify/{address.token}?{query}", {"body": "**x**", "type": "success"})

    [sent] = await front.work()
    assert (sent.content["title"], sent.content["type"], sent.parse_mode) == ("by query", "success", "commonmark")


async def test_the_query_maps_fields_of_any_json(front: FrontBench, address: DoorAddress):
    query = urlencode({":event.name": "title", ":items[0].what": "body", ":type": ""})
    event = {"event": {"name": "Job"}, "items": [{"what": "done"}], "type": "no type of Apprise"}

    assert (await front.post(f"/notify/{address.token}?{query}", event)).status == 200
    [sent] = await front.work()
    assert (sent.content["title"], sent.message) == ("Job", "done")


async def test_html_is_shown_as_markdown(front: FrontBench, address: DoorAddress):
    await front.post(f"/notify/{address.token}", {"body": "<b>Disk</b> <i>full</i>", "format": "html"})

    [sent] = await front.work()
    assert (sent.message, sent.parse_mode) == ("**Disk** _full_", "commonmark")


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<a href='https://e.org/x'>see</a> <a href='javascript:x'>no</a>", "[see](<https://e.org/x>) no"),
        ("a*b_c <code>x*</code>", "a\\*b\\_c `x*`"),
        ("<pre>a\nb</pre>", "```\na\nb\n```"),
        ("<ul><li>x</li><li>y</li></ul><script>alert(1)</script>", "• x\n• y"),
    ],
)
def test_html_becomes_markdown(html: str, markdown: str):
    assert html_to_markdown(html) == markdown


async def test_attachments_are_sent_and_addresses_are_links(front: FrontBench, address: DoorAddress):
    attachments = [{"filename": "a.txt", "base64": "aGk=", "mimetype": "text/plain"}, "https://e.org/p.png"]
    await front.post(f"/notify/{address.token}", {"title": "T", "attachments": attachments})

    [sent] = await front.work()
    assert sent.message == "https://e.org/p.png"
    assert (names_of(sent), sent.content["attach"][0]["type"]) == (["a.txt"], "text/plain")


@pytest.mark.parametrize(
    ("body", "query", "said"),
    [
        (b"{", "", "Bad JSON"),
        (b"[]", "", "Bad JSON"),
        (b"", "", "minimum requirements"),
        (b'{"title": "only"}', "", "minimum requirements"),
        (b'{"body": "x", "type": "loud"}', "", "invalid type"),
        (b'{"body": "x", "format": "rtf"}', "", "invalid format"),
        (b'{"attachment": {"filename": "a", "base64": "%"}}', "", "not valid Base64"),
        (b'{"body": "x", "tag": "a;b"}', "", "Unsupported tag"),
        (b'{"body": "x"}', "?:missing=title", "mapping failed"),
        (b'{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}', "?:a.b.c.d.e.f=body", "mapping failed"),
    ],
)
async def test_what_the_original_refuses_is_a_400_with_a_reason(
    front: FrontBench, address: DoorAddress, body: bytes, query: str, said: str
):
    answer = await front.post(f"/notify/{address.token}{query}", body, ("Content-Type", "application/json"))

    assert (answer.status, said in answer.json()["error"]) == (400, True)


async def test_wrong_and_missing_keys_are_answered_with_a_body(front: FrontBench, address: DoorAddress):
    wrong = await front.post("/notify/nonsense", {"body": "x"})
    missing = await front.post("/notify", {"body": "x"})
    large = await front.post(f"/notify/{address.token}", b"x" * (16 * 1024 * 1024 + 1))
    again = await front.post(f"/notify/{address.token}", {"body": "x"}, ("X-Apprise-Recursion-Count", "2"))

    assert [each.status for each in (wrong, missing, large, again)] == [404, 400, 431, 406]
    assert wrong.json() == {"error": "There was no configuration found"}
    assert all(each.json()["error"] for each in (missing, large, again))


async def test_the_server_looks_as_one_whose_configuration_is_locked(front: FrontBench, address: DoorAddress):
    assert (await front.client.get("/status")).body == b"OK"
    assert (await front.client.get("/status", JSON)).json()["config_lock"] is True
    assert (await front.client.get("/details")).json()["schemas"] == []
    [url] = (await front.client.get(f"/json/urls/{address.token}?privacy=1")).json()["urls"]
    assert (url["id"], address.token in str(url)) == ("alerts", False)
    for word in ("add", "del", "get", "cfg"):
        assert (await front.post(f"/{word}/{address.token}", {"urls": "json://x"})).status == 403


async def test_paths_may_end_with_a_slash_and_unknown_addresses_are_a_204(front: FrontBench, address: DoorAddress):
    paths = ("/status/", "/details/", f"/json/urls/{address.token}/", "/json/urls/unknown")

    assert [(await front.client.get(path)).status for path in paths] == [200, 200, 200, 204]
    status = (await front.client.get("/status", JSON)).json()
    assert {"max_attachments", "attach_size", "config_lock", "attach_lock", "stateful_enabled"} < status.keys()


async def test_the_answer_is_text_for_senders_that_do_not_want_json(front: FrontBench, address: DoorAddress):
    answer = await front.post(f"/notify/{address.token}", b"body=x", FORM)

    assert (answer.status, answer.header("content-type")) == (200, "text/plain; charset=utf-8")
    assert b"INFO" in answer.body


TAGGED = """
oncall:
- {channel: echo, target: ops, tags: [ops, night]}
- {channel: echo, target: dev, tags: [dev]}
- {channel: echo, target: none}
quiet:
- {channel: echo, target: quiet}
"""


@pytest.mark.parametrize(
    ("tag", "targets"),
    [
        (None, ["ops", "dev", "none"]),
        ("ops", ["ops"]),
        ("ops, dev", ["ops", "dev"]),
        ("ops|dev", ["ops", "dev"]),
        ("ops night", ["ops"]),
        ("ops+dev", []),
        ("1:ops:3", ["ops"]),
        (["ops", "dev"], ["ops", "dev"]),
        ([["ops", "dev"], "dev"], ["dev"]),
        ("all", ["ops", "dev", "none"]),
        ("nobody", []),
    ],
)
async def test_a_tag_chooses_the_targets_of_a_profile(tmp_path: Path, tag: object, targets: list[str]):
    async with open_front(tmp_path, profiles=TAGGED) as front:
        address = await front.add(protocol="apprise")
        await front.post(f"/notify/{address.token}", {"body": "x", **({"tag": tag} if tag else {})})

        assert [each.target for each in await front.work()] == targets
        last = await front.last()
        assert (last.state, len(front.bench.notices)) == (("sent", 0) if targets else ("failed", 1))
        assert ("no target of the profile oncall has the tags" in (last.note or "")) == (not targets)


async def test_a_tag_of_the_query_counts_and_one_of_the_body_comes_first(tmp_path: Path):
    async with open_front(tmp_path, profiles=TAGGED) as front:
        address = await front.add(protocol="apprise")
        await front.post(f"/notify/{address.token}?tag=dev", {"body": "x"})
        await front.post(f"/notify/{address.token}?tag=dev", {"body": "y", "tag": "ops"})

        assert [(each.message, each.target) for each in await front.work()] == [("x", "dev"), ("y", "ops")]


async def test_in_a_profile_without_tags_a_tag_is_only_a_label(front: FrontBench, address: DoorAddress):
    await front.post(f"/notify/{address.token}", {"body": "x", "tag": "ops"})

    assert [each.target for each in await front.work()] == ["alerts"]
