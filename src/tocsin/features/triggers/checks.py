"""The checks of triggers in `tocsin doctor`."""

from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.util import find_spec

from tocsin.core.config.core_variables import CHAT_PROVIDER
from tocsin.core.config.settings import Values
from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.triggers.captures import notes_on
from tocsin.features.triggers.hooks import OpenTriggers
from tocsin.features.triggers.rules import Rule, TriggerAction
from tocsin.terminal.findings import Finding, yield_first


async def check_triggers(triggers: OpenTriggers) -> AsyncIterator[Finding]:
    """Check the trigger rules, and that their skills and models exist."""
    if find_spec("re2") is None:
        return  # the package has a finding of its own
    rules = triggers.rules.all()
    if problem := triggers.rules.problem:
        # The watched file has logged it.
        yield Finding("error", "triggers", str(problem), problem.hint or "correct the file", logged=True)
    needs_skills = any(rule.action is TriggerAction.SKILL for rule in rules)
    runnable = [skill.name for skill in await triggers.context.abilities.skills.list()] if needs_skills else []
    for rule in rules:
        for detail, fix in _doubts(rule, triggers.context.settings, runnable):
            yield Finding("warning", "triggers", f"rule {rule.number} (line {rule.line}): {detail}", fix)
    if rules:
        yield Finding("ok", "triggers", f"{number_of(len(rules), 'rule')} in {triggers.rules.path}")


def _doubts(rule: Rule, settings: Values, runnable: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield findings about dangerous or broken rules, with their fixes."""
    if rule.action is TriggerAction.SHELL:
        for note in notes_on(rule.command):
            detail, _, fix = note.partition(": ")
            yield detail, fix
    elif rule.action is TriggerAction.CLAUDE and not settings[CHAT_PROVIDER]:
        yield "it needs a chat model, and none is configured", f"set {CHAT_PROVIDER.name}"
    elif rule.action is TriggerAction.SKILL and rule.words[0] not in runnable:
        there = ", ".join(yield_first(list(runnable))) or "none"
        yield f"skill {rule.words[0]} does not exist or cannot be run", f"correct the name; available: {there}"


CHECKS: Checks[OpenTriggers] = (FeatureCheck(check_triggers, at_start=True),)
