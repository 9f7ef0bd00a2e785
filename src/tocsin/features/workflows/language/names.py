"""Check the names that a text of a workflow refers to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import NamedTuple

from tocsin.core.expressions.parser import Vocabulary
from tocsin.core.reading.value import did_you_mean, near_word
from tocsin.features.workflows.language.model import ParamRule

ROOTS = ("params", "env", "steps", "run", "item")
RUN = ("id", "name", "scheduled_for", "trigger", "attempt", "started_at")
STEP = ("status", "exit_code", "outputs")
STATES = ("success", "failure", "always")
CONDITIONS = Vocabulary({**dict.fromkeys(STATES, 0), "exists": 1}, names=("item",))


class NameProblem(NamedTuple):
    """The problem of a name, and the name that was probably meant."""

    detail: str
    near: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KnownNames:
    """The names that a text may refer to."""

    params: Mapping[str, ParamRule] = field(default_factory=dict)
    env: Collection[str] = ()
    steps: Mapping[str, Collection[str]] = field(default_factory=dict)  # that end before: their outputs by name
    later: Mapping[str, str] = field(default_factory=dict)  # steps that do not, and what to do
    item: bool = False

    def problem(self, path: str) -> NameProblem | None:
        """Return the problem of a name, or `None`."""
        root, *rest = path.split(".")
        if root == "item":
            return None if self.item else NameProblem("item is available only in a step with for_each")
        if root == "steps" and rest:
            return self._step(rest)
        if root in {"params", "env", "run"} and len(rest) == 1:
            known: Collection[str] = {"params": self.params, "env": self.env, "run": RUN}[root]
            return None if rest[0] in known else self._unknown(path, f"{root}.", rest[0], known)
        if root in ROOTS:
            return NameProblem(f"{path!r} is not a value: write {root}.NAME")
        return self._elsewhere(path)

    def _step(self, rest: list[str]) -> NameProblem | None:
        name, *parts = rest
        path = f"steps.{'.'.join(rest)}"
        if name not in self.steps:
            if name in self.later:
                return NameProblem(f"step {name!r} does not end before this one: {self.later[name]}")
            return self._unknown(path, "steps.", name, self.steps)
        if not parts or parts[0] not in STEP:
            return self._unknown(path, f"steps.{name}.", parts[0] if parts else "", STEP)
        if parts[0] != "outputs":
            return NameProblem(f"{path!r} has no fields below {parts[0]}") if parts[1:] else None
        known = self.steps[name]
        if len(parts) != 2 or parts[1] not in known:
            return self._unknown(path, f"steps.{name}.outputs.", parts[1] if parts[1:] else "", known)
        return None

    def _unknown(self, path: str, before: str, word: str, known: Collection[str]) -> NameProblem:
        near = near_word(word, known)
        listed = "" if near or not known else f"; available: {', '.join(nsmallest(8, known))}"
        meant = f"{before}{near}" if near else ""
        return NameProblem(f"unknown name {path!r}{did_you_mean(meant)}{listed}", meant)

    def _elsewhere(self, path: str) -> NameProblem:
        """Describe a name without a root, for which the value of that name under a root was probably meant."""
        word = path.rpartition(".")[2]
        for root, known in (("params", self.params), ("env", self.env), ("run", RUN)):
            if word in known:
                return NameProblem(f"unknown name {path!r}{did_you_mean(f'{root}.{word}')}", f"{root}.{word}")
        root, dot, rest = path.partition(".")
        near = near_word(root, ROOTS)
        if near and dot:
            return NameProblem(f"unknown name {path!r}{did_you_mean(f'{near}.{rest}')}", f"{near}.{rest}")
        return NameProblem(f"unknown name {path!r}; write '$${{{path}}}' for a variable of the shell")
