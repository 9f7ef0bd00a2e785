"""The distributions are complete: what is built from the checkout installs and works elsewhere."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ("man/man1/tocsin.1", "bash-completion/completions/tocsin", "zsh/site-functions/_tocsin")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel, built by the pinned build backend."""
    folder = tmp_path_factory.mktemp("dist")
    script = (
        "import sys; from hatchling.build import build_sdist, build_wheel;"
        " build_sdist(sys.argv[1]); build_wheel(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel; the packages that it needs are those of the tests."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    [site] = place.glob("lib/python*/site-packages")
    [ours] = Path(sys.prefix).glob("lib/python*/site-packages")
    (site / "needed.pth").write_text(f"{ours}\n")
    install = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet"]
    [wheel] = built.glob("*.whl")
    subprocess.run([*install, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    return place


def call(place: Path, *words: str) -> str:
    done = subprocess.run(
        [place / "bin" / words[0], *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env={"HOME": str(place)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_command_and_module_are_those_of_the_wheel(installed: Path):
    where = call(installed, "python", "-c", "import tocsin; print(tocsin.__file__)")
    assert where.startswith(str(installed))
    assert call(installed, "tocsin", "--version") == call(installed, "python", "-m", "tocsin", "--version")
    assert "teamchat" in call(installed, "tocsin", "channels", "--json")


def test_without_the_extra_for_pdf_a_pdf_is_refused_with_the_name_of_the_extra(installed: Path):
    code = (
        "import sys; sys.modules['pypdf'] = None; from pathlib import Path;"
        " from tocsin.providers.files.file_reader import read_pdf; print(read_pdf(Path('report.pdf')))"
    )
    assert "tocsin[pdf]" in call(installed, "python", "-c", code)


def test_every_action_of_the_workflows_is_pinned_by_its_commit():
    uses = [
        line.partition("uses:")[2].strip()
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in file.read_text("utf-8").splitlines()
        if "uses:" in line
    ]
    assert uses
    assert [each for each in uses if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[0-9.]+", each)] == []


def test_the_wheel_brings_its_documentation_pages_and_the_man_page(installed: Path):
    code = (
        "from tocsin.web.documentation.site import DOCS, load_text;"
        " print(len(DOCS.names()), 'Cron jobs' in load_text('cron.html'))"
    )
    count, has_page = call(installed, "python", "-c", code).split()
    assert int(count) > 40
    assert has_page == "True"
    for name in SHARED:
        assert (installed / "share" / name).is_file()


@pytest.mark.parametrize(("shell", "file"), [("bash", SHARED[1]), ("zsh", SHARED[2])])
def test_the_completion_file_loads_the_script_of_the_installed_version(installed: Path, shell: str, file: str):
    assert f"tocsin completion {shell}" in (installed / "share" / file).read_text()
    assert "_shtab_tocsin" in call(installed, "tocsin", "completion", shell)


def test_the_man_page_has_no_errors(installed: Path):
    page = (installed / "share" / SHARED[0]).read_text()
    assert page.startswith('.\\" ')
    assert {".SH NAME", ".SH SYNOPSIS", ".SH COMMANDS", ".SH EXIT STATUS"} <= set(page.splitlines())


def test_the_sdist_has_what_the_wheel_is_made_of(built: Path):
    [sdist], [wheel] = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        modules = {name for name in archive.namelist() if name.endswith(".py") and "/docs/" not in name}
    assert {f"src/{name}" for name in modules} <= packed
    assert {"packaging/tocsin.1", "README.md", "LICENSE", "pyproject.toml"} <= packed
