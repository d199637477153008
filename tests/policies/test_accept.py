"""A platform team begins on a live site: a real preview is refused, `slinky policies accept` declares what was read, and the
next preview passes; what comes after is refused again."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from slinky_iac.commands import cli
from tests.integration.engine import Engine, Tools
from tests.policies.pack import SITE, lay_out, plain_project, plain_stack, preview
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
    "nodeset": {"properties": {"spec": {"template": {"metadata": {"annotations": {"policy.example.org/tier": "hpc"}}}}}},
}
"""What was there before anybody heard of this pack."""
SECOND = {"second": plain("ClusterRole", "rbac.authorization.k8s.io/v1", "other", rules=[READ])}


def test_a_live_site_is_declared_from_its_own_review(tools: Tools, tmp_path: Path) -> None:
    stack = plain_stack("inside", {"resources": SITES_OWN})
    project = plain_project(Engine(tools, tmp_path / "engine"), tmp_path / "project", stack)
    site, review = tmp_path / "site.json", tmp_path / "review.txt"
    levels = json.loads(SITE.read_text())
    levels["drain-within-bounds"] = "advisory"
    levels["cluster-as-made"] |= {"declared": [], "require": "tag"}
    site.write_text(json.dumps(levels))

    first = preview(project, site)
    assert first.code != 0
    assert first.refused_by == {"cluster-as-made"}, first.output
    review.write_text(first.output)
    words = ["--site", str(site), "--reason", "there since 2024, CHANGE-12", "--owner", "platform", "--until", UNTIL]
    assert cli.main(["policies", "accept", str(review), *words]) == 0
    declared = {entry["what"] for entry in json.loads(site.read_text())["cluster-as-made"]["declared"]}
    assert declared == {
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
