"""Join the modules that every page needs into one answer, so that the first load takes few requests.

Nothing is compiled: the text of the modules is put one after the other, without the imports between them. What a
person reads in the browser's tools is what stands in the repository. Modules follow a few rules that make this
safe: imports are `import { a, b } from "../folder/file.js";` at the start of a line, no name is given at the top
level of two joined modules, and each lies in a folder directly below the root.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence

_IMPORT = re.compile(r'^import\s*(?:\{(?P<names>[^}]*)\}\s*from\s*)?"(?P<path>\.\.?/[^"]+)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) +(\w+)", re.MULTILINE)
# It has a name for every letter: it stays a module of its own.
_APART = "vendor/"


class JoiningError(Exception):
    """A module breaks the rules that joining needs."""


def members_of(entry: str, sources: Mapping[str, str], common: Sequence[str] = ()) -> list[str]:
    """Return `common` and what `entry` needs, each module after what it imports; `entry` is the last."""
    order: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in order or name.startswith(_APART):
            return
        if name in open_:
            raise JoiningError(f"{' imports '.join([*open_[open_.index(name) :], name])}: a cycle")
        open_.append(name)
        for wanted in imports_of(name, sources):
            visit(wanted)
        open_.pop()
        order.append(name)

    for name in (*common, entry):
        visit(name)
    return order


def joined(entry: str, sources: Mapping[str, str], common: Sequence[str] = ()) -> dict[str, str]:
    """Return all modules as they are served: the members as one, and the others importing from that one."""
    members = members_of(entry, sources, common)
    _check_names(members, sources)
    served = {name: _redirected(name, sources, members, entry) for name in sources if name not in members}
    outside: dict[str, set[str]] = {}
    bodies = []
    for name in members:
        for found in _IMPORT.finditer(sources[name]):
            target = _resolved(name, found["path"])
            if target not in members:
                outside.setdefault(target, set()).update(_names(found["names"]))
        bodies.append(f"// ---- {name}\n{_IMPORT.sub('', sources[name]).strip()}\n")
    heads = [
        f'import {{ {", ".join(sorted(names))} }} from "{_relative(entry, target)}";\n'
        for target, names in sorted(outside.items())
    ]
    return {**served, entry: "".join(heads) + "\n" + "\n".join(bodies)}


def imports_of(name: str, sources: Mapping[str, str]) -> list[str]:
    """Return the modules that a module imports, and refuse one that is not there."""
    wanted = [_resolved(name, found["path"]) for found in _IMPORT.finditer(sources[name])]
    for target in wanted:
        if target not in sources:
            raise JoiningError(f"{name} imports {target}, which does not exist")
    return wanted


def _check_names(members: list[str], sources: Mapping[str, str]) -> None:
    owners: dict[str, str] = {}
    for name in members:
        if posixpath.dirname(posixpath.dirname(name)) or not posixpath.dirname(name):
            raise JoiningError(f"{name} does not lie in a folder directly below the root")
        for declared in _DECLARED.findall(sources[name]):
            if owners.setdefault(declared, name) != name:
                raise JoiningError(f"{name} and {owners[declared]} both declare {declared}: rename one")


def _redirected(name: str, sources: Mapping[str, str], members: list[str], entry: str) -> str:
    def redirect(found: re.Match[str]) -> str:
        if _resolved(name, found["path"]) not in members:
            return found[0]
        return found[0].replace(found["path"], _relative(name, entry))

    return _IMPORT.sub(redirect, sources[name])


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _relative(name: str, target: str) -> str:
    path = posixpath.relpath(target, posixpath.dirname(name))
    return path if path.startswith(".") else f"./{path}"


def _names(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]
