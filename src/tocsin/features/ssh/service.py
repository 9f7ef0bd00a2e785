"""The service of SSH hosts: list, check and trust them, and run commands on them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.value import shorten
from tocsin.core.tasks import run_concurrently
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.ssh.client.host_keys import ShownKey, file_for, known_key, shown_key, trust
from tocsin.features.ssh.client.ssh_program import SshProgram, SshSession, way_to
from tocsin.features.ssh.deny import DenyList
from tocsin.features.ssh.feature import SSH_RUN, SSH_TRUST
from tocsin.features.ssh.inventory import Inventory
from tocsin.features.ssh.model import (
    SHOWN_COMMAND,
    CommandDeniedError,
    HostEntry,
    HostHealth,
    HostHealthRecord,
    HostKey,
    KeyStatus,
    SshGroup,
    SshHealth,
    SshHost,
    SshRequest,
)
from tocsin.features.ssh.store import ProbeStore
from tocsin.runs.control import as_retry
from tocsin.runs.model import HostResult, HostStatus, Line, Run, RunResult, RunSpec, RunTrigger

# Lazy: showing hosts does not need the execution of commands.
if TYPE_CHECKING:
    from tocsin.features.ssh.health import HealthProbes
    from tocsin.runs.control import Retry
    from tocsin.runs.engine.active_run import ActiveRun
    from tocsin.runs.recorder import RunHandle

_AT_ONCE = 8


class Ssh:
    """The service of the feature."""

    def __init__(
        self, inventory: Inventory, deny: DenyList, program: SshProgram, store: ProbeStore, context: FeatureContext
    ) -> None:
        self.inventory = inventory
        self.deny = deny
        self.program = program
        self._store = store
        self._runs = context.runs
        self._audit = context.audit
        self._clock = context.clock
        self._redact = context.redact
        self._output = context.output
        self.notices = context.abilities.notices
        self.public_url = context.settings[PUBLIC_URL]

    @cached_property
    def _probes(self) -> "HealthProbes":
        from tocsin.features.ssh.health import HealthProbes

        return HealthProbes(self._store, self._clock, self._tell_changed_key)

    def plan(self, request: SshRequest) -> tuple[HostEntry, ...]:
        """Return the hosts on which a command would run.

        Raises CommandDeniedError, UnknownHostError, and ConfigError for invalid values.
        """
        request.check()
        if request.output:
            try:
                self._output.check(request.output)
            except TocsinError as error:
                raise ConfigError(f"output: {error}", hint=error.hint, body_key="output") from None
        self.deny.check(request.command)
        hosts = self.inventory.choose(request.hosts, request.groups)
        known = self.inventory.all()
        for host in hosts:
            way_to(host, known)
        return tuple(replace(host, user=request.user) for host in hosts) if request.user else hosts

    def admit(self, request: SshRequest, *, source: str, actor: str | None = None) -> tuple[HostEntry, ...]:
        """Return the hosts of a command that may run now, as `plan` does; record a refused command."""
        try:
            return self.plan(request)
        except CommandDeniedError as error:
            command = self._redact(request.command)[:SHOWN_COMMAND]
            facts = {"hosts": list(request.hosts), "command": command, "actor": actor, "outcome": "denied"}
            self._audit.record(SSH_RUN, str(error), source=source, metadata=facts)
            raise

    async def start(
        self,
        request: SshRequest,
        *,
        source: str,
        trigger: str = RunTrigger.MANUAL,
        actor: str | None = None,
        parent_run_id: str | None = None,
        watch: Callable[[Line], None] | None = None,
        retry: "Retry | None" = None,
    ) -> "ActiveRun":
        """Start a command on its hosts and return immediately; errors are those of `plan`.

        `watch` gets each line as it comes, its stream is `<host>/stdout`, `<host>/stderr` or `<host>/system`.
        """
        from tocsin.features.ssh.execution import Execution, dry_run

        hosts = self.plan(request) if request.dry_run else self.admit(request, source=source, actor=actor)
        order = _again(self._order(request, hosts, trigger, actor, parent_run_id, source), retry)

        async def only_record(handle: "RunHandle") -> RunResult:
            return await dry_run(hosts, handle)

        if request.dry_run:
            return await self._runs().start(order, only_record, watch=watch)
        known = {**self.inventory.all(), **{host.name: host for host in hosts}}
        execution = Execution(self.program, hosts, known, request, self._redact, self._note_key)

        running = await self._runs().start(order, execution.work, watch=watch)
        running.run = replace(running.run, hosts=tuple(HostResult(host.name) for host in hosts))
        return running

    async def run(self, request: SshRequest, *, source: str, watch: Callable[[Line], None] | None = None) -> Run:
        """Run a command to its end; cancelling the caller ends it. See `start`."""
        running = await self.start(request, source=source, watch=watch)
        return await running.wait_or_stop()

    async def hosts(self, group: str = "", q: str = "") -> list[SshHost]:
        """Return hosts, those of one group or with `q` in name, address, tags or description."""
        return await self.describe(await self.search(group, q))

    async def search(self, group: str = "", q: str = "") -> list[HostEntry]:
        """Return hosts; if `q` requires addresses that only the configuration of `ssh` has, ask `ssh` for them."""
        known, members = self.inventory.all(), self.inventory.groups()
        if group:
            self.inventory.choose((), (group,))
        chosen = [host for host in known.values() if not group or host.name in members[group]]
        if not q:
            return chosen
        asked = [host for host in chosen if not host.hostname and not _has(host, q)]
        addresses = {found.name: found.hostname for found in await self.describe(asked)}
        return [host for host in chosen if _has(host, q, addresses.get(host.name, ""))]

    async def describe(self, hosts: Sequence[HostEntry]) -> list[SshHost]:
        """Return these hosts with their addresses, keys and health; calls `ssh` once for each."""
        if not hosts:
            return []
        known, members = self.inventory.all(), self.inventory.groups()
        probes, slots = await self._store.all(), asyncio.Semaphore(_AT_ONCE)

        async def one(session: SshSession, host: HostEntry) -> SshHost:
            async with slots:
                return await _describe(session, host, members, probes.get(host.name))

        async with self.program.session((), known) as session:
            return await run_concurrently(one(session, host) for host in hosts)

    def groups(self) -> list[SshGroup]:
        """Return all groups by name."""
        return [SshGroup(name, tuple(hosts)) for name, hosts in self.inventory.groups().items()]

    async def health(
        self, hosts: Sequence[str] = (), groups: Sequence[str] = (), *, refresh: bool = False
    ) -> SshHealth:
        """Return the health of hosts, by default of all enabled ones; a result is reused for 30 s."""
        known = self.inventory.all()
        every = tuple(host for host in known.values() if host.enabled)
        chosen = self.inventory.choose(hosts, groups) if hosts or groups else every
        async with self.program.session(chosen, known) as session:
            probes = await self._probes.look(session, chosen, refresh=refresh)
        return self._probes.summarize(probes)

    async def last_probes(self) -> list[HostHealthRecord]:
        """Return the last health results of the hosts of the file."""
        names = {host.name for host in self.inventory.value.hosts}
        return [probe for name, probe in (await self._store.all()).items() if name in names]

    async def trust(
        self, name: str, accept: "Callable[[ShownKey], Awaitable[bool]]", *, source: str
    ) -> tuple[HostKey, bool]:
        """Show the key of a host to `accept`, and trust it if that returns True.

        Returns the key as it was shown, and whether it is trusted now. Raises UnknownHostError, UnreachableError.
        """
        (host,) = self.inventory.choose((name,), ())
        known = self.inventory.all()
        async with self.program.session((host,), known) as session:
            shown = await shown_key(session, host)
            if shown.key.status is KeyStatus.TRUSTED:
                return shown.key, True
            path = file_for(session, host, await session.address(host))
            if not await accept(shown):
                return shown.key, False
            await trust(session, shown, path)
        await self._store.forget(name)
        facts = {"host": name, "fingerprint": shown.key.fingerprint, "previous": str(shown.key.status)}
        self._audit.record(SSH_TRUST, f"{name} {shown.key.fingerprint}", source=source, metadata=facts)
        return shown.key, True

    def _order(
        self,
        request: SshRequest,
        hosts: Sequence[HostEntry],
        trigger: str,
        actor: str | None,
        parent_run_id: str | None,
        source: str,
    ) -> RunSpec:
        chosen = [*request.hosts, *(f"group:{group}" for group in request.groups)]
        command = self._redact(request.command)
        return RunSpec(
            "ssh",
            ",".join(chosen)[:SHOWN_COMMAND],
            shorten(command.strip().partition("\n")[0]),
            trigger,
            actor,
            {
                "command": command,
                "hosts": [host.name for host in hosts],
                "groups": list(request.groups),
                "timeout_seconds": request.timeout_s,
                "max_parallel": request.max_parallel,
                "stop_on_failure": request.stop_on_failure,
                "working_dir": request.working_dir,
                "output": request.output,
                "user": request.user,
            },
            tuple(request.env),
            parent_run_id=parent_run_id,
            dry_run=request.dry_run,
            source=source,
        )

    async def _note_key(self, result: HostResult) -> None:
        """Record and report a changed host key, or forget it once the host is trusted again."""
        if result.status is HostStatus.HOST_KEY_CHANGED:
            known = self.inventory.all()
            host = known[result.host]
            async with self.program.session((host,), known) as session:
                (probe,) = await self._probes.look(session, (host,), refresh=True)
            if not probe.key_changed:  # a jump host's key, or it changed back
                await self._tell_changed_key(host, HostKey(KeyStatus.CHANGED))
        elif result.status is HostStatus.SUCCEEDED:
            last = (await self._store.all()).get(result.host)
            if last is not None and last.key_changed:
                await self._store.forget(result.host)

    async def _tell_changed_key(self, host: HostEntry, key: HostKey) -> None:
        shown = f" It sent {key.fingerprint}." if key.fingerprint else ""
        body = (
            f"No command runs on this host until you have verified the key with `tocsin ssh trust {host.name}`.{shown}"
        )
        title = f"The host key of {host.name} has changed"
        notice = Notice(title, body, NoticeLevel.ERROR, "ssh", f"ssh:{host.name}", "#/ssh", f"ssh.host_key:{host.name}")
        await self.notices.notify(notice)


def _again(order: RunSpec, retry: "Retry | None") -> RunSpec:
    """Apply `retry` to `order` under the names of the earlier run, if given."""
    if retry is None:
        return order
    earlier = retry.run
    named = replace(order, subject_id=earlier.subject_id, subject_name=earlier.subject_name, params=earlier.params)
    return as_retry(named, retry)


async def _describe(
    session: SshSession, host: HostEntry, members: Mapping[str, Sequence[str]], probe: HostHealthRecord | None
) -> SshHost:
    try:
        address = await session.address(host)
    except ConfigError as error:
        raise ConfigError(f"host {host.name}: {error}", hint=error.hint) from None
    return SshHost(
        name=host.name,
        hostname=address.hostname,
        port=address.port,
        user=address.user,
        groups=tuple(group for group, hosts in members.items() if host.name in hosts),
        tags=host.tags,
        description=host.description,
        jump_host=host.jump_host or address.jump or None,
        identity=host.identity,
        host_key=probe.host_key if probe and probe.key_changed else await known_key(session, address),
        source=host.source,
        enabled=host.enabled,
        status=probe.status if probe else HostHealth.UNKNOWN,
        last_checked_at=probe.checked_at if probe else None,
    )


def _has(host: HostEntry, q: str, address: str = "") -> bool:
    texts = [host.name, host.hostname, host.description, address, *host.tags]
    return any(q.lower() in text.lower() for text in texts)
