"""Texts that a chat model must not store, because they may be a secret. Too many are better than one too few."""

import re

_MAY_BE_SECRET = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \bAGE-SECRET-KEY-
    | \beyJ[\w-]{8,}+\.[\w-]{8,}+\.                               # a JSON web token
    | \b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[a-z]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}
    | \b(?:pass(?:word|wort|phrase|code)?|kennwort|pwd|pin|secret|token|api[ _-]?key|credentials?)\b
      (?=.{0,40}?(?:\b(?:is|ist|are|was|equals)\b|[:=]))          # ... is hunter2
    | (?<![A-Za-z0-9+/_-])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])
      [A-Za-z0-9+/_-]{24,}
    | \b[0-9a-fA-F]{32,}\b
    | \b(?:\d[ -]?){12,18}\d\b                                    # the number of a payment card
    """,
    re.VERBOSE | re.IGNORECASE,
)


def may_be_secret(text: str) -> bool:
    """Whether a text has a word for a secret beside a value, or something that is shaped like one."""
    return _MAY_BE_SECRET.search(text) is not None
