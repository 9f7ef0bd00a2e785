"""The browser's files keep the rules of docs/writing-a-page.md."""

import hashlib
import json
import posixpath
import re
from pathlib import Path

import pytest

from tocsin.features.registry import find_features
from tocsin.web.ui.assets import COMMON, ENTRY, ROOT, STYLES, Asset, load_assets, read_sources
from tocsin.web.ui.joining import JoiningError, collect_members, join_modules, read_imports
from tocsin.web.ui.manifest import CORE_PAGES, build_manifest, feature_pages

MAX_LINES = 300
MAX_FIRST_LOAD_BYTES = 60 * 1024
MAX_PAGE_BYTES = {"features/chat/page.js": 45 * 1024, "pages/msg.js": 16 * 1024}  # of others 15 kB
VENDORED = json.loads((ROOT / "vendor" / "versions.json").read_text("utf-8"))
PINNED = json.loads((Path(__file__).parent / "node" / "package-lock.json").read_text("utf-8"))["packages"]
# All but `confirm`: ours is the one to call.
FUNCTIONS_OF_THE_BROWSER = frozenset(
    {
        "addEventListener",
        "alert",
        "blur",
        "clearTimeout",
        "close",
        "fetch",
        "find",
        "focus",
        "getSelection",
        "matchMedia",
    }
    | {
        "open",
        "print",
        "prompt",
        "requestAnimationFrame",
        "scroll",
        "scrollBy",
        "scrollTo",
        "setInterval",
        "setTimeout",
    }
    | {"stop", "structuredClone"}
)
FLOORS = ("strings", "lib", "parts", "shell", "pages", "features")
FEATURES = find_features().features
PAGES = feature_pages(FEATURES)
ALL = read_sources(PAGES)
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![-\w])|\b(?:rgba?|hsla?|oklch|lab|color-mix)\(")
NAMED_COLOUR = re.compile(r":[^;{]*\b(?:white|black|red|green|blue|gr[ae]y|orange|yellow|purple)\b")


@pytest.fixture(scope="module")
def served() -> dict[str, Asset]:
    """Return all that browsers may load."""
    return load_assets(FEATURES).files


def sources(suffix: str) -> dict[str, str]:
    return {
        name: text for name, text in ALL.items() if name.endswith(suffix) and not name.startswith(("vendor/", "types/"))
    }


def modules() -> dict[str, str]:
    return {name: text for name, text in ALL.items() if name.endswith(".js") and "/" in name}


def test_each_page_of_the_menu_has_a_shortcut_of_its_own():
    keys = [page.key for page in (*CORE_PAGES, *(ui.page for ui in PAGES))]
    assert sorted(keys) == sorted(set(keys) - {""})


def test_each_vendored_file_has_the_checksum_that_stands_beside_it():
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (ROOT / "vendor").glob("*.js")}
    assert found == {name: file["sha256"] for name, file in VENDORED.items()}


def test_each_vendored_package_has_the_version_that_npm_checks_and_its_licence():
    packages = {name: version for file in VENDORED.values() for name, version in file["packages"].items()}
    assert packages == {name: PINNED[f"node_modules/{name}"]["version"] for name in packages}
    licences = (ROOT / "vendor" / "LICENSES.txt").read_text("utf-8")
    assert sorted(re.findall(r"^==== (\S+) \(", licences, re.M)) == sorted(packages)


