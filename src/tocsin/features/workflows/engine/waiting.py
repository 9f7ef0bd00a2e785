"""Steps of the type wait: for a while, until a time, or until a person approves."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock
from tocsin.features.abilities import Notices, OperatorChats
from tocsin.features.ability_records import AskedChat
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.workflows.engine.approval_buttons import buttons_for
from tocsin.features.workflows.engine.step_call import StepCall, StepOutcome, failed, succeeded
from tocsin.features.workflows.language.model import REJECTED, WorkflowStep
from tocsin.runs.approvals import CHAT, Decision, StepQuestion
from tocsin.runs.model import RunStatus, StepRun

_SLICE_S = 3600.0  # at the end of each the clock is read anew: it may have been set


@dataclass(frozen=True, slots=True)
class WaitSteps:
    """Waits as steps say."""

    clock: Clock
    zone: str  # of workflows that name none
    notices: Notices
    chats: OperatorChats

    async def run(self, call: StepCall) -> StepOutcome:
        if call.step.option("approval", False):
            return await self._approval(call)
        duration = call.step.option("duration")
        end = call.since + duration if duration is not None else self._end_of(call)
        limit = call.step.timeout_s
        if limit and end - call.since > limit:
            await self._until(call.since + limit)
            return self._timed_out(call, limit)
        await self._until(end)
        return succeeded(decision="", by="", comment="")

    async def _until(self, end: float) -> None:
        while (left := end - self.clock.now()) > 0:
            await self.clock.sleep(min(left, _SLICE_S))

    def _end_of(self, call: StepCall) -> float:
        now = datetime.fromtimestamp(call.since, ZoneInfo(call.workflow.timezone or self.zone))
        return instant_of(call.step.option("until"), now).timestamp()

    async def _approval(self, call: StepCall) -> StepOutcome:
        step, limit = call.step, call.step.timeout_s
        message = call.option("message") or step.description or f"{call.workflow.name}: {step.name}"
        approvers = tuple(step.option("approvers", ()))
        waiting = StepRun(step.name, str(step.type), RunStatus.WAITING, call.attempt, call.since)
        await call.handle.save_steps(replace(waiting, when=step.when.text if step.when else None, message=message))
        was_asked = call.key in call.handle.request.get("asked", {})  # by the process that began the run
        if not was_asked:
            decide = f"{call.log.run_id} --step {step.name}"
            call.log.write("system", f"waiting for approval: {message}")
            call.log.write("system", f"decide with: tocsin runs approve {decide}, or: tocsin runs reject {decide}")
        decision: Decision | None = None
        chats = self._chats_for(approvers)
        asked_in = tuple(map(str, chats))
        question = question_of(step, message, asked_in)
        if present := await call.handle.present_question(step.name):
            question = present.question
        left = None if limit is None else max(0.0, call.since + limit - self.clock.now())
        if present and present.decision:  # in time, and not seen by the process that waited for it
            left = None
        try:
            async with asyncio.timeout(left):
                ask = None if was_asked else partial(self._ask, call, question, chats)
                decision = await call.handle.decision(question, ask)
        except TimeoutError:
            return self._timed_out(call, limit or 0.0)
        finally:
            if not call.handle.is_released:
                await self.notices.notify(_closed(call, message, decision))
        by = decision.by or "the operator"
        outputs = {
            "decision": "approved" if decision.approved else "rejected",
            "by": decision.by or "",
            "comment": decision.comment,
        }
        call.log.write("system", f"{outputs['decision']} by {by}{': ' if decision.comment else ''}{decision.comment}")
        if decision.approved:
            return succeeded(decision.comment, **outputs)
        said = f"{by} rejected it{': ' if decision.comment else ''}{decision.comment}"
        return failed(said, REJECTED, stdout=decision.comment, outputs=outputs)

    def _chats_for(self, approvers: Sequence[str]) -> Sequence[AskedChat]:
        """Return the chats to ask: those among the approvers, or without approvers the operator's."""
        if not approvers:
            return self.chats.find()
        ids = [name.removeprefix(CHAT) for name in approvers if name.startswith(CHAT)]
        return self.chats.find(ids) if ids else ()

    async def _ask(self, call: StepCall, question: StepQuestion, chats: Sequence[AskedChat]) -> None:
        """Ask in chats, with buttons; without a chat, the notice is a warning and is forwarded."""
        text = f"{call.workflow.name} waits for approval\n\n{question.message}"
        asked = False
        for chat in chats:
            key = f"approval:{call.log.run_id}:{question.step}:{call.attempt}:{chat.chat_id}"  # it is shown, so no ID
            with suppress(TocsinError):  # then the notice is what is left
                await self.chats.ask(chat, text, key=key, buttons=buttons_for(question.id))
                asked = True
        await self.notices.notify(_notice(call, question.message, NoticeLevel.INFO if asked else NoticeLevel.WARNING))
        await call.handle.amend_request(asked={call.key: True})

    def _timed_out(self, call: StepCall, limit: float) -> StepOutcome:
        outputs = {"decision": "timed_out", "by": "", "comment": ""}
        if call.step.option("on_timeout", "fail") == "continue":
            return succeeded(**outputs)
        return StepOutcome(RunStatus.TIMED_OUT, f"it did not finish within {limit:g} s", "timed-out", outputs=outputs)


def question_of(step: WorkflowStep, message: str = "", asked_in: tuple[str, ...] = ()) -> StepQuestion:
    approvers = tuple(step.option("approvers", ()))
    return StepQuestion(step.name, message, approvers, asked_in, bool(step.option("not_by_starter", False)))


def _notice(call: StepCall, message: str, level: NoticeLevel) -> Notice:
    run, step = call.log.run_id, call.step.name
    return Notice(
        title=f"{call.workflow.name} waits for approval",
        body=f"{message}\n\n`tocsin runs approve {run} --step {step}`\n`tocsin runs reject {run} --step {step}`",
        level=level,
        category="workflow",
        source=f"workflow {call.workflow.name}",
        link=f"#/runs/{run}",
        dedupe_key=f"approval:{run}:{step}",
        run_id=run,
        step=step,
    )


def _closed(call: StepCall, message: str, decision: Decision | None) -> Notice:
    """Return the notice that replaces that of a step that no longer waits; without a `decision`, it timed out."""
    name, comment = call.workflow.name, decision.comment if decision else ""
    ended = (
        f"{name} was {'approved' if decision.approved else 'rejected'}" if decision else f"{name} is no longer waiting"
    )
    by = f" by {decision.by or 'the operator'}" if decision else ""
    asked = _notice(call, message, NoticeLevel.INFO)
    return replace(asked, title=f"{ended}{by}", body="\n\n".join(filter(None, (message, comment))), closed=True)


def instant_of(text: str, now: datetime) -> datetime:
    """Return the instant that `18:00` or `2026-12-01T09:00` means in the zone of `now`: the next one of that time.

    A time with a date may name its own offset, such as `2026-12-01T09:00:00Z`.
    """
    if "-" in text:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    hour, minute, *second = map(int, text.split(":"))
    today = now.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)
    return today if today > now else today + timedelta(days=1)
