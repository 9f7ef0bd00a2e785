"""intake: fulfil the request in a text with skills, after confirmation; the same as the bot's skill mode."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from secrets import token_hex

from tocsin.assembly.program import App
from tocsin.bot.skill_mode.audit_actions import INTAKE_CANCELLED, INTAKE_CONFIRMED, INTAKE_TASK_COMPLETED
from tocsin.bot.skill_mode.plans import Step
from tocsin.bot.skill_mode.skill_matching import ask_for_steps, match_steps
from tocsin.cli.running import with_app
from tocsin.core.audit.actions import AuditAction
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.ability_records import SkillInfo
from tocsin.runs.model import CUT_OFF, Run, RunTrigger
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.text import read_message

MAX_RESULT = 4000
SOURCE = "cli"


def configure_intake(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'example: tocsin intake "Look for leaked credentials; then audit the dependencies"\n\n'
        "Assistant skills inspect the working directory.\n"
        "exit code 0: a skill succeeded for every request, 1: a skill failed, no skill matched a request,\n"
        "or the plan was not confirmed"
    )
    parser.add_argument("text", help="text with the requests; `-` reads standard input")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation before skills run")
    parser.set_defaults(run=_intake, free_text="text")


def _intake(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    text, here = read_message(arguments.text, out), Path.cwd()
    if not text.strip():
        raise ConfigError("the text is empty", hint="pass the text as the argument, or pipe it in and pass `-`")
    return with_app(options, out, lambda app: _plan(app, text, here, out, asks=not arguments.yes), writes=True)


async def _plan(app: App, text: str, here: Path, out: Console, *, asks: bool) -> int:
    steps, plan = await _steps(app, text, await _skills(app), out), token_hex(8)
    for number, step in enumerate(steps, start=1):
        out.line(f"{number}. {step.requirement} → {step.skill or 'no matching skill'}")
    if not any(step.skill for step in steps):
        out.error("no installed skill matches", "`tocsin skills list` shows the installed skills")
        _show(out, plan, steps)
        return FAILED
    detail = f"plan {plan} of {number_of(len(steps), 'requirement')}"
    if asks and not await out.agreed("Run these skills?"):
        _record(app, INTAKE_CANCELLED, detail, plan)
        out.note("tocsin: cancelled; no skill was run")
        _show(out, plan, steps)
        return FAILED
    _record(app, INTAKE_CONFIRMED, detail, plan)
    out.effect_done("skills were run")
    done = [await _carry_out(app, plan, step, here, out) if step.skill else step for step in steps]
    _show(out, plan, done)
    return DONE if all(step.ok for step in done) else FAILED


async def _skills(app: App) -> list[SkillInfo]:
    """Return all skills that can run here: also assistant skills that need a folder, which the working directory is."""
    abilities = app.features.abilities
    found = {
        each.name: SkillInfo(each.name, each.description, keywords=tuple(each.trigger_keywords))
        for each in await abilities.assistants.list()
        if each.usable
    }
    found |= {skill.name: skill for skill in await abilities.skills.list()}
    return list(found.values())


async def _steps(app: App, text: str, skills: Sequence[SkillInfo], out: Console) -> list[Step]:
    try:
        if provider := await app.models().find():
            return await out.while_waiting(f"Asking {provider.model} …", ask_for_steps(provider, text, skills))
    except TocsinError as error:
        out.note(f"tocsin: matching by keywords, because the model failed: {error.sentence()}")
    return match_steps(text, skills)


async def _carry_out(app: App, plan: str, step: Step, here: Path, out: Console) -> Step:
    def note(run: Run | None) -> None:
        facts = {"skill": step.skill, "ok": run is not None and run.ok, "run": run.id if run else None}
        _record(app, INTAKE_TASK_COMPLETED, f"a requirement of plan {plan}", plan, **facts)

    out.note(f"tocsin: {step.skill}: {step.requirement}")
    try:
        run = await app.features.abilities.skills.run(
            step.skill, source=SOURCE, cause=RunTrigger.MANUAL, input=step.requirement, folder=here, audited=False
        )
    except TocsinError as error:
        note(None)
        out.error(str(error), error.hint)
        return replace(step, ok=False, result=error.sentence())
    if run.status not in CUT_OFF:  # such a run has an entry of its own
        note(run)
    result = await app.runs().text(run.id, MAX_RESULT)
    out.text(result)
    if not run.ok:
        out.error(f"{step.skill}: {run.status}: {run.reason}")
    return replace(step, ok=run.ok, result=result)


def _record(app: App, action: AuditAction, detail: str, plan: str, **facts: object) -> None:
    app.audit.record(action, detail, source=SOURCE, metadata={"plan": plan, "chat": None, **facts})


def _show(out: Console, plan: str, steps: Sequence[Step]) -> None:
    if out.as_json:
        out.document({"plan": plan, "steps": [asdict(step) for step in steps]})
