"""Skill mode: the requests of a message are mapped to skills, confirmed by the person, executed and reported."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tocsin.bot import keyboards
from tocsin.bot.commands import MAX_OUTPUT, NO_SKILLS, result_text
from tocsin.bot.contract import FindProvider, Prepared, RunSkillForChat, answered
from tocsin.bot.executor import CANCELLED, ChatExecutor, TaskContext, was_cancelled, was_rejected
from tocsin.bot.pressed import drop_buttons, in_place, show_progress
from tocsin.bot.skill_mode.audit_actions import (
    INTAKE,
    INTAKE_CANCELLED,
    INTAKE_CONFIRMED,
    INTAKE_PRESS_DENIED,
    INTAKE_TASK_COMPLETED,
)
from tocsin.bot.skill_mode.plans import Plan, Plans, Step
from tocsin.bot.skill_mode.skill_matching import ask_for_steps, match_steps
from tocsin.channels.conversation import ConversationAdapter
from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of, truncate
from tocsin.features.abilities import RunnableSkills
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.runs.model import CUT_OFF, Run

log = logging.getLogger(__name__)

NOTHING_FITS = "No installed skill matches. /skills lists the installed skills; /mode chat returns to chat mode."
GONE = "This plan has already been executed or cancelled, or it is older than a day."
_PLAN = "plan:"
SHOWN_ID = 64  # characters of the plan ID in a forged button
SHOWN_RESULT = 600  # characters of each skill's output in the report


class SkillPlanner:
    """The pipeline from a message to the report of the executed plan."""

    def __init__(
        self,
        plans: Plans,
        audit: AuditTrail,
        channel: ConversationAdapter,
        executor: ChatExecutor,
        *,
        provider: FindProvider,
        skills: RunnableSkills,
        run_skill: RunSkillForChat,
    ) -> None:
        self._plans = plans
        self._audit = audit
        self._channel = channel
        self._executor = executor
        self._provider = provider
        self._skills = skills
        self._run_skill = run_skill

    async def propose(self, work: TaskContext, ready: Prepared) -> HandlerResult:
        """Answer a free-form message with a plan and two buttons."""
        skills = await self._skills.list()
        if not skills:
            return answered(NO_SKILLS)
        steps, remark = await self._find_steps(ready.text, skills)
        if not any(step.skill for step in steps):
            return answered(NOTHING_FITS)
        plan = await self._plans.add(work.received.message.chat_id, steps)
        lines = ["Shall I run this?", "", *(_proposed(n, step) for n, step in enumerate(steps, start=1)), *remark]
        buttons = [
            [
                ("Run", f"{keyboards.CONFIRM}{_PLAN}{plan.id}"),
                ("Cancel", f"{keyboards.CANCEL}{_PLAN}{plan.id}"),
            ]
        ]
        return answered("\n".join(lines), buttons=buttons)

    async def _find_steps(self, text: str, skills: Sequence[Any]) -> tuple[list[Step], list[str]]:
        try:
            if provider := await self._provider():
                return await ask_for_steps(provider, text, skills), []
        except TocsinError as error:
            log.warning("requirements are matched by keywords", extra={"reason": error.sentence()})
            return match_steps(text, skills), ["", "(The chat model did not respond, so I matched keywords.)"]
        return match_steps(text, skills), []

    async def on_button(self, received: MessageContext, data: str) -> HandlerResult | None:
        """Execute or cancel a plan; `None` for other buttons."""
        prefix, rest = keyboards.parse(data)
        if not rest.startswith(_PLAN):
            return None
        plan_id, chat = rest.removeprefix(_PLAN), received.message.chat_id
        plan = await self._plans.take(plan_id, chat, received.id)
        if plan is None:
            facts = {"plan": truncate(plan_id, SHOWN_ID), "chat": chat, "outcome": "denied"}
            self._audit.record(INTAKE_PRESS_DENIED, "a button of a plan", source=INTAKE.name, metadata=facts)
            await drop_buttons(self._channel, received.message)
            return answered(GONE)
        if prefix == keyboards.CANCEL:
            self._record(INTAKE_CANCELLED, f"plan {plan.id} of {number_of(len(plan.steps), 'requirement')}", plan, {})
            return in_place(received.message, answered("Cancelled. No skill was run."))
        result = await self._executor.do(received, partial(self._carry_out, plan))
        if was_rejected(result):
            await self._plans.give_back(plan)
            return result
        if was_cancelled(result):
            plan = await self._plans.take(plan_id, chat, received.id) or plan  # with the progress of an earlier attempt
            result = replace(result, replies=(Reply(f"{report(plan)}\n\n{CANCELLED}"),))
        return in_place(received.message, result)

    async def _carry_out(self, plan: Plan, work: TaskContext) -> HandlerResult:
        message = work.received.message
        if work.received.attempt == 1:
            self._record(INTAKE_CONFIRMED, f"plan {plan.id} of {number_of(len(plan.steps), 'requirement')}", plan, {})
        for number, step in enumerate(plan.steps):
            if not step.skill or step.ok is not None:  # done before a crash
                continue
            await show_progress(self._channel, message, _progress(plan, number))
            plan = plan.with_step(number, await self._run(plan, number))
            await self._plans.save(plan)
        failed = any(step.ok is False for step in plan.steps)
        ending = HandlingStatus.FAILED if failed else HandlingStatus.ANSWERED
        return HandlerResult(ending, (Reply(report(plan)),), "a skill failed" if failed else "")

    async def _run(self, plan: Plan, number: int) -> Step:
        step, actor = plan.steps[number], f"chat:{plan.chat_id}"

        def note(run: Run | None) -> None:
            facts = {"skill": step.skill, "ok": run is not None and run.ok, "run": run.id if run else None}
            self._record(INTAKE_TASK_COMPLETED, f"requirement {number + 1} of plan {plan.id}", plan, facts)

        try:
            result = await self._run_skill(step.skill, args=(), input=step.requirement, actor=actor)
        except TocsinError as error:
            note(None)
            return Step(step.requirement, step.skill, ok=False, result=error.sentence())
        if result.run.status not in CUT_OFF:  # such a run has an entry of its own
            note(result.run)
        return Step(step.requirement, step.skill, ok=result.run.ok, result=result_text(step.skill, result))

    def _record(self, action: AuditAction, detail: str, plan: Plan, facts: Mapping[str, object]) -> None:
        metadata = {"plan": plan.id, "chat": plan.chat_id, **facts}
        self._audit.record(action, detail, source=INTAKE.name, metadata=metadata)


def report(plan: Plan) -> str:
    """Return the result of each requirement as text."""
    parts = []
    for number, step in enumerate(plan.steps, start=1):
        mark = "–" if step.ok is None else "✓" if step.ok else "✗"
        result = truncate(step.result, SHOWN_RESULT) if step.skill else "no installed skill matches"
        parts.append(f"{mark} {number}. {step.requirement}\n{result}".strip())
    return truncate("\n\n".join(parts), MAX_OUTPUT)


def _proposed(number: int, step: Step) -> str:
    return f"{number}. {step.requirement} → {step.skill or 'no matching skill'}"


def _progress(plan: Plan, current: int) -> str:
    lines = []
    for number, step in enumerate(plan.steps):
        mark = "…" if number == current else "✓" if step.ok else "✗" if step.ok is False else "·"
        lines.append(f"{mark} {_proposed(number + 1, step)}")
    return truncate("\n".join(lines), MAX_OUTPUT)
