"""Host keys: never accepted in silence, shown before they are trusted, and told when they change."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.features.ssh.conftest import Machine, Site, fingerprint_of, make_key

from tocsin.features.ssh.client.host_keys import ShownKey, UnreachableError, trust
from tocsin.features.ssh.hooks import check_subsystem
from tocsin.features.ssh.model import HostKey, KeyStatus
from tocsin.runs.model import HostStatus

Describe = Callable[..., dict[str, object]]


async def key_of(site: Site, name: str) -> dict[str, object]:
    (key,) = [host.host_key for host in await site.ssh.hosts() if host.name == name]
    return {"status": key.status, "fingerprint": key.fingerprint or None}


async def test_an_unknown_key_is_refused_until_it_was_shown_and_trusted(
    site: Site, machine: Machine, described: Describe
):
    port, host_key = machine.sshd()
    site.write(described("web", port))
    refused = await site.on("true", "web")
    assert refused.status is HostStatus.HOST_KEY_UNKNOWN
    assert "`tocsin ssh trust web`" in str(refused.error)
    shown: list[HostKey] = []

    async def refuse(key: ShownKey) -> bool:
        shown.append(key.key)
        return False

    assert await site.ssh.trust("web", refuse, source="cli") == (shown[0], False)
    assert shown == [HostKey(KeyStatus.UNKNOWN, fingerprint_of(host_key), "ssh-ed25519")]
    assert await key_of(site, "web") == {"status": "unknown", "fingerprint": None}
    assert site.bench.audit("ssh.trust") == []
    await site.trust("web")
    assert (await site.on("echo in", "web")).stdout == "in\n"
    assert await key_of(site, "web") == {"status": "trusted", "fingerprint": fingerprint_of(host_key)}
    (entry,) = site.bench.audit("ssh.trust")
    assert entry.metadata["fingerprint"] == fingerprint_of(host_key)
    assert entry.metadata["previous"] == "unknown"


async def test_a_changed_key_is_refused_told_and_shown_until_it_is_trusted(
    site: Site, machine: Machine, described: Describe
):
    port, first = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    machine.stop_all()
    second = make_key(machine.folder / "second")
    machine.start_on(port, "again", second)
    assert (await site.on("true", "web")).status is HostStatus.HOST_KEY_CHANGED
    (notice,) = site.bench.notices
    assert "changed" in notice.title
    assert fingerprint_of(second) in notice.body
    status = await check_subsystem(site.ssh)
    assert (str(status.status), ["web" in item.message for item in status.attention]) == ("degraded", [True])
    assert await key_of(site, "web") == {"status": "changed", "fingerprint": fingerprint_of(second)}
    (item,) = (await site.ssh.health()).items
    assert (item.status, item.ssh.ok) == ("degraded", False)
    assert await key_of(site, "web") == {"status": "changed", "fingerprint": fingerprint_of(second)}
    await site.trust("web")
    assert (await site.on("echo in", "web")).stdout == "in\n"
    assert site.bench.audit("ssh.trust")[-1].metadata["previous"] == "changed"
    machine.stop_all()
    machine.start_on(port, "first", first)
    assert (await site.on("true", "web")).status is HostStatus.HOST_KEY_CHANGED  # the old key is trusted no more
    machine.stop_all()
    machine.start_on(port, "again", second)
    assert (await site.on("true", "web")).status is HostStatus.SUCCEEDED
    assert await key_of(site, "web") == {"status": "trusted", "fingerprint": fingerprint_of(second)}
    assert (await check_subsystem(site.ssh)).attention == []


async def test_a_file_of_its_own_holds_the_keys_of_a_host(
    site: Site, machine: Machine, described: Describe, tmp_path: Path
):
    port, _ = machine.sshd()
    own = tmp_path / "known hosts 100%"
    site.write(described("web", port, known_hosts=str(own)), described("other", port))
    await site.trust("web")
    assert own.read_text().startswith(f"[127.0.0.1]:{port} ssh-ed25519 ")
    assert (await site.on("true", "web")).status is HostStatus.SUCCEEDED
    assert (await site.on("true", "other")).status is HostStatus.HOST_KEY_UNKNOWN


async def test_a_host_that_does_not_answer_has_no_key_to_trust(site: Site, described: Describe):
    site.write(described("web", 1))
    with pytest.raises(UnreachableError, match=r"\bweb\b.*Connection refused"):
        await site.trust("web")


async def test_keys_that_are_trusted_at_the_same_time_all_stay(site: Site, tmp_path: Path):
    key = Path(f"{make_key(tmp_path / 'key')}.pub").read_text().strip()
    known = tmp_path / "known"

    async def trust_host(number: int) -> None:
        async with site.ssh.program.session((), {}) as session:
            await trust(session, ShownKey(HostKey(), f"host{number} {key}"), known)

    await asyncio.gather(*map(trust_host, range(4)))
    assert sorted(line.split()[0] for line in known.read_text().splitlines()) == ["host0", "host1", "host2", "host3"]
