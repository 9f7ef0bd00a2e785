"""A channel of another distribution is in the dashboard's API without a further edit."""

from pathlib import Path

import pytest
from tests.cli.test_plugins import EXAMPLE, install

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import open_app
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.fakes import ScriptedTransport

ENV = {"WEBHOOKCHAT_URL": "https://ntfy.example.org", "WEBHOOKCHAT_TOKEN": "tk_made0up0made0up0made0up0mad"}


async def test_a_channel_of_another_distribution_is_listed_previewed_tested_and_sent_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    install(
        tmp_path / "site", "tocsin-webhookchat", (EXAMPLE / "tocsin_webhookchat.py").read_text(), "WebhookchatAdapter"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    transport = ScriptedTransport().will_answer({"id": "m1", "event": "message", "username": "phil"})
    environ = {"TOCSIN_DATA_DIR": str(tmp_path / "data"), "REDIS_URL": "off", **ENV}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, lambda: transport) as app, open_dashboard(app) as client:
        listed = {each["channel"]: each for each in (await client.get("/api/msg/channels")).json()["items"]}
        assert (listed["webhookchat"]["label"], listed["webhookchat"]["configured"]) == ("Webhookchat", True)
        message = {"channel": "hookchat", "target": "ops", "message": "91 % full", "title": "web1"}
        planned = (await client.post("/api/msg/send", {**message, "dry_run": True})).json()
        assert "web1\n91 % full" in str(planned["parts"]).replace("\\n", "\n")
        assert transport.sent == []
        assert (await client.post("/api/msg/send", message)).json()["message"] == "id=m1"
        assert (await client.post("/api/msg/test/webhookchat")).json()["message"] == "connected as phil"
