"""Creates the executors of the steps of runs."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tocsin.core.http.direct import DirectTransport
from tocsin.features.context import FeatureContext
from tocsin.features.workflows.engine.children import BegunChildren, ChildSteps, StartChild
from tocsin.features.workflows.engine.executors import executing
from tocsin.features.workflows.engine.http import HttpSteps, refuse_private
from tocsin.features.workflows.engine.messages import MessageSteps
from tocsin.features.workflows.engine.step_call import Execute
from tocsin.features.workflows.engine.waiting import WaitSteps
from tocsin.features.workflows.feature import HTTP_ALLOW_PRIVATE
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.scheduling.zones import default_zone

if TYPE_CHECKING:
    from tocsin.features.workflows.service import Workflows


class WorkflowSteps:
    """Makes the executors of steps, whose HTTP calls share their connections."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._allow_private = context.settings[HTTP_ALLOW_PRIVATE]

    @cached_property
    def _transport(self) -> DirectTransport:
        return DirectTransport(check_address=_allow_all if self._allow_private else refuse_private)

    def execute(
        self, workflows: "Workflows", request: WorkflowRequest, noted: dict[str, str], others: dict[str, str]
    ) -> Execute:
        """Return the executor of the steps of a run.

        `noted` and `others` are the child runs that another process has started, as `BegunChildren` has them.
        """
        context = self._context
        abilities = context.abilities
        return executing(
            HttpSteps(lambda: self._transport, self._allow_private),
            MessageSteps(context.messenger, abilities.models, Caller.of(request.source, request.actor)),
            WaitSteps(context.clock, default_zone(context.settings), abilities.notices, abilities.operator_chats),
            ChildSteps(
                context.runs(),
                abilities.run_starter.start,
                _starter(workflows, request),
                request.source,
                request.actor,
                BegunChildren(noted, others),
            ),
        )

    async def aclose(self) -> None:
        """Close the connections, if there were any."""
        if "_transport" in self.__dict__:
            await self._transport.aclose()


def _allow_all(_: str) -> None:
    """Let http steps call any address."""


def _starter(workflows: "Workflows", request: WorkflowRequest) -> StartChild:
    """Return the function that starts a child workflow; `request` is that of the parent."""

    async def start(name: str, params: dict[str, Any], parent_run_id: str) -> ActiveRun:
        child = WorkflowRequest(
            "workflow",
            request.source,
            request.actor,
            params=params,
            parent_run_id=parent_run_id,
            ancestry=request.ancestry,
        )
        return await workflows.start(name, child)

    return start
