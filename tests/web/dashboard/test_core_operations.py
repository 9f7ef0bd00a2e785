"""The operations of the core: status, messaging, deliveries, audit, settings, access, triggers."""

import csv
import io
import json

import pytest
from tests.facts import mentions
from tests.web.dashboard.conftest import open_program

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.log import AuditLog
from tocsin.core.http.transport import HttpResponse
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.runs.model import RunResult, RunSpec, RunStatus, RunTrigger
from tocsin.testing.dashboard import open_dashboard
from tocsin.web.http.metrics import CONTENT_TYPE

GOOD = {"channel": "teamchat", "target": "#ops", "message": "hello"}
SENT = HttpResponse(200, {}, b'{"ok": true, "ts": "1503435956.000247", "channel": "C1"}')
REFUSED = HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')


def actions(program):
    return [entry.action for entry in program.audit.log.tail(100)][::-1]


async def test_status_names_the_ten_subsystems_in_their_order(whole):
    status = (await whole.get("/api/status")).json()
    assert [*status["subsystems"]][:3] == ["cron", "messaging", "ssh"]
    assert len(status["subsystems"]) == 10
    assert {service["name"] for service in status["services"]} == {"gateway", "bot", "session_store", "scheduler"}


async def test_status_is_looked_up_anew_after_five_seconds_or_on_request(whole, program):
    first = (await whole.get("/api/status")).json()["checked_at"]
    program.clock.advance(4)
    assert (await whole.get("/api/status")).json()["checked_at"] == first
    assert (await whole.get("/api/status?refresh=true")).json()["checked_at"] != first


async def test_all_channels_are_listed_with_what_is_missing(whole, transport):
    transport.script = [SENT]
    await whole.post("/api/msg/send", GOOD)
    found = {item["channel"]: item for item in (await whole.get("/api/msg/channels")).json()["items"]}
    assert set(found) == {
        "apprise", "teamchat", "botchat", "guildchat", "email", "devicemsg",
        "matrix", "mattermost", "ntfy", "teams", "webhook", "webpush",
    }  # fmt: skip
    assert (found["teamchat"]["state"], found["teamchat"]["sent_24h"]) == ("ok", 1)
    assert found["botchat"]["missing"] == ["BOTCHAT_BOT_TOKEN"]
    assert found["botchat"]["capabilities"]["inbound"] == "polling"


async def test_a_channel_that_can_poll_is_listed_with_the_way_that_its_setting_chooses(tmp_path, transport):
    async with open_program(tmp_path, transport, {"BOTCHAT_MODE": "webhook"}) as app, open_dashboard(app) as client:
        found = {item["channel"]: item for item in (await client.get("/api/msg/channels")).json()["items"]}
    assert found["botchat"]["capabilities"]["inbound"] == "webhook"


async def test_a_send_answers_the_send_result_and_the_facts_behind_it(whole, transport, program):
    transport.script = [SENT]
    answer = await whole.post("/api/msg/send", GOOD)
    assert answer.status == 200
    found = answer.json()
    assert (found["ok"], found["message_id"], found["attempts"], found["parts"]) == (True, "1503435956.000247", 1, 1)
    assert actions(program) == ["msg.send"]


async def test_a_permanent_refusal_is_422_with_the_code_of_the_provider(whole, transport):
    transport.script = [REFUSED]
    answer = await whole.post("/api/msg/send", GOOD)
    assert (answer.status, answer.json()["ok"], answer.json()["code"]) == (422, False, "not_in_channel")
    assert answer.headers["content-type"] == "application/json"


async def test_an_unknown_or_unconfigured_channel_is_a_404_send_result(whole):
    for channel in ("pager", "botchat"):
        answer = await whole.post("/api/msg/send", {**GOOD, "channel": channel})
        assert (answer.status, answer.json()["ok"]) == (404, False)
        assert answer.json()["error"].startswith("Unknown channel: ")
    assert (await whole.post("/api/msg/test/pager")).status == 404


async def test_a_dry_run_shows_the_parts_and_sends_nothing(whole, transport, program):
    answer = await whole.post("/api/msg/send", {**GOOD, "message": "word " * 10_000, "dry_run": True})
    assert answer.status == 200
    assert len(answer.json()["parts"]) == 2
    assert [mentions(warning, "2 messages") for warning in answer.json()["warnings"]] == [True]
    assert (transport.sent, actions(program)) == ([], [])


