"""Run skills: dependencies first, then in the environment and the sandbox of the mode."""

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ConfigError
from tocsin.core.process.sandbox import SYSTEM_PATH, Sandbox, SandboxPolicy, State
from tocsin.core.tasks import to_the_end
from tocsin.core.text.shell import shell_argv
from tocsin.features.context import Abilities
from tocsin.features.skill_records import Dependency, Kind, SkillWarning
from tocsin.features.skills.home import SkillHome
from tocsin.features.skills.model import (
    INSTRUCTIONS,
    MANIFEST,
    MAX_TIMEOUT_S,
    ExecutionMode,
    InvalidSkillError,
    Manifest,
    Permission,
    Skill,
    SkillDisabledError,
    UnknownSkillError,
    is_assistant_run,
    kept_call,
)
from tocsin.features.skills.program import doubts_about
from tocsin.features.skills.snapshot import Snapshot, Workplace, digest_of
from tocsin.features.skills.store import SkillFolder, read_skill
from tocsin.runs.control import Retry, as_retry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Command, Line, Run, RunOutput, RunResult, RunSpec, RunStatus, new_run
from tocsin.runs.recorder import RunHandle, Work, command
from tocsin.runs.service import Runs

# All that a sandboxed skill gets, and what stands for one that is not set.
_SANDBOXED = {"PATH": SYSTEM_PATH, "HOME": "/", "LANG": "C.UTF-8", "TERM": "dumb"}
# The shell adds variables of its own to what it starts; the skill may still ask it for the folder.
_NO_MORE = "folder=$PWD; unset PWD OLDPWD SHLVL; PWD=$folder; unset folder; "
_SHOWN_ARGUMENT = 200
_MONTH_S = 30 * 86400


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """A request to run a skill. `source` is the source of the audit entry."""

    mode: ExecutionMode
    trigger: str
    source: str
    actor: str | None = None
    args: Sequence[str] = ()
    input: str = ""
    timeout_s: float | None = None  # less than the skill's own
    parent_run_id: str | None = None
    audited: bool = True  # False: the entry of its parent is the only one
    retry: Retry | None = None


class _Plan(NamedTuple):
    """A skill that is about to run."""

    order: RunSpec
    work: Work


