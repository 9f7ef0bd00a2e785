"""targets.yaml: which secrets stand behind the names that some channels have as targets."""

from pathlib import Path
from typing import Any

import pytest
from tests.facts import mentions

from tocsin.channels.registry import Registry, targets_type
from tocsin.channels.targets import NamedTargets
from tocsin.channels.webhook import WebhookAdapter
from tocsin.channels.webhook.standin import SECRET
from tocsin.core.config.settings import LateLayer, Settings
from tocsin.core.errors import ChannelError, FailureKind, TocsinError, UnknownChannelError

GOOD = f'webhook:\n  ci: {{url: "https://ci.example.org/hook", secret: {SECRET}}}\n'
VAULT = 'webhook:\n  ci: {url: "https://x.example/${vault:CI_PATH}", secret: "${env.CI_SECRET}"}\n'


class Store:
    """A store of secrets."""

    def __init__(self, values: dict[str, str] | None = None, error: TocsinError | None = None) -> None:
        self.values, self.error = values or {}, error

    def by_name(self) -> dict[str, str]:
        if self.error:
            raise self.error
        return self.values

    def further(self) -> list[str]:
        return []

    def unreadable(self) -> bool:
        return self.error is not None


def settings_in(folder: Path, store: Store | None = None, **environ: str) -> Settings:
    return Settings.load(
        environ={"TOCSIN_DATA_DIR": str(folder), **environ}, late=[LateLayer("vault", lambda *_: store or Store())]
    )


def targets_in(folder: Path, text: str, store: Store | None = None, **environ: str) -> NamedTargets:
    (folder / "targets.yaml").write_text(text)
    return NamedTargets(settings_in(folder, store, **environ), [WebhookAdapter.spec])


async def read(targets: NamedTargets) -> Any:
    return await targets.of("webhook").read("ci")


async def test_secrets_come_from_the_vault_and_from_settings(tmp_path: Path):
    targets = targets_in(tmp_path, VAULT, Store({"CI_PATH": "from-the-vault"}), CI_SECRET=SECRET)
    found = await read(targets)
    assert (found["url"], found["secret"]) == ("https://x.example/from-the-vault", [SECRET])


async def test_a_setting_may_be_in_a_file_of_its_own(tmp_path: Path):
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    targets = targets_in(tmp_path, VAULT, Store({"CI_PATH": "p"}), CI_SECRET_FILE=str(tmp_path / "secret"))
    assert (await read(targets))["secret"] == [SECRET]


async def test_what_was_read_is_masked_from_then_on(tmp_path: Path):
    settings = settings_in(tmp_path, Store({"CI_PATH": "from-the-vault"}), CI_SECRET=SECRET)
    (tmp_path / "targets.yaml").write_text(f"{VAULT}{GOOD.splitlines()[1].replace('ci:', 'cd:')}\n")
    targets = NamedTargets(settings, [WebhookAdapter.spec])
    assert list(targets.all()) == [("webhook", "ci"), ("webhook", "cd")]
    assert "hook" not in settings.redact("GET https://ci.example.org/hook failed")
    await read(targets)
    assert "from-the-vault" not in settings.redact("see from-the-vault")
    assert SECRET not in settings.redact(SECRET)


@pytest.mark.parametrize(
    ("store", "environ", "kind", "words"),
    [
        (Store(), {"CI_SECRET": SECRET}, FailureKind.PERMANENT, "tocsin vault set CI_PATH"),
        (Store({"CI_PATH": "p"}), {}, FailureKind.PERMANENT, "set CI_SECRET in"),
        (Store({"CI_PATH": "p"}), {"CI_SECRET": "short-example"}, FailureKind.PERMANENT, "${env.CI_SECRET} is not a s"),
        (Store({"CI_PATH": "a b"}), {"CI_SECRET": SECRET}, FailureKind.PERMANENT, "${vault:CI_PATH} is not the addr"),
        (Store(error=TocsinError("the vault is locked")), {"CI_SECRET": SECRET}, FailureKind.TRANSIENT, "is locked"),
        (Store({"CI_PATH": "p"}), {"CI_SECRET_FILE": "/nonexistent"}, FailureKind.TRANSIENT, "/nonexistent"),
    ],
)
async def test_a_secret_that_cannot_be_read_is_named(
    tmp_path: Path, store: Store, environ: dict[str, str], kind: FailureKind, words: str
):
    with pytest.raises(ChannelError) as failure:
        await read(targets_in(tmp_path, VAULT, store, **environ))
    assert (failure.value.kind, words in failure.value.sentence()) == (kind, True), failure.value.sentence()
    assert "short-example" not in failure.value.sentence()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("webhok: {}\n", "1:1", "did you mean 'webhook'"),
        ("webhook:\n  CI: {}\n", "2:3", "not the name of a target"),
        ("webhook:\n  ci: {url: https://x.example}\n", "2:7", "key 'secret' is missing"),
        ("webhook:\n  ci: {url: '${vault:A B}', secret: '${vault:S}'}\n", "2:13", "not a valid secret name"),
        ("webhook:\n  ci: {url: '${params.a}', secret: '${vault:S}'}\n", "2:13", "neither ${vault:NAME}"),
        ("webhook: [ci]\n", "1:10", "expected a mapping"),
        ("webhook:\n  ci: https://x.example\n", "2:7", "expected a mapping"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(tmp_path: Path, text: str, place: str, words: str):
    problem = targets_in(tmp_path, text).problem
    assert problem
    assert f"targets.yaml:{place}:" in str(problem), str(problem)
    assert words in str(problem), str(problem)


def test_a_change_takes_effect_and_a_broken_file_leaves_the_last_valid_one(tmp_path: Path):
    targets = targets_in(tmp_path, GOOD)
    of = targets.of("webhook")
    assert of.names() == ("ci",)
    replace_file(tmp_path, GOOD.replace("ci:", "cd:"))
    assert of.names() == ("cd",)
    replace_file(tmp_path, "webhook: [")
    assert (of.names(), targets.problem is not None) == (("cd",), True)
    with pytest.raises(ChannelError, match=r"targets\.yaml:1"):
        of.check("ci")


def replace_file(folder: Path, text: str) -> None:
    new = folder / "new"
    new.write_text(text)
    new.replace(folder / "targets.yaml")


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path):
    with pytest.raises(ChannelError) as failure:
        targets_in(tmp_path, GOOD).of("webhook").check("cii")
    assert mentions(failure.value.sentence(), "'cii'", "Webhook", "one of ci ", "'ci'")


def test_a_channel_is_configured_once_it_has_a_target(tmp_path: Path):
    registry = Registry([WebhookAdapter], settings_in(tmp_path), no_tools)
    assert registry.states()[0].missing == ("webhook in targets.yaml",)
    with pytest.raises(UnknownChannelError, match=r"`webhook:`.* targets\.yaml"):
        registry.adapter("webhook")
    (tmp_path / "targets.yaml").write_text(GOOD)
    assert registry.configured() == ["webhook"]


def no_tools() -> Any:
    raise AssertionError("nothing is sent")


def test_the_file_has_a_key_for_each_channel_with_named_targets():
    assert "webhook" in {field.name for field in targets_type().fields}
