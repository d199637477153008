"""A key that somebody else makes, on a real engine: awaited, known again, refused in preview when it changes, never stored.

The API server is in memory; everything else is what `pulumi up` runs, the component's own resource among it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import yaml

from tests.api_server import ApiServer
from tests.integration import leaks
from tests.integration.engine import REPO, Project
from tests.raw_keys import raw_key
from tests.stacks import outside

OLD, NEW = raw_key("old", 256), raw_key("new", 256)
THEN, NOW = "2026-11-20T10:00:00Z", "2026-11-22T10:00:00Z"


def main(kubeconfig: str, **keys: object) -> str:
    names = {"slurmKeyFrom": {"secret": "store-slurm"}, "jwtKeyFrom": {"secret": "store-jwt"}}
    section = {"source": "external", **names, "madeBy": "the store", "wait": 30, **keys}
    data = outside(keys=section, kubernetes={"kubeconfig": kubeconfig}, cluster={"name": "lab", "createNamespace": False})
    return f"""
        import pulumi
        import yaml
        from components.auth_keys import ExternalKey
        from slinky_iac.config.reading.load import load
        from slinky_iac.keys.catalogue import SLURM
        child = pulumi.ResourceOptions(parent=pulumi.ComponentResource("test:keys:Keys", "keys"))
        key = ExternalKey("k-slurm-key-external", load(yaml.safe_load({yaml.safe_dump(data)!r})), SLURM, child)
        pulumi.export("since", key.since)
    """


@pytest.fixture
def stack(project: Project) -> Project:
    """A project beside this repository's packages, as a stack's own folder is."""
    for package in ("components", "slinky_iac"):
        (project.folder / package).symlink_to(REPO / package)
    return project


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer() as server:
        server.pods(slurm_controller_0="2026-11-21T00:00:00Z")
        yield server


def test_a_key_is_awaited_known_again_refused_and_accepted(api: ApiServer, stack: Project) -> None:
    kubeconfig = api.kubeconfig(stack.folder)
    stack.write(main=main(kubeconfig))
    late = threading.Timer(8, lambda: api.put("store-slurm", {"slurm.key": OLD}, THEN))
    late.start()
    stack.up()
    late.join()
    assert stack.outputs() == {"since": THEN}
    stack.preview("--expect-no-changes")

    api.put("store-slurm", {"slurm.key": OLD, "more": b"other entries may change"}, NOW)
    stack.preview("--expect-no-changes")

    api.put("store-slurm", {"slurm.key": NEW}, NOW)
    refused = stack.preview(ok=False)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert "has another key since" in said
    assert "slurm-controller-0" in said
    assert stack.up(ok=False).returncode != 0
    assert "has another key since" in stack.refresh(ok=False).stdout, "a refresh accepts no key"

    stack.write(main=main(kubeconfig, acceptedChange=NOW))
    stack.up()
    assert stack.outputs() == {"since": NOW}
    stack.preview("--expect-no-changes")
    for raw in (OLD, NEW):
        assert leaks.find(raw, stack.engine.root) == []
    stack.destroy()
    assert "/api/v1/namespaces/slurm/secrets/store-slurm" in api.objects, "the Secret is somebody else's"


def test_without_an_answer_a_preview_says_so_and_an_update_fails(api: ApiServer, stack: Project) -> None:
    api.put("store-slurm", {"slurm.key": OLD}, THEN)
    stack.write(main=main(api.kubeconfig(stack.folder)))
    stack.up()
    api.down = True
    assert "~" in stack.preview("--diff").stdout
    failed = stack.up(ok=False)
    assert failed.returncode != 0
    api.down = False
    stack.up()
    stack.preview("--expect-no-changes")
