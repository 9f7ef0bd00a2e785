"""The map in CONTRIBUTING.md names every package, in the order in which imports may point."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tocsin"
MAX_LINES = 45
# A new channel or feature is one folder and needs no edit elsewhere, so the map does not name them.
OPEN_ENDED = {"channels", "features"}

_FLOOR = re.compile(r"^(?P<name>\w+)(?P<kind>/|\.py) +(?P<rooms>.*?)(?P<sibling> +\|)?$")


def the_map() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return text.partition("\n## The map\n")[2].partition("\n## ")[0]


def drawing() -> list[re.Match[str]]:
    """Return one match for each floor, from the top down."""
    lines = the_map().partition("```text\n")[2].partition("```")[0].splitlines()
    floors = [_FLOOR.match(line) for line in lines]
    assert floors
    assert None not in floors, lines[floors.index(None)]
    return [floor for floor in floors if floor]


def packages(directory: Path) -> set[str]:
    return {path.parent.name for path in directory.glob("*/__init__.py")}


def test_the_map_fits_on_a_screen():
    assert len(the_map().strip().splitlines()) <= MAX_LINES


def test_every_floor_on_the_map_exists():
    missing = [
        floor["name"]
        for floor in drawing()
        if not (SOURCE / (floor["name"] + ("" if floor["kind"] == "/" else ".py"))).exists()
    ]
    assert missing == []


def test_every_package_is_a_floor_on_the_map():
    assert packages(SOURCE) - {floor["name"] for floor in drawing()} == set()


def test_every_room_on_the_map_exists_and_every_room_is_on_it():
    for floor in drawing():
        named = set(re.findall(r"\b(\w+)/", floor["rooms"]))
        rooms = packages(SOURCE / floor["name"])
        assert named - rooms == set(), f"{floor['name']}/ has no such room"
        if floor["name"] not in OPEN_ENDED:
            assert rooms - named == set(), f"the map lacks rooms of {floor['name']}/"


def test_the_floors_are_in_the_order_that_import_linter_enforces():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers") == ["tocsin"])
    enforced = [set(re.findall(r"\w+", layer)) for layer in layers]
    drawn: list[set[str]] = []
    joins = False
    for floor in drawing():
        drawn = [*drawn[:-1], drawn[-1] | {floor["name"]}] if joins else [*drawn, {floor["name"]}]
        joins = bool(floor["sibling"])
    assert drawn == enforced
