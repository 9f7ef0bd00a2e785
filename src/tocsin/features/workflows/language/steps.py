"""Reads one step of a workflow file, whose type decides on its keys."""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tocsin.core.expressions.expression import Expression
from tocsin.core.expressions.parser import parse_expression
from tocsin.core.expressions.template import EMPTY, Template
from tocsin.core.reading.fields import RecordValues
from tocsin.core.reading.value import did_you_mean, near_word
from tocsin.core.reading.yaml_node import Node
from tocsin.features.workflows.language.model import ALIASES, IMPLICIT, RetryRule, StepType, WorkflowStep
from tocsin.features.workflows.language.names import CONDITIONS, KnownNames
from tocsin.features.workflows.language.schema import STEPS, UNTYPED, owners_of
from tocsin.features.workflows.language.scripts import executes_stdin, is_shell, script_word
from tocsin.features.workflows.language.texts import BAD_VALUE, TextReader

_ALL_SOURCES, _TEXT_ALONE = ("stdout", "stderr", "exit_code"), ("stdout",)
_SOURCES = {StepType.SHELL: _ALL_SOURCES, StepType.SKILL: _ALL_SOURCES, StepType.SSH: _ALL_SOURCES}
_TIME = r"([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?"
_UNTIL = re.compile(rf"{_TIME}|\d{{4}}-\d{{2}}-\d{{2}}[T ]{_TIME}(?:\.\d{{1,6}})?(?:Z|[+-]\d{{2}}:\d{{2}})?", re.ASCII)
_ALWAYS = parse_expression("always()", CONDITIONS)


@dataclass(slots=True, eq=False, repr=False)
class StepDraft:
    """A step whose keys were read, and whose references were not yet checked."""

    values: RecordValues[Node]
    kind: StepType | None
    name: str
    needs: tuple[str, ...]

    @property
    def outputs(self) -> Collection[str]:
        """The names of the outputs."""
        return [name for name, _ in self.output_nodes()]

    def output_nodes(self) -> Iterator[tuple[str, Node]]:
        """Yield the outputs with their places; the outputs that the type has are at the name of the step."""
        yield from self.values.given["outputs"].as_members() or ()
        yield from ((name, self.values.given["name"]) for name in (IMPLICIT[self.kind] if self.kind else ()))


def draft_of(node: Node) -> StepDraft:
    members = dict(node.as_members() or ())
    written = members["type"].as_text() if "type" in members else str(StepType.SHELL)
    kind = ALIASES.get(written or "") or next((each for each in StepType if each == written), None)
    record = STEPS[kind] if kind else UNTYPED
    values = record.read(node)
    known = {each.name for each in record.fields}
    for key, member in members.items():
        owners = owners_of(key) if kind and key not in known else []
        if owners:
            member.refuse_key(
                f"{key!r} belongs to {' and '.join(owners)} steps, but this step has the type {kind}", "unknown-key"
            )
    if kind is None and written is None:
        members["type"].expect("text")
    return StepDraft(values, kind, values["name"] or "", tuple(values["depends_on"] or ()))


