"""How hosts are: a probe of the machine and one of SSH, remembered for 30 seconds."""

from collections.abc import Callable

from tests.features.ssh.conftest import Machine, Site

from tocsin.core.records.as_json import to_json
from tocsin.features.ssh.hooks import check_subsystem
from tocsin.testing.fakes import FakeClock

Describe = Callable[..., dict[str, object]]


async def test_a_host_is_down_at_the_second_failure_and_up_again_at_once(
    site: Site, machine: Machine, described: Describe
):
    port, _ = machine.sshd()
    clock = site.bench.app.clock
    assert isinstance(clock, FakeClock)
    # A name that is never resolved: a machine that does not even answer a ping.
    site.write({**described("web", port), "hostname": "web.invalid"})
    states = []
    for _ in range(2):
        found = await site.ssh.health(refresh=True)
        states.append(found.items[0].status)
        clock.advance(1)
    assert states == ["unknown", "down"]
    assert found.summary == {"up": 0, "degraded": 0, "down": 1, "unknown": 0}
    told = await check_subsystem(site.ssh)
    assert (str(told.status), told.summary) == ("degraded", "1 host, 1 down")
    assert [(item.message, item.link) for item in told.attention] == [("host web is down", "#/ssh/web")]
    site.write(described("web", port))
    (item,) = (await site.ssh.health(refresh=True)).items
    assert (item.status, item.ping.ok, item.host_key.status) == ("degraded", True, "unknown")
    await site.trust("web")
    (item,) = (await site.ssh.health()).items
    assert (item.status, item.ssh.ok, item.host_key.status) == ("up", True, "trusted")
    told = await check_subsystem(site.ssh)
    assert (str(told.status), told.summary, list(told.attention)) == ("ok", "1 host", [])


async def test_an_answer_counts_for_30_seconds(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    clock = site.bench.app.clock
    assert isinstance(clock, FakeClock)
    site.write(described("web", port))
    await site.trust("web")
    first = await site.ssh.health(["web"])
    machine.stop_all()
    clock.advance(29)
    assert to_json(await site.ssh.health(["web"])) == to_json(first)
    clock.advance(2)
    assert (await site.ssh.health(["web"])).items[0].ssh.ok is False


async def test_a_host_behind_another_one_is_not_pinged(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("gate", port), described("inner", port, jump_host="gate"))
    await site.trust("gate")
    (item,) = (await site.ssh.health(["inner"])).items
    assert (item.status, item.ping.ok) == ("up", None)
