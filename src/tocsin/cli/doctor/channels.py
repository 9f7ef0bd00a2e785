"""doctor, channels: credentials, requirements of receiving, and the bot."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator

from tocsin.assembly.full.bot import build_access, find_conversation
from tocsin.assembly.program import App
from tocsin.bot.door.checks import check_access, check_admin
from tocsin.bot.settings import BotSettings
from tocsin.channels.model import ChannelSpec
from tocsin.channels.registry import ChannelState
from tocsin.cli.doctor.stores import has_database
from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import STORE
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable
from tocsin.core.tasks import run_concurrently
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.findings import Finding, collect
from tocsin.terminal.packages import is_installed


async def check_channels(app: App, *, probe: bool) -> AsyncIterator[Finding]:
    """Check that each channel is configured, and its credentials are well-formed and accepted by the provider."""
    states = app.registry.states()
    ready = [state for state in states if state.configured and not lacking(state.spec)]
    results = dict(zip((s.spec.kind for s in ready), await _probe(app, ready), strict=True)) if probe else {}
    for state in states:
        kind = state.spec.kind
        if not state.configured:
            needs = f"needs {state.spec.platform}" if not state.available else f"not configured: {state.remedy}"
            yield Finding("off", kind, needs)
        for package in lacking(state.spec):
            detail, fix = f"{package} is not installed", state.spec.how_to_install(package)
            yield Finding("error", kind, detail, fix) if state.configured else Finding("off", kind, f"{detail}; {fix}")
        if not state.configured:
            continue
        for finding in check_shapes(app.settings, kind, state.spec.variables):
            yield finding
        if not lacking(state.spec):
            yield results.get(kind) or Finding("ok", kind, "configured (not probed)")
    async for finding in _check_bot(app, results, probe=probe):
        yield finding


def lacking(spec: ChannelSpec) -> list[str]:
    """Return the optional packages of a channel that are not installed."""
    return [package for package in spec.packages if not is_installed(package)]


async def _probe(app: App, states: list[ChannelState]) -> list[Finding]:
    async def one(kind: str) -> Finding:
        result = await app.messenger.test(kind, Caller(CLI.name))
        if result.ok:
            return Finding("ok", kind, result.message)
        return Finding("error", kind, result.error)  # the error of a channel includes cause and remedy

    return await run_concurrently(one(state.spec.kind) for state in states)


def check_shapes(settings: Settings, subject: str, variables: Iterable[Variable[object]]) -> Iterator[Finding]:
    """Check that the settings have the format of the provider's credentials."""
    for variable in variables:
        value = settings[variable]
        if variable.shape and value and not re.fullmatch(variable.shape, str(value)):
            detail = f"{variable.name} has an unexpected form"
            yield Finding("warning", subject, detail, f"expected: {variable.doc}")


def check_receiving(app: App) -> Iterator[Finding]:
    """Check that the calls of each channel's webhook can be verified: unverified calls are all rejected."""
    for state in app.registry.states():
        spec = state.spec
        if spec.proof is None or "webhook" not in spec.inbound:
            continue
        if app.settings[spec.proof]:
            yield Finding("ok", "receiving", f"{spec.label}: webhook requests are verified with {spec.proof.name}")
            if not state.configured:  # otherwise the channel's own check reports it
                yield from check_shapes(app.settings, "receiving", spec.receiving)
        elif "polling" not in spec.inbound:
            yield Finding("off", "receiving", f"{spec.label}: webhook requests are rejected; set {spec.proof.name}")


async def _check_bot(app: App, results: dict[str, Finding], *, probe: bool) -> AsyncIterator[Finding]:
    """Check the bot, if there is one; the provider is called only after it has accepted the token."""
    state = app.registry.bot_channel()
    if not state.configured:
        yield Finding("off", "bot", f"it is disabled: set {', '.join(state.missing)}")
        return
    kind = state.spec.kind
    accepted = kind in results and results[kind].state == "ok"
    for finding in await collect("bot", _examine_bot(app, ask=probe and accepted)):
        yield finding


async def _examine_bot(app: App, *, ask: bool) -> AsyncIterator[Finding]:
    settings, channel = app.settings, find_conversation(app.registry)
    variables = channel.variables
    access = build_access(BotSettings.of(settings, variables), app.stores.bot().access, app.audit)
    is_shared = settings[STORE] == "redis"
    for message in (
        *channel.check_setup(settings.data_dir),
        *check_admin(settings, variables),
        *check_access(settings, variables, await access.listing() if is_shared or has_database(app) else ()),
    ):
        yield Finding(message.state, "bot", message.detail, message.fix)
    if ask:
        message = await channel.check_provider()
        yield Finding(message.state, "bot", message.detail, message.fix)
