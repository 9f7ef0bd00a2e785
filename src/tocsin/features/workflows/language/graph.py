"""The order of steps: waves, ancestors, descendants and cycles."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tocsin.features.workflows.language.model import Workflow


@dataclass(frozen=True, slots=True)
class GraphNode:
    """Step in the graph; steps of the same wave may run in parallel."""

    id: str
    type: str
    wave: int


@dataclass(frozen=True, slots=True)
class WorkflowGraph:
    """Steps and their dependencies."""

    schema_name: ClassVar[str] = "GraphRecord"

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


def waves(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the earliest wave of each step, from 1; steps of a cycle are left out."""
    found: dict[str, int] = {}
    missing = {name: len(before) for name, before in needs.items()}
    after: dict[str, list[str]] = {}
    for name, before in needs.items():
        for each in before:
            after.setdefault(each, []).append(name)
    ready = [name for name, count in missing.items() if not count]
    while ready:
        for name in ready:
            found[name] = 1 + max((found[each] for each in needs[name]), default=0)
        following = []
        for each in (each for name in ready for each in after.get(name, ())):
            missing[each] -= 1
            if not missing[each]:
                following.append(each)
        ready = following
    return found


def ancestors(needs: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return for each step all steps that end before it starts; a step of a cycle is its own ancestor."""
    found = {name: set(before) for name, before in needs.items()}
    for middle, before in found.items():  # Warshall's algorithm: no way through the graph is followed twice
        for others in found.values():
            if middle in others:
                others.update(before)
    return found


def descendants(names: Iterable[str], needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return `names` and all steps that start after one of them."""
    wanted = set(names)
    return wanted | {name for name, before in ancestors(needs).items() if wanted & before}


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return each cycle once, from its first step in the file on."""
    done: set[str] = set()
    found: list[list[str]] = []
    before = ancestors(needs)
    for start in needs:
        if start not in done and start in before[start]:
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


def graph_of(workflow: Workflow) -> WorkflowGraph:
    """Return the steps and the edges between them, for a drawing."""
    wave_of = waves({step.name: step.needs for step in workflow.steps})
    nodes = tuple(GraphNode(step.name, str(step.type), wave_of[step.name]) for step in workflow.steps)
    return WorkflowGraph(nodes, tuple((need, step.name) for step in workflow.steps for need in step.needs))
