"""The pack on what is deployed: an update under it, and `pulumi policy analyze` of the saved state."""

from __future__ import annotations

import base64
import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.engine import Engine, Project, Tools
from tests.policies.pack import SITE, analyze, environment, flags, outcome, plain_project, plain_stack

NO_HELM = {"resources": {"crds": None, "operator": None}}
"""Helm releases can't be rendered to files, all else can: an update with no Kubernetes at all."""
RENDERED = {
    "what": "kubernetes//rendered:renderYamlToDirectory",
    "reason": "this test has no Kubernetes",
    "owner": "tests",
    "until": (datetime.datetime.now(tz=datetime.UTC).date() + datetime.timedelta(days=2)).isoformat(),
}
"""An entry of a site: the provider writes files."""
DECLARED = {"cluster-as-made": {"declared": [RENDERED]}}


@pytest.fixture(scope="module")
def deployed(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The sound stack, updated into rendered files under the pack."""
    root = tmp_path_factory.mktemp("saved")
    project = plain_project(Engine(tools, root / "engine"), root / "project", plain_stack("inside", NO_HELM))
    env = {**environment(), "RENDER_TO": str(root / "rendered")}
    done = outcome(project.up(*flags(project.folder, DECLARED), ok=False, env=env))
    assert done.code == 0, done.output
    return project


def saved(project: Project) -> dict[str, Any]:
    """The stack as `pulumi stack export` saves it: secrets encrypted."""
    return dict(json.loads(project.run("stack", "export").stdout))


def written(project: Project, state: dict[str, Any], name: str) -> Path:
    file = project.folder / f"{name}.json"
    file.write_text(json.dumps(state))
    return file


def of_name(state: dict[str, Any], name: str) -> dict[str, Any]:
    return next(r for r in state["deployment"]["resources"] if r["urn"].endswith(f"::{name}"))


def rendered_secrets(project: Project) -> dict[str, dict[str, Any]]:
    """The Secrets as Kubernetes would have got them, by name."""
    files = [yaml.safe_load(file.read_text()) for file in (project.folder.parent / "rendered").rglob("*.yaml")]
    return {file["metadata"]["name"]: file for file in files if file["kind"] == "Secret"}


def ungated(project: Project) -> dict[str, Any]:
    """The saved stack with a NodeSet that nothing drains."""
    state = saved(project)
    state["deployment"]["resources"].remove(of_name(state, "gate"))
    return state


def test_the_pack_leaves_the_keys_encrypted_in_the_state(deployed: Project) -> None:
    in_base64 = [value for secret in rendered_secrets(deployed).values() for value in secret["data"].values()]
    raw = [base64.b64decode(value).decode() for value in in_base64]
    assert len(raw) == 2
    assert not [form for form in (*raw, *in_base64) if form in json.dumps(saved(deployed))]


def test_a_sound_saved_state_passes_analysis(deployed: Project) -> None:
    seen = analyze(deployed, written(deployed, saved(deployed), "sound"), DECLARED)
    assert seen.code == 0, seen.output
    assert seen.spoke == set()


def test_analysis_says_what_it_could_not_judge_for_encryption(deployed: Project) -> None:
    seen = analyze(deployed, written(deployed, saved(deployed), "sound"), DECLARED, passphrase="")
    assert seen.code == 0, seen.output
    assert seen.spoke == {"cluster-complete", "keys-not-in-clear"}
    assert "is an encrypted secret" in seen.output


def test_analysis_refuses_a_state_whose_nodeset_lost_its_gates(deployed: Project) -> None:
    seen = analyze(deployed, written(deployed, ungated(deployed), "ungated"), DECLARED)
    assert seen.code != 0
    assert seen.refused_by == {"cluster-complete"}


def test_an_old_key_is_found_in_what_is_deployed(deployed: Project) -> None:
    state = saved(deployed)
    secret = of_name(state, "slurm-key-secret")
    secret["outputs"]["metadata"]["creationTimestamp"] = "2001-02-03T04:05:06Z"
    seen = analyze(deployed, written(deployed, state, "old"), DECLARED)
    assert seen.code == 0, seen.output
    assert {(said.rule, said.level) for said in seen.said} == {("key-age", "advisory")}


def test_a_site_can_make_a_rule_advise_and_spare_a_row(deployed: Project) -> None:
    levels = {"cluster-complete": {"enforcementLevel": "advisory", "spared": ["fence"]}, **DECLARED}
    seen = analyze(deployed, written(deployed, ungated(deployed), "levels"), levels)
    assert seen.code == 0, seen.output
    assert [(said.rule, said.level) for said in seen.said] == [("cluster-complete", "advisory")]


def test_the_production_site_of_the_example_asks_for_digests_and_finds_nothing_else(deployed: Project) -> None:
    site = json.loads(SITE.read_text())
    site["cluster-as-made"]["declared"].append(RENDERED)
    seen = analyze(deployed, written(deployed, saved(deployed), "production"), site)
    assert seen.code != 0
    assert seen.refused_by == {"cluster-as-made"}


def test_a_setting_that_no_rule_knows_stops_the_analysis(deployed: Project) -> None:
    seen = analyze(deployed, written(deployed, saved(deployed), "typo"), {"drain-within-bounds": {"maxDeadline": 60}})
    assert seen.code != 0
    assert "drain-within-bounds has no setting maxDeadline" in seen.output
