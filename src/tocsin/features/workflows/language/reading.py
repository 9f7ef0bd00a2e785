"""Reads a workflow file: either a workflow without mistakes, or all the mistakes at once."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from tocsin.core.reading.fields import RecordValues
from tocsin.core.reading.value import WRONG_VALUE, did_you_mean, near_word
from tocsin.core.reading.yaml_file import Bounds, ReadCancelledError, parse_yaml
from tocsin.core.reading.yaml_node import MAX_PROBLEMS, TOO_LARGE, Node, YamlError, YamlIssue
from tocsin.features.workflows.language.graph import ancestors, cycles
from tocsin.features.workflows.language.model import (
    MAX_DEPTH,
    ParamRule,
    ProblemSeverity,
    RetryRule,
    StepType,
    Workflow,
    WorkflowStep,
)
from tocsin.features.workflows.language.model import WorkflowProblem as Problem
from tocsin.features.workflows.language.names import KnownNames
from tocsin.features.workflows.language.params import check_param
from tocsin.features.workflows.language.schema import LISTS, WORKFLOW
from tocsin.features.workflows.language.scripts import TextVariables, variable_of
from tocsin.features.workflows.language.steps import StepDraft, StepReader, draft_of, read_retry
from tocsin.features.workflows.language.surroundings import Surroundings
from tocsin.features.workflows.language.texts import BAD_VALUE, TextReader, plain

DUPLICATE_STEP, UNKNOWN_DEPENDENCY, CYCLE = "duplicate-step", "unknown-dependency", "dependency-cycle"
UNREACHABLE = "unreachable-step"
MAX_FILE_BYTES = 128 * 1024
MAX_VALUES = 10_000  # keys and values: 200 steps of 50
MAX_STEPS = 200  # of all four lists together


class ReadWorkflow(NamedTuple):
    """The content of a file; `workflow` is `None` if a problem is an error."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it from running."""
        return tuple(problem for problem in self.problems if problem.severity == ProblemSeverity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The other problems."""
        return tuple(problem for problem in self.problems if problem.severity == ProblemSeverity.WARNING)


def read_workflow(content: bytes, path: Path, around: Surroundings) -> ReadWorkflow:
    """Read the content of a file; `path` is what it is called, and its stem is the workflow's name.

    Raises ReadCancelledError.
    """
    if len(content) > MAX_FILE_BYTES:
        detail = f"a workflow can have at most {MAX_FILE_BYTES:,} bytes, this one has {len(content):,}"
        return ReadWorkflow(None, (Problem(1, 1, "", "#", TOO_LARGE, detail),))
    reader = _WorkflowReader(path.stem, around)
    issues: Sequence[YamlIssue] = ()
    workflow = None
    try:
        workflow = parse_yaml(content, path, reader.read, Bounds(MAX_VALUES, around.is_cancelled))
    except YamlError as error:
        issues = error.problems
    # Of two reports of one key, the later one knows more: that another type of step has it.
    issues = list(
        {(issue.code, issue.steps) if issue.code == "unknown-key" else issue: issue for issue in issues}.values()
    )
    problems = [_problem(issue, ProblemSeverity.ERROR) for issue in issues]
    problems += [_problem(issue, ProblemSeverity.WARNING) for issue in reader.texts.warnings[:MAX_PROBLEMS]]
    return ReadWorkflow(workflow, tuple(sorted(problems, key=lambda each: (each.line, each.column))))


def _problem(issue: YamlIssue, severity: ProblemSeverity) -> Problem:
    # RFC 6901, sections 3 and 6: escaped as a pointer, then as the fragment of a URL.
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in issue.steps)
    pointer = "".join(f"/{quote(step, safe='')}" for step in steps)
    code = BAD_VALUE if issue.code == WRONG_VALUE else issue.code
    key = str(issue.steps[-1]) if issue.steps else ""
    return Problem(
        issue.line, issue.column, key, f"#{pointer}", code, issue.detail, issue.near, severity, where=issue.key
    )


class _WorkflowReader:
    def __init__(self, stem: str, around: Surroundings) -> None:
        self.texts = TextReader(around)
        self._stem = stem
        self._around = around
        self._ways_down: set[tuple[str, int]] = set()

    def read(self, root: Node) -> Workflow:
        if root.absent or root.is_null:
            root.refuse("the file contains no workflow", "missing-key", "name")
        values = WORKFLOW.read(root)
        self._check_root(values)
        params = {name: self._param(name, each) for name, each in values["params"].items()}
        self._refuse_too_many(values)
        drafts = {name: self._drafts(values.given[name]) for name in LISTS}
        graph = values["parallel"] or any(draft.needs for draft in drafts["steps"])
        self._refuse_repeated(drafts)
        env = values.given["env"]
        names = KnownNames(params, [name for name, _ in env.as_members() or ()])
        outputs = {draft.name: draft.outputs for each in LISTS for draft in drafts[each] if draft.name}
        variables = self.texts.templates(env, KnownNames(params))
        self.texts.variables = TextVariables(params, outputs, variables)
        self._check_variables(values, [draft for each in LISTS for draft in drafts[each]])
        steps = {name: self._steps(name, drafts, values, names, graph=graph) for name in LISTS}
        return Workflow(
            name=values["name"],
            description=values["description"],
            graph=graph,
            notify_profile=values["notify_profile"] or "",
            notify_on=tuple(values["notify_on"] or ("always",)),
            timezone=values["timezone"],
            timeout_s=values["timeout"] or None,
            max_parallel=values["max_parallel"],
            overlap=values["overlap"],
            env=variables,
            params=params,
            working_dir=values["working_dir"],
            **steps,
        )

    def _check_root(self, values: RecordValues[Node]) -> None:
        name, profile = values.given["name"], values.given["notify_profile"]
        if name.as_text() and name.as_text() != self._stem:
            name.refuse(
                f"the name must be {self._stem!r}, because the file is {self._stem}.yaml", BAD_VALUE, self._stem
            )
        known, text = self._around.profiles, profile.as_text()
        if text and known is not None and text not in known:
            near = near_word(text, known)
            profile.refuse(f"unknown profile {profile.quote(text)}{did_you_mean(near)}", "unknown-profile", near)
        zone = values.given["timezone"]
        if zone.as_text():
            _check_zone(zone, zone.as_text() or "")

    def _param(self, name: str, values: RecordValues[Node]) -> ParamRule:
        enum = tuple(plain(node) for node in values.given["enum"].as_items() or ())
        default = values.given["default"]
        rule = ParamRule(
            values["type"] or "string",
            bool(values["required"]),
            plain(default),
            values["description"] or "",
            enum,
            values["minimum"],
            values["maximum"],
        )
        if rule.minimum is not None and rule.maximum is not None and rule.minimum > rule.maximum:
            values.given["minimum"].refuse("the minimum is greater than the maximum", BAD_VALUE)
        elif not default.absent and (problem := check_param(name, rule, rule.default)[1]):
            default.refuse(problem, BAD_VALUE)
        return rule

    def _refuse_too_many(self, values: RecordValues[Node]) -> None:
        """Refuse more steps than are read, before any of them is."""
        steps = [step for name in LISTS for step in values.given[name].as_items() or ()]
        if len(steps) > MAX_STEPS:
            steps[MAX_STEPS].stop(
                f"a workflow can have at most {MAX_STEPS} steps, this one has {len(steps):,}", TOO_LARGE
            )

    def _drafts(self, node: Node) -> list[StepDraft]:
        if node.absent:
            return []
        items = node.items(allow_empty=node.step != "steps")
        return [draft_of(item) for item in items]

    def _refuse_repeated(self, drafts: Mapping[str, list[StepDraft]]) -> None:
        seen: dict[str, int] = {}
        for draft in (draft for each in LISTS for draft in drafts[each]):
            node = draft.values.given["name"]
            if draft.name in seen:
                detail = f"step {draft.name!r} already exists in line {seen[draft.name]}"
                node.refuse(detail, DUPLICATE_STEP)
            elif draft.name:
                seen[draft.name] = node.place.line

    def _check_variables(self, values: RecordValues[Node], drafts: Sequence[StepDraft]) -> None:
        """Refuse two values, or a value and an entry of env, that are the same variable of a shell."""
        if not any(draft.kind in {StepType.SHELL, StepType.SSH} for draft in drafts):
            return
        nodes = {f"params.{name}": node for name, node in values.given["params"].as_members() or ()}
        for draft in drafts:
            nodes |= {f"steps.{draft.name}.outputs.{name}": node for name, node in draft.output_nodes()}
        taken: dict[str, str] = {}
        for path, node in nodes.items():
            name = variable_of(path)
            if taken.setdefault(name, path) != path:
                node.refuse_key(f"{path} and {taken[name]} become the same variable {name}: rename one", BAD_VALUE)
        for env in (values.given["env"], *(draft.values.given["env"] for draft in drafts)):
            for name, node in env.as_members() or ():
                if name in taken and node.as_text() != f"${{{taken[name]}}}":
                    node.refuse_key(f"{name} is already the variable of {taken[name]}: choose another name", BAD_VALUE)

    def _steps(
        self,
        place: str,
        drafts: Mapping[str, list[StepDraft]],
        values: RecordValues[Node],
        names: KnownNames,
        *,
        graph: bool,
    ) -> tuple[WorkflowStep, ...]:
        mine, main = drafts[place], drafts["steps"]
        needs = _needs(mine, graph=graph and place == "steps")
        self._check_needs(mine, needs, graph=graph and place == "steps", place=place)
        defaults = values["defaults"]
        retry = read_retry(defaults["retry"]) if defaults and defaults["retry"] else RetryRule()
        reader = StepReader(self.texts, defaults, retry)
        outputs = {draft.name: draft.outputs for each in LISTS for draft in drafts[each] if draft.name}
        before_each = ancestors(needs)
        steps: list[WorkflowStep] = []
        for draft in mine:
            if self._around.is_cancelled():
                raise ReadCancelledError
            before = before_each[draft.name] if draft.name else set(outputs)
            if place != "steps":
                before = before | {each.name for each in main}
            visible = {name: outputs[name] for name in outputs if name in before}
            inside = "add it to depends_on" if graph and place == "steps" else "move it above this step"
            later = _remedies(draft, drafts, {place: inside})
            known = KnownNames(names.params, names.env, visible, later)
            if draft.kind is not None:
                steps.append(reader.step(draft, draft.kind, needs.get(draft.name, ()), known))
                self._check_step(draft, steps[-1])
            else:
                self.texts.condition(draft.values.given["when"], known)
        return tuple(steps)

    def _check_needs(
        self, mine: list[StepDraft], needs: Mapping[str, Sequence[str]], *, graph: bool, place: str
    ) -> None:
        names = dict.fromkeys(draft.name for draft in mine)
        for draft in mine:
            node = draft.values.given["depends_on"]
            if not node.absent and place != "steps":
                node.refuse_key(f"the steps of {place} run in sequence", BAD_VALUE)
                continue
            for each in node.as_items() or ([node] if not node.absent else []):
                text = each.as_text() or ""
                if text.strip() and text not in names:
                    near = near_word(text, names)
                    each.refuse(f"unknown step {each.quote(text)}{did_you_mean(near)}", UNKNOWN_DEPENDENCY, near)
        by_name = {draft.name: draft for draft in reversed(mine)}
        for way in cycles(needs) if graph else ():
            node = by_name[way[0]].values.given["depends_on"]
            node.refuse(f"these steps depend on each other: {' -> '.join([*way, way[0]])}", CYCLE)

    def _check_step(self, draft: StepDraft, step: WorkflowStep) -> None:
        node = draft.values.given["when"]
        if step.when and step.when.is_constant() and not step.when.is_true():
            detail = f"this condition is never true: step {step.name!r} never runs"
            self.texts.warnings.append(node.problem(detail, UNREACHABLE))
        if step.type == "workflow":
            self._check_child(draft.values.given["command"])

    def _check_child(self, node: Node) -> None:
        """Report a child workflow that starts this one, or too many inside each other."""
        child = node.as_text() or ""
        way, problem = _way_down(child, self._stem, self._around, self._ways_down)
        if problem == CYCLE:
            node.refuse(f"workflows start each other: {' -> '.join([self._stem, *way])}", CYCLE)
        elif problem:
            node.refuse(f"workflows are nested more than {MAX_DEPTH} levels deep: {' -> '.join(way)}", BAD_VALUE)


def _way_down(child: str, start: str, around: Surroundings, harmless: set[tuple[str, int]]) -> tuple[list[str], str]:
    """Return the way from a child to `start`, or one that is too deep, and which of both it is.

    `harmless` has the names and depths from which no such way leads; further ones are added.
    """
    waiting: list[list[str]] = [[child]]
    seen: set[tuple[str, int]] = set()
    while waiting:
        way = waiting.pop()
        if way[-1] == start:
            return way, CYCLE
        if len(way) >= MAX_DEPTH + 1:
            return way, BAD_VALUE
        place = way[-1], len(way)
        if place not in seen and place not in harmless:
            seen.add(place)
            waiting += [[*way, each] for each in around.children_of(way[-1])]
    harmless |= seen
    return [], ""


def _needs(mine: list[StepDraft], *, graph: bool) -> dict[str, tuple[str, ...]]:
    """Return by step which it waits for: in the graph those it names, else the one in front of it."""
    names = {draft.name for draft in mine}
    if graph:
        return {draft.name: tuple(each for each in dict.fromkeys(draft.needs) if each in names) for draft in mine}
    before = [(), *((draft.name,) for draft in mine)]
    found: dict[str, tuple[str, ...]] = {}
    for draft, each in zip(mine, before, strict=False):
        found.setdefault(draft.name, each if each != (draft.name,) else ())
    return found


def _remedies(draft: StepDraft, drafts: Mapping[str, list[StepDraft]], by_place: Mapping[str, str]) -> dict[str, str]:
    """Return by name why a step does not end before `draft`, or what to do about it."""
    found = {each.name: by_place.get(place, f"it is in {place}") for place in LISTS for each in drafts[place]}
    return {**found, draft.name: "it is this step"}


def _check_zone(node: Node, text: str) -> None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = near_word(text, available_timezones())
        node.refuse(f"unknown time zone {node.quote(text)}{did_you_mean(near)}", BAD_VALUE, near)


def children_in(workflow: Workflow) -> Collection[str]:
    """Return the names of workflows that a workflow starts, as far as they are written out."""
    found: dict[str, Any] = {}
    for step in workflow.all_steps():
        if step.type == "workflow" and not isinstance(step.command, tuple) and (name := step.command.literal()):
            found[name] = None
    return tuple(found)
