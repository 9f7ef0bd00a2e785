"""The origin of a send."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """`source` is the component; `facts` (actor, ip, request_id, …) are added to the audit line."""

    source: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, source: str, actor: str | None) -> "Caller":
        """Return a caller of which only the source and the actor are known."""
        return cls(source, {} if actor is None else {"actor": actor})

    @property
    def actor(self) -> str | None:
        """The actor, as runs record it."""
        actor = self.facts.get("actor")
        return None if actor is None else str(actor)
