"""Steps of the types notify and prompt: a message to people, a question to the chat model."""

from dataclasses import dataclass
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.features.abilities import Models
from tocsin.features.workflows.engine.step_call import StepCall, StepOutcome, failed, succeeded
from tocsin.features.workflows.language.outputs import OutputRuleError, json_of
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.messenger import Messenger

CODE_FENCE = "```"


@dataclass(frozen=True, slots=True)
class MessageSteps:
    """Executes notify and prompt steps."""

    messenger: Messenger
    models: Models
    caller: Caller

    async def notify(self, call: StepCall) -> StepOutcome:
        """Send the message of a step; if it cannot be sent, the step fails only if `required` is set."""
        subject, text = call.option("subject"), call.command()
        message = f"{subject}\n{text}" if subject else text
        profile = call.option("profile")
        try:
            results = await self._send(call, profile, message)
        except TocsinError as error:
            results = []
            problem = error.sentence()
        else:
            problem = "; ".join(result.error for result in results if not result.ok)
        sent = sum(result.ok for result in results)
        outputs = {"sent": sent, "failed": len(results) - sent}
        for result in results:
            channel = self.messenger.channel_label(result.channel)
            call.log.write("stdout", f"{channel} {result.target}: {result.message if result.ok else result.error}")
        if problem and call.step.option("required", False):
            return failed(problem, "not-sent", outputs=outputs)
        if problem:
            call.log.write("system", f"not sent, but the step continues: {problem}")
        return succeeded(**outputs)

    async def _send(self, call: StepCall, profile: str, message: str) -> Any:
        mode = call.step.option("parse_mode") or ""
        if profile:
            return (await self.messenger.notify(profile, message, self.caller, parse_mode=mode)).results
        channel, target = call.option("channel"), call.option("target")
        receipt = await self.messenger.send(channel, target, message, self.caller, parse_mode=mode)
        return (receipt.result,)

    async def prompt(self, call: StepCall) -> StepOutcome:
        """Ask the chat model."""
        wants_json = call.step.option("response_format", "text") == "json"
        given = {
            "system": call.option("system"),
            "model": call.step.option("model", ""),
            "max_tokens": call.step.option("max_tokens"),
            "temperature": call.step.option("temperature"),
        }
        question = call.command()
        if wants_json:
            question = f"{question}\n\nAnswer with one JSON document and nothing else."
        answer = await self.models.ask(
            question, **{name: value for name, value in given.items() if value not in {"", None}}
        )
        call.log.write("stdout", answer)
        if not wants_json:
            return succeeded(answer, text=answer, json=None)
        try:
            return succeeded(answer, text=answer, json=json_of(_unfenced(answer)))
        except OutputRuleError:
            return failed("the answer is not JSON", "not-json", stdout=answer, outputs={"text": answer, "json": None})


def _unfenced(answer: str) -> str:
    """Return an answer without the code fence that models like to put around it."""
    text = answer.strip()
    if text.startswith(CODE_FENCE) and text.endswith(CODE_FENCE):
        return text.removesuffix(CODE_FENCE).partition("\n")[2]
    return text
