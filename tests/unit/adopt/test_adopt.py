"""`slinky adopt`: what runs becomes settings, what an update would change is shown, and nothing in Kubernetes is written."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands.adopt.cli import shown
from slinky_iac.commands.adopt.compare import Verdict, rendered, settings, taken_over, verdict
from slinky_iac.commands.adopt.model import Live, Release, release_of
from slinky_iac.config.reading.load import load
from slinky_iac.errors import ProjectError
from slinky_iac.selection import Selection
from slinky_iac.specs.shared import labels
from tests.api_server import ApiServer
from tests.made.scalers import target
from tests.stacks import read_yaml
from tests.unit.adopt.chart_objects import HELM, VALUES, command, living, record, served, template, uid


def release(values: dict[str, Any] | None = None) -> Release:
    given = VALUES if values is None else values
    return Release(name="slurm", namespace="slurm", version="1.2.1", record="sh.helm.release.v1.slurm.v1", values=given)


def judged(live: tuple[Live, ...], values: dict[str, Any] | None = None) -> Verdict:
    return verdict(load(settings(release(values), live).taken.settings), live)


def taken(live: tuple[Live, ...], values: dict[str, Any] | None = None) -> tuple[dict[str, Any], Verdict]:
    """Section `adopted` of the release, and what lies between with it."""
    own = settings(release(values), live).taken.settings
    section = taken_over(load(own), live, release(values))
    return section, verdict(load({**own, "adopted": section}), live)


def test_what_runs_becomes_settings() -> None:
    own = settings(release(), living()).taken.settings
    assert own["keys"] == {
        "source": "existing", "slurmKeyFrom": {"secret": "slurm-auth-slurm", "key": "slurm.key"},
        "jwtKeyFrom": {"secret": "slurm-auth-jwt", "key": "jwt.key"},
    }  # fmt: skip
    assert own["operator"] == {"version": "1.2.1", "install": False}
    assert own["cluster"]["createNamespace"] is False
    assert own["cluster"]["images"]["slurmctld"].endswith("/slurmctld:26.05-site")
    gpu = own["nodesets"]["gpu"]
    assert (gpu["replicas"], gpu["image"]) == (2, "ghcr.io/slinkyproject/slurmd:26.05-site")
    assert gpu["pod"] == {"labels": HELM, "nodeSelector": {"kubernetes.io/os": "linux"}}


def test_a_nodeset_of_the_chart_needs_no_new_pods() -> None:
    rows = [each for each in judged(living()).differences if each.of == "NodeSet slurm-worker-gpu"]
    assert [each.field for each in rows if each.restarts] == []
    assert [each.field for each in rows if not each.field.startswith("metadata.labels.")] == ["spec.updateStrategy.type"]


def test_a_label_of_a_daemons_resource_restarts_its_pod() -> None:
    found = judged(living())
    assert found.restarting == ("Controller slurm", "RestApi slurm")
    fields = {each.field for each in found.differences if each.of == "Controller slurm"}
    assert "metadata.labels.app.kubernetes.io/managed-by" in fields


def test_what_would_restart_pods_is_kept_and_nothing_restarts() -> None:
    section, left = taken(living())
    assert left.restarting == ()
    assert section["objects"]["NodeSet slurm-worker-gpu"] == {"uid": uid(2)}
    daemon = ["metadata.annotations", "metadata.labels"]
    assert section["objects"]["Controller slurm"]["keep"] == [*daemon, "spec.extraConf.ReturnToService"]
    assert section["objects"]["RestApi slurm"]["keep"] == [*daemon, "spec.slurmrestd.env"]
    assert {each.field for each in left.differences if each.of.startswith("NodeSet")} >= {"spec.updateStrategy.type"}


def test_a_key_that_is_data_ends_a_kept_place() -> None:
    noted = {"metadata": {"annotations": {"example.org/a": "1"}}}
    own = settings(release(), living()).taken.settings
    own["nodesets"]["gpu"]["pod"] = {"annotations": {"example.org/a": "2"}}
    live = tuple(replace(each, spec={**each.spec, "template": noted}) for each in living())
    section = taken_over(load(own), live, release())
    assert "spec.template.metadata.annotations" in section["objects"]["NodeSet slurm-worker-gpu"]["keep"]


def test_labels_reach_no_pod_with_operator_1_0() -> None:
    own = settings(release(), living()).taken.settings
    own["operator"]["version"] = "1.0.1"
    objects = taken_over(load(own), living(), release())["objects"]
    assert "metadata.labels" not in objects["Controller slurm"].get("keep", [])


def test_what_cant_be_kept_is_a_restart() -> None:
    """Lines of slurm.conf that are settings, in another order."""
    values = {**VALUES, "controller": {"extraConfMap": {"MinJobAge": 2, "DebugFlags": "Power"}}}
    conf = tuple(
        replace(each, spec={**each.spec, "extraConf": "DebugFlags=Power\nMinJobAge=2"})
        if each.kind == "Controller"
        else each
        for each in living()
    )
    section, left = taken(conf, values)
    assert left.restarting == ("Controller slurm",)
    assert [each.field for each in left.differences if each.of == "Controller slurm" and each.restarts] == ["slurm.conf"]
    assert "spec.extraConf" not in section["objects"]["Controller slurm"]["keep"]


def test_the_number_that_runs_counts_and_not_that_of_the_values() -> None:
    scaled = tuple(replace(each, spec={**each.spec, "replicas": 7}) if each.kind == "NodeSet" else each for each in living())
    found = settings(release(), scaled)
    assert found.taken.settings["nodesets"]["gpu"]["replicas"] == 7
    assert "nodesets.gpu.replicas: 7, which runs; the values say 2" in found.notes


def test_what_the_stack_registers_itself_lies_not_between() -> None:
    config = load(settings(release(), living()).taken.settings)
    own = [Live(kind=each.kind, name=each.name, spec=each.body["spec"], labels=labels(config)) for each in rendered(config)]
    assert not verdict(config, own).in_the_way


@pytest.mark.parametrize("field", ["template", "slurmd", "extraConf", "logfile", "ssh"])
def test_a_field_of_a_nodesets_template_is_new_pods(field: str) -> None:
    config = load(settings(release(), living()).taken.settings)
    config = config.model_copy(
        update={"nodesets": {"gpu": config.nodesets["gpu"].model_copy(update={"features": ("fast",)})}}
    )
    stack = next(each for each in rendered(config) if each.kind == "NodeSet").body["spec"]
    other = {**stack, field: {"other": True} if field in ("ssh", "slurmd") else "other"}
    found = verdict(config, [Live(kind="NodeSet", name="slurm-worker-gpu", spec=other, labels=labels(config))])
    assert found.restarting == (("NodeSet slurm-worker-gpu",) if field in stack else ())


def test_an_empty_affinity_is_a_field_of_its_own() -> None:
    with_one = tuple(
        replace(each, spec={**each.spec, "template": {"spec": {"affinity": {}, "tolerations": []}}}) for each in living()
    )
    kept = {each.partition(":")[0]: each for each in judged(with_one).kept}
    assert "template.spec.affinity" in kept["NodeSet slurm-worker-gpu"]
    assert "tolerations" not in kept["NodeSet slurm-worker-gpu"]


def test_secrets_that_exist_are_named_and_not_made() -> None:
    values = {
        **VALUES,
        "accounting": {"enabled": True},
        "loginsets": {"main": {}},
        "nodesets": {"gpu": {"replicas": 2, "ssh": {"enabled": True}}},
    }
    password = {"storageConfig": {"host": "mariadb", "passwordKeyRef": {"name": "mariadb-password", "key": "pass"}}}
    conf = {"sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}
    nodeset = {"ssh": {"enabled": True, **conf}, "replicas": 2}
    live = (
        *(each for each in living() if each.kind != "NodeSet"),
        Live(kind="Accounting", name="slurm", spec=password),
        Live(kind="NodeSet", name="slurm-worker-gpu", spec=nodeset),
        Live(kind="LoginSet", name="slurm-login-main", spec={**conf, "replicas": 1}),
    )
    own = settings(release(values), live).taken.settings
    assert own["accounting"]["database"]["passwordFrom"] == {"secret": "mariadb-password", "key": "pass"}
    sssd = {"secret": "slurm-sssd-conf", "key": "sssd.conf"}
    assert own["logins"]["main"]["sssdConfFrom"] == own["nodesets"]["gpu"]["ssh"]["sssdConfFrom"] == sssd
    made = {each.kind: each.body["spec"] for each in rendered(load(own))}
    assert made["Accounting"]["storageConfig"]["passwordKeyRef"] == {"name": "mariadb-password", "key": "pass"}
    assert made["LoginSet"]["sssdConfRef"] == made["NodeSet"]["ssh"]["sssdConfRef"] == conf["sssdConfRef"]


@pytest.mark.parametrize("said", [{"conf": "[sssd]"}, {"secretRef": {"name": "slurm-sssd-conf"}}])
def test_sssd_conf_of_the_values_is_in_the_secrets_that_pods_have(said: dict[str, Any]) -> None:
    """So nothing of it is left out, and slurmctld gets no sssd beside it, which it hasn't in the chart."""
    values = {**VALUES, "sssd": said, "loginsets": {"main": {"sssdConf": "[sssd]"}}}
    conf = {"sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}
    runs = (*living(), Live(kind="LoginSet", name="slurm-login-main", spec=conf))
    found = settings(release(values), runs).taken
    assert (found.left, found.settings.get("identity")) == ([], None)
    named = found.settings["logins"]["main"]["sssdConfFrom"]
    assert named == {"secret": "slurm-sssd-conf", "key": "sssd.conf"}

    unseen = settings(release(values), living()).taken
    assert "loginsets.main.sssdConf" in dict(unseen.left), "a login set that isn't there names none"


@pytest.mark.parametrize("version", ["1.0.1", "1.2.1"])
def test_a_login_set_keeps_labels_and_annotations_on_each_release(version: str) -> None:
    """On 1.0.1 its update was refused while srun ran from it: the look takes other labels for new pods (run)."""
    values = {"clusterName": "atlas", "nodesets": {"slinky": {"enabled": False}}, "loginsets": {"main": {"enabled": True}}}
    conf = {"sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}
    login = Live(kind="LoginSet", name="slurm-login-main", uid=uid(7), spec=conf, labels=HELM)
    reference = {"jwtHs256KeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}}
    runs = tuple(replace(each, spec={**each.spec, **reference}) for each in living() if each.kind == "Controller")
    of = replace(release(values), version=version)
    section = taken_over(load(settings(of, (*runs, login)).taken.settings), (*runs, login), of)
    kept = {name: each.get("keep", []) for name, each in section["objects"].items()}
    assert {"metadata.labels", "metadata.annotations"} <= {*kept["LoginSet slurm-login-main"]}
    assert ("metadata.labels" in kept["Controller slurm"]) == (version != "1.0.1")


def test_lines_of_slurm_conf_are_compared_one_by_one() -> None:
    values = {**VALUES, "controller": {"extraConfMap": {"MinJobAge": 2, "DebugFlags": "Power"}}}
    conf = tuple(
        replace(each, spec={**each.spec, "extraConf": "MinJobAge=2\nMaxJobCount=9"}) if each.kind == "Controller" else each
        for each in living()
    )
    rows = [each for each in judged(conf, values).differences if each.field.startswith("slurm.conf ")]
    by_field = {each.field: each for each in rows}
    assert "slurm.conf MinJobAge" not in by_field
    assert by_field["slurm.conf MaxJobCount"].live == "9"
    assert by_field["slurm.conf DebugFlags"].stack == "Power"


def test_what_a_variable_holds_is_not_shown() -> None:
    assert shown("spec.slurmd.env", [{"name": "MODE", "value": "hunter2"}]) == '["MODE"]'


@pytest.mark.parametrize(
    ("more", "who"),
    [
        ({"annotations": {"argocd.argoproj.io/tracking-id": "slurm:x"}}, "Argo CD"),
        ({"annotations": {"argocd.argoproj.io/installation-id": "site-1"}}, "Argo CD"),
        ({"labels": {**HELM, "argocd.argoproj.io/instance": "slurm"}}, "Argo CD"),
        ({"managers": frozenset({"argocd-controller"})}, "Argo CD"),
        ({"managers": frozenset({"argocd-application-controller"})}, "Argo CD"),
        ({"managers": frozenset({"argocd-server"})}, "Argo CD"),
        ({"labels": {**HELM, "example.org/app": "slurm"}, "managers": frozenset({"argocd-controller"})}, "Argo CD"),
        ({"labels": {**HELM, "helm.toolkit.fluxcd.io/name": "slurm"}}, "Flux (HelmRelease)"),
        ({"labels": {**HELM, "helm.toolkit.fluxcd.io/namespace": "flux-system"}}, "Flux (HelmRelease)"),
        ({"managers": frozenset({"helm-controller"})}, "Flux (HelmRelease)"),
        ({"labels": {**HELM, "kustomize.toolkit.fluxcd.io/name": "slurm"}}, "Flux (Kustomization)"),
        ({"managers": frozenset({"kustomize-controller"})}, "Flux (Kustomization)"),
        ({"labels": {**HELM, "resourceset.fluxcd.controlplane.io/name": "slurm"}}, "Flux (ResourceSet)"),
        ({"managers": frozenset({"flux-operator"})}, "Flux (ResourceSet)"),
        ({"managers": frozenset({"pulumi-kubernetes-0a1b2c3d"})}, "another Pulumi program"),
        ({"setters": frozenset({"terraform-provider-helm_v2.17.0_x5"})}, "terraform-provider-helm_v2.17.0_x5"),
        ({"setters": frozenset({"fleetagent"})}, "fleetagent"),
        ({"setters": frozenset({"helmwave"})}, "helmwave"),
        ({"setters": frozenset({"slurm-operator-sync"})}, "slurm-operator-sync"),
        ({"setters": frozenset({"kubectlbot"})}, "kubectlbot"),
        ({"managers": frozenset({"argocd-controller"}), "setters": frozenset({"argocd-controller"})}, "Argo CD"),
    ],
)
def test_a_second_writer_is_named(more: dict[str, Any], who: str) -> None:
    """As they write: by an annotation, with an installation ID; by a label, also of another key, where the name of the
    manager alone tells, which with Replace=true is that of the program (``resource_ops.go`` of gitops-engine gives none);
    labels of Flux's controllers are ``GROUP/name`` and ``GROUP/namespace``."""
    assert [each.partition(" writes ")[0] for each in judged(living(**more)).writers] == [who]


@pytest.mark.parametrize(
    ("key", "marks"),
    [
        ("argo", {"annotations": {"argocd.argoproj.io/tracking-id": "slurm:x"}}),
        ("flux", {"labels": {**HELM, "helm.toolkit.fluxcd.io/name": "slurm"}}),
        ("pulumi", {"managers": frozenset({"pulumi-kubernetes-0a1b2c3d"})}),
        ("other", {"setters": frozenset({"fleetagent"})}),
    ],
)
def test_a_writer_that_has_stopped_leaves_its_marks_and_is_none(key: str, marks: dict[str, Any]) -> None:
    """Their marks stay on the objects: without --stopped, no user of Argo CD or Flux could adopt a release."""
    config = load(settings(release(), living(**marks)).taken.settings)
    (row,) = verdict(config, living(**marks)).writers
    assert row.endswith(f": --stopped {key}")
    assert verdict(config, living(**marks), {key}).writers == ()
    assert verdict(config, living(**marks), {"argo", "flux", "pulumi", "other"} - {key}).writers == (row,)


def test_an_autoscaler_is_no_second_writer_where_the_stack_leaves_it_the_number() -> None:
    scaled = tuple(replace(each, writers=("ScaledObject/gpu",)) if each.kind == "NodeSet" else each for each in living())
    own = settings(release(), scaled).taken.settings
    (row,) = verdict(load(own), scaled).writers
    assert "ScaledObject/gpu writes the replicas of NodeSet slurm-worker-gpu" in row
    own["nodesets"]["gpu"] |= {"owner": "autoscaler", "maxReplicas": 4}
    assert verdict(load(own), scaled).writers == ()


def with_nodeset(**fields: Any) -> tuple[Live, ...]:
    return tuple(replace(each, spec={**each.spec, **fields}) if each.kind == "NodeSet" else each for each in living())


@pytest.mark.parametrize(("field", "value"), [("pinToNode", True), ("oversubscribeNode", True)])
def test_a_nodeset_that_gates_do_not_know_is_not_taken_over(field: str, value: object) -> None:
    (row,) = judged(with_nodeset(**{field: value})).unfit
    assert row.startswith(f"NodeSet slurm-worker-gpu has {field}: {value}. ")
    assert judged(with_nodeset(**{field: value})).in_the_way
    assert judged(living()).unfit == ()


ON_EACH = {
    "nodeSelector": {"pool": "gpu"},
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "site", "operator": "In", "values": ["a"]}]}]}}},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
}  # fmt: skip
MODES = {**VALUES, "nodesets": {"gpu": {"scalingMode": "DaemonSet", **VALUES["nodesets"]["gpu"]}}}


