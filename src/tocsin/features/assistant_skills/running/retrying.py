"""Store the files and the input of a run of an assistant skill, and run it again with them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.features.ability_records import AssistantRequest
from tocsin.features.assistant_skills.folder.place import SkillPlace
from tocsin.runs.control import NotRetriedError

# Of the names of files and the input; a longer run is not retried.
MAX_KEPT_CHARS = 20_000


def kept_of(place: SkillPlace, request: AssistantRequest, redact: Callable[[str], str]) -> dict[str, object] | None:
    """Return the files and the input for a retry; `None` if they are long or contain a secret."""
    texts = [str(place.root), *place.paths, request.input]
    if sum(map(len, texts)) > MAX_KEPT_CHARS or any(redact(text) != text for text in texts):
        return None
    return {"folder": str(place.root), "files": list(place.paths), "input": request.input}


def as_before(request: AssistantRequest, skill: str) -> tuple[AssistantRequest, SkillPlace | None]:
    """Return the request with the input and place of the run to be retried; without a retry, the request and `None`.

    Raises NotRetriedError if they were not stored, or if the folder is gone.
    """
    if request.retry is None:
        return request, None
    kept: Mapping[str, Any] | None = request.retry.run.snapshot
    if kept is None:
        raise NotRetriedError(
            "the files or the question of this run were not stored, because they are long or contain a secret",
            hint=f"pass them again: tocsin skills run {skill}",
        )
    folder = Path(kept["folder"])
    if not folder.is_dir():
        raise NotRetriedError(
            f"the folder of this run no longer exists: {folder}", hint=f"run {skill} in another folder"
        )
    return replace(request, input=kept["input"]), SkillPlace(folder, tuple(kept["files"]))