class Skills:
    """The skills of the data directory."""

    def __init__(
        self,
        folder: SkillFolder,
        runs: Runs,
        sandbox: Sandbox,
        audit: AuditTrail,
        *,
        environment: Mapping[str, str],
        redact: Callable[[str], str] = str,
        workplace: Workplace,
        abilities: Abilities,
    ) -> None:
        """Hand over `environment`, which is without our secrets; `redact` masks these, and those of the vault."""
        self._folder = folder
        self._runs = runs
        self._sandbox = sandbox
        self._audit = audit
        self._environment = dict(environment)
        self._redact = redact
        self.abilities = abilities
        self._workplace = workplace

    @property
    def folder(self) -> Path:
        """The folder of the skills."""
        return self._folder.path

    def list(self) -> tuple[Skill, ...]:
        """Return all skills by name, invalid ones included."""
        return self._folder.all()

    async def last_run(self, name: str) -> tuple[Run | None, int]:
        """Return the newest run of a skill, and how many it had in 30 days."""
        last = await self._runs.search("skill", name, limit=1)
        return next(iter(last.items), None), await self._runs.count_recent("skill", name, _MONTH_S)

    async def plan(self, name: str, call: SkillRequest) -> Run:
        """Return the run that `start` would execute, without recording it; raises like `start`."""
        skill, redact = self._runnable(name), self._redact
        if skill.manifest:
            _timeout_s(skill.manifest, call)
        params = {"mode": str(call.mode), "args": [redact(argument)[:_SHOWN_ARGUMENT] for argument in call.args]}
        order = RunSpec("skill", name, name, call.trigger, call.actor, params=params, dry_run=True)
        shown = redact(skill.manifest.command if skill.manifest else "")
        output = RunOutput(len(shown.encode()), len(shown.splitlines()), tail=shown)
        run = new_run(order, RunStatus.SKIPPED, self._runs.now())
        return replace(run, reason="dry run: the skill would have been run", output=output)

    def get(self, name: str) -> Skill:
        """Return one skill, valid or not; raises UnknownSkillError."""
        return self._folder.get(name)

    async def is_assistant(self, name: str, earlier: Run | None = None) -> bool:
        """Return whether `name` means an assistant skill, or whether the run to be repeated was of one.

        A folder with a `skill.yaml` is a program, even while that file has an error: an edit never makes Tocsin
        run something else.
        """
        if earlier is not None:
            return is_assistant_run(earlier.params)
        skill = await asyncio.to_thread(self._folder.find, name)
        is_program = skill is not None and skill.kind is Kind.RUNNABLE
        return not is_program and name in await self.abilities.assistants.names()

    async def sandbox_state(self) -> State:
        """Return the sandbox level of this machine, and why it is not a higher one."""
        return await self._sandbox.state()

    async def dependencies(self, skill: Skill, mode: ExecutionMode = ExecutionMode.SANDBOXED) -> tuple[Dependency, ...]:
        """Return the required programs of a skill, with the paths that a run in this mode would use."""
        names = skill.manifest.dependencies if skill.manifest else ()
        path = await self._path(mode)
        state = await self._sandbox.state() if mode is ExecutionMode.SANDBOXED and names else None
        return tuple(Dependency(name, self._where(name, path, state)) for name in names)

    async def doubts(self, skill: Skill) -> tuple[SkillWarning, ...]:
        """Return the problems that would prevent the program of a valid skill from starting, except dependencies."""
        if not skill.runnable or skill.manifest is None:
            return ()
        ordinary, confined = await self._path(ExecutionMode.STANDARD), await self._path(ExecutionMode.SANDBOXED)
        state = await self._sandbox.state()
        declared = skill.manifest.dependencies
        found = doubts_about(
            skill.path,
            skill.manifest.command,
            lambda program: program if program in declared else self._where(program, ordinary, None),
            lambda program: program if program in declared else self._where(program, confined, state),
        )
        return tuple(found)

    async def run(self, name: str, call: SkillRequest, *, watch: Callable[[Line], None] | None = None) -> Run:
        """Run a skill to its end and return how it ended; cancelling the caller ends it. See `start`."""
        running = await self.start(name, call, watch=watch)
        return await running.wait_or_stop()

    async def start(self, name: str, call: SkillRequest, *, watch: Callable[[Line], None] | None = None) -> ActiveRun:
        """Start a skill and return at once.

        A run whose dependencies are missing fails without starting anything. `watch` sees each line that is
        printed. Each run writes one audit entry, when it ends. Raises UnknownSkillError, InvalidSkillError, and
        ConfigError for an invalid request.
        """
        skill = self._runnable(name)
        if call.mode is ExecutionMode.STANDARD:
            plan = await self._plan(skill, call, await asyncio.to_thread(_digest, skill.path), skill.path)
            return await self._start(plan, call, watch)
        # The manifest is read from the snapshot: what is allowed is what was copied, whatever changes meanwhile.
        snapshot = await self._take(skill.path)
        try:
            copied = runnable(read_skill(snapshot.path), name)
            home = await self._home(name)
            plan = await self._plan(copied, call, snapshot.digest, skill.path, home)
            work = _with(snapshot, home, plan.work)
            return await self._start(plan._replace(work=work), call, watch)
        except BaseException:
            await asyncio.to_thread(snapshot.remove)
            raise

    async def _take(self, folder: Path) -> Snapshot:
        """Copy a skill; a caller that is cancelled meanwhile leaves no copy behind."""
        taking = asyncio.ensure_future(asyncio.to_thread(self._workplace.take, folder))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(ConfigError):
                (await taking).remove()
            raise

    async def _start(self, plan: _Plan, call: SkillRequest, watch: Callable[[Line], None] | None) -> ActiveRun:
        return await self._runs.start(plan.order, plan.work, watch=watch)

    def _runnable(self, name: str) -> Skill:
        return runnable(self.get(name), name)

    async def _home(self, name: str) -> SkillHome:
        level = (await self._sandbox.state()).level
        return await asyncio.to_thread(SkillHome, self._workplace.home_of(name), self._sandbox.limits, level)

    async def _plan(
        self, skill: Skill, call: SkillRequest, digest: str, folder: Path, home: SkillHome | None = None
    ) -> _Plan:
        """Plan the run of a skill in `folder`; `skill` was read from its snapshot, if one was taken."""
        manifest = skill.manifest
        if manifest is None:  # `_runnable` has seen to it
            raise AssertionError(skill.name)
        timeout_s = _timeout_s(manifest, call)
        vault = await self._vault(manifest)
        env = await self._env(manifest, call.mode, vault)
        script = manifest.command if _has_all(manifest, call.mode) else _NO_MORE + manifest.command
        argv = shell_argv(script, manifest.name, *call.args)
        started = Command(argv, env, skill.path, timeout_s, call.input)
        params: dict[str, object] = {
            "mode": str(call.mode),
            "args": [self._redact(argument)[:_SHOWN_ARGUMENT] for argument in call.args],
            **({"sha256": digest} if digest else {}),
        }
        if home is not None:
            started = await self._confined(started, skill.path, folder, manifest, home)
            params["sandbox"] = str((await self._sandbox.state()).level)
        order = RunSpec(
            "skill",
            skill.name,
            skill.name,
            call.trigger,
            call.actor,
            params=params,
            env_keys=tuple(sorted(vault)),
            parent_run_id=call.parent_run_id,
            snapshot=kept_call(call.mode, call.args, call.input, call.timeout_s, self._redact),
            source=call.source,
            request={"audited": call.audited},
        )
        order = as_retry(order, call.retry)
        missing = [d.name for d in await self.dependencies(skill, call.mode) if not d.found]
        return _Plan(order, _refuse(missing) if missing else command(started))

    async def _confined(
        self, started: Command, source: Path, folder: Path, manifest: Manifest, home: SkillHome
    ) -> Command:
        room = SandboxPolicy(folder, source, home.path, network=Permission.NETWORK in manifest.permissions)
        confined = await self._sandbox.confine(started.argv, started.env, room)
        return Command(
            confined.argv,
            confined.env,
            confined.cwd,
            started.timeout_s,
            started.stdin,
            wrapped=confined.wrapped,
            max_processes=self._sandbox.limits.processes,
            max_memory_bytes=self._sandbox.limits.memory_bytes,
            writable=home,
        )

    async def _vault(self, manifest: Manifest) -> Mapping[str, str]:
        if Permission.VAULT not in manifest.permissions:
            return {}
        return dict(await self.abilities.secrets.reveal_several(manifest.vault, reader=f"skill:{manifest.name}"))

    async def _env(self, manifest: Manifest, mode: ExecutionMode, vault: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a run."""
        if _has_all(manifest, mode):
            env = {**self._environment, **vault}
        else:
            env = {name: self._environment.get(name) or usual for name, usual in _SANDBOXED.items()}
        return {**env, "PATH": await self._path(mode)}

    async def _path(self, mode: ExecutionMode) -> str:
        path = self._environment.get("PATH") or SYSTEM_PATH
        return (
            path
            if mode is ExecutionMode.STANDARD
            else self._sandbox.reachable(path, (await self._sandbox.state()).level)
        )

    def _where(self, program: str, path: str, state: State | None) -> str:
        found = shutil.which(program, path=path) or ""
        return found if found and (state is None or self._sandbox.shows(found, state.level)) else ""


def _has_all(manifest: Manifest, mode: ExecutionMode) -> bool:
    """Whether a run gets the full environment."""
    return mode is ExecutionMode.STANDARD or Permission.VAULT in manifest.permissions


def runnable(skill: Skill | None, name: str) -> Skill:
    """Return a skill that can be run; raises InvalidSkillError, UnknownSkillError and SkillDisabledError."""
    if skill is None:
        raise UnknownSkillError(f"skill {name} was removed")
    if not skill.valid:
        mistakes = "; ".join(map(str, skill.errors))
        raise InvalidSkillError(f"skill {name} cannot be run: {mistakes}", hint="correct the file")
    if skill.manifest is None:
        raise UnknownSkillError(f"skill {name} is an assistant skill", hint=f"it has no {MANIFEST}")
    if skill.definition is not None and not skill.definition.enabled:
        hint = f"set enabled: true in {skill.path / INSTRUCTIONS}"
        raise SkillDisabledError(f"skill {name} is disabled", hint=hint)
    return skill


def _digest(folder: Path) -> str:
    """Return the digest of a skill that runs in its own folder; empty if it is too large or not fully readable."""
    with suppress(ConfigError):
        return digest_of(folder)
    return ""


def _with(snapshot: Snapshot, home: SkillHome, work: Work) -> Work:
    """Return work that then removes the snapshot and stores the home directory, and fails if it cannot."""

    def clean_up() -> str:
        snapshot.remove()
        return home.settle()

    async def cleaned_up(recorder: RunHandle) -> RunResult:
        problem = ""
        try:
            ended = await work(recorder)
        finally:
            problem = await to_the_end(asyncio.to_thread(clean_up))
        if problem and problem != ended.reason:
            recorder.write("stderr", f"{problem}\n")
        if problem and ended.status is RunStatus.SUCCEEDED:
            error = {"code": "limit-exceeded", "message": problem}
            return replace(ended, status=RunStatus.FAILED, reason=problem, error=error)
        return ended

    return cleaned_up


def _refuse(missing: Sequence[str]) -> Work:
    """Return the work of a run that cannot start."""
    reason = f"missing: {', '.join(missing)}; the skill was not started"

    async def work(_: RunHandle) -> RunResult:
        return RunResult(RunStatus.FAILED, reason, error={"code": "dependency-missing", "message": reason})

    return work


def _timeout_s(manifest: Manifest, call: SkillRequest) -> float:
    if call.timeout_s is None:
        return float(manifest.timeout_s)
    if not 0 < call.timeout_s <= MAX_TIMEOUT_S:
        raise ConfigError(
            f"the time limit of a skill is at most {MAX_TIMEOUT_S} s", hint=f"choose a value from 1 to {MAX_TIMEOUT_S}"
        )
    return min(call.timeout_s, float(manifest.timeout_s))
