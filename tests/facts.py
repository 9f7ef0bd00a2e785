"""Comparing texts for readers by the facts they state, so that a rewording breaks no test."""


def mentions(text: str, *facts: object) -> bool:
    """Return whether a text states all facts: names of settings, places in files, commands, values, codes."""
    return all(str(fact) in text for fact in facts)
