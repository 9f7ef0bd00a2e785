"""Workflows: read them, plan their runs, carry them out."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.features.context import AbilityMissingError, FeatureContext
from tocsin.features.workflows.audit_actions import WORKFLOW_RUN, WORKFLOW_SAVE
from tocsin.features.workflows.language.model import MAX_DEPTH
from tocsin.features.workflows.language.params import take_params
from tocsin.features.workflows.language.scripts import value_paths, variable_of
from tocsin.features.workflows.language.surroundings import LateNames, Surroundings
from tocsin.features.workflows.requests import (
    AlreadyRunningError,
    InvalidRunError,
    PendingRun,
    PlannedRun,
    WorkflowRequest,
)
from tocsin.features.workflows.store import WorkflowFile, WorkflowFolder
from tocsin.features.workflows.summary import is_wanted, notice_of, summary, was_rejected
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    Line,
    OutputDelivery,
    Run,
    RunKind,
    RunResult,
    RunStatus,
)
from tocsin.runs.queue import last_failed

# Whoever lists workflows does without the engine, which takes as long to import as all the rest.
if TYPE_CHECKING:
    from tocsin.features.workflows.engine.approval_buttons import ApprovalButtons
    from tocsin.features.workflows.engine.step_call import Execute
    from tocsin.features.workflows.engine.values import RunValues
    from tocsin.features.workflows.language.model import Workflow
    from tocsin.features.workflows.preparing import PreparedRun, RunBuilder
    from tocsin.runs.active_run import ActiveRun
    from tocsin.runs.recorder import RunHandle, Work
    from tocsin.runs.service import Runs

RECENT = 30  # runs that the record of a workflow shows


class _Waiting(NamedTuple):
    """A queued run, and how it begins when no earlier one is at work."""

    run: Run
    work: "Work"
    watch: Callable[[Line], None] | None
    note: Callable[[Run], None]


class Workflows:
    """The workflows of the data directory."""

    def __init__(
        self,
        folder: WorkflowFolder,
        context: FeatureContext,
        execute: "Callable[[Workflows, WorkflowRequest], Execute]",
        close: Callable[[], Awaitable[None]],
    ) -> None:
        """`execute` returns what carries out the steps of a run; `close` is awaited with the program's end."""
        self._folder = folder
        self._context = context
        self._execute = execute
        self._close = close
        self._saving = asyncio.Lock()
        self._queued: set[asyncio.Task[Run]] = set()
        self._starting = asyncio.Lock()  # nobody else looks what is at work until a run is recorded

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder.path

    @cached_property
    def _runs(self) -> "Runs":
        return self._context.runs()

    @cached_property
    def _text_readers(self) -> ThreadPoolExecutor:
        """Apart from the threads that everything else shares: anyone with a token may send texts."""
        return ThreadPoolExecutor(1, thread_name_prefix="workflow-text")

    @cached_property
    def _builder(self) -> "RunBuilder":
        from tocsin.features.workflows.preparing import RunBuilder

        return RunBuilder(self._context)

    def names(self) -> tuple[str, ...]:
        """Return the names of all workflows, valid or not."""
        return self._folder.names()

    async def get(self, name: str) -> WorkflowFile:
        """Return one workflow, valid or not; raises UnknownWorkflowError and ConfigError."""
        around = await self.surroundings()
        return await asyncio.to_thread(self._folder.get, name, around)

    async def look(self, name: str) -> WorkflowFile:
        """Return one workflow, also one whose file cannot be read; raises UnknownWorkflowError."""
        around = await self.surroundings()
        return await asyncio.to_thread(self._folder.look, name, around)

    async def all(self) -> list[WorkflowFile]:
        """Return every workflow by name, also those whose files cannot be read."""
        return await asyncio.to_thread(self._folder.all, await self.surroundings())

    async def waiting(self) -> Sequence[Run]:
        """Return the newest runs that wait for a person, with their steps."""
        return (await self._runs.search(RunKind.WORKFLOW, status=(RunStatus.WAITING,), parts=True)).items

    async def save(
        self, name: str, content: bytes, *, source: str, digest: str | None = None
    ) -> tuple[WorkflowFile, bool]:
        """Write the file of a workflow; return it, and whether it is new.

        Raises InvalidWorkflowError, and WorkflowChangedError where the present file has another `digest`.
        """
        around = await self.surroundings()
        async with self._saving:
            file, created = await asyncio.to_thread(self._folder.save, name, content, around, digest=digest)
        facts = {"workflow": name, "created": created}
        self._context.audit.record(WORKFLOW_SAVE, name, source=source, metadata=facts)
        return file, created

    async def read_text(self, name: str, content: bytes) -> WorkflowFile:
        """Return what a text would be as the file of a workflow.

        Texts are read one after the other by a thread of their own, which stops when the caller is cancelled.
        """
        path, cancelled = self.folder / f"{name}.yaml", Event()
        around = replace(await self.surroundings(), is_cancelled=cancelled.is_set)
        read = partial(self._folder.file, path, content, self._context.clock.now(), around)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._text_readers, read)
        finally:
            cancelled.set()

    async def surroundings(self) -> Surroundings:
        """Return what workflows may refer to here, for threads: the loop of the caller asks other features."""
        can, messenger = self._context.can, self._context.messenger
        loop = asyncio.get_running_loop()

        async def skills() -> list[str]:
            return [skill.name for skill in await can.list_skills()]

        async def hosts() -> Sequence[str] | None:
            return await can.list_subjects(RunKind.SSH)

        async def secrets() -> Sequence[str] | None:
            return await can.secret_names()

        def late(find: Callable[[], Coroutine[None, None, Sequence[str] | None]]) -> LateNames:
            return LateNames(lambda: asyncio.run_coroutine_threadsafe(find(), loop).result())

        def has_ssh() -> bool:
            try:
                len(known_hosts)
            except AbilityMissingError:
                return False
            return True

        known_hosts = late(hosts)
        return Surroundings(
            profiles=messenger.profile_names(),
            channels=messenger.channel_names(),
            parse_modes=messenger.parse_modes(),
            skills=late(skills),
            hosts=known_hosts,
            has_ssh=has_ssh,
            secrets=late(secrets),
        )

    async def plan(self, name: str, request: WorkflowRequest) -> PlannedRun:
        """Return what a run would do; nothing is executed or sent, and no secret is read."""
        from tocsin.features.workflows.engine.plan import plan
        from tocsin.features.workflows.preparing import left_out

        file = await self.get(name)
        workflow = file.workflow()
        params, problems = _inputs(workflow, request)
        values = self._builder.values(workflow, params, request, {})
        values.steps.update(left_out(workflow, request))
        path = self._context.environment().get("PATH")
        steps = plan(workflow, values, self._builder.folder_of(workflow), path, self._context.redact)
        warnings = [problem.as_line(file.path.name) for problem in file.read.warnings]
        return PlannedRun(workflow, steps, tuple(problems), tuple(warnings))

    async def run(self, name: str, request: WorkflowRequest, *, watch: Callable[[Line], None] | None = None) -> Run:
        """Run a workflow to its end and return how it ended; cancelling the caller ends it."""
        running = await self.start(name, request, watch=watch)
        return await running.wait_or_stop()

    async def start(
        self, name: str, request: WorkflowRequest, *, watch: Callable[[Line], None] | None = None
    ) -> "ActiveRun":
        """Start a workflow and return as soon as its run has begun, which may take long where `overlap` is `queue`.

        Raises like `begin`.
        """
        begun = await self._begin(name, request, watch)
        return await self._take_turn(begun) if isinstance(begun, _Waiting) else begun

    async def begin(self, name: str, request: WorkflowRequest) -> "ActiveRun | PendingRun":
        """Start a workflow and return at once: its run has begun, or waits for earlier ones.

        Each run writes one audit entry, when it ends. Raises UnknownWorkflowError, InvalidWorkflowError,
        InvalidRunError, and AlreadyRunningError where `overlap` is `skip` and a run is at work.
        """
        begun = await self._begin(name, request)
        if not isinstance(begun, _Waiting):
            return begun
        self._queued.add(task := asyncio.create_task(self._to_the_end(begun)))
        task.add_done_callback(self._queued.discard)
        return PendingRun(begun.run, task)

    async def _begin(
        self, name: str, request: WorkflowRequest, watch: Callable[[Line], None] | None = None
    ) -> "ActiveRun | _Waiting":
        file = await self.get(name)
        workflow = file.workflow()
        if len(request.ancestry) >= MAX_DEPTH or name in request.ancestry:
            way = " -> ".join([*request.ancestry, name])
            raise InvalidRunError(f"workflows start each other, or are more than {MAX_DEPTH} deep: {way}")
        params, problems = _inputs(workflow, request)
        if problems:
            raise InvalidRunError(
                f"the workflow {name} cannot run: {'; '.join(problems)}", hint=f"tocsin workflows show {name}"
            )
        inside = replace(request, ancestry=(*request.ancestry, name))

        async def at_end(handle: "RunHandle", result: RunResult, values: "RunValues") -> None:
            await self._tell(workflow, request, handle, result, values)

        prepared = await self._builder.prepare(file, params, request, self._execute(self, inside), at_end)
        return await self._admit(workflow, prepared, request, watch)

    async def failing(self) -> Sequence[Run]:
        """Return the last run of each workflow that failed the last time, unless a person rejected a step."""
        runs = await self._context.database.read(lambda connection: last_failed(connection, RunKind.WORKFLOW))
        return [run for run in runs if not was_rejected(run)]

    async def recent(self, name: str) -> Sequence[Run]:
        """Return the last runs of a workflow, the newest first."""
        return (await self._runs.search(RunKind.WORKFLOW, name, limit=RECENT)).items

    async def schedules(self) -> Mapping[str, Sequence[str]]:
        """Return the IDs of the cron jobs that start each workflow, by its name."""
        return await self._context.can.list_schedules(RunKind.WORKFLOW)

    async def active(self, name: str) -> Sequence[Run]:
        """Return the runs of a workflow that have not ended, the newest first."""
        return (await self._runs.search(RunKind.WORKFLOW, name, tuple(ACTIVE), 200)).items

    def approval_buttons(self) -> "ApprovalButtons":
        """Return what handles the buttons of waiting steps."""
        from tocsin.features.workflows.engine.approval_buttons import ApprovalButtons
        from tocsin.runs.control import RunControl

        control = RunControl(self._runs, self._context.audit, self._context.clock, self._context.can.start_run)
        return ApprovalButtons(control)

    async def aclose(self) -> None:
        """Close all connections, and leave queued runs to the end of the program."""
        for task in (queued := list(self._queued)):
            task.cancel()
        await asyncio.gather(*queued, return_exceptions=True)
        if "_text_readers" in self.__dict__:
            await asyncio.to_thread(self._text_readers.shutdown, cancel_futures=True)
        await self._close()

    async def _admit(
        self,
        workflow: "Workflow",
        prepared: "PreparedRun",
        request: WorkflowRequest,
        watch: Callable[[Line], None] | None,
    ) -> "ActiveRun | _Waiting":
        """Begin a run as the `overlap` of its workflow says."""
        from tocsin.features.workflows.admission import end_all, reason_to_skip

        async def active() -> Sequence[Run]:
            return await self.active(workflow.name)

        def note(run: Run) -> None:
            self._note(run, request)

        order, work = prepared
        async with self._starting:
            at_work = [] if workflow.overlap == "parallel" else await active()
            if not at_work:
                return await self._runs.start(order, work, watch=watch, on_end=note)
            if workflow.overlap == "skip":
                reason = reason_to_skip(at_work, self._context.clock)
                skipped = await self._runs.record(order, RunResult(RunStatus.SKIPPED, reason))
                note(skipped)
                raise AlreadyRunningError(
                    f"{workflow.name} was not started: {reason}", skipped, hint="overlap: queue, parallel or replace"
                )
            if workflow.overlap == "replace":
                await end_all(self._runs, active)
                return await self._runs.start(order, work, watch=watch, on_end=note)
            return _Waiting(await self._runs.queue(order), work, watch, note)

    async def _take_turn(self, waiting: "_Waiting") -> "ActiveRun":
        """Wait for the earlier runs, then begin; raises RunEndedError for a run that was cancelled meanwhile."""
        from tocsin.features.workflows.admission import wait_for_turn
        from tocsin.runs.store import RunEndedError

        run, work, watch, note = waiting
        await wait_for_turn(self._context.database, run)
        try:
            return await self._runs.begin(run, work, watch=watch, on_end=note)
        except RunEndedError:
            note(await self._runs.get(run.id))
            raise

    async def _to_the_end(self, waiting: "_Waiting") -> Run:
        from tocsin.runs.store import RunEndedError

        try:
            running = await self._take_turn(waiting)
        except RunEndedError:
            return await self._runs.get(waiting.run.id)
        return await running.wait()

    async def _tell(
        self,
        workflow: "Workflow",
        request: WorkflowRequest,
        handle: "RunHandle",
        result: RunResult,
        values: "RunValues",
    ) -> None:
        """Queue the summary of a run that has ended for its profile, and tell the operator that the workflow fails.

        A failure to tell anyone never changes how the run ended.
        """
        try:
            run = await self._runs.get(handle.run_id)
            run = replace(run, status=result.status, reason=result.reason, error=result.error)
            before = await self._run_before(run)
            took_s = self._context.clock.now() - (run.started_at or run.queued_at)
            text = self._context.redact(summary(workflow, run.id, result, list(values.steps.values()), took_s))
            delivery = OutputDelivery()
            if workflow.notify_profile and is_wanted(workflow, run.status, before):
                key = f"workflow:{run.id}"
                queued = await self._context.output.queue(workflow.notify_profile, text, Caller(request.source), key)
                delivery = OutputDelivery.begun(queued.refused, queued.deliveries)
                await self._runs.set_delivery(run.id, delivery)
            told = workflow.notify_profile if delivery.is_complete else ""
            if notice := notice_of(run, before, self._context.clock.now(), said=text, output=told):
                await self._context.can.notify(notice)
        except TocsinError as error:
            told = f"the profile {workflow.notify_profile}" if workflow.notify_profile else "the operator"
            handle.write("system", f"{told} is not told: {error.sentence()}\n")

    async def _run_before(self, run: Run) -> Run | None:
        """Return the newest of the earlier runs that were carried out, but for cancelled ones."""
        earlier = (each for each in await self.recent(run.subject_id) if each.id < run.id and each.started_at)
        return next((each for each in earlier if each.status in TERMINAL - {RunStatus.CANCELLED}), None)

    def _note(self, run: Run, request: WorkflowRequest) -> None:
        from tocsin.runs.document import audit_facts

        facts = {
            "workflow": run.subject_id,
            **audit_facts(run),
            **({"retry_of": run.retry_of} if run.retry_of else {}),
            **({"parent": run.parent_run_id} if run.parent_run_id else {}),
        }
        detail = f"{run.subject_name} {run.status}"
        self._context.audit.record(WORKFLOW_RUN, detail, source=request.source, metadata=facts)
        if request.on_end:
            request.on_end(run)


def _inputs(workflow: "Workflow", request: WorkflowRequest) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of a run, and what is wrong with them or with its variables."""
    params, problems = take_params(workflow.params, request.params_for(workflow))
    outputs = {step.name: step.output_names for step in workflow.all_steps()}
    taken = {variable_of(path): path for path in value_paths(workflow.params, outputs)}
    own = [f"{name} is the variable of {taken[name]}" for name in request.env if name in taken]
    return params, [*problems, *own]
