"""Watch folders: changes are queued for the skills that act on them, by priority, and run in the background."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tocsin.core.errors import TocsinError
from tocsin.core.reading.front_matter import PRIORITIES
from tocsin.core.tasks import FirstErrorGroup
from tocsin.core.watching.folder_watcher import ChangeKind, FileChange, FolderWatcher
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.activation import acts_on
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder, ConfinementError
from tocsin.features.assistant_skills.folder.place import SkillPlace
from tocsin.features.assistant_skills.local.commit_message import MESSAGE_FILE
from tocsin.features.assistant_skills.model import AssistantSkill, AssistantUnusableError
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.runs.model import Line

log = logging.getLogger(__name__)

SOURCE = "skills"
MAX_WAITING = 1000  # runs; a checkout of another branch changes thousands of files
_NEXT, _LAST = -1, len(PRIORITIES)  # beside the ranks of priorities
_FRESH = {ChangeKind.CREATED, ChangeKind.MODIFIED, ChangeKind.MOVED}


@dataclass(order=True, frozen=True, slots=True)
class QueuedRun:
    """A skill that is to look at one version of a file; the most urgent one sorts first."""

    rank: tuple[int, str]
    number: int
    skill: str = field(compare=False)
    place: SkillPlace = field(compare=False)
    version: str = field(compare=False)


class AssistantWatch:
    """Watches folders and runs skills, one after another, until it is cancelled."""

    def __init__(
        self,
        skills: AssistantSkills,
        folders: Sequence[Path],
        *,
        show: Callable[[Line], None] | None = None,
        on_run: Callable[[AssistantRun], None] = lambda _: None,
    ) -> None:
        """`show` gets each line that a run prints, `on_run` each run that has ended."""
        self._skills = skills
        self._versions = skills.versions
        self._watchers = [FolderWatcher(folder) for folder in folders]
        self._show = show
        self._on_run = on_run
        self._queue: asyncio.PriorityQueue[QueuedRun] = asyncio.PriorityQueue(MAX_WAITING)
        self._numbers = count()
        self._left_out = 0
        self._told = set[str]()

    async def ready(self) -> None:
        """Wait until changes are seen from now on."""
        for watcher in self._watchers:
            await watcher.ready.wait()

    async def run(self) -> None:
        """Watch and act; raises ConfigError for a folder that cannot be watched."""
        runner = self._skills.runner()
        runner.queue = self._take_invoked
        try:
            async with FirstErrorGroup() as group:
                for watcher in self._watchers:
                    group.create_task(self._watch(watcher))
                group.create_task(self._work())
        finally:
            runner.queue = None  # it would not be processed any more

    async def idle(self) -> None:
        """Wait until everything that was queued is done."""
        await self._queue.join()

    async def _watch(self, watcher: FolderWatcher) -> None:
        async with aclosing(watcher.changes()) as batches:
            async for batch in batches:
                for change in batch:
                    await self.take(change)

    async def take(self, change: FileChange) -> None:
        """Queue the skills that act on a change; a version that one has acted on is left out."""
        if change.kind is ChangeKind.COMMITTED:
            await self._take_commit(change)
        elif change.kind in _FRESH:
            version = await asyncio.to_thread(_version_of, change.folder, change.path)
            for skill in self._skills.which(change.path) if version else ():
                await self._put(skill, SkillPlace(change.folder, (change.path,)), version)

    async def _take_commit(self, change: FileChange) -> None:
        paths = await self._skills.runner().committed_files(change.folder, change.commit)
        for skill in self._skills.list():
            definition = skill.definition
            # Without patterns a skill looks at all files; the commit itself is one only for who asks for it.
            if definition and definition.file_patterns and acts_on(skill, MESSAGE_FILE):
                await self._put(skill, SkillPlace(change.folder, (MESSAGE_FILE,)), change.commit)
            called = (
                any(word.casefold() in change.subject.casefold() for word in definition.trigger_keywords)
                if definition
                else False
            )
            for path in paths:
                if acts_on(skill, path):
                    version = await asyncio.to_thread(_version_of, change.folder, path)
                    # Called by name, it looks again at what it saw when the file was saved.
                    await self._put(skill, SkillPlace(change.folder, (path,)), change.commit if called else version)

    async def _take_invoked(self, name: str, place: SkillPlace, urgent: bool) -> None:
        """Queue a skill that another one invokes, at the front or at the end."""
        version = await asyncio.to_thread(_version_of, place.root, place.paths[0])
        await self._put(self._skills.get(name), place, version, rank=_NEXT if urgent else _LAST)

    async def _put(self, skill: AssistantSkill, place: SkillPlace, version: str, *, rank: int | None = None) -> None:
        if not version or not self._skills.can_run(skill):
            return
        if not await self._versions.claim(skill.name, str(place.root), place.paths[0], version):
            return
        number = next(self._numbers)
        try:
            self._queue.put_nowait(
                QueuedRun(skill.rank if rank is None else (rank, skill.name), number, skill.name, place, version)
            )
        except asyncio.QueueFull:
            self._left_out += 1
            if self._left_out == 1:
                log.warning("too many files changed", extra={"waiting": MAX_WAITING, "left_out": place.paths[0]})

    async def _work(self) -> None:
        while True:
            task = await self._queue.get()
            try:
                await self._act(task)
            except TocsinError as error:
                log.warning("a skill could not check a file", extra={"skill": task.skill, "reason": error.sentence()})
            finally:
                self._queue.task_done()
                self._left_out = self._left_out if self._queue.qsize() else 0

    async def _act(self, task: QueuedRun) -> None:
        request = AssistantRequest(
            source=SOURCE, cause="watcher", folder=task.place.root, files=task.place.paths, watch=self._show
        )
        try:
            self._on_run(await self._skills.runner().run(task.skill, request, task.place))
        except AssistantUnusableError as error:
            if error.sentence() not in self._told:  # once, not at each file
                self._told.add(error.sentence())
                log.warning("a skill cannot run", extra={"skill": task.skill, "reason": error.sentence()})


def _version_of(folder: Path, path: str) -> str:
    """Return the digest of a file; empty if it is gone, or if a skill may not read it."""
    try:
        with ConfinedFolder(folder) as confined:
            return hashlib.sha256(confined.read(path)).hexdigest()
    except ConfinementError as error:
        log.debug("a changed file was not checked", extra={"reason": error.sentence()})
        return ""
