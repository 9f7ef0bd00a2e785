"""Have mypy check the objects that `module:NAME` names in texts: prints the path of a module that uses each of them.

Channels and features name what a start of the command must not import. Each name must exist, and have the type that
the program expects of its role.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
WRITTEN = ROOT / "build" / "named_objects.py"
_NAME = re.compile(r"([a-z_]\w*(?:\.\w+)+):(\w+)")
_HEAD = '''"""Made by tools/named_objects.py."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tocsin.channels.dressing import Dressing
from tocsin.channels.inbound import InboundAdapter
from tocsin.channels.layout.model import MessageLayout
from tocsin.core.reading.fields import FieldType, RecordType
from tocsin_standins.serving import HttpStandIn
'''
# The types of objects by role: the name of the class attribute, of the parameter, or of the class that gets the text.
ROLES = {
    "WrittenFile": "FieldType | Callable[[], FieldType] | Callable[[], dict[str, Any]]",
    "dressing": "Callable[[owner.{owner}], Dressing]",
    "inbound": "type[InboundAdapter]",
    "layouts": "Callable[[Any], MessageLayout]",
    "services": "Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]",
    "standin": "type[HttpStandIn]",
    "targets": "RecordType",
}


class NamedObject(NamedTuple):
    """A name in a text; `role` is empty where the result of `load_class` is annotated."""

    file: Path
    line: int
    module: str
    name: str
    role: str
    owner: str  # the class that has the attribute


def named_objects() -> Iterator[NamedObject]:
    """Yield all names of the source."""
    for file in sorted(SOURCE.rglob("*.py")):
        package = ".".join(file.relative_to(SOURCE).parent.parts)
        yield from _found(ast.parse(file.read_text("utf-8")), file, package)


def _found(tree: ast.AST, file: Path, package: str, role: str = "", owner: str = "") -> Iterator[NamedObject]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr):  # prose
            continue
        match node:
            case ast.ClassDef(name=name):
                yield from _found(node, file, package, "", name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if owner:
                yield from _found(node, file, package, name, owner)
            case ast.Call(func=ast.Name(id="WrittenFile" as name)) | ast.keyword(arg="targets" as name):
                yield from _found(node, file, package, name, owner)
            case ast.Constant(value=str(text)):
                yield from _named(text, file, node.lineno, role, owner)
            case ast.JoinedStr(
                values=[ast.FormattedValue(value=ast.Name(id="__package__")), ast.Constant(value=str(rest))]
            ):
                yield from _named(f"{package}{rest}", file, node.lineno, role, owner)
            case _:
                yield from _found(node, file, package, role, owner)


def _named(text: str, file: Path, line: int, role: str, owner: str) -> Iterator[NamedObject]:
    if found := _NAME.fullmatch(text):
        yield NamedObject(file, line, found[1], found[2], role if role in ROLES else "", owner)


def module_text() -> str:
    """Return the module for mypy."""
    lines = [_HEAD]
    for number, each in enumerate(named_objects()):
        place = f"{each.file.relative_to(ROOT)}:{each.line}"
        lines += ["", f"from {each.module} import {each.name} as object_{number}  # {place}"]
        if "{owner}" in (kind := ROLES.get(each.role, "object")):
            module = ".".join(each.file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            lines += [f"from {module} import {each.owner} as owner_{number}"]
        kind = kind.replace("owner.{owner}", f"owner_{number}")
        lines += [f"checked_{number}: {kind} = object_{number}  # {place}"]
    return "\n".join([*lines, ""])


def main() -> None:
    """Write the module, and print its path."""
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(module_text(), encoding="utf-8")
    print(WRITTEN.relative_to(ROOT))


if __name__ == "__main__":
    main()
