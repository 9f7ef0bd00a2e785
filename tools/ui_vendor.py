"""The packages that the dashboard ships: npm's files for browsers, with versions, checksums and licences beside them.

`tests/web/ui/node/package-lock.json` pins them, and `npm ci` checks their integrity. A package that imports others by
bare names cannot be served without an import map, which the policy of the page forbids inside the document: so Preact,
its hooks and htm are put into one module, each in a function of its own and otherwise unchanged.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Final

from tools.bootstrap import NODE_PLACE, ROOT

PLACE: Final = ROOT / "src" / "tocsin" / "web" / "ui" / "vendor"
# The served file, and the packages that it is made of.
PACKAGES: Final = {"marked.js": ("marked",), "preact.js": ("preact", "htm")}
_SOURCES: Final = {
    "marked": "marked/lib/marked.esm.js",
    "preact": "preact/dist/preact.mjs",
    "hooks": "preact/hooks/dist/hooks.mjs",
    "htm": "htm/dist/htm.mjs",
}
# What the modules of the dashboard import.
_NAMES: Final = "h, render, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState"
_IMPORT: Final = re.compile(r'^import\{([^}]*)\}from"preact";')
_EXPORT: Final = re.compile(r"export\{([^}]*)\};\s*$")
_DEFAULT: Final = re.compile(r"export default ?")
_MAP: Final = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


class VendorError(Exception):
    """A package is missing, or has another form than the one this module can join."""


def vendored_files(packages: Path = NODE_PLACE / "node_modules") -> dict[Path, str]:
    """Return the files below `vendor/` that are made from installed packages, with their texts."""
    read = {name: _text(packages / path) for name, path in _SOURCES.items()}
    names = [name for made_of in PACKAGES.values() for name in made_of]
    about = {name: json.loads(_text(packages / name / "package.json")) for name in names}
    modules = {"marked.js": read["marked"], "preact.js": joined_preact(read["preact"], read["hooks"], read["htm"])}
    versions = {
        file: {
            "packages": {name: about[name]["version"] for name in PACKAGES[file]},
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        for file, text in modules.items()
    }
    licences = [
        f"==== {name} ({about[name]['license']}) ====\n\n{_text(packages / name / 'LICENSE').strip()}\n"
        for name in names
    ]
    texts = {**modules, "versions.json": json.dumps(versions, indent=2) + "\n", "LICENSES.txt": "\n".join(licences)}
    return {PLACE / name: text for name, text in texts.items()}


def joined_preact(preact: str, hooks: str, htm: str) -> str:
    """Return one module without imports that exports what the dashboard needs of the three."""
    wanted = _IMPORT.match(hooks)
    if wanted is None:
        raise VendorError("the hooks of Preact do not begin with their import of Preact")
    bound = wanted[1].replace(" as ", ": ")
    return (
        "// Preact, its hooks and htm, made one module by `make docs`: see versions.json and LICENSES.txt.\n"
        f"const preact = (() => {{\n{_returning(preact)}\n}})();\n"
        f"const hooks = (({{{bound}}}) => {{\n{_returning(hooks[wanted.end() :])}\n}})(preact);\n"
        f"const htm = (() => {{\n{_with_default(htm)}\n}})();\n"
        f"export const {{ {_NAMES} }} = {{ ...preact, ...hooks }};\n"
        "export const html = htm.bind(h);\n"
    )


def _returning(module: str) -> str:
    """Return the body of a function that returns what a module exports."""
    text = _MAP.sub("", module).strip()
    found = _EXPORT.search(text)
    if found is None:
        raise VendorError("a module of Preact does not end with its exports")
    pairs = [part.strip().split(" as ") for part in found[1].split(",")]
    exported = ", ".join(f"{pair[-1]}: {pair[0]}" for pair in pairs)
    return f"{text[: found.start()]}\nreturn {{ {exported} }};"


def _with_default(module: str) -> str:
    text, count = _DEFAULT.subn("return ", _MAP.sub("", module).strip())
    if count != 1:
        raise VendorError("htm has no single default export")
    return text


def _text(path: Path) -> str:
    if not path.is_file():
        raise VendorError(f"{path} is missing: `sh tools/bootstrap.sh dev` installs it")
    return path.read_text(encoding="utf-8")