async def test_a_dry_run_says_what_becomes_of_each_field(whole, transport):
    body = {"message": "hello", "title": "web1", "priority": "high", "mention": ["@here", "@anna"], "dry_run": True}
    fields = (await whole.post("/api/msg/send", {**GOOD, **body})).json()["fields"]
    assert [(each["field"], each["support"]) for each in fields] == [
        ("title", "native"),
        ("priority", "degraded"),
        ("mention", "ignored"),
        ("mention", "native"),
    ]
    assert transport.sent == []


async def test_a_dry_run_of_a_profile_shows_the_message_as_each_product_would(whole, transport, tmp_path):
    (tmp_path / "profiles.yaml").write_text(
        "oncall:\n- {channel: slack, target: '#ops'}\n- {channel: slack, target: '#quiet', min_priority: high}\n"
        "- {channel: slack, target: 'nowhere at all'}\n",
    )
    body = {"message": "91 % full", "title": "web1", "type": "failure", "dry_run": True}
    answer = await whole.post("/api/msg/profiles/oncall/send", body)
    first, quiet, wrong = answer.json()["plans"]
    [head, card] = first["parts"][0]["layout"]["sections"]
    assert (head["blocks"][0]["kind"], head["blocks"][0]["spans"][0]["text"]) == ("title", "web1")
    assert (card["card"], card["colour"], card["blocks"][0]["spans"][0]["text"]) == (True, "#E01E5A", "91 % full")
    assert "min_priority" in quiet["skipped"]
    assert (wrong["parts"], bool(wrong["error"])) == ([], True)
    assert transport.sent == []


async def test_the_subject_of_a_message_is_its_title(whole, transport):
    transport.script = [SENT]
    assert (await whole.post("/api/msg/send", {**GOOD, "subject": "web1"})).status == 200
    assert json.loads(transport.sent[0].body)["blocks"][0]["text"]["text"] == "web1"


async def test_a_wrong_field_of_a_message_is_pointed_at(whole):
    answer = await whole.post("/api/msg/send", {**GOOD, "actions": [{"label": "x"}], "priority": 9})
    assert answer.status == 422
    assert {each["pointer"].split("/")[1] for each in answer.json()["errors"]} == {"actions", "priority"}


async def test_a_queued_message_can_be_read_and_cancelled(whole, program):
    queued = await whole.post("/api/msg/send", {**GOOD, "queue": True})
    assert queued.status == 202
    where = queued.headers["location"]
    assert (await whole.get(where)).json()["status"] == "queued"
    listed = (await whole.get("/api/deliveries?status=queued&channel=slack")).json()
    assert [item["id"] for item in listed["items"]] == [queued.json()["id"]]
    assert (await whole.post(f"{where}/cancel")).json()["status"] == "cancelled"
    again = await whole.post(f"{where}/cancel")
    assert (again.status, again.json()["code"]) == (409, "invalid-transition")
    assert (await whole.post(f"{where}/replay")).json()["status"] == "queued"
    assert (await whole.get("/api/deliveries/nothing")).status == 404
    assert actions(program) == ["msg.queue", "msg.cancel", "msg.replay"]


async def test_a_test_of_a_channel_is_remembered(whole, transport):
    transport.script = [HttpResponse(200, {}, b'{"ok": true, "user": "tocsin", "team": "Ops"}')]
    assert (await whole.post("/api/msg/test/teamchat")).status == 200
    [teamchat] = [c for c in (await whole.get("/api/msg/channels")).json()["items"] if c["channel"] == "teamchat"]
    assert teamchat["last_test"]["ok"] is True
    assert teamchat["last_test"]["message"].startswith("connected as")
    transport.script = [HttpResponse(200, {}, b'{"ok": false, "error": "invalid_auth"}')]
    failed = await whole.post("/api/msg/test/teamchat")
    assert (failed.status, failed.json()["target"], failed.json()["attempts"]) == (422, "", 1)


