"""The context of features: shared parts of the program, and the abilities that no feature provides."""

from typing import TYPE_CHECKING

from tocsin.core.config.core_variables import STORE
from tocsin.core.lazy import lazily
from tocsin.features.context import Abilities, FeatureContext
from tocsin.features.null_abilities import (
    NoAssistants,
    NoChatNotes,
    NoRunStarter,
    NoSchedules,
    NoSecrets,
    NoSkills,
)

if TYPE_CHECKING:
    from tocsin.assembly.full.operator import Operator
    from tocsin.assembly.program import App


def make_context(app: "App") -> FeatureContext:
    """Return the context of all features, without their settings and the abilities that features provide."""
    return FeatureContext(
        settings=app.settings,
        data_dir=app.settings.data_dir,
        settings_file=app.settings.own_file,
        clock=app.clock,
        audit=app.audit,
        database=app.database,
        adapter=app.registry.adapter,
        messenger=app.messenger,
        output=app.output(),
        runs=app.runs,
        redact=app.redact,
        environment=app.settings.inheritable,
        abilities=_own_abilities(app),
        shared_redis=lambda: app.stores.redis() if app.settings[STORE] == "redis" else None,
    )


def _own_abilities(app: "App") -> Abilities:
    """Return the abilities of the program, and a null object for each one that only a feature provides."""
    return Abilities(
        models=lazily(app.models),
        skills=NoSkills(),
        assistants=NoAssistants(),
        notices=lazily(lambda: _operator(app).notices),
        operator_chats=lazily(lambda: _operator(app).chats),
        secrets=NoSecrets(),
        files=lazily(app.files),
        run_starter=NoRunStarter(),
        schedules=NoSchedules(),
        chat_notes=NoChatNotes(),
        bot=lazily(app.bot_view),
    )


def _operator(app: "App") -> "Operator":
    from tocsin.assembly.full.operator import Operator

    return Operator(app)
