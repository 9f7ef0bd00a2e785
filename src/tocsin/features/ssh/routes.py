"""The operations on hosts."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse

from tocsin.core.reading.fields import IntegerType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.features.ssh.execution import remote_command
from tocsin.features.ssh.model import (
    MAX_COMMAND,
    MAX_PARALLEL,
    MAX_TIMEOUT_S,
    DenyListError,
    SshGroup,
    SshHealth,
    SshHost,
    SshPlan,
    SshRequest,
)
from tocsin.features.ssh.service import Ssh
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.callers import CallerOf, find_trigger
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.runs.model import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSshRun(RequestBody):
    """Command, and the hosts to run it on."""

    command: Annotated[str, Written(TextType(max_chars=MAX_COMMAND), examples=("uptime",))]
    hosts: Annotated[list[str], Written(ListType(TextType(), max_items=1000))] = field(default_factory=list)
    groups: Annotated[list[str], Written(ListType(TextType(), max_items=100))] = field(default_factory=list)
    timeout_seconds: Annotated[int, Written(IntegerType(1, MAX_TIMEOUT_S)), "Timeout per host."] = 60
    max_parallel: Annotated[int, Written(IntegerType(1, MAX_PARALLEL)), "Maximum number of hosts at the same time."] = 5
    stop_on_failure: Annotated[bool, FLAG, "After a failure, do not start on further hosts."] = False
    env: Annotated[
        dict[str, str], Written(MappingType(TextType(blank=True))), "Environment variables on the hosts."
    ] = field(default_factory=dict)
    working_dir: Annotated[str, text(4096), "Working directory on the hosts."] = ""
    dry_run: Annotated[bool, FLAG, "Only return the hosts."] = False
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


_STARTED: dict[int | str, dict[str, Any]] = {
    **RUN_STARTED,
    200: {
        "model": Run | SshPlan,
        "description": "The run, which ended within `Prefer: wait=N`. With `dry_run`: the hosts.",
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
        group: Annotated[str, Query(max_length=128, description="Group of the hosts.")] = "",
        q: Annotated[str, Query(max_length=200, description="Text in the name, address, tags or description.")] = "",
    ) -> Any:
        """List hosts by name."""
        found = sorted(await self._ssh.search(group, q), key=lambda host: host.name)
        page, following = paging.cut(found, lambda host: host.name)
        return paging.page(await self._ssh.describe(page), following, len(found))

    @operation("GET", "/api/ssh/groups", problems=("validation-failed",), answer=Page[SshGroup])
    async def list_ssh_groups(self, paging: PagingOf) -> Any:
        """List host groups by name."""
        found = self._ssh.groups()
        page, following = paging.cut(found, lambda group: group.name)
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
            return JSONResponse(to_json(SshPlan(hosts=hosts, command=remote_command(wanted))))
        running = await self._ssh.start(wanted, source=caller.source, trigger=find_trigger(request), actor=caller.actor)
        return await answer_run(request, running)

    @operation("GET", "/api/ssh/health", problems=("not-found", "validation-failed"), answer=SshHealth)
    async def get_ssh_health(
        self,
        host: Annotated[list[str] | None, Query(description="Name of a host; may be repeated.")] = None,
        group: Annotated[list[str] | None, Query(description="Name of a group; may be repeated.")] = None,
        refresh: Annotated[
            bool, Query(description="Check again, even if the last result is less than 30 seconds old.")
        ] = False,
    ) -> Any:
        """Check that hosts are reachable and accept the login; by default, all enabled hosts."""
        return await self._ssh.health(host or (), group or (), refresh=refresh)


OPERATIONS = operations_of("ssh", SshRoutes, {DenyListError: "not-ready"})