class StepReader:
    """Makes steps of drafts, and reports references to missing names."""

    def __init__(self, texts: TextReader, defaults: RecordValues[Node] | None, default_retry: RetryRule) -> None:
        self._texts = texts
        self._defaults = defaults
        self._default_retry = default_retry

    def step(self, draft: StepDraft, kind: StepType, needs: tuple[str, ...], names: KnownNames) -> WorkflowStep:
        """Return the step; `names` are those that it may refer to, without its own variables and `item`."""
        given, values = draft.values.given, draft.values
        each = self._for_each(given["for_each"], names)
        outer = KnownNames(names.params, names.env, names.steps, names.later, each is not None)
        own = [name for name, _ in given["env"].as_members() or ()]
        inner = KnownNames(names.params, {*names.env, *own}, names.steps, names.later, each is not None)
        command = self._command(draft, kind, inner)
        env = self._texts.templates(given["env"], outer)
        self._warn_of_evaluation(draft, kind, command, env)
        return WorkflowStep(
            name=draft.name,
            type=kind,
            line=values.source.place.line,
            command=command,
            description=values["description"] or "",
            needs=needs,
            when=self._when(draft, outer),
            env=env,
            working_dir=self._working_dir(given["working_dir"], inner),
            timeout_s=self._default(values, "timeout"),
            retry=read_retry(values["retry"]) if values["retry"] else self._default_retry,
            continue_on_error=bool(self._default(values, "continue_on_error")),
            retry_interrupted=values["on_interrupt"] == "retry",
            outputs=self._texts.outputs(given["outputs"], IMPLICIT[kind], _SOURCES.get(kind, _TEXT_ALONE)),
            params=self._params(draft, kind, inner),
            for_each=each,
            max_parallel=values["max_parallel"] or 1,
            require_success=bool(values["require_success"]),
            options=self._options(draft, kind, inner),
        )

    def _default(self, values: RecordValues[Node], key: str) -> Any:
        if values[key] is None and self._defaults is not None:
            return self._defaults[key]
        return values[key]

    def _working_dir(self, node: Node, names: KnownNames) -> Template | None:
        if node.absent:
            return Template(text, (text,)) if self._defaults and (text := self._defaults["working_dir"]) else None
        return self._texts.template(node, names)

    def _command(self, draft: StepDraft, kind: StepType, names: KnownNames) -> Template | tuple[Template, ...]:
        node = draft.values.given.get("command")
        if node is None or node.absent:
            return EMPTY
        if (items := node.as_items()) is not None:
            if kind is StepType.SHELL and not draft.values.given["shell"].absent:
                detail = "a command given as a list runs without a shell"
                draft.values.given["shell"].refuse(detail, BAD_VALUE)
            script = script_word([item.as_text() or "" for item in items])
            return tuple(
                self._texts.script(item, names) if number == script else self._texts.template(item, names)
                for number, item in enumerate(items)
            )
        if kind in {StepType.SHELL, StepType.SSH}:
            return self._texts.script(node, names)
        return self._texts.template(node, names)

    def _warn_of_evaluation(
        self,
        draft: StepDraft,
        kind: StepType,
        command: Template | tuple[Template, ...],
        env: Mapping[str, Template],
    ) -> None:
        """Warn of a script that evaluates text."""
        node = draft.values.given.get("command")
        if node is None or kind not in {StepType.SHELL, StepType.SSH}:
            return
        if isinstance(command, Template):
            if kind is StepType.SSH or is_shell(_shell_of(draft.values)):
                self._texts.warn_of_evaluation(node, command, env)
        elif (script := script_word([word.text for word in command])) is not None:
            arguments = {str(place): word for place, word in enumerate(command[script + 1 :]) if place}
            self._texts.warn_of_evaluation(node, command[script], {**env, **arguments})

    def _when(self, draft: StepDraft, names: KnownNames) -> Expression | None:
        given = draft.values.given
        if not draft.values["always_run"]:
            return self._texts.condition(given["when"], names)
        if not given["when"].absent:
            given["always_run"].refuse_key(
                "always_run is the short form of when: always(); remove one of them", BAD_VALUE
            )
        return _ALWAYS

    def _for_each(self, node: Node, names: KnownNames) -> "tuple[Any, ...] | Template | None":
        if node.absent:
            return None
        if node.as_items() is not None:
            return tuple(self._texts.structure(item, names) for item in node.items(allow_empty=False))
        if node.as_text() is None:
            node.expect("a list, or a single ${…} with a list")
            return None
        template = self._texts.template(node, names)
        if len(template.pieces) != 1 or not any(template.placeholders()):
            node.refuse("expected a list, or a single ${…} with a list", BAD_VALUE)
        return template

    def _params(self, draft: StepDraft, kind: StepType, names: KnownNames) -> Mapping[str, Any]:
        if kind is not StepType.WORKFLOW:
            return {}
        members = draft.values.given["params"].as_members() or ()
        return {name: self._texts.structure(member, names) for name, member in members}

    def _options(self, draft: StepDraft, kind: StepType, names: KnownNames) -> dict[str, Any]:
        """Return the keys of the type alone; those that people write texts in are templates."""
        values, given = draft.values, draft.values.given
        found: dict[str, Any] = {}
        for key in _PLAIN.get(kind, ()):
            found[key] = values[key]
        for key in _TEMPLATES.get(kind, ()):
            if not given[key].absent:
                found[key] = self._texts.template(given[key], names)
        _CHECKS[kind](self, draft, names, found)
        return found

    def _check_shell(self, draft: StepDraft, names: KnownNames, found: dict[str, Any]) -> None:
        command = draft.values.given["command"]
        items = command.as_items()
        words = (command.as_text() or "").split() if items is None else [item.as_text() or "" for item in items]
        if "stdin" in found and executes_stdin(words):
            self._texts.refuse_values(draft.values.given["stdin"], found["stdin"], names)
        if shell := _shell_of(draft.values):
            found["shell"] = shell
        elif any(draft.values["shell"] or ()):
            draft.values.given["shell"].refuse("invalid command line: a quote is not closed", BAD_VALUE)

    def _check_ssh(self, draft: StepDraft, _: KnownNames, found: dict[str, Any]) -> None:
        given, around = draft.values.given, self._texts.around
        if not around.has_ssh():
            detail = "ssh is unavailable: this installation has no feature that runs commands on other hosts"
            given["type"].refuse(detail, BAD_VALUE)
            return
        if given["hosts"].absent and given["groups"].absent:
            given["hosts"].refuse_missing("groups")
        for key, before in (("hosts", ""), ("groups", "group:")):
            for node in given[key].as_items() or ([given[key]] if not given[key].absent else []):
                self._must_be_known(node, before, around.hosts, "unknown-host", "unknown host or group")

    def _check_skill(self, draft: StepDraft, names: KnownNames, found: dict[str, Any]) -> None:
        given = draft.values.given
        self._must_be_known(given["command"], "", self._texts.around.skills, "unknown-skill", "unknown skill")
        found["args"] = [self._texts.template(node, names) for node in given["args"].as_items() or ()]

    def _check_prompt(self, draft: StepDraft, names: KnownNames, found: dict[str, Any]) -> None:
        """All its keys are plain or templates."""

    def _check_notify(self, draft: StepDraft, names: KnownNames, found: dict[str, Any]) -> None:
        given, around = draft.values.given, self._texts.around
        profile, channel, target = given["profile"], given["channel"], given["target"]
        if not profile.absent and not channel.absent:
            channel.refuse_key("a message is sent to a profile or to a channel; remove one of them", BAD_VALUE)
        elif profile.absent and channel.absent:
            profile.refuse_missing("channel")
        elif profile.absent and target.absent:
            target.refuse_missing()
        self._must_be_known(profile, "", around.profiles, "unknown-profile", "unknown profile")
        self._must_be_known(channel, "", around.channels, BAD_VALUE, "unknown channel")
        self._must_be_known(given["parse_mode"], "", around.parse_modes, BAD_VALUE, "unknown parse mode")

    def _check_http(self, draft: StepDraft, names: KnownNames, found: dict[str, Any]) -> None:
        given = draft.values.given
        found["headers"] = self._texts.templates(given["headers"], names)
        if not given["json"].absent:
            found["json"] = self._texts.structure(given["json"], names)
            if not given["body"].absent:
                given["json"].refuse_key("a request has either body or json; remove one of them", BAD_VALUE)
        url = given["url"].as_text() or ""
        if url and not re.match(r"https?://|\$\{", url):
            given["url"].refuse("a URL must start with http:// or https://", BAD_VALUE, _with_scheme(url))
        if not given["expect_body"].absent:
            self._check_pattern(given["expect_body"])

    def _check_pattern(self, node: Node) -> None:
        try:
            self._texts.check_pattern(node.as_text() or "")
        except ValueError as error:
            node.refuse(str(error), BAD_VALUE)

    def _check_wait(self, draft: StepDraft, _: KnownNames, found: dict[str, Any]) -> None:
        given = draft.values.given
        if not given["for_each"].absent:
            given["for_each"].refuse_key("a wait step cannot be repeated: remove for_each", BAD_VALUE)
        chosen = [key for key in ("duration", "until", "approval") if not given[key].absent]
        if not chosen:
            given["duration"].refuse_missing("until", "approval")
        for key in chosen[1:]:
            given[key].refuse_key(f"a step can wait for only one condition: {chosen[0]} or {key}", BAD_VALUE)
        if given["approval"].as_boolean() is False:
            given["approval"].refuse("approval must be true, or omitted", BAD_VALUE, "true")
        for key in ("approvers", "not_by_starter"):
            if given["approval"].absent and not given[key].absent:
                given[key].refuse_key(f"{key} requires approval: true", BAD_VALUE)
        until = draft.values["until"]
        if until and not _is_moment(until):
            given["until"].refuse("expected a time such as 18:00 or 2026-12-01T09:00", BAD_VALUE)

    def _check_workflow(self, draft: StepDraft, _: KnownNames, found: dict[str, Any]) -> None:
        node = draft.values.given["command"]
        self._must_be_known(node, "", self._texts.around.workflows, "unknown-workflow", "unknown workflow")

    def _must_be_known(self, node: Node, before: str, known: Collection[str] | None, code: str, sentence: str) -> None:
        """Report a name that is written out and does not exist here."""
        text = node.as_text()
        if text is None or known is None or "${" in text or f"{before}{text}" in known:
            return
        near = near_word(text, [name.removeprefix(before) for name in known if name.startswith(before)])
        node.refuse(f"{sentence} {node.quote(text)}{did_you_mean(near)}", code, near)