def on_each(**selects: Any) -> tuple[Live, ...]:
    """The NodeSet in DaemonSet mode. ``selects``: the fields that say which Kubernetes nodes fit."""
    return with_nodeset(scalingMode="DaemonSet", template=template(hostname="gpu-", **{"nodeSelector": {}, **selects}))


def test_a_nodeset_with_a_pod_on_each_node_is_taken_over_with_the_living_selection() -> None:
    """Whatever the values say: which Kubernetes nodes fit is what runs."""
    for values in (VALUES, MODES, {**MODES, "nodesets": {"gpu": {**MODES["nodesets"]["gpu"], "podSpec": {
            "nodeSelector": {"pool": "old"}, "tolerations": [{"operator": "Exists"}]}}}}):  # fmt: skip
        for selects in (ON_EACH, {"nodeSelector": {"pool": "gpu"}}, {}):
            live = on_each(**selects)
            own = settings(release(values), live).taken.settings
            assert "replicas" not in own["nodesets"]["gpu"]
            found = load(own).nodesets["gpu"]
            assert found.on_each_node
            assert found.pod.selection == Selection.of(selects)
            judged_now = verdict(load(own), live)
            assert judged_now.unfit == ()
            rows = [each for each in judged_now.differences if each.of == "NodeSet slurm-worker-gpu"]
            assert [each.field for each in rows if each.restarts] == []
            (kept,) = (each for each in judged_now.kept if each.startswith("NodeSet ")) if judged_now.kept else ("",)
            assert not {"scalingMode", "template.spec.nodeSelector"} & {*kept.partition(": ")[2].split(", ")}


