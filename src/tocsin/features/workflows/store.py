"""The folder of workflows: every `<name>.yaml` in it is one."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from tocsin.core.errors import ConfigError, NotFoundError, TocsinError
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.storage.files import make_directory, only_writer, read_limited, refuse_others, write_atomically
from tocsin.features.workflows.language.model import Workflow, WorkflowProblem
from tocsin.features.workflows.language.reading import ReadWorkflow, children_in, read_workflow
from tocsin.features.workflows.language.surroundings import Surroundings

SUFFIX = ".yaml"
MAX_FILES = 1_000
UNREADABLE = "unreadable"  # the mistake of a file that cannot be read


class UnknownWorkflowError(NotFoundError):
    """There is no workflow of that name."""


class WorkflowChangedError(TocsinError):
    """The file was changed since it was read."""

    code = "precondition-failed"


class InvalidWorkflowError(TocsinError):
    """The file of a workflow has mistakes."""

    code = "workflow-invalid"

    def __init__(self, message: str, problems: tuple[WorkflowProblem, ...], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A workflow's file, valid or not."""

    name: str
    path: Path
    content: bytes
    modified_at: float
    read: ReadWorkflow
    unreadable: ConfigError | None = None  # why there is no content

    @property
    def valid(self) -> bool:
        """Whether it can be run."""
        return self.read.workflow is not None

    def says(self, text: str) -> bool:
        """Whether its name or description has a text, in whatever case."""
        described = self.read.workflow.description if self.read.workflow else ""
        return any(text.casefold() in each.casefold() for each in (self.name, described))

    @property
    def digest(self) -> str:
        """The SHA-256 of the file's content."""
        return sha256(self.content).hexdigest()

    def workflow(self) -> Workflow:
        """Return the workflow; raises InvalidWorkflowError."""
        if self.read.workflow is None:
            errors = self.read.errors
            more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
            said = "; ".join(problem.as_line(self.path.name) for problem in errors[:3])
            hint = f"tocsin workflows validate {self.name}"
            raise InvalidWorkflowError(f"workflow {self.name} is invalid: {said}{more}", errors, hint=hint)
        return self.read.workflow


class WorkflowFolder:
    """Reads the workflows of one folder at every call; an invalid one does not affect the others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._children_of: dict[str, tuple[bytes, tuple[str, ...]]] = {}  # by name: of which content, and its children

    def names(self) -> tuple[str, ...]:
        """Return the names of all workflows, valid or not."""
        try:
            found = sorted(each for each in self.path.iterdir() if each.suffix == SUFFIX)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigError(f"cannot read {self.path}: {error.strerror}", hint="check its permissions") from None
        return tuple(each.stem for each in found if not each.name.startswith("."))[:MAX_FILES]

    def get(self, name: str, around: Surroundings) -> WorkflowFile:
        """Return one workflow, valid or not; raises UnknownWorkflowError, or ConfigError if it cannot be read."""
        file = self.look(name, around)
        if file.unreadable:
            raise file.unreadable
        return file

    def look(self, name: str, around: Surroundings) -> WorkflowFile:
        """Return one workflow, also one whose file cannot be read: that is its mistake. Raises UnknownWorkflowError."""
        names = self.names()
        if name not in names:
            hint = (
                f"choose from {', '.join(names)}{suggestion(name, names)}"
                if names
                else "create one with `tocsin workflows new NAME`"
            )
            raise UnknownWorkflowError(f"unknown workflow: {shorten(name)!r}", hint=hint)
        return self._read(name, self._among(names, around))

    def all(self, around: Surroundings) -> list[WorkflowFile]:
        """Return every workflow by name, also those whose files cannot be read."""
        names = self.names()
        whole = self._among(names, around)
        return [self._read(name, whole) for name in names]

    def save(self, name: str, content: bytes, around: Surroundings, *, digest: str | None) -> tuple[WorkflowFile, bool]:
        """Write a workflow; return it, and whether it is new.

        Raises InvalidWorkflowError, WriteError, and WorkflowChangedError where the file has another `digest`, which is
        empty where there is to be none.
        """
        path = self.path / f"{name}{SUFFIX}"
        self.file(path, content, 0.0, around).workflow()
        make_directory(self.path)
        with only_writer(self.path):
            present = read_limited(path) if path.exists() else None
            if digest == "" and present is not None:
                raise WorkflowChangedError(f"workflow {name} already exists", hint="choose another name, or edit it")
            if digest and (present is None or digest != sha256(present).hexdigest()):
                raise WorkflowChangedError(f"workflow {name} was changed concurrently", hint="read it again")
            write_atomically(path, content)
        return self.get(name, around), present is None

    def file(self, path: Path, content: bytes, modified_at: float, around: Surroundings) -> WorkflowFile:
        """Read a content as if it were the file of a workflow."""
        whole = self._among({*self.names(), path.stem}, around)
        return WorkflowFile(path.stem, path, content, modified_at, read_workflow(content, path, whole))

    def _read(self, name: str, whole: Surroundings) -> WorkflowFile:
        path, modified_at = self.path / f"{name}{SUFFIX}", 0.0
        try:
            modified_at = path.stat().st_mtime
            refuse_others(self.path)
            refuse_others(path)
            content = read_limited(path)
        except OSError as error:  # such as a link that leads nowhere
            problem = ConfigError(f"cannot read {path}: {error.strerror}", hint="correct or remove it")
        except ConfigError as error:
            problem = error
        else:
            return WorkflowFile(name, path, content, modified_at, read_workflow(content, path, whole))
        mistake = WorkflowProblem(1, 1, "", "#", UNREADABLE, problem.sentence())
        return WorkflowFile(name, path, b"", modified_at, ReadWorkflow(None, (mistake,)), problem)

    def _among(self, names: Collection[str], around: Surroundings) -> Surroundings:
        """Return the names that workflows may refer to, including other workflows, whose files are read once."""

        @cache
        def children_of(name: str) -> tuple[str, ...]:
            return self._children(name, around.is_cancelled) if name in names else ()

        return replace(around, workflows=names, children_of=children_of)

    def _children(self, name: str, is_cancelled: Callable[[], bool]) -> tuple[str, ...]:
        """Return which workflows a stored one starts, whether or not all else that it names exists here."""
        path = self.path / f"{name}{SUFFIX}"
        try:
            content = read_limited(path)
        except ConfigError:  # what cannot be read starts none
            return ()
        digest = sha256(content).digest()
        known = self._children_of.get(name)
        if known is None or known[0] != digest:
            workflow = read_workflow(content, path, Surroundings(is_cancelled=is_cancelled)).workflow
            known = self._children_of[name] = digest, tuple(children_in(workflow)) if workflow else ()
        return known[1]
