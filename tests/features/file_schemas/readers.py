"""What our own readers say about a file of each kind, by the name of its schema."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tocsin.channels.registry import discover
from tocsin.channels.targets import NamedTargets
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError
from tocsin.core.reading.front_matter import read_definition
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import YamlError
from tocsin.features.browser.profiles_file import ProfilesFile
from tocsin.features.cron.definitions.job_fields import read_definition as read_job
from tocsin.features.doors.rules.file import RulesFile
from tocsin.features.heartbeats.definitions import HeartbeatFile
from tocsin.features.skills.model import read_manifest
from tocsin.features.ssh.inventory import Inventory
from tocsin.features.triggers.rules import Triggers
from tocsin.features.vault.rotation import parse_policies
from tocsin.features.watchers.rules import read_rules
from tocsin.features.workflows.language.reading import read_workflow
from tocsin.features.workflows.language.surroundings import Surroundings
from tocsin.messaging.outbound.profiles import Profiles

Places = list[tuple[int, int]]  # line and column, counted from 1
NAMED = "it"  # the folder of a skill, and the stem of a workflow


def places(kind: str, text: str, folder: Path) -> Places:
    """Return where a file has mistakes; `folder` is empty."""
    path = folder / f"{NAMED}.yaml"
    path.write_text(text)
    path.chmod(0o600)
    try:
        return _READERS[kind](path)
    except ConfigError as error:
        return _of(error)
    finally:
        path.unlink()


def _of(problem: ConfigError | None) -> Places:
    if problem is None:
        return []
    assert isinstance(problem, YamlError), problem
    return [(each.line, each.column) for each in problem.problems]


def _workflow(path: Path) -> Places:
    return [(each.line, each.column) for each in read_workflow(path.read_bytes(), path, Surroundings()).errors]


def _job(path: Path) -> Places:
    parse_yaml(path.read_bytes(), path, lambda root: read_job(root, "UTC", NAMED))
    return []


def _manifest(path: Path) -> Places:
    parse_yaml(path.read_bytes(), path, lambda root: read_manifest(root, NAMED))
    return []


def _front_matter(path: Path) -> Places:
    """Return the mistakes of a front matter without the lines of dashes around it."""
    try:
        read_definition(b"---\n" + path.read_bytes() + b"---\n", path, NAMED)
    except YamlError as error:
        return [(line - 1, column) for line, column in _of(error)]
    return []


def _heartbeats(path: Path) -> Places:
    return _of(HeartbeatFile(path, "UTC").read()[1])


def _policies(path: Path) -> Places:
    parse_policies(path.read_bytes(), path)
    return []


def _targets(path: Path) -> Places:
    settings = Settings.load(environ={"TOCSIN_DATA_DIR": str(path.parent)})
    specs = [channel.spec for channel in discover().classes]
    try:
        NamedTargets(settings, specs).parse(path.read_bytes())
    except ConfigError as error:
        return _of(error)
    return []


def _watchers(path: Path) -> Places:
    read_rules(path.read_bytes(), path)
    return []


_READERS: Mapping[str, Callable[[Path], Places]] = {
    "assistant_skill": _front_matter,
    "browser_profiles": lambda path: _of(ProfilesFile(path, path.parent).problem),
    "cron_job": _job,
    "doors": lambda path: _of(RulesFile(path).read()[1]),
    "heartbeats": _heartbeats,
    "profiles": lambda path: _of(Profiles(path, str).problem),
    "rotation_policies": _policies,
    "skill": _manifest,
    "ssh_hosts": lambda path: _of(Inventory(path, None).problem),
    "targets": _targets,
    "triggers": lambda path: _of(Triggers(path).problem),
    "watchers": _watchers,
    "workflow": _workflow,
}