async def test_a_profile_is_sent_to_and_says_who_got_it(whole, transport, tmp_path):
    (tmp_path / "profiles.yaml").write_text(
        "oncall:\n- {channel: teamchat, target: '#a'}\n- {channel: teamchat, target: '#b'}\n"
        "broken:\n- {channel: email, target: a@example.org}\n"
    )
    found = {item["name"]: item for item in (await whole.get("/api/msg/profiles")).json()["items"]}
    assert (found["oncall"]["valid"], found["oncall"]["used_by"]) == (True, [])
    assert (await whole.post("/api/msg/profiles/nobody/send", {"message": "a"})).status == 404
    transport.script = [SENT, SENT]
    assert (await whole.post("/api/msg/profiles/oncall/send", {"message": "a"})).json()["sent"] == 2
    transport.script = [SENT, REFUSED]
    mixed = await whole.post("/api/msg/profiles/oncall/send", {"message": "a"})
    assert (mixed.status, mixed.json()["failed"]) == (207, 1)
    transport.script = [REFUSED]
    assert (await whole.post("/api/msg/profiles/oncall/send", {"message": "a"})).status == 422


async def test_a_broken_edit_of_the_profiles_leaves_those_of_the_last_good_file(whole, tmp_path):
    file = tmp_path / "profiles.yaml"
    file.write_text("oncall:\n- {channel: teamchat, target: '#a'}\n")
    before = (await whole.get("/api/msg/profiles")).json()
    file.write_text("oncall:\n- {chanel: teamchat, target: '#a'}\n# longer\n")
    assert (await whole.get("/api/msg/profiles")).json() == before
    assert [item["name"] for item in before["items"]] == ["oncall"]


async def test_a_broken_edit_never_empties_a_list_that_was_not_looked_at_before(whole, transport, tmp_path):
    file = tmp_path / "profiles.yaml"
    file.write_text("oncall:\n- {channel: teamchat, target: '#a'}\n")
    transport.script = [SENT]
    await whole.post("/api/msg/profiles/oncall/send", {"message": "a"})
    file.write_text("oncall: [\n")
    assert [item["name"] for item in (await whole.get("/api/msg/profiles")).json()["items"]] == ["oncall"]


async def test_profiles_name_the_jobs_and_workflows_that_use_them(whole, program, tmp_path):
    (tmp_path / "profiles.yaml").write_text("oncall:\n- {channel: teamchat, target: '#a'}\n")
    jobs = program.features.opened("cron")
    from tocsin.messaging.outbound.caller import Caller

    await jobs.add({"name": "disk", "schedule": "@daily", "command": "df", "output": "oncall"}, Caller("cli"))
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "nightly.yaml").write_text(
        "name: nightly\nnotify_profile: oncall\nsteps:\n- {name: a, type: shell, command: 'true'}\n"
    )
    [profile] = (await whole.get("/api/msg/profiles")).json()["items"]
    assert profile["used_by"] == [{"kind": "cron", "name": "disk"}, {"kind": "workflow", "name": "nightly"}]


async def test_the_audit_log_is_tailed_searched_verified_and_exported(whole, transport):
    transport.script = [SENT]
    for number in range(3):
        await whole.post("/api/msg/send", {**GOOD, "message": f"hello {number}"})
    await whole.post("/api/notifications", {"title": "a"})
    tail = (await whole.get("/api/audit/tail?limit=2")).json()
    assert [item["action"] for item in tail["items"]] == ["notification.create", "msg.send"]
    assert tail["items"][0]["actor"] == "admin"
    assert tail["items"][0]["prev_hash"] == tail["items"][1]["hash"]
    rest = (await whole.get(f"/api/audit/tail?cursor={tail['next_cursor']}")).json()
    assert len(rest["items"]) == 2
    newer = (await whole.get(f"/api/audit/tail?after={tail['items'][1]['id']}")).json()["items"]
    assert [item["action"] for item in newer] == ["notification.create"]
    found = (await whole.get("/api/audit/search?query=OPS&action=msg.*&actor=admin")).json()
    assert len(found["items"]) == 3
    assert (await whole.get("/api/audit/verify")).json()["ok"] is True
    lines = (await whole.get("/api/audit/tail", Accept="application/x-ndjson")).body.splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["notification.create", *["msg.send"] * 3]
    table = (await whole.get("/api/audit/tail", Accept="text/csv")).body.decode().splitlines()
    assert table[0].startswith("id,ts,action")
    assert (await whole.get("/api/audit/search?since=yesterday")).status == 422


