"""Who makes the Secrets of the keys changes on a live stack: the Secret that daemons read stays, on a real API server."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.integration.engine import Project, eventually
from tests.integration.kube_api import KubeApi
from tests.raw_keys import raw_key
from tests.stacks import ROOT, outside

SECRETS = ("slurm-auth-slurm", "slurm-auth-jwths256")
PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    import pulumi
    from components.auth_keys import AuthKeys, AuthKeysArgs
    from components.cluster_identity import ClusterIdentity, cluster_props
    from components.connection import ClusterProvider
    from slinky_iac.config.reading.load import load
    from slinky_iac.config.reading.engine import KeyOutputs

    config = load({stack!r})
    identity = ClusterIdentity("cluster-identity", cluster_props(config))
    after = pulumi.ResourceOptions(depends_on=[identity])
    provider = ClusterProvider("kube", config, after)
    values = {{name: pulumi.Output.secret(text) for name, text in {keys!r}.items()}}
    opts = pulumi.ResourceOptions(provider=provider, depends_on=[identity])
    keys = AuthKeys("lab", AuthKeysArgs(config=config, keys=KeyOutputs(values)), opts)
    pulumi.export("since", keys.since)
"""
KEYS = {name: base64.b64encode(raw_key(name, 64)).decode() for name in ("slurmKey", "jwtKey")}


def created(kube: KubeApi) -> bool:
    """Whether the namespace is made; not while one of that name is being deleted."""
    try:
        kube.kubectl("create", "namespace", "slurm")
    except AssertionError as refused:
        if "is being deleted" not in str(refused):
            raise
        return False
    return True


@pytest.fixture(scope="module")
def api(kube: KubeApi) -> KubeApi:
    eventually("the namespace of a module before this one is gone", lambda: created(kube))
    return kube


def write(project: Project, api: KubeApi, **keys: object) -> None:
    imported = KEYS if keys["source"] == "imported" else {}
    cluster = {"name": "lab", "createNamespace": False}
    stack = outside(keys=keys, cluster=cluster, kubernetes={"kubeconfig": str(api.kubeconfig)})
    project.write(main=PROGRAM.format(root=str(ROOT), stack=stack, keys=imported))


def uids(api: KubeApi) -> dict[str, str]:
    """Secrets with keys, by name."""
    listed: list[dict[str, Any]] = json.loads(api.kubectl("get", "secrets", "-n", "slurm", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in listed}


def moments(api: KubeApi) -> list[str]:
    """When each was made, in the order of :data:`SECRETS`."""
    return [
        api.kubectl("get", "secret", "-n", "slurm", name, "-o", "jsonpath={.metadata.creationTimestamp}") for name in SECRETS
    ]


def test_secrets_that_nothing_protects_do_not_go_when_others_are_to_make_them(
    project: Project, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    write(project, api, source="imported", protect=False)
    project.up()
    made = uids(api)
    assert set(made) == set(SECRETS)
    assert list(project.outputs()["since"].values()) == moments(api), "status and its alerts tell how old a key is"

    write(project, api, source="existing", protect=False)
    for refused in (project.preview(ok=False), project.up("--continue-on-error", ok=False)):
        assert refused.returncode != 0
        assert "keys.protect: true" in refused.stdout + refused.stderr, refused.stdout
    assert uids(api) == made

    write(project, api, source="imported", protect=True)
    project.up()
    write(project, api, source="existing")
    assert "protect" in project.up(ok=False).stdout, "the engine refuses to delete it"
    assert uids(api) == made
    for name, row in project.resources().items():
        if name.endswith("-secret"):
            project.run("state", "delete", row["urn"], "--force", "--yes")
    project.up()
    assert uids(api) == made
    project.preview("--expect-no-changes")
    project.destroy()
    assert uids(api) == made
