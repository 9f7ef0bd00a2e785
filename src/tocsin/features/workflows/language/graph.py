"""The order of steps: which wait for which, in waves, and where they wait for each other."""

from collections.abc import Iterable, Mapping, Sequence


def waves(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return by step in which wave it can start at the earliest, from 1; steps of a cycle are left out."""
    found: dict[str, int] = {}
    left = dict(needs)
    while ready := [name for name, before in left.items() if all(each in found for each in before)]:
        for name in ready:
            found[name] = 1 + max((found[each] for each in left[name]), default=0)
            del left[name]
    return found


def ancestors(name: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all steps that end before a step starts."""
    found: set[str] = set()
    waiting = list(needs.get(name, ()))
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += needs.get(each, ())
    return found


def descendants(names: Iterable[str], needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the steps that start after any of `names`, and these."""
    wanted = set(names)
    return wanted | {name for name in needs if wanted & ancestors(name, needs)}


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return each cycle once, from its first step in the file on."""
    done: set[str] = set()
    found: list[list[str]] = []
    for start in needs:
        if start not in done and start in ancestors(start, needs):
            way = _way_back(start, needs)
            found.append(way)
            done.update(way)
    return found


def _way_back(start: str, needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a shortest way from a step of a cycle back to it."""
    came_from: dict[str, str] = {}
    waiting = [start]
    for name in waiting:
        for each in needs.get(name, ()):
            if each == start:
                way = [name]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return [start, *reversed(way[:-1])]
            if each not in came_from:
                came_from[each] = name
                waiting.append(each)
    return [start]
