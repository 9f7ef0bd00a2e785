"""The list of first steps: what is done, for the whole installation."""

from dataclasses import replace

import pytest

from tocsin.assembly.full.access import open_sign_ins
from tocsin.core.config.settings import Settings
from tocsin.features.notifications.forwarding.forwarder import NoticeMessage
from tocsin.features.notifications.forwarding.receivers import NoticeReceivers
from tocsin.web.access.account import WrongLoginError
from tocsin.web.access.sign_in import Visitor

URL = "/api/settings/first-steps"
TARGET = "/api/notifications/target"


async def test_the_list_is_hidden_for_the_installation_and_shown_again(whole, program):
    assert not (await whole.get(URL)).json()["dismissed"]
    for dismissed in (True, False):
        assert (await whole.post(URL, {"dismissed": dismissed})).json()["dismissed"] == dismissed
        assert (await whole.get(URL)).json()["dismissed"] == dismissed
        entry = program.audit.log.tail(1)[0]
        assert (entry.action, entry.metadata["dismissed"]) == ("first_steps.change", dismissed)


async def test_a_token_without_the_scope_reads_the_list_and_cannot_hide_it(whole):
    whole.scopes = frozenset({"read"})
    assert (await whole.get(URL)).json()["scopes"] == ["read"]
    assert (await whole.post(URL, {"dismissed": True})).status == 403


async def test_a_confirmed_target_joins_the_profile_of_notices_in_the_files(whole, program):
    assert not (await whole.get(TARGET)).json()["done"]
    answer = await whole.post(TARGET, {"channel": "slack", "target": "#ops"})
    assert (answer.status, answer.json()["done"], answer.json()["profile"]) == (200, True, "notices")
    assert (await whole.get(TARGET)).json() == answer.json()
    folder = program.settings.data_dir
    assert (folder / "profiles.yaml").read_text() == 'notices:\n  - channel: teamchat\n    target: "#ops"\n'
    assert "NOTIFY_PROFILE=notices\n" in program.settings.own_file.read_text()
    entry = program.audit.log.tail(1)[0]
    assert (entry.action, entry.metadata["target"]) == ("notification.target", "#ops")


async def test_a_process_that_runs_already_sends_notices_to_the_confirmed_target(whole, program):
    other = NoticeReceivers(program.features.opened("notifications").context)
    await whole.post(TARGET, {"channel": "teamchat", "target": "#ops"})
    assert await other.deliver(NoticeMessage("the backup failed", "a"))
    [queued] = (await whole.get("/api/deliveries?status=queued")).json()["items"]
    assert (queued["channel"], queued["target"]) == ("teamchat", "#ops")


async def test_a_target_that_left_the_profile_is_not_done_any_more(whole, program):
    await whole.post(TARGET, {"channel": "teamchat", "target": "#ops"})
    (program.settings.data_dir / "profiles.yaml").write_text('notices:\n  - {channel: teamchat, target: "#dev"}\n')
    assert not (await whole.get(TARGET)).json()["done"]


async def test_a_refused_target_is_named_and_nothing_is_written(whole, program):
    for body in ({"channel": "pager", "target": "1"}, {"channel": "botchat", "target": "42"}):
        answer = await whole.post(TARGET, body)
        assert (answer.status, answer.json()["errors"][0]["pointer"]) == (422, "#/target")
    assert not (program.settings.data_dir / "profiles.yaml").exists()


async def test_the_sign_in_is_kept_until_other_credentials_apply(program):
    here = Visitor("127.0.0.1", "1")

    def sign_ins(password):
        env = {"DASHBOARD_USER": "operator", "DASHBOARD_PASS": password}
        return open_sign_ins(replace(program, settings=Settings.load(environ=env, data_dir=program.settings.data_dir)))

    first = sign_ins("the first password")
    assert not await first.is_kept()
    with pytest.raises(WrongLoginError):
        await first.by_password("operator", "a guess", here)
    assert not await first.is_kept()
    await first.by_password("operator", "the first password", here)
    assert await sign_ins("the first password").is_kept()
    assert not await sign_ins("another password").is_kept()
