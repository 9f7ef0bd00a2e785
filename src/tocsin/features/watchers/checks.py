"""The checks of watchers in `tocsin doctor`."""

from collections.abc import AsyncIterator, Iterator, Sequence

from tocsin.core.errors import TocsinError
from tocsin.core.text.shell_scan import COMPARE_AS_TEXT, evaluated_variables
from tocsin.core.text.strings import number_of
from tocsin.core.watching.folder_watcher import FolderWatcher
from tocsin.core.watching.inotify import user_limit
from tocsin.core.watching.touched import WatchBackend
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.watchers.model import WatcherAction, WatcherRule
from tocsin.features.watchers.service import Watchers
from tocsin.features.watchers.watching.matching import LOGS
from tocsin.terminal.findings import Finding, yield_first

_FROM_FILES = frozenset({"1", "@", "*", "WATCH_PATH", "WATCH_OLD_PATH"})  # what strangers may have named


async def check_watchers(watchers: Watchers) -> AsyncIterator[Finding]:
    """Check the rules, their folders and actions, and the limits of the kernel."""
    if problem := watchers.problem:
        # The watched file has logged it.
        yield Finding("error", "watchers", str(problem), problem.hint or "correct the file", logged=True)
    rules = await watchers.all()
    for rule in rules:
        for finding in (*_check_folder(watchers, rule), *_check_command(rule)):
            yield finding
        for finding in _check_output(watchers, rule):
            yield finding
    async for finding in _check_actions(watchers, rules):
        yield finding
    if not rules:
        return
    states = await watchers.store.states() or {}
    for name, state in states.items():
        if state.is_watching and state.error:  # polled because of a limit
            detail, _, fix = state.error.partition(": ")
            yield Finding("warning", "watchers", f"{name} uses polling: {detail}", fix)
    limit = user_limit("max_user_watches")
    told = f", at most {limit:,} folders on this machine" if limit else ""
    yield Finding("ok", "watchers", f"{number_of(len(rules), 'watcher')} in {watchers.rules.path}{told}")


def _check_folder(watchers: Watchers, rule: WatcherRule) -> Iterator[Finding]:
    data_dir = watchers.context.data_dir
    if not rule.enabled:
        return
    if rule.path == data_dir or rule.path.is_relative_to(data_dir / LOGS):
        detail = f"{rule.name} watches files that Tocsin itself writes: {rule.path}"
        yield Finding("error", "watchers", detail, "watch a separate folder")
    elif not rule.path.is_dir():
        yield Finding(
            "warning", "watchers", f"{rule.name}: {rule.path} is not a folder", "create it, or correct `path`"
        )
    elif FolderWatcher(rule.path, ignore=False).backend is WatchBackend.POLLING:
        detail = f"{rule.name}: {rule.path} is on a network file system and is polled once a second"
        yield Finding("ok", "watchers", detail)


def _check_command(rule: WatcherRule) -> Iterator[Finding]:
    names = _FROM_FILES if rule.action is WatcherAction.SHELL else ()
    for name, place in evaluated_variables(rule.command, names).items():
        detail = f"{rule.name}: bash may execute ${name}, a file name, as code in {place}"
        yield Finding("warning", "watchers", detail, COMPARE_AS_TEXT)


def _check_output(watchers: Watchers, rule: WatcherRule) -> Iterator[Finding]:
    if not rule.output:
        return
    try:
        watchers.context.output.check(rule.output)
    except TocsinError as error:
        yield Finding("warning", "watchers", f"the output of {rule.name} cannot be delivered: {error}", error.hint)


async def _check_actions(watchers: Watchers, rules: Sequence[WatcherRule]) -> AsyncIterator[Finding]:
    """Check that the skills and workflows are there which rules name."""
    abilities, known = watchers.context.abilities, dict[WatcherAction, list[str]]()
    actions = {rule.action for rule in rules}
    if WatcherAction.SKILL in actions:
        assistants = await abilities.assistants.names()
        known[WatcherAction.SKILL] = sorted({*(skill.name for skill in await abilities.skills.list()), *assistants})
    if WatcherAction.WORKFLOW in actions:
        known[WatcherAction.WORKFLOW] = list(await abilities.run_starter.subjects("workflow") or ())
    for rule in rules:
        wanted = rule.command.split(maxsplit=1)[:1]
        if rule.action in known and wanted and wanted[0] not in known[rule.action]:
            there = ", ".join(yield_first(known[rule.action])) or "none"
            detail = f"{rule.name}: unknown {rule.action}: {wanted[0]}"
            yield Finding("warning", "watchers", detail, f"correct the name; available: {there}")


CHECKS: Checks[Watchers] = (FeatureCheck(check_watchers, at_start=True),)