async def found_since(whole, program, since, *written):
    """Write entries at these times, in this order, and return those that a search from `since` on finds."""
    for clock in written:
        log = AuditLog(program.audit.log.path, now=lambda: parse_timestamp(f"2026-11-20T{clock}Z"))  # noqa: B023
        log.append("test.note", clock, source="test")
        log.close()
    items = (await whole.get(f"/api/audit/search?since=2026-11-20T{since}Z")).json()["items"]
    return [item["detail"] for item in items]


async def test_a_search_since_a_time_finds_entries_before_the_clock_was_set_back(whole, program):
    written = ("09:20:00", "09:40:00", "08:45:00", "09:30:00", "09:29:59")
    assert await found_since(whole, program, "09:30:00", *written) == ["09:30:00", "09:40:00"]


async def test_a_search_since_a_time_reads_no_further_than_an_hour_before_it(whole, program):
    assert await found_since(whole, program, "09:30:00", "09:40:00", "08:29:59", "09:50:00") == ["09:50:00"]


async def test_no_cell_of_an_exported_audit_log_is_a_formula(whole, program):
    for detail in ("=1+1", " @SUM(1)", "\r-1", "1=1"):
        program.audit.record(AuditAction("test.note", "A test."), detail, source="test", metadata={})
    table = (await whole.get("/api/audit/search?action=test.note", Accept="text/csv")).body.decode()
    details = [row["detail"].lstrip() for row in csv.DictReader(io.StringIO(table, newline=""))]
    assert details[0] == "1=1"
    assert all(each.startswith("'") for each in details[1:])


async def test_a_conversation_that_has_changed_since_it_was_read_is_not_deleted(whole):
    made = await whole.post("/api/chat/conversations", {"title": "a"})
    path = made.headers["location"]
    assert made.headers["etag"] == (await whole.get(path)).headers["etag"]
    stale = await whole.call("DELETE", path, headers={"If-Match": '"another"'})
    assert (stale.status, stale.json()["code"]) == (412, "precondition-failed")
    assert (await whole.call("DELETE", path, headers={"If-Match": made.headers["etag"]})).status == 204


async def test_runs_are_listed_by_when_they_were_queued(whole, program):
    async def done(handle):
        return RunResult(RunStatus.SUCCEEDED)

    for name in ("a", "b", "c"):
        await program.runs().execute(RunSpec("cron", name, name, RunTrigger.MANUAL), done)
        program.clock.advance(60)
    items = (await whole.get("/api/runs")).json()["items"]
    times = {item["subject_name"]: item["queued_at"] for item in items}

    async def names(query):
        return [item["subject_name"] for item in (await whole.get(f"/api/runs?{query}")).json()["items"]]

    assert await names(f"since={times['b']}") == ["c", "b"]
    assert await names(f"until={times['b']}") == ["a"]
    assert await names(f"since={times['b']}&until={times['c']}") == ["b"]
    assert await names("sort=queued_at") == ["a", "b", "c"]
    assert await names("sort=-queued_at") == ["c", "b", "a"]
    first = (await whole.get("/api/runs?sort=queued_at&limit=2")).json()
    assert await names(f"sort=queued_at&limit=2&cursor={first['next_cursor']}") == ["c"]
    refused = (await whole.get("/api/runs?until=yesterday")).json()
    assert (refused["status"], refused["errors"][0]["parameter"]) == (422, "until")


async def test_runs_are_found_by_what_is_in_their_subject_their_actor_or_their_reason(whole, program):
    async def failed(handle):
        return RunResult(RunStatus.FAILED, "Disk 100% full")

    for name, actor in (("Backup", "ana"), ("report", "bob"), ("anagram", None)):
        await program.runs().execute(RunSpec("cron", name, name, RunTrigger.MANUAL, actor), failed)

    async def names(query):
        return [item["subject_name"] for item in (await whole.get(f"/api/runs?q={query}")).json()["items"]]

    assert await names("backup") == ["Backup"]
    assert await names("ana") == ["anagram", "Backup"]
    assert await names("disk%20100%25") == ["anagram", "report", "Backup"]
    assert await names("1000") == []


