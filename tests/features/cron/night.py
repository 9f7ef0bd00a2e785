"""A job that fails at three in the night, while the product that would tell of it cannot be reached."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from tests.clocks import SteppedClock
from tests.features.cron.conftest import Crontab, running
from tests.waiting import eventually

from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.core.http.transport import HttpResponse, connect_failed
from tocsin.delivery.dispatcher import Dispatcher
from tocsin.features.cron.feature import FEATURE
from tocsin.runs.model import OutputDeliveryStatus, Run
from tocsin.testing.fakes import ScriptedTransport
from tocsin.testing.features import open_feature

SHORTLY_BEFORE_THREE = 1_795_229_990.0  # 02:59:50 UTC
ENV = {"TZ": "UTC", "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa"}
ACCEPTED = HttpResponse(200, {}, b'{"ok": true, "ts": "1503435956.000247"}')


@dataclass(frozen=True)
class FailingNight:
    """What was recorded and sent."""

    during: Run  # as it was shown while the product could not be reached
    after: Run
    refused: int  # attempts in vain
    accepted: list[bytes]  # what arrived


async def failing_night(folder: Path) -> FailingNight:
    """Let a job fail and its message wait for the end of the outage; time is injected."""
    clock, transport = SteppedClock(SHORTLY_BEFORE_THREE), ScriptedTransport()
    transport.will_raise(connect_failed("https://slack.com", "no route to host"))
    options = {"clock": clock, "channels": (TeamchatAdapter,), "transport": transport}
    async with open_feature(FEATURE, folder, ENV, **options) as bench:
        crontab = Crontab(bench, clock)
        await crontab.add("0 3 * * *", "echo no space left; exit 2", output="teamchat:#ops", output_on="failure")
        outbox = bench.app.outbox
        dispatcher = Dispatcher(outbox.store, bench.app.registry, clock, on_attempt=outbox.record_attempt)
        outbox.on_queued(dispatcher.wake)
        sending = asyncio.create_task(dispatcher.run())
        async with running(crontab) as service:

            async def tried(times: int) -> bool:
                await service.pass_time(5)
                return len(transport.sent) >= times

            await eventually(lambda: tried(2))
            [during] = await crontab.runs()
            transport.script[:] = [ACCEPTED]
            refused = len(transport.sent)

            async def delivered() -> bool:
                await service.pass_time(5)
                return (await crontab.runs())[0].delivery.status is not OutputDeliveryStatus.PENDING

            await eventually(delivered)
            await service.pass_time(60)  # for a second one, if there were any
        dispatcher.stop()
        sending.cancel()
        await asyncio.wait([sending])
        [after] = await crontab.runs()
        return FailingNight(during, after, refused, [each.body for each in transport.sent[refused:]])
