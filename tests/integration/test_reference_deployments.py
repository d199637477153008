"""Both reference deployments (examples/hyperpod, examples/oke) on a real API server: it takes each object of theirs whole.

The CRDs are slurm-operator's of the release that the example names: of 1.0.1 from its module. 1.2.1 isn't served as one: its
CRDs come from the tree that ``lab up --operator-source`` names, where there is one, else the stack is rendered for 1.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import given_operator
from lab.charts import CHECKSUMS, chart_dir, crd_dir
from slinky_iac.blueprint.objects import objects
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.objects import Object
from tests.integration.kube_api import KubeApi, served
from tests.stacks import DEPLOYMENTS, merged, sections

SPACE = "slurm"
MADE = {
    "hyperpod": {"Accounting", "Controller", "RestApi", "NodeSet/slurm-worker-slinky", "LoginSet/slurm-login-slinky"},
    "oke": {
        *("Accounting", "Controller", "RestApi", "LoginSet/slurm-login-slinky"),
        *(f"NodeSet/slurm-worker-{name}" for name in ("gpu", "rdma", "gmc", "cpu")),
    },
}
"""Custom resources of each."""
BEFORE_1_2 = {"controller": {"extraConf": {"SlurmctldParameters": "enable_configless,enable_stepmgr"}}}
"""What OKE's stack says on slurm-operator 1.1, where this line replaces the operator's own."""


def crds(version: str) -> tuple[str, Path]:
    """The release whose CRDs can be had, and their folder."""
    if version in CHECKSUMS:
        return version, crd_dir(version)
    given = given_operator.given()
    if given is not None and given.version == version:
        return version, chart_dir() / "slurm-operator-crds" / "templates"
    return "1.1.0", crd_dir("1.1.0")


@pytest.fixture(scope="module", params=DEPLOYMENTS, ids=lambda file: file.parent.name)
def admitted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, KubeApi, StackConfig]]:
    """The deployment's name, its settings, and the server that has taken all of its objects."""
    file: Path = request.param
    given = sections(file)
    version, folder = crds(given["operator"]["version"])
    older = {} if version == given["operator"]["version"] else BEFORE_1_2
    config = load(merged(given, {"operator": {"version": version, "webhook": None}} | older))
    require_sound(findings(config, frozenset()))
    with served(tmp_path_factory.mktemp("api")) as api:
        api.kubectl("create", "--validate=false", "-f", str(folder))
        api.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        api.kubectl("create", "namespace", SPACE)
        for each in objects(config):
            api.kubectl("create", "--validate=strict", "-f", "-", stdin=json.dumps(written(each)))
        yield file.parent.name, api, config


def written(each: Object) -> dict[str, Any]:
    """The object as a component registers it, without what a Secret holds."""
    metadata: dict[str, Any] = {"name": each.name, "labels": {**each.labels}, "annotations": {**each.annotations}}
    space = each.space(SPACE)
    metadata |= {"namespace": space} if space else {}
    return {"apiVersion": each.api_version, "kind": each.kind, "metadata": metadata, **each.body}


def lacking(wanted: object, live: object, path: str = "") -> list[str]:
    """What of ``wanted`` isn't in ``live``; the server adds defaults, so ``live`` may have more."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return [said for key, each in wanted.items() for said in lacking(each, live.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        return [
            said
            for number, (one, other) in enumerate(zip(wanted, live, strict=True))
            for said in lacking(one, other, f"{path}.{number}")
        ]
    return [] if wanted == live else [f"{path}: {wanted!r} is {live!r}"]


def plain(value: object) -> Any:
    """A value as JSON has it."""
    return json.loads(json.dumps(value))


def test_the_server_keeps_every_field_of_every_object(admitted: tuple[str, KubeApi, StackConfig]) -> None:
    """A field that a CRD doesn't have is pruned, or refused where validation is strict."""
    name, api, config = admitted
    rendered = objects(config)
    resources = {each.kind if each.name == SPACE else f"{each.kind}/{each.name}" for each in rendered if "spec" in each.body}
    assert MADE[name] <= resources
    lost = {}
    for each in rendered:
        space = each.space(SPACE)
        where = ["-n", space] if space else []
        kind = f"{each.resource}.{each.group}" if each.group else each.resource
        live = json.loads(api.kubectl("get", kind, each.name, *where, "-o", "json"))
        if found := lacking(plain(each.body), live):
            lost[f"{each.kind} {each.name}"] = found
    assert lost == {}