def test_a_nodeset_with_a_number_stays_one_though_the_values_say_otherwise() -> None:
    own = settings(release(MODES), living()).taken.settings
    assert load(own).nodesets["gpu"].replicas == 2
    assert not load(own).nodesets["gpu"].on_each_node


def test_a_file_with_another_mode_or_selection_than_runs_is_in_the_way() -> None:
    own = settings(release(MODES), on_each(**ON_EACH)).taken.settings
    other = {**own, "nodesets": {"gpu": {**own["nodesets"]["gpu"], "scalingMode": "StatefulSet", "replicas": 2}}}
    (row,) = verdict(load(other), on_each(**ON_EACH)).unfit
    assert "deletes all its pods" in row
    assert "scalingMode: DaemonSet" in row
    (row,) = verdict(load(own), living()).unfit
    assert "scalingMode: StatefulSet" in row
    rows = verdict(load(own), on_each(nodeSelector={"pool": "cpu"})).differences
    rows = [each for each in rows if each.of.startswith("NodeSet ") and each.restarts]
    assert [each.field for each in rows] == [f"spec.template.spec.{field}" for field in ON_EACH]
    assert {each.place for each in rows} == {""}, "it can't be kept: it is the gate's"


def test_zeros_in_names_of_nodes_stay() -> None:
    values = {**VALUES, "nodesets": {"gpu": {"replicas": 2, "ordinalPadding": 3}}}
    live = with_nodeset(ordinalPadding=3)
    found = settings(release(values), live)
    assert found.taken.left == []
    assert any(each.startswith("nodesets.gpu.ordinalPadding: 3 stays") for each in found.notes)
    section, left = taken(live, values)
    assert [each for each in left.differences if each.restarts] == []
    made = {each.kind: each.body["spec"] for each in rendered(load({**found.taken.settings, "adopted": section}))}
    assert "ordinalPadding" not in made["NodeSet"], "a field that the stack leaves out stays as it is"