async def test_settings_are_shown_with_their_source_and_no_secret(whole):
    await whole.post("/api/notifications", {"title": "a"})
    answer = await whole.get("/api/settings/overview")
    found = {item["key"]: item for item in answer.json()["values"]}
    assert found["TEAMCHAT_BOT_TOKEN"]["source"] == "env"
    assert b"xoxb-test" not in answer.body
    assert found["GATEWAY_PORT"] == {**found["GATEWAY_PORT"], "value": "8100", "source": "default"}
    assert answer.json()["storage"]["bytes"] > 0


async def test_settings_need_the_scope_admin(whole):
    whole.scopes = frozenset({"read"})
    assert (await whole.get("/api/settings/overview")).status == 403
    assert (await whole.get("/api/settings/integrations")).status == 200


async def test_integrations_say_of_a_channel_what_the_last_test_found_and_ask_it_for_refresh(whole, transport, program):
    async def teamchat(query: str = "") -> tuple[str, str | None, int | None]:
        answer = (await whole.get(f"/api/settings/integrations{query}")).json()
        [found] = [item for item in answer["items"] if item["id"] == "teamchat"]
        return found["status"], found["error"], found["latency_ms"]

    assert await teamchat() == ("ok", None, None)
    transport.will_answer({"ok": False, "error": "invalid_auth"})
    status, error, latency_ms = await teamchat("?refresh=true")
    assert (status, "invalid_auth" in str(error), latency_ms) == ("error", True, 0)
    program.clock.advance(31)
    assert (await teamchat())[:2] == (status, error)
    assert actions(program) == []


async def test_integrations_say_what_is_connected(whole):
    found = {item["id"]: item for item in (await whole.get("/api/settings/integrations")).json()["items"]}
    assert found["teamchat"]["status"] == "ok"
    assert found["email"]["status"] == "unconfigured"
    assert found["redis"]["status"] == "disabled"
    assert found["vault"]["kind"] == "vault"


@pytest.mark.parametrize(("provider", "name"), [("openai", "OpenAI"), ("anthropic", "Anthropic"), ("", "Chat model")])
async def test_the_integration_of_the_chat_model_has_the_name_of_its_product(tmp_path, transport, provider, name):
    settings = {"CHAT_PROVIDER": provider} if provider else {}
    async with open_program(tmp_path, transport, settings) as app, open_dashboard(app) as client:
        items = (await client.get("/api/settings/integrations")).json()["items"]
    assert [item["name"] for item in items if item["kind"] == "chat_provider"] == [name]


async def test_a_chat_is_let_in_kept_out_and_taken_off(whole, program):
    for change, state in (("approve", "allowed"), ("deny", "denied"), ("approve", "allowed"), ("remove", "unknown")):
        answer = await whole.post(f"/api/access/42/{change}")
        assert (answer.status, answer.json()["state"]) == (200, state)
        entry = program.audit.log.tail(1)[0]
        assert (entry.source, entry.metadata["actor"]) == ("dashboard", "admin")
    assert (await whole.post("/api/access/42/remove")).status == 409


async def test_the_id_of_a_chat_must_be_one(whole):
    assert (await whole.post("/api/access/nobody/approve")).status == 422
    assert (await whole.get("/api/access")).json() == {"items": []}


async def test_trigger_rules_are_listed_and_tried_without_running(whole, tmp_path, program):
    rules = tmp_path / "triggers.yaml"
    rules.write_text("- {pattern: 'deploy (\\w+)', command: 'echo $1'}\n")
    rules.chmod(0o600)
    assert [rule["pattern"] for rule in (await whole.get("/api/triggers")).json()["items"]] == ["deploy (\\w+)"]
    tried = (await whole.post("/api/triggers/test", {"text": "please deploy web"})).json()
    assert (tried["matched"], tried["groups"]) == (True, ["web"])
    for channel, status in (("teamchat", 200), ("slack", 200), ("", 200), ("pigeons", 422)):
        answer = await whole.post("/api/triggers/test", {"text": "deploy web", "channel": channel})
        assert answer.status == status, channel
    assert answer.json()["errors"][0]["pointer"] == "#/channel"
    assert actions(program) == []


