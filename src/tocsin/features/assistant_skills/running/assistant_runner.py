"""Run assistant skills: choose the files, store the findings, invoke further skills."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.core.audit.actions import CLI
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.process.git import GIT_DIRECTORIES, GitFailedError, GitProgram, find_repository
from tocsin.core.reading.front_matter import Invocation
from tocsin.core.text.strings import number_of
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.asking.model_runner import ModelRunner
from tocsin.features.assistant_skills.feature import SKILL_APPLY, SKILL_ASSIST
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder
from tocsin.features.assistant_skills.folder.overlay import PatchError, apply_changes
from tocsin.features.assistant_skills.folder.place import SkillPlace, place_of
from tocsin.features.assistant_skills.local.commit_message import MESSAGE_FILE
from tocsin.features.assistant_skills.local.git import GitFolder
from tocsin.features.assistant_skills.local.rules import look_at_commit, look_at_files
from tocsin.features.assistant_skills.model import (
    COMMITS,
    SECRETS,
    WITHOUT_MODEL,
    AssistantDisabledError,
    AssistantSkill,
    AssistantUnusableError,
    NoModelError,
    SkillOutput,
)
from tocsin.features.assistant_skills.results import SkillResultRecord
from tocsin.features.assistant_skills.running.retrying import as_before, kept_of
from tocsin.features.assistant_skills.settings import SKILLS_AUTO_APPLY, SKILLS_WATCH
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.run_notices import NotifyingRuns
from tocsin.features.skill_records import Severity, SkillFinding
from tocsin.providers.chat import HOW_TO_CONFIGURE
from tocsin.runs.control import as_retry
from tocsin.runs.document import audit_facts, writes_own_entry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.engine.run_type import RunAuditEntry, RunType
from tocsin.runs.model import Run, RunResult, RunSpec, RunStatus, new_run
from tocsin.runs.recorder import RunHandle, Work

if TYPE_CHECKING:
    from tocsin.features.assistant_skills.service import AssistantSkills

log = logging.getLogger(__name__)

MAX_FINDINGS = 200
MAX_CHAIN = 5  # skills that invoke each other
MAX_SHOWN_DIFF = 50_000
_SHOWN_FILES = 20
GIT_TIMEOUT_S = 20.0


class _Look(NamedTuple):
    """A run that is about to start; its findings and invocations are known at its end."""

    order: RunSpec
    work: Work
    place: SkillPlace
    chain: tuple[str, ...]
    found: Callable[[], SkillResultRecord]
    invoked: Callable[[], Sequence[Invocation]]


def _of_invoked(request: AssistantRequest, run: Run) -> AssistantRequest:
    return replace(request, parent_run_id=run.id, audited=True, retry=None)


class AssistantRunner:
    """Runs skills in this process."""

    def __init__(self, skills: "AssistantSkills") -> None:
        self.models = ModelRunner(skills.context)
        # Of a watch: takes an invoked skill, where it looks, and whether it is to be next.
        self.queue: Callable[[str, SkillPlace, bool], Awaitable[None]] | None = None
        self._skills = skills
        self._context = skills.context
        self._following: set[asyncio.Task[None]] = set()  # runs of others that runs begun here invoke

    async def locate(self, base: Path, files: Sequence[str]) -> SkillPlace:
        """Return the work tree around the first file, else the folder that asks, with the paths from there."""
        asked = [base / file for file in files] or [base]
        missing = [str(path) for path in asked if not path.exists() and not path.is_symlink()]
        if missing:
            raise ConfigError(f"file not found: {missing[0]}", hint="use paths relative to the working directory")
        return place_of(await self.top_of(base, asked[0]), asked)

    async def top_of(self, base: Path, file: Path) -> Path:
        """Return the folder that patterns for a file are relative to: its work tree, else `base` or its own folder."""
        start = next(place for place in (file, *file.parents) if place.is_dir())
        found = await asyncio.to_thread(find_repository, start, above=True)
        if found is not None and found.top is not None:
            return found.top
        return base if start.is_relative_to(base) else start

    async def committed_files(self, folder: Path, commit: str) -> Sequence[str]:
        """Return the files that a commit added or changed; none if the repository is refused."""
        try:
            return await self._git(folder).committed_files(commit)
        except GitFailedError as error:
            log.warning("a commit could not be checked", extra={"folder": str(folder), "reason": error.sentence()})
            return ()

    async def run(
        self,
        name: str,
        request: AssistantRequest,
        place: SkillPlace | None = None,
        *,
        chain: tuple[str, ...] = (),
    ) -> AssistantRun:
        """Run a skill to its end, and then those that it invokes; raises TocsinError for one that cannot be started.

        `place` is where it looks; without one, it is found from the files of the request. `chain` are the skills
        that led to this one: none of them is invoked again.
        """
        look = await self._prepare(name, request, place, chain)
        run = await self._context.runs().execute(look.order, look.work, watch=request.watch)
        found = look.found()
        await self._invoke(look.invoked(), _of_invoked(request, run), look.place, look.chain)
        return AssistantRun(run, found.findings, found.patch)

    async def start(self, name: str, request: AssistantRequest, *, dry_run: bool = False) -> ActiveRun | Run:
        """Start a skill and return at once; skills that it invokes run after it. Raises like `run`.

        With `dry_run`, return what would be run, which is neither executed nor recorded.
        """
        look = await self._prepare(name, request, None, ())
        if dry_run:
            planned = new_run(replace(look.order, dry_run=True), RunStatus.SKIPPED, self._context.clock.now())
            return replace(planned, reason="dry run: the skill would have been run")
        running = await self._context.runs().start(look.order, look.work)
        self._following.add(task := asyncio.create_task(self._follow(running, look, request)))
        task.add_done_callback(self._following.discard)
        return running

    async def _follow(self, running: ActiveRun, look: "_Look", request: AssistantRequest) -> None:
        run = await running.wait()
        await self._invoke(look.invoked(), _of_invoked(request, run), look.place, look.chain)

    async def aclose(self) -> None:
        """Cancel the skills that ended runs would still invoke."""
        for task in (following := list(self._following)):
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)

    async def _prepare(
        self, name: str, request: AssistantRequest, place: SkillPlace | None, chain: tuple[str, ...]
    ) -> "_Look":
        skill = self._usable(name)
        request, earlier = as_before(self._understood(name, request), name)
        place = place or earlier or await self._place(name, request)
        found, invoked = SkillResultRecord("", skill.name, str(place.root)), list[Invocation]()

        async def work(handle: RunHandle) -> RunResult:
            nonlocal found, invoked
            output = await self._look(skill, place, request, handle.run_id)
            wanted = self._context.settings[SKILLS_AUTO_APPLY]
            applied = await asyncio.to_thread(_apply_at_once, place, output, wanted)
            invoked = [each for each in output.invoked if each.agent not in {name, *chain}]
            found = replace(
                found,
                run_id=handle.run_id,
                findings=_ordered((*output.findings, *_suggested(invoked, place))),
                patch=output.diff,
                changes=output.changes,
                applied_at=self._context.clock.now() if applied else None,
            )
            await handle.amend_request(
                findings=len(found.findings), changes=len(found.changes), applied=found.applied_at is not None
            )
            await self._skills.results.add(found)
            _write(handle, found, output, place)
            if request.cause == "watcher":  # else a person reads the output
                await self._notify(found)
            return RunResult(RunStatus.SUCCEEDED)

        shown = [path or "." for path in place.paths[:_SHOWN_FILES]]
        order = RunSpec(
            "skill",
            skill.name,
            skill.name,
            request.cause,
            request.actor,
            params={"folder": str(place.root), "files": shown},
            parent_run_id=request.parent_run_id,
            snapshot=kept_of(place, request, self._context.redact),
            source=request.source,
            request={"audited": request.audited, "findings": 0, "changes": 0, "applied": False},
        )

        return _Look(as_retry(order, request.retry), work, place, (*chain, name), lambda: found, lambda: invoked)

    async def apply(self, run_id: str, *, source: str) -> SkillResultRecord:
        """Write the changes that a run proposed; raises PatchError, before writing any, if a file has changed since."""
        found = await self._skills.results.get(run_id)
        if not found.changes:
            raise PatchError(f"run {found.run_id} proposed no changes", hint="only some skills propose changes")
        if found.applied_at is not None:
            raise PatchError(f"the changes of run {found.run_id} have already been written", hint="run the skill again")

        def write() -> None:
            with ConfinedFolder(Path(found.folder)) as folder:
                apply_changes(folder, found.changes)

        await asyncio.to_thread(write)
        await self._skills.results.mark_applied(found.run_id)
        facts = {"run": found.run_id, "skill": found.skill, "changes": len(found.changes)}
        self._context.audit.record(SKILL_APPLY, f"changes of {found.skill}", source=source, metadata=facts)
        return found

    async def _invoke(
        self, invoked: Sequence[Invocation], request: AssistantRequest, place: SkillPlace, chain: tuple[str, ...]
    ) -> None:
        """Run the skills that a skill invokes, urgent ones first; a watch queues them."""
        urgent = [each.agent for each in invoked if each.priority == "immediate"]
        waiting = [each.agent for each in invoked if each.priority == "background"]
        for agent in [*urgent, *waiting] if len(chain) < MAX_CHAIN else ():
            try:
                if request.cause == "watcher" and self.queue is not None:
                    await self.queue(agent, place, agent in urgent)
                else:
                    await self.run(agent, request, place, chain=chain)
            except TocsinError as error:
                log.warning("an invoked skill did not run", extra={"skill": agent, "reason": error.sentence()})

    async def _place(self, name: str, request: AssistantRequest) -> SkillPlace:
        if request.folder is not None:
            return await self.locate(request.folder, request.files)
        top = self._watched(name)
        return place_of(top, [top / file for file in request.files])

    def _watched(self, name: str) -> Path:
        watched = self._context.settings[SKILLS_WATCH]
        if not watched:
            raise ConfigError(f"skill {name} needs a folder", hint=f"add a folder to {SKILLS_WATCH.name}")
        return watched[0]

    def _understood(self, name: str, request: AssistantRequest) -> AssistantRequest:
        """Split typed words into the names of files and the request."""
        if not request.is_typed:
            return request
        words = request.files
        if not words:
            return replace(request, is_typed=False)
        top = request.folder or self._watched(name)
        count = next((at for at, word in enumerate(words) if not os.path.lexists(top / word)), len(words))
        return replace(request, files=words[:count], input=" ".join(words[count:]), is_typed=False)

    def _usable(self, name: str) -> AssistantSkill:
        skill = self._skills.get(name)
        if skill.errors:
            mistakes = "; ".join(map(str, skill.errors))
            raise AssistantUnusableError(
                f"skill {name} cannot be run: {skill.file}:{mistakes}", hint="correct the file"
            )
        if skill.definition is None or not skill.definition.enabled:
            raise AssistantDisabledError(f"skill {name} is disabled", hint=f"set enabled: true in {skill.file}")
        if not self._skills.can_run(skill):
            raise NoModelError(f"skill {name} needs a chat model", hint=HOW_TO_CONFIGURE)
        return skill

    async def _look(
        self, skill: AssistantSkill, place: SkillPlace, request: AssistantRequest, run_id: str
    ) -> SkillOutput:
        """Check the files by fixed rules, by the model, or by both: the model judges the findings of the rules.

        The shipped scanner of secrets never shows a file to a model.
        """
        by_rules, diff = SkillOutput(), ""
        if skill.name == COMMITS:
            git = self._git(place.root)
            committed = place.paths == (MESSAGE_FILE,)
            change = await (git.last_commit() if committed else git.change())
            by_rules, diff = look_at_commit(change), change.diff[:MAX_SHOWN_DIFF]
        elif skill.name in WITHOUT_MODEL:
            with ConfinedFolder(place.root) as folder:
                by_rules = await asyncio.to_thread(look_at_files, skill, folder, place.paths)
        rules_alone = skill.name in WITHOUT_MODEL and (not self._skills.has_model or not by_rules.files)
        if rules_alone or (skill.name == SECRETS and skill.built_in):
            return by_rules
        return await self.models.look(skill, place, request, run_id, by_rules.findings, diff)

    async def _notify(self, found: SkillResultRecord) -> None:
        """Notify the operator of findings that need action; one notice for a skill and file within a day."""
        urgent = [finding for finding in found.findings if finding.severity is not Severity.INFO]
        if not urgent:
            return
        worst = urgent[0]
        level = NoticeLevel.ERROR if worst.severity in {Severity.CRITICAL, Severity.ERROR} else NoticeLevel.WARNING
        more = f" and {len(urgent) - 1} more" if len(urgent) > 1 else ""
        await self._context.abilities.notices.notify(
            Notice(
                f"{found.skill}: {worst.path}:{worst.line}{more}",
                f"{worst.severity}: {worst.message}",
                level,
                "skill",
                found.skill,
                dedupe_key=f"{found.skill}:{found.folder}:{worst.path}:{worst.line}:{worst.message}",
            )
        )

    def _git(self, folder: Path) -> GitFolder:
        directories = self._context.data_dir / GIT_DIRECTORIES
        return GitFolder(folder, GitProgram(self._context.environment, directories, timeout_s=GIT_TIMEOUT_S))


class AssistantRuns(NotifyingRuns, RunType):
    """Looks of assistant skills at files."""

    kind = "skill"
    source = CLI.name

    def owns(self, params: Mapping[str, Any]) -> bool:
        """Whether the skill looked at a folder: a program does not."""
        return "folder" in params

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the `skill.assist` entry, unless the caller writes one of its own."""
        if not writes_own_entry(run, request):
            return None
        found = {name: request.get(name, 0) for name in ("findings", "changes", "applied")}
        facts = {"skill": run.subject_id, **audit_facts(run), **found}
        return RunAuditEntry(SKILL_ASSIST, f"{run.subject_name} {run.status}", facts)