def test_helm_alone_is_no_second_writer() -> None:
    assert judged(living(managers=frozenset({"helm", "slurm-operator"}))).writers == ()


def test_a_person_and_programs_of_the_cluster_s_own_are_none() -> None:
    own = {"helm", "pulumi-resource-kubernetes", "kubectl-edit", "before-first-apply", "slurm-operator", "slinky-iac"}
    assert judged(living(managers=frozenset(own), setters=frozenset(own))).writers == ()
    assert judged(living(managers=frozenset({"metrics-labeller"}))).writers == (), "it sets nothing of the spec"


@pytest.mark.parametrize("owner", ["autoscaler", "stack"])
def test_who_writes_only_a_number_that_is_left_to_others_is_none(owner: str) -> None:
    """An autoscaler of the site's own that doesn't go through the subresource `scale`."""
    live = living(setters=frozenset({"node-scaler"}), numbers=frozenset({"node-scaler"}))
    own = settings(release(), live).taken.settings
    own["nodesets"]["gpu"].update({"owner": owner} | ({"maxReplicas": 4} if owner == "autoscaler" else {}))
    said = " ".join(verdict(load(own), live).writers)
    assert ("NodeSet slurm-worker-gpu" in said) == (owner == "stack")
    assert "Controller slurm" in said, "of a Controller nothing is left to others"


