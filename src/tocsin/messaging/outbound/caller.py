"""The origin of a send."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """`source` is the component; `facts` (actor, ip, request_id, …) are added to the audit line."""

    source: str
    facts: Mapping[str, object] = field(default_factory=dict)