def _with_scheme(url: str) -> str:
    """Return the URL that was probably meant; empty if it has another scheme."""
    return "" if "://" in url else f"https://{url}"


def _is_moment(text: str) -> bool:
    if not _UNTIL.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text if "-" in text else f"2000-01-01T{text}")
    except ValueError:  # such as a 30th of February
        return False
    return True


def _shell_of(values: RecordValues[Node]) -> tuple[str, ...]:
    """Return the words of the shell that a step names, without the `-c` that comes before its script anyway."""
    node, written = values.given["shell"], values["shell"]
    if node.absent or not written:
        return ()
    try:
        words = shlex.split(written[0]) if node.as_items() is None else written
    except ValueError:
        return ()
    return tuple(words[:-1] if words[-1:] == ["-c"] else words)


def read_retry(values: RecordValues[Node]) -> RetryRule:
    return RetryRule(
        values["max_attempts"],
        values["delay"],
        values["backoff"],
        values["max_delay"],
        tuple(values["on_exit_codes"] or ()),
    )


_PLAIN: Mapping[StepType, tuple[str, ...]] = {
    StepType.SHELL: ("success_exit_codes",),
    StepType.SSH: ("hosts", "groups", "stop_on_failure", "user"),
    StepType.SKILL: ("mode",),
    StepType.PROMPT: ("model", "max_tokens", "temperature", "response_format"),
    StepType.NOTIFY: ("required", "parse_mode"),
    StepType.HTTP: ("method", "expect_status", "expect_body"),
    StepType.WAIT: ("duration", "until", "approval", "approvers", "not_by_starter", "on_timeout"),
}
_TEMPLATES: Mapping[StepType, tuple[str, ...]] = {
    StepType.SHELL: ("stdin",),
    StepType.SKILL: ("input",),
    StepType.PROMPT: ("system",),
    StepType.NOTIFY: ("profile", "channel", "target", "subject"),
    StepType.HTTP: ("url", "body"),
    StepType.WAIT: ("message",),
}
_CHECKS: Mapping[StepType, Any] = {kind: getattr(StepReader, f"_check_{kind}") for kind in StepType}
