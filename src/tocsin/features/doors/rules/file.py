"""`doors.yaml` and the presets: rules by door, and rules by product."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from tocsin.core.reading.fields import RecordValues
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.doors.rules.rule import DOORS_FILE, RULES, DoorRule

FILE_NAME = "doors.yaml"
# Words for products that share a preset with another one.
ALIASES = {"sonarr": "arr", "radarr": "arr", "prowlarr": "arr", "lidarr": "arr", "forgejo": "gitea"}
ALIASES |= {"overseerr": "seerr", "jellyseerr": "seerr", "grafana": "alertmanager", "kuma": "uptime-kuma"}
_PRESETS = files("tocsin.features.doors") / "presets"


class PlacedRule(NamedTuple):
    """A rule, and where it is written: `rule 2 of doors.yaml`."""

    rule: DoorRule
    place: str


class RulesFile(WatchedFile[Mapping[str, Sequence[PlacedRule]]]):
    """`doors.yaml`, read again when it changes; after an invalid edit, the last valid rules remain active."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, self.parse, {})

    def parse(self, content: bytes) -> Mapping[str, Sequence[PlacedRule]]:
        """Return the rules of a text by door; raises ConfigError."""
        return parse_yaml(content, self.path, _read)

    def of(self, door: str, preset: str) -> list[PlacedRule]:
        """Return the rules of a door in the order in which they are tried: its own, then those of its preset."""
        return [*self.value.get(door, ()), *(preset_rules(preset) if preset else ())]


def preset_names() -> list[str]:
    """Return the names of all presets, aliases included."""
    return sorted({*ALIASES, *(each.name.removesuffix(".yaml") for each in _PRESETS.iterdir())})


def preset_text(name: str) -> str:
    """Return the file of a preset."""
    return (_PRESETS / f"{ALIASES.get(name, name)}.yaml").read_text("utf-8")


def parse_rules(text: str) -> Sequence[PlacedRule]:
    """Return rules that are written as those of a door in `doors.yaml`; raises ConfigError."""
    return parse_yaml(text.encode(), Path("rule"), lambda root: _placed(RULES.read(root), "the text"))


@cache
def preset_rules(name: str) -> Sequence[PlacedRule]:
    """Return the rules of a preset."""
    path = Path(f"{ALIASES.get(name, name)}.yaml")
    return parse_yaml(preset_text(name).encode(), path, lambda root: _placed(RULES.read(root), f"the preset {name}"))


def _read(root: Node) -> Mapping[str, Sequence[PlacedRule]]:
    if root.absent or root.is_null:
        return {}
    return {name: _placed(read, FILE_NAME) for name, read in DOORS_FILE.read(root).items()}


def _placed(found: Sequence[RecordValues[Node]], place: str) -> list[PlacedRule]:
    return [PlacedRule(_rule(each), f"rule {n} of {place}") for n, each in enumerate(found, start=1)]


def _rule(read: RecordValues[Node]) -> DoorRule:
    return DoorRule(**{name: value for name, value in read.values.items() if value is not None})
