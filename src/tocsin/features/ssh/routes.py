"""The operations on hosts."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse

from tocsin.core.reading.fields import IntegerType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Time
from tocsin.features.hooks import OperationsOf
from tocsin.features.ssh.execution import remote_command
from tocsin.features.ssh.model import (
    MAX_COMMAND,
    MAX_PARALLEL,
    MAX_TIMEOUT_S,
    DenyListError,
    HostHealth,
    HostSource,
    IdentityKind,
    KeyStatus,
    SshRequest,
)
from tocsin.features.ssh.service import Ssh
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.callers import CallerOf, find_trigger
from tocsin.rest.operations import Operations, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.runs.model import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRecord:
    """How we log in."""

    kind: IdentityKind
    ref: Annotated[str | None, "A key file, the name of a secret, or the socket of an agent."]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKeyRecord:
    """Whether the key of a host is known."""

    status: KeyStatus
    fingerprint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHost:
    """A host."""

    name: str
    hostname: str
    port: int
    user: str
    groups: list[str]
    tags: list[str]
    description: str
    jump_host: str | None
    identity: IdentityRecord
    host_key: HostKeyRecord
    source: HostSource
    enabled: bool
    status: Annotated[HostHealth, "As it was when it was last looked at."]
    last_checked_at: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SshGroup:
    """A group of hosts."""

    name: str
    hosts: list[str]
    host_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PingRecord:
    """Whether the machine answers."""

    ok: bool
    method: Annotated[str | None, "`icmp` or `tcp`; null if it was not checked."]
    rtt_ms: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRecord:
    """Whether a login works."""

    ok: bool
    latency_ms: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostHealthRecord:
    """How a host is."""

    host: str
    status: HostHealth
    ping: PingRecord
    ssh: LoginRecord
    host_key: HostKeyRecord
    checked_at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHealth:
    """How hosts are."""

    checked_at: Time
    summary: dict[HostHealth, int]
    items: list[HostHealthRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSshRun(RequestBody):
    """A command, and the hosts that get it."""

    command: Annotated[str, Written(TextType(max_chars=MAX_COMMAND), examples=("uptime",))]
    hosts: Annotated[list[str], Written(ListType(TextType(), max_items=1000))] = field(default_factory=list)
    groups: Annotated[list[str], Written(ListType(TextType(), max_items=100))] = field(default_factory=list)
    timeout_seconds: Annotated[int, Written(IntegerType(1, MAX_TIMEOUT_S)), "For each host."] = 60
    max_parallel: Annotated[int, Written(IntegerType(1, MAX_PARALLEL)), "Hosts at a time."] = 5
    stop_on_failure: Annotated[bool, FLAG, "Start on no further host after a failure."] = False
    env: Annotated[dict[str, str], Written(MappingType(TextType(blank=True))), "Variables to set there."] = field(
        default_factory=dict
    )
    working_dir: Annotated[str, text(4096), "Where it starts there."] = ""
    dry_run: Annotated[bool, FLAG, "Only tell the hosts."] = False
    output: Annotated[str | None, text(500, nullable=True), "`<channel>:<target>` or a profile."] = None

    def request(self) -> SshRequest:
        """Return it as the service takes it."""
        return SshRequest(
            self.command,
            tuple(self.hosts),
            tuple(self.groups),
            float(self.timeout_seconds),
            self.max_parallel,
            self.stop_on_failure,
            self.env,
            self.working_dir,
            output=self.output or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SshPlan:
    """What a command would do."""

    dry_run: bool
    hosts: list[str]
    command: Annotated[str, "What the shell of each host would get."]


_STARTED: dict[int | str, dict[str, Any]] = {
    **RUN_STARTED,
    200: {
        "model": Run | SshPlan,
        "description": "The run, which ended within `Prefer: wait=N`; or the hosts, with `dry_run`.",
    },
}


class SshRoutes:
    """The operations on hosts."""

    def __init__(self, ssh: Ssh) -> None:
        self._ssh = ssh

    @operation("GET", "/api/ssh/hosts", problems=("not-found", "validation-failed"), answer=Page[SshHost])
    async def list_ssh_hosts(
        self,
        paging: PagingOf,
        group: Annotated[str, Query(max_length=128, description="Only the hosts of this group.")] = "",
        q: Annotated[str, Query(max_length=200, description="Only with this in name, address, tags, text.")] = "",
    ) -> Any:
        """List the hosts by name."""
        found = sorted(await self._ssh.search(group, q), key=lambda host: host.name)
        page, following = paging.cut(found, lambda host: host.name)
        return paging.page(await self._ssh.documents(page), following, len(found))

    @operation("GET", "/api/ssh/groups", problems=("validation-failed",), answer=Page[SshGroup])
    async def list_ssh_groups(self, paging: PagingOf) -> Any:
        """List the groups of hosts by name."""
        found = self._ssh.groups()
        page, following = paging.cut(found, _name)
        return paging.page(page, following, len(found))

    @operation(
        "POST",
        "/api/ssh/run",
        scope="run",
        once=True,
        problems=("command-denied", "not-found", "validation-failed"),
        status=202,
        answer=Run,
        responses=_STARTED,
    )
    async def run_ssh_command(self, request: Request, body: NewSshRun, caller: CallerOf) -> Any:
        """Run a command on hosts."""
        wanted = body.request()
        if body.dry_run:
            hosts = [host.name for host in self._ssh.plan(wanted)]
            return JSONResponse({"dry_run": True, "hosts": hosts, "command": remote_command(wanted)})
        running = await self._ssh.start(wanted, source=caller.source, trigger=find_trigger(request), actor=caller.actor)
        return await answer_run(request, running)

    @operation("GET", "/api/ssh/health", problems=("not-found", "validation-failed"), answer=SshHealth)
    async def get_ssh_health(
        self,
        host: Annotated[list[str] | None, Query(description="Only this host; may be repeated.")] = None,
        group: Annotated[list[str] | None, Query(description="Only this group; may be repeated.")] = None,
        refresh: Annotated[bool, Query(description="Ask again, also what was asked within 30 seconds.")] = False,
    ) -> Any:
        """Check whether hosts answer and accept a login; all that are enabled, where none is named."""
        return await self._ssh.health(host or (), group or (), refresh=refresh)


def ssh_operations(ssh: Ssh) -> Operations:
    """Return the operations."""
    return Operations("ssh", SshRoutes(ssh), {DenyListError: "not-ready"})


def _name(document: dict[str, Any]) -> str:
    return str(document["name"])


OPERATIONS: OperationsOf[Ssh] = ssh_operations
