"""`tocsin schema` lists the files that people write, and prints and writes their JSON Schemas."""

import json
import re
from pathlib import Path

from tests.cli.conftest import Cli
from tests.cli.test_feature_plugins import install, with_site
from tests.facts import mentions

KINDS = [
    "assistant_skill", "browser_profiles", "cron_job", "doors", "heartbeats", "profiles", "rotation_policies", "skill",
    "ssh_hosts", "targets", "triggers", "watchers", "workflow",
]  # fmt: skip
FEATURE = """
from tocsin.features.contract import Feature, WrittenFile

FEATURE = Feature(
    name="bell",
    package=__package__,
    summary="rings",
    files=(WrittenFile("bell_hours", "bells/*.yaml", "hours of a bell", "{declaration}"),),
)
"""
HOURS = """
from tocsin.core.reading.fields import Field, IntegerType, ListType, RecordType

HOURS = RecordType((Field("hours", ListType(IntegerType(0, 23)), required=True, doc="When it rings"),))
"""


def names(cli: Cli) -> list[str]:
    return [each["name"] for each in cli("schema", "--json").json()]


def test_the_files_are_listed_with_their_places(cli: Cli):
    assert names(cli) == KINDS
    listed = {each["name"]: each for each in cli("schema", "--json").json()}
    assert listed["cron_job"]["file"] == str(cli.data_dir / "cron.d" / "*.yaml")
    assert "watchers.yaml" in cli("schema").out
    assert not cli.data_dir.exists()


def test_a_schema_is_printed_as_the_documentation_has_it(cli: Cli):
    reference = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
    assert sorted(path.stem for path in reference.iterdir()) == KINDS
    for name in KINDS:
        assert cli("schema", name).out == (reference / f"{name}.json").read_text("utf-8")
        assert cli("schema", name, "--json").json() == json.loads((reference / f"{name}.json").read_text("utf-8"))


def test_an_unknown_name_is_refused_with_the_one_that_was_meant(cli: Cli):
    done = cli("schema", "watcher")
    assert (done.code, done.out, mentions(done.err, "'watchers'", "tocsin schema")) == (2, "", True)


def test_all_schemas_or_one_are_written_to_the_data_directory(cli: Cli):
    folder = cli.data_dir / "schemas"
    assert cli("schema", "skill", "--write").out == f"{folder / 'skill.json'}\n"
    assert cli("schema", "--write", "--json").json() == [str(folder / f"{name}.json") for name in KINDS]
    assert (folder / "workflow.json").read_text("utf-8") == cli("schema", "workflow").out


def test_a_file_that_a_command_writes_names_a_schema_that_is_there(cli: Cli):
    titles = []
    for command in (("workflows", "new", "nightly"), ("watchers", "new", "a", "--path", ".", "--command", "true")):
        path = Path(cli(*command).out.strip())
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text("utf-8"))
        assert named
        titles.append(json.loads((path.parent / named[1]).read_text("utf-8"))["title"])
    assert titles == ["workflows/*.yaml of Tocsin", "watchers.yaml of Tocsin"]


def test_a_new_data_directory_has_all_schemas(cli: Cli):
    cli("init")
    assert sorted(path.stem for path in (cli.data_dir / "schemas").iterdir()) == KINDS


def test_the_file_of_a_plug_in_is_listed_printed_and_written(cli: Cli, tmp_path: Path):
    site = tmp_path / "site"
    install(site, "bell", FEATURE.replace("{declaration}", "bell.hours:HOURS"), hours=HOURS)
    plugged = with_site(cli, site)
    assert names(plugged) == sorted([*KINDS, "bell_hours"])
    schema = plugged("schema", "bell_hours").json()
    assert schema["properties"]["hours"]["items"] == {"type": "integer", "minimum": 0, "maximum": 23}
    assert schema["required"] == ["hours"]
    plugged("init")
    assert json.loads((cli.data_dir / "schemas" / "bell_hours.json").read_text("utf-8")) == schema


def test_a_broken_declaration_of_a_plug_in_stops_only_its_own_schema(cli: Cli, tmp_path: Path):
    site = tmp_path / "site"
    install(site, "bell", FEATURE.replace("{declaration}", "bell.gone:HOURS"))
    plugged = with_site(cli, site)
    refused = plugged("schema", "bell_hours")
    assert (refused.code, mentions(refused.err, "bell_hours", "bell.gone:HOURS")) == (2, True)
    assert plugged("schema", "watchers").code == 0
    created = plugged("init")
    assert (created.code, "bell_hours" in created.err) == (0, True)
