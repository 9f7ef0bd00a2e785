"""Who asks for something to leave."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """`source` is the component; `facts` (actor, ip, request_id …) go into the audit line."""

    source: str
    facts: Mapping[str, object] = field(default_factory=dict)