def test_objects_of_one_side_are_named() -> None:
    more = Live(kind="LoginSet", name="slurm-login-old", spec={})
    without = tuple(each for each in living() if each.kind != "RestApi")
    assert judged((*without, more)).missing == (
        "RestApi slurm isn't in Kubernetes: the stack would make it",
        "LoginSet slurm-login-old is in Kubernetes, and the stack has none",
    )


def test_without_its_controller_nothing_is_concluded() -> None:
    with pytest.raises(ProjectError, match="Controller slurm/slurm isn't in Kubernetes"):
        settings(release(), [])


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"@@@",
        base64.b64encode(b"no gzip"),
        base64.b64encode(gzip.compress(b"[]")),
        base64.b64encode(gzip.compress(b'{"chart": {"metadata": {"name": "slurm", "version": "1"}}, "config": [1]}')),
        base64.b64encode(gzip.compress(b" " * (65 << 20))),
    ],
    ids=["empty", "no base64", "no gzip", "a list", "values that are a list", "too large"],
)
def test_a_record_that_isnt_helms_is_refused(packed: bytes) -> None:
    with pytest.raises(ProjectError, match="what Helm 3 writes"):
        release_of(packed, "slurm", "slurm")


def test_a_record_of_another_chart_is_refused() -> None:
    with pytest.raises(ProjectError, match="of another chart than slurm"):
        release_of(record({}, chart="mariadb"), "slurm", "slurm")


