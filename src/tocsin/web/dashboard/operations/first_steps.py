"""Operations on the list of first steps: what is done, and whether the list is hidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Request

from tocsin.core.audit.actions import AuditAction, AuditField
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.settings import Settings
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import operation
from tocsin.web.access.first_steps import DISMISSED, FirstStepMarks
from tocsin.web.access.sign_in import SignIns

_DISMISSED = AuditField("dismissed", "whether the list is hidden")
FIRST_STEPS_CHANGE = AuditAction(
    "first_steps.change", "The list of first steps was hidden, or shown again.", (_DISMISSED,)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInStep:
    """Whether the sign-in is kept."""

    done: Annotated[bool, "Whether the present name and password were entered in the login form at least once."]
    user: Annotated[str, "The value of DASHBOARD_USER; empty if it is not set."]
    file: Annotated[str, "File in which the name and the password are changed."]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """State of the list of first steps; further steps are those of features."""

    dismissed: Annotated[bool, "Whether the list is hidden, in every browser."]
    scopes: Annotated[Sequence[str], "Scopes of the caller, which decide the forms that it may use."]
    sign_in: SignInStep


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStepsChange(RequestBody):
    """Change of the list."""

    dismissed: Annotated[bool, FLAG, "Hide the list in every browser, or show it again."]


class FirstStepsRoutes:
    """The operations on the list of first steps."""

    def __init__(self, settings: Settings, sign_ins: SignIns, marks: FirstStepMarks, audit: AuditTrail) -> None:
        self._settings = settings
        self._sign_ins = sign_ins
        self._marks = marks
        self._audit = audit

    @operation("GET", "/api/settings/first-steps", extension=True, answer=FirstSteps)
    async def get_first_steps(self, request: Request) -> Any:
        """Get the state of the list of first steps."""
        return await self._state(request)

    @operation(
        "POST",
        "/api/settings/first-steps",
        scope="admin",
        extension=True,
        problems=("validation-failed",),
        answer=FirstSteps,
    )
    async def change_first_steps(self, request: Request, body: FirstStepsChange, caller: CallerOf) -> Any:
        """Hide the list of first steps in every browser, or show it again."""
        await self._marks.put(DISMISSED, "yes" if body.dismissed else "")
        detail = f"first steps {'hidden' if body.dismissed else 'shown'}"
        metadata = {"dismissed": body.dismissed, **caller.facts}
        self._audit.record(FIRST_STEPS_CHANGE, detail, source=caller.source, metadata=metadata)
        return await self._state(request)

    async def _state(self, request: Request) -> FirstSteps:
        return FirstSteps(
            dismissed=bool(await self._marks.get(DISMISSED)),
            scopes=sorted(request.scope["tocsin.scopes"]),
            sign_in=SignInStep(
                done=await self._sign_ins.is_kept(),
                user=self._sign_ins.user,
                file=str(self._settings.own_file),
            ),
        )
