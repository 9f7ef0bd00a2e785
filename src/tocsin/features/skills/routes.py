"""The operations on skills."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.features.skill_records import Kind, SkillDetail, SkillRecord
from tocsin.features.skills.model import MAX_TIMEOUT_S, DependencyMissingError, ExecutionMode
from tocsin.features.skills.records import all_records, detail_of
from tocsin.features.skills.service import SkillRequest, Skills
from tocsin.features.skills.work import begin
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.rest.callers import CallerOf, find_trigger
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import as_detail
from tocsin.runs.model import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkillNow(RequestBody):
    """Options for running a skill."""

    args: Annotated[
        list[str], Written(ListType(TextType(), max_items=1000)), "For an assistant skill: files and folders."
    ] = field(default_factory=list)
    input: Annotated[str, Written(TextType(blank=True)), "Standard input; for an assistant skill, the task."] = ""
    mode: Annotated[ExecutionMode, Written(ChoiceType(tuple(ExecutionMode)))] = ExecutionMode.SANDBOXED
    timeout_seconds: Annotated[
        int | None, Written(IntegerType(1, MAX_TIMEOUT_S), nullable=True), "Time limit, at most the skill's own."
    ] = None
    dry_run: Annotated[bool, FLAG, "Only report what would run."] = False


class SkillRoutes:
    """The operations on skills."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    @operation("GET", "/api/skills", problems=("validation-failed",), answer=Page[SkillRecord])
    async def list_skills(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the name or description.")] = "",
        kind: Annotated[Kind | None, Query(description="Only runnable skills, or only assistant skills.")] = None,
        enabled: Annotated[bool | None, Query(description="Only enabled or only disabled skills.")] = None,
    ) -> Any:
        """List runnable skills and assistant skills by name."""
        found = [
            record
            for record in await all_records(self._skills)
            if any(q.casefold() in text.casefold() for text in (record.name, record.description))
            and kind in {None, record.kind}
            and enabled in {None, record.enabled}
        ]
        page, following = paging.cut(found, lambda record: record.name)
        return paging.page(page, following, len(found))

    @operation("GET", "/api/skills/{name}", problems=("not-found", "validation-failed"), answer=SkillDetail)
    async def get_skill(
        self,
        name: str,
        file: Annotated[
            str, Query(max_length=4096, description="File for which to check whether the skill is active.")
        ] = "",
    ) -> Any:
        """Get a skill with its instructions, and with the activation checks for `file`."""
        return await detail_of(self._skills, name, file)

    @operation(
        "POST",
        "/api/skills/{name}/run",
        scope="run",
        once=True,
        problems=("not-found", "dependency-missing", "disabled", "validation-failed"),
        status=202,
        answer=Run,
        responses=RUN_STARTED,
    )
    async def run_skill(self, request: Request, name: str, caller: CallerOf, body: RunSkillNow | None = None) -> Any:
        """Run a skill, in the sandbox by default; with `dry_run`, only report what would run."""
        wish = body or RunSkillNow()
        call = SkillRequest(
            wish.mode,
            find_trigger(request),
            caller.source,
            caller.actor,
            tuple(wish.args),
            wish.input,
            wish.timeout_seconds,
        )
        try:
            begun = await begin(self._skills, name, call, dry_run=wish.dry_run)
        except DependencyMissingError as error:
            facts = {"missing": list(error.missing)}
            raise HttpProblemError("dependency-missing", as_detail(error.sentence()), facts=facts) from None
        return JSONResponse(to_json(begun)) if isinstance(begun, Run) else await answer_run(request, begun)


OPERATIONS = operations_of("skills", SkillRoutes)
