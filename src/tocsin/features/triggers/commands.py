"""triggers: list the rules, and tell which one a message would fire."""

import argparse

from tocsin.core.reading.value import shorten
from tocsin.features.contract import Commands
from tocsin.features.triggers.rules import FILE_NAME, MatchStatus, Rule, RuleTest, TriggerEvent, Triggers
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message

_OUTCOMES = {
    MatchStatus.FIRES: "fires",
    MatchStatus.COVERED: "matches, but an earlier rule takes precedence",
    MatchStatus.NO_MATCH: "does not match",
}
_EXAMPLE = """\
example of a triggers.yaml:
  # yaml-language-server: $schema=schemas/triggers.json
  - pattern: '^disk (\\w+)$'
    command: df -h -- "/$1"
  - pattern: '^explain (.+)'
    action: claude
    command: Explain in two sentences what $1 is."""


def configure_triggers(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin triggers`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list the rules of triggers.yaml in order of evaluation",
            "test": "show which rule matches a message or a button and why, without running it",
        },
    )
    parser.epilog = f'example: tocsin triggers test "disk home"\n\n{_EXAMPLE}'
    commands["list"].epilog = f"example: tocsin triggers list\n\n{_EXAMPLE}"
    commands["list"].set_defaults(run=_list)
    commands["test"].epilog = (
        'examples: tocsin triggers test "disk home"\n          tocsin triggers test --on action cleanup\n\n'
        "exit code 0: a rule matches, 1: no rule matches"
    )
    commands["test"].add_argument(
        "text",
        help="message text, or with `--on action` the name of a button; `-` reads standard input; "
        "precede a text that starts with `-` with `--`",
    )
    commands["test"].add_argument(
        "--on", choices=tuple(map(str, TriggerEvent)), default=TriggerEvent.MESSAGE, help="which rules to try"
    )
    commands["test"].set_defaults(run=_test, free_text="text")


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:
    triggers, rules = _read(program)
    if out.as_json:
        out.document(rules)
    elif not rules:
        out.note(f"no triggers exist; create {triggers.path} (`tocsin triggers --help` shows an example)")
    else:
        rows = [
            (
                str(r.number),
                r.on.value,
                r.pattern.source,
                r.action.value,
                shorten(r.command),
                "yes" if r.reply else "no",
            )
            for r in rules
        ]
        out.table(("rule", "on", "pattern", "action", "command", "reply"), rows)
        _advise(out, rules)
    return DONE


def _test(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    text = read_message(arguments.text, out)
    triggers, _ = _read(program)
    found = triggers.explain(text, TriggerEvent(arguments.on))
    if out.as_json:
        out.document(found)
    else:
        _show(found, out)
    return DONE if found.matched else FAILED


def _read(program: Program) -> tuple[Triggers, tuple[Rule, ...]]:
    triggers = Triggers(program.settings().data_dir / FILE_NAME)
    rules = triggers.all()
    if triggers.problem:
        raise triggers.problem
    return triggers, rules


def _show(found: RuleTest, out: Console) -> None:
    if (rule := found.rule) is None:
        out.line("no rule matches")
    else:
        out.line(f"rule {rule.number} matches (line {rule.line}): {rule.pattern.source}")
        for number, group in enumerate(found.groups, 1):
            out.line(f"  ${number} = {_quoted(group)}")
        out.line(f"would run ({rule.action}): {_quoted(found.would_run or '')}")
        out.line("the output is sent as a reply" if rule.reply else "no reply is sent")
        if not rule.repeat:
            out.line("an interrupted run is not repeated")
        _advise(out, (rule,))
    if found.rules:
        rows = [(str(each.number), each.pattern, _OUTCOMES[each.outcome]) for each in found.rules]
        out.table(("rule", "pattern", "outcome"), rows)


def _quoted(text: str) -> str:
    """Return a text as one line that cannot be taken for anything else."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") or '""'


def _advise(out: Console, rules: tuple[Rule, ...]) -> None:
    for rule in rules:
        for note in rule.notes:
            out.note(f"tocsin: rule {rule.number} (line {rule.line}): {note}")


COMMANDS: Commands = {"triggers": configure_triggers}
