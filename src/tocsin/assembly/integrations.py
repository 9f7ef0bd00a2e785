"""What the program can be connected to, for the dashboard."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from tocsin.core.config.variables import CHAT_PROVIDER, REDIS_URL
from tocsin.core.errors import TocsinError
from tocsin.features.context import SubsystemState

if TYPE_CHECKING:
    from tocsin.assembly.program import App
    from tocsin.web.dashboard.operations.settings import Integration

_FEATURES = (("vault", "Vault", "vault"), ("ssh", "SSH hosts", "ssh"), ("browser", "Browser profiles", "browser"))
_SET_UP = frozenset({SubsystemState.OK, SubsystemState.DEGRADED, SubsystemState.ERROR})


async def integrations_of(app: "App") -> "Sequence[Integration]":
    """Return everything that Tocsin can be connected to; nothing that costs money or sends is asked."""
    from tocsin.web.dashboard.operations.settings import Integration

    channels = [
        Integration(
            id=state.spec.kind,
            name=state.spec.label,
            kind="channel",
            missing=state.missing,
            enabled=state.available,
            docs=f"docs/channels/{state.spec.kind}.md",
        )
        for state in app.registry.states()
    ]
    provider = app.settings[CHAT_PROVIDER]
    chat = Integration(
        id=provider or "chat",
        name=provider.capitalize() if provider else "Chat model",
        kind="chat_provider",
        missing=() if provider else (CHAT_PROVIDER.name,),
        docs="docs/bot.md",
    )
    sessions = Integration(
        id="redis",
        name="Redis",
        kind="session_store",
        enabled=bool(app.settings[REDIS_URL]),
        docs="docs/delivery.md",
        check=_asks_redis(app),
    )
    return [*channels, chat, sessions, *await _of_features(app), _speech(app)]


def _asks_redis(app: "App") -> Callable[[], Awaitable[str]]:
    async def check() -> str:
        from tocsin.assembly.program import is_redis_there

        return "" if await is_redis_there(app) else "no Redis listens there: sessions are kept in memory"

    return check


async def _of_features(app: "App") -> "list[Integration]":
    from tocsin.web.dashboard.operations.settings import Integration

    found = await app.features.subsystems()
    shown = []
    for name, label, kind in _FEATURES:
        told = found.get(name, [])
        set_up = any(status.state in _SET_UP for status in told)
        wrong = "; ".join(status.summary for status in told if status.state is SubsystemState.ERROR)
        shown.append(
            Integration(
                id=name,
                name=label,
                kind=kind,
                enabled=bool(told),
                is_set_up=set_up,
                docs=f"docs/{name}.md",
                check=_tells(wrong),
            )
        )
    return shown


def _tells(problem: str) -> Callable[[], Awaitable[str]]:
    async def check() -> str:
        return problem

    return check


def _speech(app: "App") -> "Integration":
    from tocsin.assembly.receiving import MODELS_FOLDER
    from tocsin.providers.files.reading import read_in_child
    from tocsin.providers.files.speech import Speech
    from tocsin.web.dashboard.operations.settings import Integration

    try:
        problem = Speech(app.settings.data_dir / MODELS_FOLDER, read_in_child).problem()
    except TocsinError as error:
        problem = error.sentence()
    ready, docs = not problem, "docs/bot.md"
    return Integration(id="speech", name="Speech to text", kind="speech", is_set_up=ready, note=problem, docs=docs)
