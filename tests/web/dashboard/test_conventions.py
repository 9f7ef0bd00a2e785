"""Headers and cursors that mean the same in every operation."""

import json
from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest

from tocsin.runs.model import RunResult, RunSpec, RunTrigger

MESSAGE = {"channel": "teamchat", "target": "#ops", "message": "hello"}
WORKFLOW = "name: greet\nsteps:\n  - {name: say, type: shell, command: echo hello}\n"


async def test_a_record_is_not_sent_again_while_it_is_as_the_caller_has_it(whole):
    place = (await whole.post("/api/memory", {"key": "colour", "value": "blue"})).headers["location"]
    etag = (await whole.get(place)).headers["etag"]
    for known in (etag, f"W/{etag}", f'"another", {etag}', "*"):
        for method in ("GET", "HEAD"):
            same = await whole.call(method, place, headers={"if-none-match": known})
            assert (same.status, same.body, same.headers["etag"]) == (304, b"", etag)
    assert (await whole.get(place, if_none_match='"another"')).status == 200
    assert (await whole.get("/api/memory/nothing", if_none_match="*")).status == 404
    await whole.post("/api/memory", {"key": "colour", "value": "red"})
    assert (await whole.get(place, if_none_match=etag)).json()["value"] == "red"


async def test_a_workflow_is_not_replaced_by_who_wants_a_new_one(whole):
    async def save(text, **headers):
        return await whole.call("PUT", "/api/workflows/greet", {"yaml": text}, headers=headers)

    assert (await save(WORKFLOW, if_none_match="*")).status == 201
    refused = await save(f"{WORKFLOW}# mine\n", if_none_match="*")
    assert (refused.status, refused.json()["code"]) == (412, "precondition-failed")
    assert (await whole.get("/api/workflows/greet")).json()["yaml"] == WORKFLOW


async def test_the_log_of_a_run_is_answered_in_the_type_that_is_liked_best(whole, program):
    async def work(run):
        run.write("stdout", b"hello\n")
        return RunResult.ended(0)

    spec = RunSpec("cron", "1", "nightly", RunTrigger.API, "anna")
    run = (await (await program.runs().start(spec, work)).wait()).id
    for accept, media in (
        ("text/plain;q=0", "application/json"),
        ("text/plain, application/json;q=0.5", "text/plain; charset=utf-8"),
        ("application/json, text/plain;q=0.1", "application/json"),
        ("image/png", "application/json"),
    ):
        answer = await whole.get(f"/api/runs/{run}", accept=accept)
        assert (answer.headers["content-type"], answer.headers["vary"]) == (media, "Accept"), accept
    assert "vary" not in (await whole.get("/api/runs")).headers


async def test_exports_and_feeds_weigh_the_types_that_are_accepted(whole):
    for path, accept, media in (
        ("/api/audit/tail", "application/x-ndjson;q=0.1, application/json", "application/json"),
        ("/api/audit/search", "application/json;q=0.1, text/csv", "text/csv; charset=utf-8"),
        ("/api/notifications/feed", "application/atom+xml;q=0, */*", "application/feed+json"),
        ("/api/notifications/feed", "text/event-stream;q=0, application/xml", "application/atom+xml"),
    ):
        answer = await whole.get(path, accept=accept)
        assert (answer.status, answer.headers["content-type"], answer.headers["vary"]) == (200, media, "Accept"), accept
    assert (await whole.get("/api/notifications/feed", accept="application/atom+xml;q=0")).status == 406


async def test_a_page_of_the_audit_log_is_no_page_of_another_list(whole):
    for number in range(4):
        await whole.post("/api/memory", {"key": f"k{number}", "value": "x"})
    first = (await whole.get("/api/audit/search?action=memory.*&limit=2")).json()
    cursor, ids = first["next_cursor"], [item["id"] for item in first["items"]]
    rest = (await whole.get(f"/api/audit/search?action=memory.*&limit=200&cursor={cursor}")).json()
    assert ids + [item["id"] for item in rest["items"]] == ["4", "3", "2", "1"]
    for path in (
        f"/api/audit/search?action=cron.*&cursor={cursor}",
        f"/api/audit/tail?cursor={cursor}",
        "/api/audit/tail?cursor=3",
    ):
        answer = await whole.get(path)
        assert (answer.status, answer.json()["errors"][0]["code"]) == (422, "bad-cursor"), path


@pytest.mark.parametrize("path", ["/api/audit/search", "/api/audit/tail"])
async def test_a_cursor_that_a_caller_makes_up_is_no_bug(whole, path: str):
    list_id = sha256(json.dumps([path, []]).encode()).hexdigest()
    for start in ("x", "1:2", "9" * 30):
        mark = sha256(f"{list_id} {start}".encode()).hexdigest()[:12]
        answer = await whole.get(f"{path}?cursor={urlsafe_b64encode(f'{mark}{start}'.encode()).decode().rstrip('=')}")
        assert (answer.status, answer.json()["errors"][0]["code"]) == (422, "bad-cursor"), start


async def test_a_send_that_prefers_no_answer_is_queued(whole, transport):
    answer = await whole.post("/api/msg/send", MESSAGE, prefer="respond-async")
    assert (answer.status, answer.headers["preference-applied"]) == (202, "respond-async")
    assert (await whole.get(answer.headers["location"])).json()["status"] == "queued"
    refused = await whole.post("/api/msg/send", {**MESSAGE, "target": " "}, prefer="respond-async")
    assert (refused.status, transport.sent) == (422, [])


async def test_a_path_that_one_operation_spells_out_has_its_methods_alone(whole):
    for method, path, allowed in (
        ("DELETE", "/api/jobs/branches", "GET, HEAD, OPTIONS"),
        ("DELETE", "/api/memory/stats", "GET, HEAD, OPTIONS"),
        ("GET", "/api/memory/decay", "OPTIONS, POST"),
        ("GET", "/api/notifications/read-all", "OPTIONS, POST"),
        ("DELETE", "/api/notifications/unread", "GET, HEAD, OPTIONS"),
    ):
        refused = await whole.call(method, path)
        assert (refused.status, refused.json()["code"]) == (405, "method-not-allowed"), path
        assert refused.headers["allow"] == (await whole.call("OPTIONS", path)).headers["allow"] == allowed, path
