"""Joining of modules that are needed together into one file, so that a page takes few requests.

Nothing is compiled: the texts of the modules are concatenated, without the imports between them, without types, and
with an empty line for each line of a comment, which would be a third of the size. Apart from that, the browser's
tools show the source of the repository. The frame is joined with all its imports, and a page with its own strings and
modules; modules that the same pages need, and no others, form one file. Modules follow a few rules that make this
safe: imports are `import { a, b } from "../folder/file.js";` at the start of a line, and two joined modules define no
common name at the top level. In the frame a common name is an error; elsewhere, a module that shares a name with
others is served separately. The modules of a feature, which may be installed elsewhere, import those of the dashboard
as `tocsin/parts/table.js`.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

_PATH = r'"(?P<path>(?:\.\.?|tocsin)/[^"]+)"'
_IMPORT = re.compile(rf"^import\s*(?:\{{(?P<names>[^}}]*)\}}\s*from\s*)?{_PATH};\n", re.MULTILINE)
_LATER = re.compile(rf"\bimport\({_PATH}\)")
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) +(\w+)", re.MULTILINE)
# Whole lines of comments, without code.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)[ \t]*$", re.MULTILINE)
# A type within a line of code, such as `/** @type {string} */ (name)`.
_CAST = re.compile(r"/\*\* @\w+ [^*\n]*\*/ ?")
# It uses every single-letter name: it stays a separate module.
_APART = "vendor/"
# Modules in these folders that only one page needs are joined with that page; parts are shared by all.
_OF_ONE_PAGE = ("pages/", "strings/", "features/")
_DASHBOARD = "tocsin/"


class JoiningError(Exception):
    """A module breaks the rules of joining."""


def collect_members(entry: str, sources: Mapping[str, str], common: Sequence[str] = ()) -> list[str]:
    """Return `common` and the dependencies of `entry`, each module after its imports; `entry` is the last."""
    order: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in order or name.startswith(_APART):
            return
        if name in open_:
            raise JoiningError(f"{' imports '.join([*open_[open_.index(name) :], name])}: a cycle")
        open_.append(name)
        for wanted in read_imports(name, sources):
            visit(wanted)
        open_.pop()
        order.append(name)

    for name in (*common, entry):
        visit(name)
    return order


def join_modules(entry: str, sources: Mapping[str, str], common: Sequence[str] = ()) -> dict[str, str]:
    """Return all modules as they are served: each group as one, under the name of its last member."""
    groups = _groups(entry, sources, common)
    apart = {name: text for name, text in sources.items() if name.startswith(_APART)}
    holder = {**{name: name for name in apart}, **{name: group[-1] for group in groups for name in group}}
    return {**apart, **{group[-1]: _concatenate(group, sources, holder) for group in groups}}


def read_imports(name: str, sources: Mapping[str, str]) -> list[str]:
    """Return the imports of a module; raise JoiningError for one that does not exist."""
    wanted = [_resolved(name, found["path"]) for found in _IMPORT.finditer(sources[name])]
    for target in wanted:
        if target not in sources:
            raise JoiningError(f"{name} imports {target}, which does not exist")
    return wanted


def _groups(entry: str, sources: Mapping[str, str], common: Sequence[str]) -> list[list[str]]:
    """Sort all modules into groups that are served as one file, each in execution order."""
    frame = collect_members(entry, sources, common)
    others = [name for name in sources if name not in frame and not name.startswith(_APART)]
    wanted = {target for name in others for target in read_imports(name, sources)}
    roots = {name: collect_members(name, sources) for name in others if name not in wanted}
    users = {name: [root for root, needs in roots.items() if name in needs] for name in others}
    groups, taken = [frame], set(frame)
    for root, needs in roots.items():
        mine = [name for name in needs if users.get(name) == [root] and name.startswith(_OF_ONE_PAGE) and name != root]
        own = _without_clashes(root, mine, sources)
        groups.append(own)
        taken.update(own)
    for shared in _group_by_users([name for needs in roots.values() for name in needs if name not in taken], users):
        own = _without_clashes(shared[-1], shared[:-1], sources)
        groups.append(own)
        taken.update(own)
    return [*groups, *([name] for name in others if name not in taken)]


def _group_by_users(names: Iterable[str], users: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return groups of the modules that the same pages need, each in execution order."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for name in names:
        if len(users[name]) > 1:
            found.setdefault(tuple(users[name]), {})[name] = None
    return [list(shared) for shared in found.values()]


def _without_clashes(root: str, mine: Sequence[str], sources: Mapping[str, str]) -> list[str]:
    """Return those of `mine` that can be joined with `root`, and `root`."""
    known = set(_DECLARED.findall(sources[root]))
    outside: set[str] = set()
    for name in reversed(mine):  # importers come before their imports
        declared = set(_DECLARED.findall(sources[name]))
        if name in outside or not known.isdisjoint(declared):
            # Its imports stay outside, too: otherwise the two files would import each other.
            outside |= {name, *read_imports(name, sources)}
        else:
            known |= declared
    return [*(name for name in mine if name not in outside), root]


def _concatenate(group: Sequence[str], sources: Mapping[str, str], holder: Mapping[str, str]) -> str:
    """Return the modules of a group as one, with imports from the files that contain its dependencies."""
    _check_names(group, sources)
    name = group[-1]
    outside: dict[str, set[str]] = {}
    for member in group:
        for found in _IMPORT.finditer(sources[member]):
            target = holder[_resolved(member, found["path"])]
            if target != name:
                outside.setdefault(target, set()).update(_names(found["names"]))
    heads = [
        f'import {{ {", ".join(sorted(names))} }} from "{_relative(name, target)}";\n'
        if names
        else f'import "{_relative(name, target)}";\n'
        for target, names in sorted(outside.items())
    ]
    bodies = [f"// ---- {member}\n{_body(member, name, sources[member], holder).strip()}\n" for member in group]
    return "".join(heads) + "\n" + "\n".join(bodies)


def _body(member: str, name: str, text: str, holder: Mapping[str, str]) -> str:
    """Return the text of a module within the file `name`, with the paths of `import("…")` adjusted."""

    def written(found: re.Match[str]) -> str:
        target = _resolved(member, found["path"])
        if holder.get(target) != target:
            raise JoiningError(f"{member} loads {target} with import(), but that module is joined into another file")
        return f'import("{_relative(name, target)}")'

    return _LATER.sub(written, _bare(_IMPORT.sub("", text)))


def _bare(text: str) -> str:
    return _CAST.sub("", _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text))


def _check_names(group: Iterable[str], sources: Mapping[str, str]) -> None:
    owners: dict[str, str] = {}
    for name in group:
        for declared in _DECLARED.findall(sources[name]):
            if owners.setdefault(declared, name) != name:
                raise JoiningError(f"{name} and {owners[declared]} both declare {declared}: rename one")


def _resolved(name: str, path: str) -> str:
    if path.startswith(_DASHBOARD):
        return path.removeprefix(_DASHBOARD)
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _relative(name: str, target: str) -> str:
    path = posixpath.relpath(target, posixpath.dirname(name))
    return path if path.startswith(".") else f"./{path}"


def _names(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]
