"""What a failure of receiving means, and how long is waited (docs/facts/botchat.md)."""

import pytest

from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.botchat.receiving.liveness import ReceiveStatus
from tocsin.channels.botchat.receiving.poll_backoff import PollBackoff
from tocsin.core.errors import ChannelError, StoreUnavailableError
from tocsin.core.http.transport import connect_failed, outcome_unknown

CONFLICT = BotApiError(409, "Conflict: terminated by other getUpdates request")


@pytest.mark.parametrize(
    ("error", "status", "least_s", "most_s"),
    [
        (CONFLICT, ReceiveStatus.CONFLICT, 1, 1.25),
        (BotApiError(401, "Unauthorized"), ReceiveStatus.STOPPED, 60, 75),
        (BotApiError(404, "Not Found"), ReceiveStatus.STOPPED, 60, 75),
        (BotApiError(400, "Logged out"), ReceiveStatus.FAILING, 60, 75),
        (BotApiError(502), ReceiveStatus.FAILING, 0.5, 0.625),
        (BotApiError(503, header_wait_s=17), ReceiveStatus.FAILING, 17, 17),
        (BotApiError(429, parameters={"retry_after": 40}), ReceiveStatus.FAILING, 40, 40),
        (BotApiError(429), ReceiveStatus.FAILING, 5, 5),
        (BotApiError(429, header_wait_s=10**9), ReceiveStatus.FAILING, 3600, 3600),
        (ChannelError("HTTP 404", hint="a proxy's page"), ReceiveStatus.FAILING, 0.5, 0.625),
        (connect_failed("https://x", "refused"), ReceiveStatus.FAILING, 0.5, 0.625),
        (outcome_unknown("https://x", "did not answer"), ReceiveStatus.FAILING, 0.5, 0.625),
        (StoreUnavailableError("away"), ReceiveStatus.FAILING, 0.5, 0.625),
        (TimeoutError(), ReceiveStatus.FAILING, 0.5, 0.625),
        (KeyError("bug"), ReceiveStatus.FAILING, 0.5, 0.625),
    ],
)
def test_the_first_failure(error: Exception, status: ReceiveStatus, least_s: float, most_s: float):
    setback = PollBackoff().judge(error, 0.0)
    assert setback.status is status
    assert least_s <= setback.wait_s <= most_s
    assert setback.problem


def test_after_a_success_an_outage_begins_anew():
    patience = PollBackoff()
    for _ in range(5):
        patience.judge(BotApiError(502), 0.0)
    assert patience.succeeded(0.0)
    assert patience.judge(BotApiError(502), 0.0).wait_s < 1


def test_a_conflict_is_over_only_when_it_has_not_come_back_for_a_minute():
    patience = PollBackoff()
    for _ in range(4):
        patience.judge(CONFLICT, 100.0)
    assert not patience.succeeded(159.0)
    assert patience.judge(CONFLICT, 159.0).wait_s >= 16
    assert patience.succeeded(219.0)
    assert patience.judge(CONFLICT, 220.0).wait_s < 2