async def test_a_run_is_read_with_its_log_and_cancelling_it_twice_is_refused(whole, program):
    from tocsin.runs.model import Command, RunSpec
    from tocsin.runs.recorder import command

    order = RunSpec("skill", "s", "s", RunTrigger.API, "admin")
    run = await program.runs().execute(order, command(Command(("/bin/echo", "one line"), {})))
    got = (await whole.get(f"/api/runs/{run.id}?log=all")).json()
    assert (got["status"], [line["text"] for line in got["log"]["lines"]]) == ("succeeded", ["one line"])
    assert (await whole.get(f"/api/runs/{run.id}?log=all&stream=all")).json()["log"] == got["log"]
    text = await whole.get(f"/api/runs/{run.id}", Accept="text/plain")
    assert text.body.decode().rstrip().endswith("stdout one line")
    assert [item["id"] for item in (await whole.get("/api/runs?kind=skill")).json()["items"]] == [run.id]
    refused = await whole.post(f"/api/runs/{run.id}/cancel")
    assert (refused.status, refused.json()["code"]) == (409, "invalid-transition")
    assert (await whole.get("/api/runs/nothing")).status == 404


async def test_a_run_shows_what_was_executed_without_secrets(whole, program):
    from tocsin.runs.model import Command, RunSpec
    from tocsin.runs.recorder import command

    token = next(iter(program.settings.secrets()))
    kept = {"command": f"curl -H 'X-Key: {token}'", "retry": {"names": [token, 1, None]}}
    order = RunSpec("cron", "s", "s", RunTrigger.API, "admin", snapshot=kept)
    run = await program.runs().execute(order, command(Command(("/bin/true",), {})))
    assert (await whole.get(f"/api/runs/{run.id}")).json()["definition"] == {
        "command": "curl -H 'X-Key: [secret]'",
        "retry": {"names": ["[secret]", 1, None]},
    }
    [listed] = (await whole.get("/api/runs?kind=cron")).json()["items"]
    assert "definition" not in listed
    assert (await program.runs().get(run.id)).snapshot == kept


async def test_an_unknown_kind_of_run_is_refused_and_the_known_kinds_are_named(whole):
    refused = await whole.get("/api/runs?kind=none")
    assert (refused.status, refused.json()["code"]) == (422, "validation-failed")
    [error] = refused.json()["errors"]
    assert error["parameter"] == "kind"
    assert "cron, job, skill, ssh, trigger, watcher, workflow" in error["detail"]


async def test_a_long_log_is_downloaded_whole_and_in_colour_where_that_is_asked_for(whole, program):
    from tocsin.runs.model import Command, RunSpec
    from tocsin.runs.recorder import command

    script = "seq 2500; printf '\\033[31mred\\033[0m\\n'"
    order = RunSpec("skill", "s", "s", RunTrigger.API, "admin")
    run = await program.runs().execute(order, command(Command(("/bin/sh", "-c", script), {})))
    text = (await whole.get(f"/api/runs/{run.id}", Accept="text/plain")).body.decode()
    lines = [line.split(" ", 2)[2] for line in text.splitlines()]
    assert lines == [*(str(n) for n in range(1, 2501)), "red"]
    coloured = (await whole.get(f"/api/runs/{run.id}?ansi=true", Accept="text/plain")).body.decode()
    assert coloured.endswith("stdout \033[31mred\033[0m\n")
    end = (await whole.get(f"/api/runs/{run.id}?from_line=2500", Accept="text/plain")).body.decode()
    assert [line.split(" ", 2)[2] for line in end.splitlines()] == ["2500", "red"]
    answers = (await whole.get("/api/openapi.json")).json()["paths"]["/api/runs/{run_id}"]["get"]["responses"]
    assert set(answers["200"]["content"]) == {"application/json", "text/plain"}


async def test_metrics_are_those_of_the_gateway_in_both_formats_and_count_requests_by_route(whole):
    await whole.get("/api/runs/nobody-has-this")
    plain = await whole.get("/metrics")
    assert plain.headers["content-type"] == CONTENT_TYPE
    assert b'tocsin_http_requests_total{route="/api/runs/{run_id}",status="404"} 1.0' in plain.body
    assert b'tocsin_deliveries{status="queued"} 0.0' in plain.body
    open_metrics = await whole.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert open_metrics.body.endswith(b"# EOF\n")
