"""Trigger rules as the interfaces show them."""

from typing import Any

from tocsin.features.triggers.captures import notes_on, substitute
from tocsin.features.triggers.rules import Action, Match, MatchStatus, Rule, RuleEvaluation


def would_run(match: Match) -> str:
    """Return what runs; a shell gets its command as it is, and the captures beside it."""
    if match.rule.action is Action.SHELL:
        return match.rule.command
    return substitute(match.rule.command, match.captures)


def notes_of(rule: Rule) -> tuple[str, ...]:
    """Return what is doubtful about the command of a rule."""
    return notes_on(rule.command) if rule.action is Action.SHELL else ()


def rule_record(rule: Rule) -> dict[str, Any]:
    """Return the record of a rule."""
    return {
        "number": rule.number,
        "line": rule.line,
        "pattern": rule.pattern.source,
        "action": rule.action.value,
        "command": rule.command,
        "reply": rule.reply,
        "notes": list(notes_of(rule)),
    }


def explanation_record(match: Match | None, findings: tuple[RuleEvaluation, ...]) -> dict[str, Any]:
    """Return the record of what the rules have to say about a text."""
    outcomes = {MatchStatus.FIRES: "fires", MatchStatus.COVERED: "covered", MatchStatus.NO_MATCH: "no-match"}
    return {
        "matched": match is not None,
        "rule": rule_record(match.rule) if match else None,
        "groups": list(match.groups) if match else [],
        "would_run": would_run(match) if match else None,
        "rules": [
            {"number": f.rule.number, "pattern": f.rule.pattern.source, "outcome": outcomes[f.outcome]}
            for f in findings
        ],
    }
