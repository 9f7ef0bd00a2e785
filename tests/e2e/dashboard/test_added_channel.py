"""A channel of another distribution is in the composer without a further edit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.cli.test_plugins import EXAMPLE, install
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import serve_dashboard
from tests.e2e.dashboard.test_page_messages import compose, more
from tests.web.dashboard.test_added_channel import ENV


def test_the_composer_draws_and_sends_a_message_over_a_channel_of_another_distribution(
    visit: Callable[..., Visitor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    install(
        tmp_path / "site", "tocsin-webhookchat", (EXAMPLE / "tocsin_webhookchat.py").read_text(), "WebhookchatAdapter"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "data").mkdir()
    with serve_dashboard(tmp_path / "data", ENV) as served:
        served.transport.will_answer({"id": "m1", "event": "message"})
        visitor = visit(served=served)
        page = visitor.open("#/msg")
        compose(page, "channel:webhookchat", "91 % full", "ops")
        more(page)
        page.get_by_label("Title").fill("web1")
        expect(page.get_by_role("article", name="Webhookchat")).to_contain_text("web1")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_text("id=m1").first).to_be_visible()
        assert [call.json()["topic"] for call in served.transport.sent] == ["ops"]
        assert visitor.violations() == []
