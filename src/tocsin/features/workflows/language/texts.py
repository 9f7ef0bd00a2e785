"""Reads the texts of a workflow file: templates, conditions, outputs, and values with templates in them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tocsin.core.expressions.expression import Expression, ExpressionError
from tocsin.core.expressions.parser import parse_expression
from tocsin.core.expressions.patterns import compile_pattern
from tocsin.core.expressions.template import EMPTY, Placeholder, Template, TemplateError, parse_template
from tocsin.core.reading.value import near_word
from tocsin.core.reading.yaml_node import MAX_PROBLEMS, Node, Scalar, YamlIssue, describe_kind
from tocsin.core.text.redaction import Redactor
from tocsin.features.workflows.language.names import CONDITIONS, KnownNames
from tocsin.features.workflows.language.outputs import OutputRule, OutputRuleError, parse_output
from tocsin.features.workflows.language.scripts import TextVariables, is_numeric, replacement
from tocsin.features.workflows.language.surroundings import Surroundings

UNKNOWN_NAME, BAD_EXPRESSION, SECRET = "unknown-variable", "bad-expression", "secret-in-command"
EVALUATED = "text-as-code"
BAD_VALUE = "bad-value"
_LOOKS_SECRET = Redactor()
_OPTION = re.compile(
    r"--?(?:password|passwd|token|api[-_]?key|secret)[= ](?!\$|['\"]?\$)['\"]?[^\s'\"]{4,}", re.IGNORECASE
)


class PatternChecks:
    """Compiles the patterns of one file, up to a number and a length that take less than a second."""

    MOST, MOST_CHARS = 50, 8_000  # of different patterns together

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._chars = 0

    def __call__(self, pattern: str) -> None:
        """Check a pattern; raises ValueError with its problem."""
        if pattern not in self._seen:
            self._chars += len(pattern)
            self._seen.add(pattern)
        if len(self._seen) > self.MOST or self._chars > self.MOST_CHARS:
            limits = f"{self.MOST} different patterns, or {self.MOST_CHARS:,} characters of them"
            raise ValueError(f"a workflow can have at most {limits}")
        compile_pattern(pattern)


@dataclass(slots=True, eq=False, repr=False)
class TextReader:
    """Reads texts and collects warnings; mistakes are reported to the file."""

    around: Surroundings
    warnings: list[YamlIssue] = field(default_factory=list)
    check_pattern: PatternChecks = field(default_factory=PatternChecks)
    variables: TextVariables = field(default_factory=lambda: TextVariables({}, {}, {}))  # of the file's shells

    def template(self, node: Node, names: KnownNames, *, secrets: bool = False) -> Template:
        """Read a text; `secrets` allows `${vault:…}` in it."""
        text = node.as_text()
        if text is None:
            return EMPTY
        try:
            template = parse_template(text)
        except TemplateError as error:
            node.refuse(str(error), UNKNOWN_NAME)
            return EMPTY
        for placeholder in template.placeholders():
            self._check(node, placeholder, names, secrets=secrets)
        if len(self.warnings) < MAX_PROBLEMS and (_LOOKS_SECRET(text) != text or _OPTION.search(text)):
            detail = "this looks like a secret: store it in the vault and write ${vault:NAME} in env"
            self.warnings.append(node.problem(detail, SECRET, "env"))
        return template

    def script(self, node: Node, names: KnownNames) -> Template:
        """Read text for a shell, which takes numbers and booleans only."""
        template = self.template(node, names, secrets=True)
        self.refuse_values(node, template, names)
        return template

    def refuse_values(self, node: Node, script: Template, names: KnownNames) -> None:
        """Report placeholders that shell text must not contain, with their replacement."""
        for each in dict.fromkeys(script.placeholders()):
            if each.secret or not (names.problem(each.path) or is_numeric(names.params, each.path)):
                name, line = replacement(each)
                add = "which env already sets" if each.path.startswith("env.") else f"and in the step: {line}"
                detail = f'{each.spelled()} cannot be used in shell text: write "${name}" there, {add}'
                node.refuse(detail, SECRET if each.secret else BAD_VALUE, "env" if each.secret else line)

    def warn_of_evaluation(self, node: Node, script: Template, env: Mapping[str, Template]) -> None:
        """Warn of variables with text that a script evaluates; `env` is that of its step."""
        for detail in self.variables.evaluated(script, env) if len(self.warnings) < MAX_PROBLEMS else ():
            self.warnings.append(node.problem(detail, EVALUATED))

    def templates(self, node: Node, names: KnownNames) -> Mapping[str, Template]:
        """Read the texts of a mapping, whose types were checked before; they may have secrets."""
        members = dict(node.as_members() or ())
        return {name: self.template(each, names, secrets=True) for name, each in members.items()}

    def structure(self, node: Node, names: KnownNames) -> Any:
        """Read any value; texts in it are templates."""
        if (items := node.as_items()) is not None:
            return [self.structure(item, names) for item in items]
        if (members := node.as_members()) is not None:
            return {name: self.structure(member, names) for name, member in members}
        if isinstance(node.content, Scalar) and describe_kind(node.content) == "text":
            return self.template(node, names)
        return plain(node)

    def condition(self, node: Node, names: KnownNames) -> Expression | None:
        text = node.as_text()
        if text is None or not text.strip():
            return None
        try:
            expression = parse_expression(text, CONDITIONS, self.check_pattern)
        except ExpressionError as error:
            node.refuse(str(error), BAD_EXPRESSION, error.near)
            return None
        for path in dict.fromkeys(expression.names()):
            if problem := names.problem(path):
                node.refuse(problem.detail, UNKNOWN_NAME, problem.near)
        return expression

    def outputs(self, node: Node, implicit: tuple[str, ...], sources: tuple[str, ...]) -> Mapping[str, OutputRule]:
        """Read the outputs of a step; `implicit` are the outputs that its type has."""
        found = {}
        for name, member in node.as_members() or ():
            if name in implicit:
                member.refuse_key(f"every step of this type already has an output {name!r}", BAD_VALUE)
                continue
            if not (text := member.as_text() or "").strip():
                continue
            try:
                rule = parse_output(text, self.check_pattern)
            except OutputRuleError as error:
                member.refuse(str(error), BAD_VALUE, error.near)
                continue
            if rule.source not in sources and not (rule.source.startswith("file:") and len(sources) > 1):
                member.refuse(f"steps of this type have no {rule.source}: use stdout", BAD_VALUE, "stdout")
            found[name] = rule
        return found

    def _check(self, node: Node, placeholder: Placeholder, names: KnownNames, *, secrets: bool) -> None:
        if not placeholder.secret:
            if problem := names.problem(placeholder.path):
                node.refuse(problem.detail, UNKNOWN_NAME, problem.near)
        elif not secrets:
            detail = f"{placeholder.spelled()} is allowed only in env and in the headers of an http step"
            node.refuse(detail, SECRET, "env")
        elif self.around.secrets is not None and placeholder.path not in self.around.secrets:
            near = near_word(placeholder.path, self.around.secrets)
            meant = f"vault:{near}" if near else ""
            node.refuse(f"the vault has no secret {placeholder.path}", UNKNOWN_NAME, meant)


def plain(node: Node) -> Any:
    """Return a value of the file as JSON has it."""
    if (items := node.as_items()) is not None:
        return [plain(item) for item in items]
    if (members := node.as_members()) is not None:
        return {name: plain(member) for name, member in members}
    if node.absent or node.is_null:
        return None
    for value in (node.as_boolean(), node.as_whole(), node.as_number()):
        if value is not None:
            return value
    return node.as_text()
