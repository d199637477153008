"""Charts by digest, with pulumi-kubernetes' own Helm, a registry and a real API server without nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi
from tests.oci_registry import Registry, archive, digest_of, serving
from tests.stacks import ROOT

VERSION = "1.2.1"
CRDS, OPERATOR = "slurm-operator-crds", "slurm-operator"
PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    from components.operator import Operator, OperatorArgs
    from slinky_iac.config.reading.load import load

    stack = {{"cluster": {{"name": "c"}}, "operator": {operator!r}, "kubernetes": {{"kubeconfig": {kubeconfig!r}}}}}
    Operator("operator", OperatorArgs(config=load(stack)))
"""


@pytest.fixture(scope="module")
def api(kube: KubeApi) -> KubeApi:
    kube.kubectl("create", "namespace", "slinky")  # removed by nothing: no controller ends a namespace here
    return kube


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HELM_REPOSITORY_CACHE", str(tmp_path / "helm"))
    with serving() as made:
        yield made


def chart(name: str, word: str, version: str = VERSION) -> bytes:
    """A chart of one ConfigMap, which needs no node."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{name}"}, "data": {"word": word}}
    return archive(name, version, {"one.yaml": yaml.safe_dump(made)})


def write(project: Project, api: KubeApi, source: dict[str, str]) -> None:
    (project.engine.root / "kubeconfig").write_text(api.kubeconfig.read_text())
    operator = {"chart": source, "version": VERSION, "protectCrds": False, "createNamespace": False}
    project.write(main=PROGRAM.format(root=str(ROOT), operator=operator, kubeconfig=str(api.kubeconfig)))


def words(api: KubeApi) -> list[str]:
    """What the charts that are installed say."""
    wanted = ("configmap", f"of-{CRDS}", f"of-{OPERATOR}", "--ignore-not-found")
    return api.kubectl("-n", "slinky", "get", *wanted, "-o", "jsonpath={.items[*].data.word}").split()


def pushed(registry: Registry, said: str, version: str = VERSION) -> dict[str, str]:
    """Both charts under the tag of the stack's version, and the setting that names them by digest."""
    digests = {name: registry.push(name, VERSION, chart(name, said, version)) for name in (CRDS, OPERATOR)}
    return {"oci": registry.charts, "digest": digests[OPERATOR], "crdsDigest": digests[CRDS]}


def refused(project: Project, *commands: Callable[..., CompletedProcess[str]]) -> list[str]:
    """What a preview and an update say, neither of which may end well."""
    done = [command(ok=False) for command in commands or (project.preview, project.up)]
    assert all(each.returncode for each in done), [each.stdout for each in done]
    return [" ".join((each.stdout + each.stderr).split()) for each in done]


def test_a_chart_is_deployed_by_its_digest_and_by_no_other(project: Project, api: KubeApi, registry: Registry) -> None:
    sound = pushed(registry, "sound")
    by_digest = f"charts/{OPERATOR}@{sound['digest']}"
    manifest, packed = registry.manifests[by_digest], digest_of(chart(OPERATOR, "sound"))
    evil = pushed(registry, "evil")
    write(project, api, sound)

    registry.manifests[by_digest] = registry.manifests[f"charts/{OPERATOR}@{evil['digest']}"]
    assert all("digest mismatch" in each for each in refused(project, project.preview)), "another chart under the digest"
    registry.manifests[by_digest] = manifest
    registry.blobs[packed] = chart(OPERATOR, "evil")
    assert all("mismatch" in each for each in refused(project, project.up)), "other bytes behind the right list"
    del registry.manifests[by_digest]
    assert all("not found" in each for each in refused(project)), "the tag alone is left, of other bytes"
    assert words(api) == ["sound"], "the CRDs' chart, whose digest was right each time"

    registry.manifests[by_digest] = manifest
    registry.blobs[packed] = chart(OPERATOR, "sound")
    project.up()
    assert words(api) == ["sound", "sound"], "the tag leads to evil, and was not asked"
    project.destroy()


def test_a_digest_of_another_release_is_refused(project: Project, api: KubeApi, registry: Registry) -> None:
    write(project, api, pushed(registry, "older", version="1.2.0"))
    assert all("operator.chart.crdsDigest is the digest of release 1.2.0" in each for each in refused(project))
    assert words(api) == []


def test_a_folder_called_like_the_registry_is_refused(project: Project, api: KubeApi, registry: Registry) -> None:
    """Helm would deploy it: it is looked for before the registry is asked, and no digest is compared."""
    source = pushed(registry, "sound")
    write(project, api, source)
    folder = project.folder / "oci:" / registry.address / "charts" / f"{CRDS}@{source['crdsDigest']}"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": CRDS, "version": VERSION}))
    assert all("Helm would deploy it in place of oci://" in each for each in refused(project))
    assert words(api) == []