def test_the_command_writes_the_file_and_nothing_in_kubernetes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        assert server.written == []
    said = capsys.readouterr().out
    config = read_yaml((tmp_path / "Pulumi.prod.yaml").read_text())["config"]
    assert config["slinky-iac:cluster"]["name"] == "atlas"
    assert config["slinky-iac:adopted"]["objects"].keys() == {f"{each.kind} {each.name}" for each in living()}
    joined = " ".join(said.split())
    assert "takes these objects over and restarts none of their pods" in joined
    steps = [
        "pulumi stack init prod",
        "switch off every pipeline that runs `helm upgrade`",
        "slinky adopt --let-go ",
        "slinky check",
    ]
    assert [joined.index(step) for step in steps] == sorted(joined.index(step) for step in steps)
    assert "hunter2" not in said


def test_the_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        served(server, VALUES)
        spec = {"scaleTargetRef": target("slurm-worker-gpu")}
        scaler = {"metadata": {"name": "queue", "uid": "queue"}, "spec": spec}
        server.objects["/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"] = {"items": [scaler]}
        assert cli.main(command(server, tmp_path, "--json")) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["chartVersion"], found["missing"]) == ("1.2.1", [])
    assert found["writers"] == [
        "HorizontalPodAutoscaler/queue writes the replicas of NodeSet slurm-worker-gpu."
        " Delete it, or give the NodeSet `owner: autoscaler`"
    ]
    assert {each["pods"] for each in found["differences"]} == {"stay"}


