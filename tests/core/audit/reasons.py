"""What a finding of the audit log states, without its words."""

import re

_FACTS = re.compile(r"audit\.log(?:\.\w+)*|\.zst|\b\d+\b")


def facts(reason: str) -> str:
    """Return the files and numbers of a reason, in their order."""
    return " ".join(_FACTS.findall(reason))
