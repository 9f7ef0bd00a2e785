"""The work of a watcher after a change. A file name reaches a program as an argument, never as code."""

import asyncio
import shlex
from pathlib import Path

from tocsin.core.records.as_json import to_json
from tocsin.core.text.shell import shell_argv
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.watchers.feature import WATCHERS
from tocsin.features.watchers.model import KIND, WatchedChange, WatcherAction, WatcherRule, shown
from tocsin.features.watchers.watching.content import text_below
from tocsin.runs.control import Retry, StartRequest, as_retry
from tocsin.runs.engine.active_run import follow_child, show_child
from tocsin.runs.model import Command, RunResult, RunSpec, RunStatus
from tocsin.runs.recorder import RunHandle, Work, command

TIMEOUT_S = 3600.0
# A skill in the sandbox sees no file but its own; what it reads is kept with its run.
MAX_INPUT_BYTES = 256 * 1024


def make_spec(
    rule: WatcherRule,
    change: WatchedChange,
    trigger: str = "watcher",
    *,
    id: str = "",
    actor: str | None = None,
    parent_run_id: str | None = None,
    retry: Retry | None = None,
    source: str = WATCHERS.name,
) -> RunSpec:
    spec = RunSpec(
        KIND,
        rule.name,
        rule.name,
        trigger,
        actor,
        params=change.params(),
        env_keys=tuple(sorted([*variables(rule, change), "RUN_ID"])),
        parent_run_id=parent_run_id,
        snapshot=to_json(rule),
        source=source,
        id=id,
    )
    return as_retry(spec, retry)


class WatcherExecution:
    """The work of a rule for one change."""

    def __init__(self, context: FeatureContext, rule: WatcherRule, change: WatchedChange) -> None:
        self._context = context
        self._rule = rule
        self._change = change

    async def work(self, handle: RunHandle) -> RunResult:
        work: Work = {
            WatcherAction.SHELL: self._shell,
            WatcherAction.SKILL: self._skill,
            WatcherAction.WORKFLOW: self._workflow,
            WatcherAction.NOTIFY: self._notify,
        }[self._rule.action]
        return await work(handle)

    async def _shell(self, handle: RunHandle) -> RunResult:
        rule = self._rule
        child = Command(
            shell_argv(rule.command, rule.name, self._change.path),
            {**self._context.environment(), **variables(rule, self._change), "RUN_ID": handle.run_id},
            rule.path if rule.path.is_dir() else self._context.data_dir,
            TIMEOUT_S,
        )
        return await command(child)(handle)

    async def _skill(self, handle: RunHandle) -> RunResult:
        name, *words = shlex.split(self._rule.command)
        ended = await self._context.abilities.skills.run(
            name,
            source=WATCHERS.name,
            cause=handle.run.trigger,
            actor=handle.run.actor,
            args=[*words, shown(self._change.path)],
            input=await asyncio.to_thread(text_below, self._rule.path, Path(self._change.path), MAX_INPUT_BYTES),
            folder=self._rule.path,
            part_of=handle.run_id,
        )
        return show_child(handle, ended)

    async def _workflow(self, handle: RunHandle) -> RunResult:
        child = await self._context.abilities.run_starter.start(
            "workflow",
            self._rule.command,
            StartRequest(
                source=WATCHERS.name,
                cause=handle.run.trigger,
                actor=handle.run.actor,
                offers={"path": shown(self._change.path), "event": str(self._change.type)},
                parent_run_id=handle.run_id,
            ),
        )
        return await follow_child(handle, "workflow", child)

    async def _notify(self, handle: RunHandle) -> RunResult:
        said = f"{shown(self._change.path)} was {self._change.type}"
        notice = Notice(
            self._rule.command or f"{self._rule.name}: a file was {self._change.type}",
            said,
            NoticeLevel.INFO if not self._rule.command else NoticeLevel.WARNING,
            "system",
            self._rule.name,
            f"#/watchers/{self._rule.name}",
        )
        await self._context.abilities.notices.notify(notice)
        handle.write("stdout", said)
        return RunResult(RunStatus.SUCCEEDED)


def variables(rule: WatcherRule, change: WatchedChange) -> dict[str, str]:
    """Return the variables that a command gets besides the path."""
    moved = {"WATCH_OLD_PATH": change.old_path} if change.old_path else {}
    return {"WATCH_PATH": change.path, "WATCH_EVENT": str(change.type), "WATCH_NAME": rule.name, **moved}
