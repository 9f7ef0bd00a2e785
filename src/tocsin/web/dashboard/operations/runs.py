"""Operations on runs of every kind."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from tocsin.core.reading.fields import IntegerType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import Flat
from tocsin.core.time.timestamps import timestamp
from tocsin.rest.bodies import RequestBody, text
from tocsin.rest.callers import CallerOf
from tocsin.rest.headers import JSON
from tocsin.rest.operations import OfferedTool, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, accepted, accepted_type, answer_run
from tocsin.rest.refusals import parse_time, refuse_parameter
from tocsin.runs.control import RunControl
from tocsin.runs.filters import RunFilter
from tocsin.runs.log_file import MAX_LINES, LogPage, plain
from tocsin.runs.model import TERMINAL, Line, Run, RunStatus, RunSummary
from tocsin.runs.service import Runs

TAIL_LINES = 200
PLAIN_TEXT = "text/plain"
_FROM_STEP = "Step at which the workflow starts; earlier steps that succeeded keep their outputs."
RunSort = Literal["-queued_at", "queued_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWithLog:
    """Run with its executed definition, and with its output if requested."""

    run: Flat[Run]
    definition: Annotated[
        Mapping[str, Any] | None,
        (
            "Definition that was executed, as it was then; for a workflow, the text of its file in `yaml`. Null "
            "if not stored."
        ),
    ]
    log: LogPage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun(RequestBody):
    """Options for cancelling a run."""

    reason: Annotated[str, text(500), "Comment to record with the run."] = ""
    grace_seconds: Annotated[int, Written(IntegerType(0, 60)), "Seconds before the run is killed."] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRun(RequestBody):
    """Options for retrying a run."""

    from_step: Annotated[str, text(200), _FROM_STEP] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideStep(RequestBody):
    """Decision on a waiting step."""

    step: Annotated[str, text(200), "Name of the step, if several wait."] = ""
    comment: Annotated[str, text(1000), "Comment to record with the decision."] = ""


class RunRoutes:
    """The operations on runs."""

    def __init__(self, runs: Callable[[], Runs], control: Callable[[], RunControl], kinds: Sequence[str]) -> None:
        self._runs = runs
        self._control = control
        self._kinds = kinds  # the kinds of run that this installation has

    @operation(
        "GET",
        "/api/runs",
        extension=True,
        problems=("validation-failed",),
        answer=Page[RunSummary],
        tool=OfferedTool("list_runs", read_only=True, idempotent=True),
    )
    async def list_runs(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the subject, actor or reason.")] = "",
        kind: Annotated[str | None, Query(max_length=40, description="Kind of the runs, for example `ssh`.")] = None,
        subject: Annotated[
            str, Query(max_length=200, description="ID of the job, workflow, skill or other subject.")
        ] = "",
        status: Annotated[list[RunStatus] | None, Query(description="State of the runs; may be repeated.")] = None,
        since: Annotated[str, Query(max_length=40, description="Earliest time of queueing.")] = "",
        until: Annotated[str, Query(max_length=40, description="Time before which the runs were queued.")] = "",
        sort: Annotated[RunSort, Query(description="Order: newest or oldest first.")] = "-queued_at",
    ) -> Any:
        """List runs, newest first unless `sort` is given."""
        if kind is not None and kind not in self._kinds:
            raise refuse_parameter("kind", "bad-value", f"Must be one of {', '.join(self._kinds)}")
        wanted = RunFilter(
            kind,
            subject,
            status or (),
            paging.limit,
            paging.start,
            parse_time("since", since),
            parse_time("until", until),
            text=q, oldest_first=sort == "queued_at",
        )  # fmt: skip
        found = await self._runs().find(wanted)
        return paging.page(found.items, found.next_cursor)

    @operation(
        "GET",
        "/api/runs/{run_id}",
        problems=("not-found", "validation-failed"),
        answer=RunWithLog,
        responses={200: {"content": {PLAIN_TEXT: {"schema": {"type": "string"}}}}},
        tool=OfferedTool("read_run_log", read_only=True, idempotent=True, omits=("ansi",), fixed={"log": "tail"}),
    )
    async def get_run(
        self,
        request: Request,
        run_id: str,
        log: Annotated[Literal["none", "tail", "all"], Query(description="How much of the log to include.")] = "none",
        stream: Annotated[str, Query(max_length=100, description="Output stream, or `all`.")] = "",
        from_line: Annotated[int, Query(ge=1, description="First line to return.")] = 1,
        ansi: Annotated[bool, Query(description="Keep terminal escape sequences.")] = False,
    ) -> Any:
        """Get a run: its state, parameters, times and error and, on request, its log.

        `Accept: text/plain` downloads the whole log instead, or only one stream or the lines from `from_line`.
        """
        run = await self._runs().get(await self._runs().whole_id(run_id))
        stream = "" if stream == "all" else stream
        if _wants_text(request):
            headers = {"Content-Disposition": f'attachment; filename="{run.id}.log"'}
            return StreamingResponse(
                _text_of(self._runs(), run, stream, from_line, ansi=ansi), media_type=PLAIN_TEXT, headers=headers
            )
        page = None
        if log != "none":
            tail = TAIL_LINES if log == "tail" and from_line == 1 else 0
            page = await self._runs().log(run.id, from_line, stream, tail=tail, ansi=ansi)
        return RunWithLog(run=run, definition=self._runs().definition(run), log=page)

    @operation(
        "POST",
        "/api/runs/{run_id}/cancel",
        scope="run",
        problems=("not-found", "invalid-transition", "validation-failed"),
        status=202,
        answer=Run,
        responses={200: {"model": Run, "description": "The run was cancelled in the queue, before it started."}},
    )
    async def cancel_run(self, run_id: str, caller: CallerOf, body: CancelRun | None = None) -> Any:
        """Cancel a run: send SIGTERM, and SIGKILL after `grace_seconds`."""
        wish = body or CancelRun()
        run = await self._control().cancel(run_id, caller, wish.reason, wish.grace_seconds)
        if run.status is RunStatus.CANCELLED:
            return JSONResponse(to_json(run))
        return accepted(to_json(run), run.id)

    @operation(
        "POST",
        "/api/runs/{run_id}/retry",
        scope="run",
        extension=True,
        once=True,
        problems=("not-found", "invalid-transition", "validation-failed", "run-already-active"),
        status=202,
        answer=Run,
        responses=RUN_STARTED,
    )
    async def retry_run(self, request: Request, run_id: str, caller: CallerOf, body: RetryRun | None = None) -> Any:
        """Start a finished run again, as a new run with `retry_of`."""
        running = await self._control().retry(run_id, caller, body.from_step if body else "")
        return await answer_run(request, running)

    async def _decide(self, run_id: str, caller: Any, body: DecideStep | None, *, approved: bool) -> Run:
        wish = body or DecideStep()
        made = await self._control().decide(run_id, caller, approved=approved, step=wish.step, comment=wish.comment)
        return await self._runs().get(made.run_id)

    @operation(
        "POST",
        "/api/runs/{run_id}/approve",
        scope="answer",
        once=True,
        extension=True,
        problems=("not-found", "invalid-transition", "validation-failed"),
        answer=Run,
    )
    async def approve_run(self, run_id: str, caller: CallerOf, body: DecideStep | None = None) -> Any:
        """Approve a waiting step.

        If the step has `approvers`, only they may approve it. A token cannot approve steps of a run that it started.
        """
        return await self._decide(run_id, caller, body, approved=True)

    @operation(
        "POST",
        "/api/runs/{run_id}/reject",
        scope="answer",
        once=True,
        extension=True,
        problems=("not-found", "invalid-transition", "validation-failed"),
        answer=Run,
    )
    async def reject_run(self, run_id: str, caller: CallerOf, body: DecideStep | None = None) -> Any:
        """Reject a waiting step; the permissions are those of approving it."""
        return await self._decide(run_id, caller, body, approved=False)


def _wants_text(request: Request) -> bool:
    return accepted_type(request, (JSON, PLAIN_TEXT)) == PLAIN_TEXT


async def _text_of(runs: Runs, run: Run, stream: str, start: int, *, ansi: bool) -> AsyncIterator[str]:
    """Yield the log from the line `start` on, in pieces; of an active run, up to its present end."""
    if run.status not in TERMINAL:
        lines = (await runs.log(run.id, start, stream, ansi=ansi)).lines
        while lines:
            yield _as_text(lines)
            start = lines[-1].n + 1
            lines = (await runs.log(run.id, start, stream, ansi=ansi)).lines
        return
    piece: list[Line] = []
    async for line in runs.follow(run.id, start):  # reads the file once, whereas each page would read it from the start
        if stream in {"", line.stream}:
            piece.append(line)
        if len(piece) == MAX_LINES:
            yield _as_text(piece if ansi else plain(piece))
            piece = []
    yield _as_text(piece if ansi else plain(piece))


def _as_text(lines: Iterable[Line]) -> str:
    return "".join(f"{timestamp(line.ts)} {line.stream} {line.text}\n" for line in lines)
