"""Compose, Kubernetes and Podman files are valid, and agree with the image."""

import configparser
import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML
from tools.install_proof.image import parse

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = sorted(DEPLOY.glob("compose*.yaml"))
MANIFESTS = sorted(DEPLOY.glob("kubernetes/*.yaml"))
CHECK = Path(sysconfig.get_path("scripts")) / "check-jsonschema"
IMAGE = parse((DEPLOY / "Dockerfile").read_text("utf-8"))
FINAL = IMAGE[max(n for n, (name, _) in enumerate(IMAGE) if name == "FROM") :]


def load(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text("utf-8"))


def value_of(name: str) -> str:
    return next(value for word, value in FINAL if word == name)


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_a_compose_file_follows_the_compose_specification(path: Path):
    done = subprocess.run(
        [CHECK, "--builtin-schema", "vendor.compose-spec", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [path for path in MANIFESTS if path.stem != "kustomization"], ids=lambda p: p.name)
def test_a_manifest_follows_the_schema_of_kubernetes(path: Path):
    kubernetes_validate.validate(load(path), "1.31", strict=True)


def test_the_kustomization_names_every_manifest():
    named = load(DEPLOY / "kubernetes" / "kustomization.yaml")["resources"]
    assert sorted(named) == [path.name for path in MANIFESTS if path.stem != "kustomization"]


def test_services_run_as_the_user_of_the_image_and_keep_data_in_its_volume():
    user, volume = value_of("USER").partition(":")[0], value_of("VOLUME")
    pod = load(DEPLOY / "kubernetes" / "statefulset.yaml")["spec"]["template"]["spec"]
    assert str(pod["securityContext"]["runAsUser"]) == user
    assert volume in [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
    services = [service for path in COMPOSE for service in load(path)["services"].values()]
    ours = [service for service in services if service.get("image") == "tocsin:local"]
    assert len(ours) >= 8
    assert all(service["volumes"][0].endswith(f":{volume}") for service in ours)


def test_ports_are_published_on_loopback_alone_but_for_the_proxy():
    for path in COMPOSE:
        for name, service in load(path)["services"].items():
            hosts = {port.rpartition(":")[0].rpartition(":")[0] for port in service.get("ports", ())}
            assert hosts <= ({""} if name == "caddy" else {"127.0.0.1", "${REDIS_BIND:-127.0.0.1}"}), name


def test_the_quadlet_publishes_the_ports_of_the_image_and_mounts_its_volume():
    unit = configparser.RawConfigParser(strict=False, dict_type=_Repeated)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "podman" / "tocsin.container")
    text = (DEPLOY / "podman" / "tocsin.container").read_text("utf-8")
    for port in value_of("EXPOSE").split():
        assert f"PublishPort=127.0.0.1:{port}:{port}\n" in text
    assert f"Volume=tocsin.volume:{value_of('VOLUME')}\n" in text
    assert (DEPLOY / "podman" / "tocsin.volume").exists()
    assert {"Unit", "Container", "Service", "Install"} == set(unit.sections())


class _Repeated(dict[str, Any]):
    """A dictionary for a file in which keys are repeated."""


@pytest.mark.parametrize("run", [value for name, value in IMAGE if name == "RUN"], ids=lambda run: run[:40])
def test_the_shell_understands_each_step_of_the_image(run: str):
    done = subprocess.run(["sh", "-n"], input=run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_image_copies_exists_and_reaches_the_build():
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sources = [word for name, value in IMAGE if name == "COPY" and "--from" not in value for word in value.split()[:-1]]
    assert sources
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def test_the_image_has_a_health_check_an_unprivileged_user_and_what_features_start():
    assert "/health" in value_of("HEALTHCHECK")
    assert value_of("USER") == "10001:10001"
    installed = next(value for name, value in FINAL if name == "RUN" and "apt-get" in value)
    assert {"age", "bubblewrap", "git", "openssh-client", "tzdata"} <= set(installed.split())
    assert json.loads(value_of("ENTRYPOINT")) == ["tocsin"]
