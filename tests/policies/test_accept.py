"""A platform team begins on a live site: a real preview is refused, `slinky policies accept` declares what was read, and the
next preview passes; what comes after is refused again."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from lab.charts import crd_dir
from slinky_iac.commands import cli
from tests.integration.engine import Engine, Project, Tools
from tests.integration.kube_api import KubeApi
from tests.policies.pack import SITE, Outcome, environment, flags, lay_out, outcome, plain_project, plain_stack, preview
from tests.stacks import merged

UNTIL = (datetime.datetime.now(tz=datetime.UTC).date() + datetime.timedelta(days=90)).isoformat()


def plain(kind: str, version: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    group = version if "/" in version else f"core/{version}"
    return {
        "type": f"kubernetes:{group}:{kind}",
        "properties": {"apiVersion": version, "kind": kind, "metadata": meta, **more},
    }


READ = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
SITES_OWN: dict[str, Any] = {
    "limits": plain("LimitRange", "v1", "defaults", "slurm", spec={"limits": [{"type": "Pod", "max": {"cpu": "64"}}]}),
    "velero": plain("ClusterRole", "rbac.authorization.k8s.io/v1", "velero", rules=[READ]),
    "priority": plain("PriorityClass", "scheduling.k8s.io/v1", "web", value=1000),
    "web": plain("Application", "argoproj.io/v1alpha1", "web", "argocd", spec={"project": "web"}),
    "portal": {"type": "acme:web:Portal", "component": True, "properties": {"url": "https://portal.example.org"}},
    "nodeset": {"properties": {"spec": {"template": {"metadata": {"annotations": {"policy.example.org/tier": "hpc"}}}}}},
}
"""What was there before anybody heard of this pack; of a component, what it makes is judged and not itself."""
SECOND = {"second": plain("ClusterRole", "rbac.authorization.k8s.io/v1", "other", rules=[READ])}


def first_site(folder: Path) -> Path:
    """The example's site file, with the two things that the plain stack doesn't have."""
    site = folder / "site.json"
    levels = json.loads(SITE.read_text())
    levels["drain-within-bounds"] = "advisory"
    levels["cluster-as-made"] |= {"declared": [], "require": "tag"}
    site.write_text(json.dumps(levels))
    return site


def accept(said: Outcome, site: Path) -> set[str]:
    """Declare what a review refuses as not made by the program; the places that the site file names then."""
    assert said.code != 0
    assert said.refused_by == {"cluster-as-made"}, said.output
    review = site.with_name("review.txt")
    review.write_text(said.output)
    words = ["--site", str(site), "--reason", "there since 2024, CHANGE-12", "--owner", "platform", "--until", UNTIL]
    assert cli.main(["policies", "accept", str(review), *words]) == 0
    return {entry["what"] for entry in json.loads(site.read_text())["cluster-as-made"]["declared"]}


def test_a_live_site_is_declared_from_its_own_review(tools: Tools, tmp_path: Path) -> None:
    stack = plain_stack("inside", {"resources": SITES_OWN})
    project = plain_project(Engine(tools, tmp_path / "engine"), tmp_path / "project", stack)
    site = first_site(tmp_path)

    first = preview(project, site)
    assert accept(first, site) == {
        "LimitRange/slurm/defaults",
        "ClusterRole//velero:rules[0]",
        "PriorityClass//web:value",
        "Application/argocd/web",
        "NodeSet/slurm/slurm-worker-gpu:spec.template.metadata.annotations.policy.example.org/tier",
    }
    assert preview(project, site).refused_by == set()

    lay_out(project.folder, merged(stack, {"resources": SECOND}))
    again = preview(project, site)
    assert again.refused_by == {"cluster-as-made"}
    assert "(what: ClusterRole//other:rules[0])" in again.output
    assert "velero" not in "".join(line for line in again.output.splitlines() if "cluster-as-made" in line)


NO_HELM = {"resources": {"crds": None, "operator": None, "web": None}}
"""Without what an API server alone can't have: charts, and an object whose kind it doesn't know."""
LABELLED = {"resources": {"nodeset": {"properties": {"metadata": {"labels": {"app.kubernetes.io/version": "1"}}}}}}


def live(project: Project, kube: KubeApi, site: Path | None, *words: str) -> Outcome:
    """A command of Pulumi's on a live site, under the pack where there is a site file."""
    given = flags(project.folder, site) if site else []
    env = {**environment(), "KUBECONFIG": str(kube.kubeconfig)}
    return outcome(project.run(*words, *given, ok=False, env=env))


def roles(kube: KubeApi) -> set[str]:
    found = kube.kubectl("get", "clusterroles", "-o", "name").split()
    return {name.rpartition("/")[2] for name in found}


def test_a_platform_team_begins_on_a_live_site(tools: Tools, kube: KubeApi, tmp_path: Path) -> None:
    """What is in the cluster before the pack is declared from a review of it; then an update passes, and a change
    without a review ends in its preview, with nothing changed in the cluster."""
    for file in sorted(crd_dir("1.1.0").glob("slinky.slurm.net_*.yaml")):
        kube.kubectl("create", "-f", str(file))
    kube.kubectl("create", "namespace", "slurm")
    kube.kubectl("create", "namespace", "slinky")
    stack = merged(plain_stack("inside", {"resources": SITES_OWN}), NO_HELM)
    project = plain_project(Engine(tools, tmp_path / "engine"), tmp_path / "project", stack)
    site = first_site(tmp_path)
    before = live(project, kube, None, "up", "--yes", "--skip-preview")
    assert before.code == 0, before.output
    assert "velero" in roles(kube)

    first = live(project, kube, site, "preview")
    assert accept(first, site) == {
        "LimitRange/slurm/defaults",
        "ClusterRole//velero:rules[0]",
        "PriorityClass//web:value",
        "NodeSet/slurm/slurm-worker-gpu:spec.template.metadata.annotations.policy.example.org/tier",
    }

    lay_out(project.folder, merged(stack, LABELLED))
    later = live(project, kube, site, "up", "--yes")
    assert later.code == 0, later.output
    assert later.refused_by == set()
    assert '"app.kubernetes.io/version":"1"' in kube.kubectl(
        "get", "nodesets.slinky.slurm.net", "-n", "slurm", "slurm-worker-gpu", "-o", "jsonpath={.metadata.labels}"
    )

    lay_out(project.folder, merged(merged(stack, LABELLED), {"resources": SECOND}))
    evil = live(project, kube, site, "up", "--yes")
    assert evil.code != 0
    assert evil.refused_by == {"cluster-as-made"}, evil.output
    assert "(what: ClusterRole//other:rules[0])" in evil.output
    assert "other" not in roles(kube)