@pytest.mark.parametrize("status", ["pending-upgrade", "failed", "uninstalling"])
def test_a_release_that_helm_changes_is_left(status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        served(server, VALUES, state=status)
        assert cli.main(command(server, tmp_path)) == 1
    assert f"is {status}, not deployed" in capsys.readouterr().err
    assert not (tmp_path / "Pulumi.prod.yaml").exists()


def test_autoscalers_that_cant_be_seen_are_not_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        served(server, VALUES)
        del server.objects["/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"]
        assert cli.main(command(server, tmp_path)) == 1
    assert "HorizontalPodAutoscalers of slurm" in capsys.readouterr().err
    assert not (tmp_path / "Pulumi.prod.yaml").exists()


def test_a_release_that_isnt_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        server.objects["/api/v1/namespaces/slurm/secrets"] = {"items": []}
        assert cli.main(command(server, tmp_path)) == 1
    assert "Helm has no record of release slurm in namespace slurm" in capsys.readouterr().err


def compared(server: ApiServer, folder: Path, *more: str) -> int:
    file = str(folder / "Pulumi.prod.yaml")
    return cli.main(["adopt", "--kubeconfig", server.kubeconfig(folder), "--check", file, *more])


def test_a_file_that_was_changed_is_compared_again_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    with ApiServer() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        text = file.read_text()
        assert compared(server, tmp_path) == 0
        whole = read_yaml(text)
        whole["config"]["slinky-iac:nodesets"]["gpu"]["pod"]["priorityClass"] = "high"
        file.write_text(changed := json.dumps(whole))
        capsys.readouterr()
        assert compared(server, tmp_path, "--json") == 3
        found = json.loads(capsys.readouterr().out)
        assert file.read_text() == changed
        file.write_text(text.replace("name: atlas", "nam: atlas"))
        assert compared(server, tmp_path) == 6
        said = " ".join(capsys.readouterr().out.split())
        assert server.written == []
    restarts = {(each["object"], each["field"]) for each in found["differences"] if each["pods"] == "restart"}
    assert restarts == {("NodeSet slurm-worker-gpu", "spec.template.spec.priorityClassName")}
    assert "cluster.nam: is not a setting" in said
    assert f"slinky adopt --check {file}" in said


def test_an_object_that_was_made_again_is_named_by_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ApiServer() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        server.objects["/apis/slinky.slurm.net/v1beta1/namespaces/slurm/restapis"]["items"][0]["metadata"]["uid"] = uid(9)
        assert compared(server, tmp_path) == 3
    assert f"RestApi slurm in namespace slurm is another object now (UID {uid(9)})" in " ".join(
        capsys.readouterr().out.split()
    )


def rendered_by_argo(server: ApiServer, folder: Path, *, chart: str = "slurm-1.2.1") -> Path:
    """The same release as Argo CD leaves it: no record, its own marks; and its file of values."""
    served(server, VALUES)
    server.objects["/api/v1/namespaces/slurm/secrets"] = {"items": []}
    marks = {"argocd.argoproj.io/tracking-id": "slurm:x"}
    for plural in ("controllers", "restapis", "nodesets"):
        for each in server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{plural}"]["items"]:
            each["metadata"]["annotations"] = marks
            each["metadata"]["labels"]["helm.sh/chart"] = chart
    file = folder / "values.yaml"
    file.write_text(json.dumps(VALUES))
    return file


def test_a_release_without_a_record_is_read_from_its_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        values = str(rendered_by_argo(server, tmp_path))
        assert cli.main(command(server, tmp_path)) == 1
        assert "Argo CD leaves none" in " ".join(capsys.readouterr().err.split())
        assert cli.main(command(server, tmp_path, "--values", values)) == 3
        assert "If its Application is deleted without its objects: --stopped argo" in " ".join(
            capsys.readouterr().out.split()
        )
        assert compared(server, tmp_path) == 3
        assert compared(server, tmp_path, "--stopped", "argo") == 0
        assert server.written == []
    config = load(
        {k.partition(":")[2]: v for k, v in read_yaml((tmp_path / "Pulumi.prod.yaml").read_text())["config"].items()}
    )
    assert config.adopted is not None
    assert (config.adopted.record, config.operator.version) == (None, "1.2.1")
    assert config.adopted.objects.keys() == {f"{each.kind} {each.name}" for each in living()}


def test_values_of_another_chart_or_beside_a_record_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer() as server:
        values = str(rendered_by_argo(server, tmp_path, chart="other-1.0"))
        assert cli.main(command(server, tmp_path, "--values", values)) == 1
        assert "no label helm.sh/chart that begins with slurm-" in capsys.readouterr().err
        served(server, VALUES)
        assert cli.main(command(server, tmp_path, "--values", values)) == 1
        assert "Helm has a record of release slurm" in capsys.readouterr().err
    assert not (tmp_path / "Pulumi.prod.yaml").exists()
