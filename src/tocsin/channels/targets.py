"""Targets that are names: `targets.yaml` says which address, with which secrets, stands behind each.

    webhook:
      ci: {url: "https://ci.example.org/hook", secret: "${vault:CI_SECRET}"}

A channel whose addresses contain secrets declares the type of an entry in its spec. So no address is listed, logged or
stored with a message. Secrets are filled in when a message is sent.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tocsin.channels.model import TARGETS_FILE, ChannelSpec
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ChannelError, ConfigError, FailureKind, TocsinError
from tocsin.core.expressions.template import Placeholder, Template, TemplateError, parse_template
from tocsin.core.plugins import load_class
from tocsin.core.reading.fields import Field, MappingType, RecordType, RecordValues, TextType
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node, YamlError
from tocsin.core.storage.files import WatchedFile, write_atomically

_ENV = re.compile(r"env\.([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True, repr=False)
class SecretText:
    """A text whose `${vault:NAME}` and `${env.NAME}` are filled in when a message is sent."""

    template: Template
    check: Callable[[str], object] = field(compare=False)  # raises ValueError with what was expected

    @property
    def literal(self) -> str | None:
        """The text, if it has no placeholders."""
        return self.template.literal()


def secret_text(check: Callable[[str], object] = str) -> TextType:
    """Return the type of a text that is or contains a secret.

    `check` gets the text with its secrets, and raises ValueError, which must not repeat the text.
    """

    def parse(text: str) -> SecretText:
        try:
            found = SecretText(parse_template(text), check)
        except TemplateError as error:
            raise ValueError(str(error)) from None
        for each in found.template.placeholders():
            if not each.secret and not _ENV.fullmatch(each.path):
                raise ValueError(f"{each.spelled()} is neither ${{vault:NAME}} nor ${{env.NAME}}")
        if (literal := found.literal) is not None:
            check(literal)
        return found

    return TextType(parse=parse)


def file_type(specs: Iterable[ChannelSpec]) -> RecordType:
    """Return the type of `targets.yaml` for these channels."""
    return RecordType(
        tuple(Field(spec.kind, _of_channel(spec), doc=f"Targets of {spec.label}") for spec in specs if spec.targets)
    )


def _of_channel(spec: ChannelSpec) -> MappingType:
    return MappingType(
        load_class(spec.targets),
        key_pattern=r"[a-z0-9][a-z0-9._-]{0,63}",
        key_rule="not the name of a target: use 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first",
    )


Entries = Mapping[str, Mapping[str, Mapping[str, Any]]]


class NamedTargets(WatchedFile[Entries]):
    """The targets of `targets.yaml`, which is read again when it changes."""

    def __init__(self, settings: Settings, specs: Iterable[ChannelSpec]) -> None:
        self._settings = settings
        self._specs = {spec.kind: spec for spec in specs if spec.targets}
        self._type = file_type(self._specs.values())
        super().__init__(settings.data_dir / TARGETS_FILE, self.parse, {})

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield channel and name of each target, in the order of the file."""
        for kind, entries in self.value.items():
            for name in entries:
                yield kind, name

    async def examine(self) -> list[tuple[str, str, ChannelError | None]]:
        """Return channel and name of each target, and why its secrets cannot be read."""
        found: list[tuple[str, str, ChannelError | None]] = []
        for kind, name in self.all():
            try:
                await self.of(kind).read(name)
            except ChannelError as error:
                found.append((kind, name, error))
            else:
                found.append((kind, name, None))
        return found

    def of(self, kind: str) -> "ChannelTargets":
        """Return the targets of one channel."""
        return ChannelTargets(self._specs[kind], self)

    def parse(self, content: bytes) -> Entries:
        """Return the fields of each target of a text, by channel and name; raises ConfigError."""
        return parse_yaml(content, self.path, self._read)

    def entries(self, kind: str) -> tuple[Mapping[str, Mapping[str, Any]], ConfigError | None]:
        """Return the fields of the targets of a channel, and why the present file is not in effect."""
        found, problem = self.read()
        return found.get(kind, {}), problem

    def fill(self, value: Any) -> Any:
        """Return a value with its secrets; blocks. Raises ChannelError."""
        if isinstance(value, SecretText):
            return self._fill(value)
        if isinstance(value, Mapping):
            return {name: self.fill(each) for name, each in value.items()}
        return [self.fill(each) for each in value] if isinstance(value, list | tuple) else value

    def _read(self, root: Node) -> Entries:
        read = self._type.read(root)
        entries = {kind: {name: _fields(each) for name, each in found.items()} for kind, found in read.values.items()}
        # What a file says in clear is masked, too.
        self._settings.redact.learn(text for each in _secrets_in(entries) if (text := each.literal))
        return entries

    def _fill(self, text: SecretText) -> str:
        filled = text.template.fill(self._value_of).strip()
        try:
            text.check(filled)
        except ValueError as error:
            names = ", ".join(each.spelled() for each in text.template.placeholders())
            raise ChannelError(f"a text with {names} is {error}", hint="correct the secret") from None
        self._settings.redact.learn([filled])
        return filled

    def _value_of(self, placeholder: Placeholder) -> str:
        settings, name = self._settings, placeholder.path
        try:
            if placeholder.secret:
                value, where = settings.find_stored_secret(name), f"store it with `tocsin vault set {name}`"
            else:
                name = name.removeprefix("env.")
                value, where = settings.find_secret(name), f"set {name} in {settings.own_file}"
        except TocsinError as error:  # of a vault that is locked, or a file that is missing for now
            raise ChannelError(str(error), hint=error.hint, kind=FailureKind.TRANSIENT) from None
        if not value:
            raise ChannelError(f"the secret {placeholder.spelled()} does not exist", hint=where)
        return value


