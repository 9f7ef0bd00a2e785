"""Lua stands in files of its own, each of which a Python module loads."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_no_python_file_holds_a_script():
    assert [path for path in SOURCE.rglob("*.py") if "redis.call" in path.read_text(encoding="utf-8")] == []


def test_every_lua_file_is_loaded_by_a_module_beside_its_folder():
    files = list(SOURCE.rglob("*.lua"))
    assert files, f"no Lua below {SOURCE}"
    assert [file for file in files if file.stem not in loaded_beside(file)] == []


def loaded_beside(file: Path) -> set[str]:
    modules = "".join(path.read_text(encoding="utf-8") for path in file.parents[1].glob("*.py"))
    calls = re.findall(r"load_script\(\s*_LUA,([^()]*)", modules)
    libraries = re.findall(r'"lua" / "([a-z_]+)"', modules)
    return {*libraries, *(name for call in calls for name in re.findall(r'"([a-z_]+)"', call))}