def test_no_file_is_longer_than_its_ceiling():
    lengths = {name: len(text.splitlines()) for name, text in sources(".js").items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_colours_stand_in_the_tokens_alone():
    files = {**sources(".css"), **sources(".js")}
    del files["style/tokens.css"]
    found = [
        f"{name}: {match[0]}"
        for name, text in files.items()
        for match in COLOUR.finditer(re.sub(r"/\*.*?\*/|^\s*//.*$|^\s*\*.*$", "", text, flags=re.S | re.M))
        if not (name.endswith(".js") and match[0].startswith("#"))
    ]
    assert found == []
    assert [name for name, text in files.items() if name.endswith(".css") and NAMED_COLOUR.search(text)] == []


def test_no_class_is_styled_by_two_features_or_by_a_feature_and_the_frame():
    styled: dict[str, set[str]] = {}
    for name, text in sources(".css").items():
        owner = name.rpartition("/")[0]
        for block in re.findall(r"^\.([\w-]+) \{", text, re.M):
            styled.setdefault(block, set()).add(owner)
    assert {block: owners for block, owners in styled.items() if len(owners) > 1} == {}


def test_every_token_that_is_used_exists_and_every_one_that_exists_is_used():
    files = {**sources(".css"), **sources(".js")}
    defined = set(re.findall(r"^\s*(--[\w-]+):", files["style/tokens.css"], re.M))
    used = {name for text in files.values() for name in re.findall(r"var\((--[\w-]+)", text)}
    assert used - defined == set()
    assert {name for name in defined - used if not name.startswith("--ansi-")} == set()


def test_every_route_has_its_page(served: dict[str, Asset]):
    manifest = build_manifest(FEATURES, PAGES)
    named = [module for page in manifest["pages"] for module in page["routes"].values()]
    named += [kind["part"] for kind in manifest["run_kinds"].values() if kind["part"]]
    assert len(named) > 20
    assert [module for module in named if f"{module}.js" not in served] == []


def test_no_two_pages_have_one_name_or_one_key():
    pages = build_manifest(FEATURES, PAGES)["pages"]
    assert len({page["name"] for page in pages}) == len({page["key"] for page in pages}) == len(pages)


def test_every_style_sheet_is_served(served: dict[str, Asset]):
    assert sorted(name for name in sources(".css") if not name.startswith("features/")) == sorted(STYLES)
    sheet = served["style.css"].body.decode()
    assert ".cron-" in sheet or ".timeline" in sheet


def test_imports_point_down():
    wrong = [
        f"{name} imports {target}"
        for name, text in modules().items()
        if not name.startswith("vendor/")
        for target in read_imports(name, modules())
        if (not target.startswith("vendor/") and FLOORS.index(target.split("/")[0]) > FLOORS.index(name.split("/")[0]))
        or (name.startswith("pages/") and target.startswith("shell/"))
        or (name.startswith("features/") and target.startswith(("shell/", "pages/")))
    ]
    assert wrong == []


def test_no_feature_imports_modules_of_another():
    wrong = [
        f"{name} imports {target}"
        for name, text in modules().items()
        if name.startswith("features/")
        for target in read_imports(name, modules())
        if target.startswith("features/") and target.split("/")[1] != name.split("/")[1]
    ]
    assert wrong == []


def test_every_import_is_written_so_that_it_can_be_joined():
    odd = [
        f"{name}: {line}"
        for name, text in modules().items()
        if not name.startswith("vendor/")
        for line in re.findall(r"^(?:import|export).*\bfrom \".*$", text, re.M)
        if not re.fullmatch(r'(import \{ [\w, ]+ \}|\}) from "(\.|\.\.|tocsin)/[\w/]+\.js";', line)
    ]
    assert odd == []


def test_no_text_of_the_server_becomes_markup():
    found = [
        name
        for name, text in sources(".js").items()
        if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(", text)
    ]
    assert found == []


def test_the_frame_is_served_as_one_file_that_imports_only_what_is_vendored(served: dict[str, Asset]):
    frame = served[ENTRY].body.decode()
    assert re.findall(r'^import .* from "(.*)";$', frame, re.M) == ["../vendor/preact.js"]
    for name in collect_members(ENTRY, modules(), COMMON):
        assert f"// ---- {name}\n" in frame


def test_the_first_load_and_every_further_page_are_small(served: dict[str, Asset]):
    sizes = {name: len(asset.compressed) for name, asset in served.items()}
    first = sum(sizes[name] for name in ("boot.js", "style.css", "vendor/preact.js", ENTRY, "pages/home.js"))
    assert first <= MAX_FIRST_LOAD_BYTES
    pages = {
        name: sum(sizes[one] for one in needs(name, served))
        for name in served
        if name.startswith(("pages/", "features/"))
    }
    large = {name: size for name, size in pages.items() if size > MAX_PAGE_BYTES.get(name, 15 * 1024)}
    assert large == {}


def needs(name: str, files: dict[str, Asset]) -> set[str]:
    """Return a file that is served and all that it imports beside the frame."""
    found, open_ = set(), [name]
    while open_:
        one = open_.pop()
        found.add(one)
        paths = re.findall(r'^import [^\n]*?"([^"]+)";', files[one].body.decode(), re.M)
        targets = {posixpath.normpath(posixpath.join(posixpath.dirname(one), path)) for path in paths}
        open_ += targets - found - {ENTRY, "vendor/preact.js"}
    return found


def test_comments_and_types_are_not_served_and_lines_keep_their_numbers():
    source = (
        "// why\nexport const a = 1; // here\n/**\n * @type {string}\n */\nexport const b = /** @type {any} */ (2);\n"
    )
    served = join_modules("shell/main.js", {"shell/main.js": source})["shell/main.js"]
    assert "why" not in served
    assert "export const a = 1; // here\n\n\n\nexport const b = (2);\n" in served


def test_what_a_page_needs_of_the_frame_it_takes_from_the_one_file(served: dict[str, Asset]):
    page = served["pages/home.js"].body.decode()
    assert '"../shell/main.js"' in page
    assert '"../lib/api.js"' not in page


def test_a_page_is_served_with_what_is_its_own_and_not_with_what_others_use_too():
    sources = {
        "shell/main.js": "export const main = 1;\n",
        "pages/one.js": 'import { ONE } from "../strings/one.js";\nimport { part } from "../parts/part.js";\n',
        "pages/two.js": 'import { BOTH } from "../strings/both.js";\n',
        "pages/three.js": 'import { BOTH } from "../strings/both.js";\nimport { main } from "../shell/main.js";\n',
        "strings/one.js": "export const ONE = 1;\n",
        "strings/both.js": "export const BOTH = 1;\n",
        "parts/part.js": "export const part = 1;\n",
    }
    served = join_modules("shell/main.js", sources)
    assert sorted(served) == sorted(sources.keys() - {"strings/one.js"})
    assert "export const ONE" in served["pages/one.js"]
    assert 'import { part } from "../parts/part.js";' in served["pages/one.js"]
    assert 'import { BOTH } from "../strings/both.js";' in served["pages/two.js"]


def test_what_the_same_pages_need_and_no_other_is_one_file():
    page = 'import { both } from "../parts/both.js";\nimport { MORE } from "../strings/more.js";\n'
    sources = {
        "shell/main.js": "export const main = 1;\n",
        "pages/one.js": page,
        "pages/two.js": page + 'import { third } from "../parts/third.js";\n',
        "pages/three.js": 'import { third } from "../parts/third.js";\n',
        "parts/both.js": 'import { BOTH } from "../strings/both.js";\nexport const both = BOTH;\n',
        "parts/third.js": "export const third = 3;\n",
        "strings/both.js": "export const BOTH = 1;\n",
        "strings/more.js": "export const MORE = 2;\n",
    }
    served = join_modules("shell/main.js", sources)
    assert sorted(served) == sorted(sources.keys() - {"parts/both.js", "strings/both.js"})
    assert served["strings/more.js"].index("const BOTH") < served["strings/more.js"].index("const both = BOTH")
    assert 'import { MORE, both } from "../strings/more.js";' in served["pages/one.js"]


def test_a_module_that_shares_a_name_with_its_page_is_served_by_itself_with_what_it_needs():
    sources = {
        "shell/main.js": "export const main = 1;\n",
        "pages/one.js": 'import { ONE } from "../strings/one.js";\nimport { a } from "../pages/one_a.js";\n'
        "const same = 1;\n",
        "pages/one_a.js": 'import { ONE } from "../strings/one.js";\nconst same = 2;\nexport const a = 1;\n',
        "strings/one.js": "export const ONE = 1;\n",
    }
    served = join_modules("shell/main.js", sources)
    assert served.keys() == sources.keys()
    assert 'import { ONE } from "../strings/one.js";' in served["pages/one_a.js"]


def test_joining_refuses_a_name_that_two_modules_declare():
    with pytest.raises(JoiningError, match="both declare same"):
        join_modules(
            "a/one.js",
            {
                "a/one.js": 'import { x } from "../a/two.js";\nconst same = 1;\n',
                "a/two.js": "export const x = 1;\nfunction same() {}\n",
            },
        )


def test_no_joined_module_hides_a_function_of_the_browser_from_the_others():
    declared = re.compile(r"^(?:export )?(?:async )?(?:function|const|let) +(\w+)", re.M)
    hidden = [
        f"{name}: {word}"
        for name in collect_members(ENTRY, modules(), COMMON)
        for word in declared.findall(modules()[name])
        if word in FUNCTIONS_OF_THE_BROWSER
    ]
    assert hidden == []


def test_joining_refuses_a_cycle_and_an_import_of_what_is_not_there():
    circle = {"a/one.js": 'import { y } from "../a/two.js";\n', "a/two.js": 'import { x } from "../a/one.js";\n'}
    with pytest.raises(JoiningError, match="a cycle"):
        join_modules("a/one.js", circle)
    with pytest.raises(JoiningError, match="exist"):
        join_modules("a/one.js", {"a/one.js": 'import { y } from "../a/gone.js";\n'})


def test_the_wheel_takes_the_files_along():
    ignored = (Path(__file__).parents[3] / ".gitignore").read_text("utf-8").split()
    assert not {"lib/", "vendor/", "*.js", "static/"} & set(ignored)