@dataclass(frozen=True, slots=True)
class ChannelTargets:
    """The targets of one channel."""

    spec: ChannelSpec
    file: NamedTargets = field(repr=False)

    def names(self) -> tuple[str, ...]:
        """Return the names of the targets."""
        return tuple(self.file.entries(self.spec.kind)[0])

    def check(self, name: str) -> str:
        """Return `name` if it is the name of a target; raise ChannelError otherwise."""
        known, problem = self.file.entries(self.spec.kind)
        if name in known:
            return name
        if problem is not None:
            raise ChannelError(f"the targets of {self.spec.label} are unknown: {problem}", hint=problem.hint)
        names = f"use one of {', '.join(known)}" if known else f"add it to {self.file.path}"
        raise ChannelError(
            f"{shorten(name)!r} is not a target of {self.spec.label}", hint=names + suggestion(name, known)
        )

    def check_entry(self, text: str) -> str:
        """Return the kind if a text can be an entry; raise ChannelError, without the text, otherwise."""
        try:
            self.file.parse(_with_entry("", self.spec.kind, "entry", text).encode())
        except YamlError as error:
            raise ChannelError(error.problems[0].detail) from None
        return self.spec.kind

    def add(self, name: str, text: str) -> None:
        """Add a target whose entry is a text; the rest of the file is kept, also a target with this name.

        Raises ConfigError or WriteError; then nothing has changed.
        """
        path, kind = self.file.path, self.spec.kind
        before = path.read_text("utf-8") if path.exists() else ""
        if name in self.file.parse(before.encode()).get(kind, {}):
            return
        after = _with_entry(before, kind, name, text)
        try:
            is_added = name in self.file.parse(after.encode()).get(kind, {})
        except ConfigError:  # the text has another form than the one that is edited here
            is_added = False
        if not is_added:
            hint = f"add {name}: {json.dumps(text)} below {kind} in an editor"
            raise ConfigError(f"cannot add a target to {path}", hint=hint)
        write_atomically(path, after)

    async def read(self, name: str) -> Mapping[str, Any]:
        """Return the fields of a target, with their secrets; raise ChannelError."""
        fields = self.file.entries(self.spec.kind)[0][self.check(name)]
        filled: Mapping[str, Any] = await asyncio.to_thread(self.file.fill, fields)  # a vault is decrypted
        return filled


def _with_entry(text: str, kind: str, name: str, entry: str) -> str:
    """Return the text of the file with one more entry: the first one of its channel."""
    head = re.search(rf"^{re.escape(kind)}:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*(?=([ \t]+)\S)", text, re.MULTILINE)
    line = f"{name}: {json.dumps(entry)}\n"
    if head:
        return f"{text[: head.end()]}{head[1]}{line}{text[head.end() :]}"
    start = f"{text.rstrip()}\n\n" if text.strip() else ""
    return f"{start}{kind}:\n  {line}"


def _fields(read: RecordValues[Node] | None) -> Mapping[str, Any]:
    return read.values if read is not None else {}  # None: the file is refused


def _secrets_in(value: Any) -> Iterator[SecretText]:
    if isinstance(value, SecretText):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _secrets_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets_in(each)