def _ordered(findings: Sequence[SkillFinding]) -> tuple[SkillFinding, ...]:
    """Return the worst findings first."""
    ranked = sorted(findings, key=lambda finding: (finding.severity.rank, finding.path, finding.line))
    return tuple(ranked[:MAX_FINDINGS])


def _suggested(invoked: Sequence[Invocation], place: SkillPlace) -> list[SkillFinding]:
    path = place.paths[0]
    return [
        SkillFinding(
            path,
            0,
            Severity.INFO,
            f"{each.agent} is suggested: {each.when}",
            f"tocsin skills run {each.agent} {path}".strip(),
        )
        for each in invoked
        if each.priority == "deferred"
    ]


def _apply_at_once(place: SkillPlace, output: SkillOutput, wanted: Sequence[Path]) -> bool:
    """Write the changes if the settings allow it; return whether they were written."""
    if not output.changes or not any(place.root.is_relative_to(os.path.realpath(folder)) for folder in wanted):
        return False
    with ConfinedFolder(place.root) as folder:
        apply_changes(folder, output.changes)
    return True


def _write(handle: RunHandle, found: SkillResultRecord, output: SkillOutput, place: SkillPlace) -> None:
    for finding in found.findings:
        handle.write("stdout", f"{finding}\n")
        for line in finding.suggestion.splitlines():
            handle.write("stdout", f"    {line}\n")
    for note in output.notes:
        handle.write("stderr", f"{note}\n")
    if found.changes:
        handle.write("stdout", found.patch)
        applied = found.applied_at is not None
        told = (
            "the changes were written"
            if applied
            else (f"to write the changes, run: tocsin skills apply {found.run_id}")
        )
        handle.write("stderr", f"{told}\n")
    left_out = len(output.findings) - len(found.findings)
    more = f", {left_out} more omitted" if left_out else ""
    named = place.paths[0] if len(place.paths) == 1 and output.files <= 1 else ""
    where, count = named or number_of(output.files, "file"), number_of(len(found.findings), "finding")
    handle.write("stderr", f"{found.skill}: {where}: {count}{more}\n")
