"""The plan of an import: what it creates, and what it cannot import."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, unquote

from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.reading.yaml_node import Node
from tocsin.features.doors.model import is_name


class FindTargets(Protocol):
    """Finds the channel that a text addresses."""

    def find_target(self, channel: str, candidates: Sequence[str]) -> tuple[str, str]:
        """Return the kind of the channel with a name or scheme, and the first text that is a target of it."""
        ...

    def check_service(self, address: str) -> str:
        """Return the kind of the channel that reaches a service by its address; raises TocsinError."""
        ...


class ImportedTarget(NamedTuple):
    """A target of a profile."""

    profile: str
    channel: str
    target: str


class ImportedService(NamedTuple):
    """A target for `targets.yaml`; its address has secrets, and goes to the vault."""

    channel: str
    name: str
    address: str

    @property
    def secret(self) -> str:
        """The name of the address in the vault."""
        return re.sub(r"\W", "_", f"{self.channel}_{self.name}_URL".upper())  # a service's name may begin with a digit

    @property
    def entry(self) -> str:
        """The entry in `targets.yaml`."""
        return f"${{vault:{self.secret}}}"


class ImportedDoor(NamedTuple):
    """A door that takes what the other tool took."""

    name: str
    protocol: str
    profile: str


class LeftOut(NamedTuple):
    """An entry that is not imported; `what` has no secret."""

    what: str
    why: str


@dataclass(slots=True)
class ImportPlan:
    """The profiles and doors of a configuration."""

    channels: FindTargets
    fallback: str = ""  # the profile of doors without a target of their own
    targets: list[ImportedTarget] = field(default_factory=list)
    services: list[ImportedService] = field(default_factory=list)
    doors: list[ImportedDoor] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add_target(self, profile: str, channel: str, candidates: Sequence[str], what: str) -> None:
        """Add the first of `candidates` that is a target of a channel to a profile, or say why there is none."""
        try:
            self._add(ImportedTarget(profile, *self.channels.find_target(channel, candidates)))
        except TocsinError as error:
            self.left_out.append(LeftOut(what, error.sentence()))

    def add_address(self, profile: str, address: str, what: str) -> None:
        """Add the target of an address of Apprise, such as `scheme://token/target`, to a profile."""
        scheme, separator, rest = address.strip().partition("://")
        if not separator:
            self.left_out.append(LeftOut(what, "it is not an address"))
            return
        what = f"{what}, {scheme}://…"
        try:
            self._add(ImportedTarget(profile, *self.channels.find_target(scheme.lower(), list(_candidates(rest)))))
        except UnknownChannelError:
            self.add_service(profile, address.strip(), what)
        except TocsinError as error:
            self.left_out.append(LeftOut(what, error.sentence()))

    def add_service(self, profile: str, address: str, what: str) -> None:
        """Add the target of an address for which there is no channel of its own, or say why it is refused.

        Its name is the same for the same address: an import that is repeated adds nothing.
        """
        try:
            kind = self.channels.check_service(address)
        except TocsinError as error:
            self.left_out.append(LeftOut(what, str(error)))
            return
        name = f"{address.partition('://')[0].lower()}-{sha256(address.encode()).hexdigest()[:6]}"
        if (service := ImportedService(kind, name, address)) not in self.services:
            self.services.append(service)
        self._add(ImportedTarget(profile, kind, name))

    def _add(self, found: ImportedTarget) -> None:
        if found not in self.targets:
            self.targets.append(found)

    def add_door(self, name: str, protocol: str) -> None:
        """Add a door whose profile has its name; without a target, its messages go to the fallback."""
        given, name = name, name_of(name)
        profile = name if any(each.profile == name for each in self.targets) else self.fallback
        if not is_name(name):
            self.left_out.append(LeftOut(given, "it has no letters or digits for a name"))
        elif any(each.name == name for each in self.doors):
            self.left_out.append(LeftOut(given, f"another door is called {name}"))
        elif not profile:
            self.left_out.append(LeftOut(given, "none of its targets can be taken over; name a profile with --profile"))
        else:
            self.doors.append(ImportedDoor(name, protocol, profile))

    def leave_out(self, what: str, why: str) -> None:
        """Note what is not taken over."""
        self.left_out.append(LeftOut(what, why))


def name_of(text: str) -> str:
    """Return the name of a door and its profile for a name of the other tool."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")[:63]


def plain(node: Node) -> Any:
    """Return a value of a YAML file as dictionaries, lists, texts, booleans and `None`."""
    if node.absent or node.is_null:
        return None
    if (members := node.as_members()) is not None:
        return {name: plain(member) for name, member in members}
    if (items := node.as_items()) is not None:
        return [plain(item) for item in items]
    switch = node.as_boolean()
    return node.as_text() if switch is None else switch


def _candidates(rest: str) -> Iterator[str]:
    """Yield the parts of an address without its scheme that may be a target, the likeliest first."""
    path, _, query = rest.partition("?")
    asked = parse_qs(query)
    for name in ("to", "channel", "channels"):
        yield from asked.get(name, ())
    host, *segments = [unquote(part) for part in path.strip("/").split("/")]
    yield from reversed(segments)
    user, at, machine = host.rpartition("@")
    yield f"{user.partition(':')[0]}@{machine}" if at else host
