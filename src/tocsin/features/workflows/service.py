"""Workflows: read them, plan their runs, carry them out."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from tocsin.core.errors import TocsinError
from tocsin.core.tasks import to_the_end
from tocsin.features.context import AbilityMissingError, FeatureContext
from tocsin.features.workflows.feature import WORKFLOW_SAVE
from tocsin.features.workflows.language.model import MAX_DEPTH
from tocsin.features.workflows.language.params import InputProblem, take_params
from tocsin.features.workflows.language.reading import ReadWorkflow, children_in
from tocsin.features.workflows.language.scripts import value_paths, variable_of
from tocsin.features.workflows.language.surroundings import LateNames, Surroundings
from tocsin.features.workflows.language.texts import BAD_VALUE
from tocsin.features.workflows.requests import (
    AlreadyRunningError,
    InvalidRunError,
    PlannedRun,
    WorkflowRequest,
    restored_request,
)
from tocsin.features.workflows.store import WorkflowFile, WorkflowFolder
from tocsin.features.workflows.summary import was_rejected
from tocsin.runs.engine.overlap import UNLIMITED, Overlap, OverlapError, OverlapRules
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import (
    ACTIVE,
    WAITER_ENDED,
    Line,
    Run,
    RunResult,
    RunStatus,
)

# Lazy: listing workflows does not need the engine, which takes as long to import as all the rest.
if TYPE_CHECKING:
    from tocsin.core.lazy import Lazy
    from tocsin.features.workflows.engine.steps import WorkflowSteps
    from tocsin.features.workflows.language.model import Workflow
    from tocsin.features.workflows.preparing import PreparedRun, RunBuilder
    from tocsin.runs.engine.active_run import ActiveRun, PendingRun
    from tocsin.runs.recorder import Work
    from tocsin.runs.service import Runs

RECENT = 30  # runs that the record of a workflow shows


class Workflows:
    """The workflows of the data directory."""

    def __init__(
        self,
        folder: WorkflowFolder,
        context: FeatureContext,
        steps: "Lazy[WorkflowSteps]",
    ) -> None:
        self._folder = folder
        self.context = context
        self._steps = steps
        self._saving = asyncio.Lock()

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self._folder.path

    @cached_property
    def _runs(self) -> "Runs":
        return self.context.runs()

    @cached_property
    def _text_readers(self) -> ThreadPoolExecutor:
        """Apart from the shared threads: any token may send texts."""
        return ThreadPoolExecutor(1, thread_name_prefix="workflow-text")

    @cached_property
    def _builder(self) -> "RunBuilder":
        from tocsin.features.workflows.preparing import RunBuilder

        return RunBuilder(self.context)

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
        return (await self._runs.search("workflow", status=(RunStatus.WAITING,), parts=True)).items

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
        self.context.audit.record(WORKFLOW_SAVE, name, source=source, metadata=facts)
        return file, created

    async def read_text(self, name: str, content: bytes) -> WorkflowFile:
        """Read a text as if it were the file of a workflow.

        Texts are read one after the other by a thread of their own, which stops when the caller is cancelled.
        """
        path, cancelled = self.folder / f"{name}.yaml", Event()
        around = replace(await self.surroundings(), is_cancelled=cancelled.is_set)
        read = partial(self._folder.file, path, content, self.context.clock.now(), around)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._text_readers, read)
        finally:
            cancelled.set()

    async def surroundings(self) -> Surroundings:
        """Return the names that workflows may refer to, for threads; other features are asked on the caller's loop."""
        abilities, messenger = self.context.abilities, self.context.messenger
        loop = asyncio.get_running_loop()

        async def skills() -> list[str]:
            return [skill.name for skill in await abilities.skills.list()]

        async def hosts() -> Sequence[str] | None:
            return await abilities.run_starter.subjects("ssh")

        async def secrets() -> Sequence[str] | None:
            return await abilities.secrets.names()

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
        """Return the plan of a run; nothing is executed or sent, and no secret is read."""
        file = await self.get(name)
        workflow = file.workflow()
        params, problems = _inputs(workflow, request)
        children = {each: await self._child(each) for each in children_in(workflow)}
        steps = self._builder.plan(workflow, params, request, children)
        warnings = [problem.as_line(file.path.name) for problem in file.read.warnings]
        found = tuple(each.detail for each in problems)
        return PlannedRun(workflow=workflow.name, plan=steps, problems=found, warnings=tuple(warnings))

    async def run(self, name: str, request: WorkflowRequest, *, watch: Callable[[Line], None] | None = None) -> Run:
        """Run a workflow to its end and return how it ended; cancelling the caller ends it."""
        running = await self.start(name, request, watch=watch)
        return await running.wait_or_stop()

    async def start(
        self, name: str, request: WorkflowRequest, *, watch: Callable[[Line], None] | None = None
    ) -> "ActiveRun":
        """Start a workflow and return as soon as its run has begun, which may take long if `overlap` is `queue`.

        Raises like `begin`.
        """
        from tocsin.runs.engine.active_run import PendingRun

        begun = await self._begin(name, request, watch)
        if not isinstance(begun, PendingRun):
            return begun
        try:
            return await asyncio.shield(begun.begun)
        except asyncio.CancelledError:
            await to_the_end(self._runs.cancel(begun.run.id, WAITER_ENDED))
            raise

    async def begin(self, name: str, request: WorkflowRequest) -> "ActiveRun | PendingRun":
        """Start a workflow and return at once: its run has begun, or waits for earlier ones.

        Each run writes one audit entry, when it ends. Raises UnknownWorkflowError, InvalidWorkflowError,
        InvalidRunError, and AlreadyRunningError where `overlap` is `skip` and a run is active.
        """
        return await self._begin(name, request)

    async def _begin(
        self, name: str, request: WorkflowRequest, watch: Callable[[Line], None] | None = None
    ) -> "ActiveRun | PendingRun":
        file = await self.get(name)
        workflow = file.workflow()
        if len(request.ancestry) > MAX_DEPTH or name in request.ancestry:
            way = " -> ".join([*request.ancestry, name])
            raise InvalidRunError(f"workflows start each other, or are more than {MAX_DEPTH} deep: {way}")
        params, problems = _inputs(workflow, request)
        if problems:
            wrong = f"workflow {name} cannot run: {'; '.join(each.detail for each in problems)}"
            hint = f"`tocsin workflows show {name}` lists its parameters"
            raise InvalidRunError(wrong, hint=hint, problems=problems)
        inside = replace(request, ancestry=(*request.ancestry, name))
        prepared = await self._builder.prepare(file, params, request, self._steps().execute(self, inside, {}, {}))
        return await self._admit(workflow, prepared, watch)

    async def failing(self) -> Sequence[Run]:
        """Return the last run of each workflow that failed the last time, unless a person rejected a step."""
        runs = await self._runs.store.records.last_failed("workflow")
        return [run for run in runs if not was_rejected(run)]

    async def recent(self, name: str) -> Sequence[Run]:
        """Return the last runs of a workflow, the newest first."""
        return (await self._runs.search("workflow", name, limit=RECENT)).items

    async def schedules(self) -> Mapping[str, Sequence[str]]:
        """Return the IDs of the cron jobs that start each workflow, by its name."""
        return await self.context.abilities.schedules.jobs_by_subject("workflow")

    async def active(self, name: str) -> Sequence[Run]:
        """Return the runs of a workflow that have not ended, the newest first."""
        return (await self._runs.search("workflow", name, tuple(ACTIVE), 200)).items

    async def aclose(self) -> None:
        if "_text_readers" in self.__dict__:
            await asyncio.to_thread(self._text_readers.shutdown, cancel_futures=True)
        await self._steps.aclose()

    async def _child(self, name: str) -> "Workflow | str":
        """Return a workflow that another one starts, or why it cannot be run."""
        try:
            return (await self.get(name)).workflow()
        except TocsinError as error:
            return error.sentence()

    async def _admit(
        self,
        workflow: "Workflow",
        prepared: "PreparedRun",
        watch: Callable[[Line], None] | None,
    ) -> "ActiveRun | PendingRun":
        """Begin or queue a run as the `overlap` of its workflow says."""
        order, work = prepared
        rules = OverlapRules(Overlap(workflow.overlap), UNLIMITED, UNLIMITED)
        try:
            return await self._runs.admit_or_queue(order, work, rules, watch=watch)
        except OverlapError as error:
            skipped = await self._runs.record(order, RunResult(RunStatus.SKIPPED, str(error)))
            told = f"workflow {workflow.name} was not started: {error}"
            hint = "wait until it has ended, or set its overlap to queue, parallel or replace"
            raise AlreadyRunningError(told, skipped, hint=hint) from None

    async def resume(self, run: Run, stored: Mapping[str, Any]) -> "Work":
        """Return the work that continues a run which another process left.

        Raises InvalidWorkflowError, and InvalidRunError where its file cannot be restored.
        """
        request = restored_request(run, stored)
        file = await self._file_of(run)
        inside = replace(request, ancestry=(*request.ancestry, run.subject_id))
        noted = dict(stored.get("children", {}))
        found = await self._runs.find(RunFilter("workflow", parent=run.id, limit=200))
        ran = [child for child in found.items if child.started_at is not None or child.status in ACTIVE]
        others = {child.id: child.subject_id for child in ran if child.id not in noted.values()}
        execute = self._steps().execute(self, inside, noted, others)
        return (await self._builder.prepare(file, request.params, request, execute, run)).work

    async def _file_of(self, run: Run) -> WorkflowFile:
        """Return the file that a run executes, as it was when the run began."""
        snapshot = run.snapshot or {}
        text = str(snapshot.get("yaml", "")).encode()
        around = await self.surroundings()
        with suppress(TocsinError):
            present = await asyncio.to_thread(self._folder.get, run.subject_id, around)
            if present.digest == snapshot.get("sha256"):
                return present
        kept = WorkflowFile(run.subject_id, self.folder / f"{run.subject_id}.yaml", text, 0.0, ReadWorkflow(None, ()))
        if kept.digest != snapshot.get("sha256"):
            raise InvalidRunError(
                f"{run.subject_name} has changed, and its former version, which had a secret, was not stored whole"
            )
        return await asyncio.to_thread(self._folder.file, kept.path, text, 0.0, around)


def _inputs(workflow: "Workflow", request: WorkflowRequest) -> tuple[dict[str, Any], list[InputProblem]]:
    """Return the parameters of a run, and the problems of its parameters and variables."""
    params, problems = take_params(workflow.params, request.params_for(workflow))
    outputs = {step.name: step.output_names for step in workflow.all_steps()}
    taken = {variable_of(path): path for path in value_paths(workflow.params, outputs)}
    own = [
        InputProblem(("env", name), BAD_VALUE, f"{name} is the variable of {taken[name]}")
        for name in request.env
        if name in taken
    ]
    return params, [*problems, *own]
