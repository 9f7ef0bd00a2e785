"""The fallbacks of the interfaces in `abilities.py` that no feature of an installation provides."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tocsin.features.context import AbilityMissingError

if TYPE_CHECKING:
    from tocsin.channels.conversation import Keyboard
    from tocsin.features.ability_records import AskedChat, AssistantRequest, RecalledEntry, ScheduledJob, SkillInfo
    from tocsin.features.skill_records import ActivationCheck, SkillRecord
    from tocsin.runs.control import StartRequest


class NoSkills:
    """`RunnableSkills` without skills."""

    async def list(self, *, every: bool = False) -> "Sequence[SkillInfo]":
        return ()

    async def is_assistant(self, name: str) -> bool:
        return True

    async def run(self, name: str, **_: Any) -> NoReturn:
        raise AbilityMissingError(f"skill {name} cannot be run: this installation has no skills")


class NoAssistants:
    """`Assistants` without skills."""

    async def list(self) -> "Sequence[SkillRecord]":
        return ()

    async def names(self) -> Collection[str]:
        return ()

    async def run(self, name: str, request: "AssistantRequest") -> NoReturn:
        raise AbilityMissingError(f"skill {name} cannot be run: this installation has no assistant skills")

    async def start(self, name: str, request: "AssistantRequest", *, dry_run: bool = False) -> NoReturn:
        await self.run(name, request)

    async def describe(self, name: str, file: str = "", /) -> "tuple[None, Sequence[ActivationCheck]]":
        return None, ()


class NoOperatorChats:
    """`OperatorChats` of an installation without a bot."""

    def find(self, ids: Collection[str] = (), /) -> "Sequence[AskedChat]":
        return ()

    async def tell(self, text: str, /, *, key: str) -> bool:
        return False

    async def ask(self, chat: "AskedChat", text: str, /, *, key: str, buttons: "Keyboard") -> None:
        raise AbilityMissingError(f"{chat} cannot be asked: no bot is set up")


class NoSecrets:
    """`Secrets` without a vault."""

    async def reveal(self, name: str, /, *, reader: str) -> NoReturn:
        raise AbilityMissingError(f"{reader} cannot read the secret {name}: this installation has no vault")

    async def reveal_several(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        for name in names or ():
            await self.reveal(name, reader=reader)
        return {}

    async def store(self, name: str, value: str, /, *, source: str) -> NoReturn:
        """Raise AbilityMissingError."""
        raise AbilityMissingError(f"{source} cannot store the secret {name}: this installation has no vault")

    async def names(self) -> Sequence[str] | None:
        return None


class NoRunStarter:
    """`RunStarter` for kinds of run that no feature starts."""

    async def start(self, kind: str, subject: str, request: "StartRequest", /) -> NoReturn:
        raise AbilityMissingError(f"{subject} cannot be started: no feature starts runs of the kind {kind}")

    async def subjects(self, kind: str, /) -> NoReturn:
        raise AbilityMissingError(f"no feature starts runs of the kind {kind}")


class NoSchedules:
    """`Schedules` without jobs."""

    async def jobs(self) -> "Sequence[ScheduledJob]":
        return ()

    async def jobs_by_subject(self, kind: str, /) -> Mapping[str, Sequence[str]]:
        return {}


class NoChatNotes:
    """`ChatNotes` that stores no entries."""

    async def recall(self, chat_id: str, question: str, /) -> "Sequence[RecalledEntry]":
        return ()

    async def remember(self, chat_id: str, text: str, /) -> NoReturn:
        raise AbilityMissingError("notes cannot be stored: this installation has no memory")

    async def follow(self, old_id: str, new_id: str, /) -> None:
        """Do nothing: there are no entries."""
