"""`slinky adopt --let-go`: Helm finds the release no longer, nothing is deleted, and each run goes on where one ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands import cli
from tests.stacks import ROOT
from tests.unit.adopt.chart_objects import CLAIMS, MARKS, RECORDS, VALUES, Release, command, served

OBJECTS = ("controllers/slurm", "restapis/slurm", "nodesets/slurm-worker-gpu")


def at(name: str) -> str:
    return f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{name}"


def let_go(server: Release, folder: Path) -> int:
    file = folder / "Pulumi.prod.yaml"
    if not file.exists():
        assert cli.main(command(server, folder)) == 0
    return cli.main(["adopt", "--kubeconfig", server.kubeconfig(folder), "--let-go", str(file)])


def test_claims_go_first_and_the_newest_record_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Release() as server:
        served(server, VALUES)
        assert let_go(server, tmp_path) == 0
        records = [f"{RECORDS}/sh.helm.release.v1.slurm.v{number}" for number in (9, 10)]
        assert server.patched == [*map(at, OBJECTS), *records]
        left: list[dict[str, Any]] = server.objects[at("controllers/slurm")]["metadata"]["managedFields"]
    assert left == [{**CLAIMS[0], "fieldsV1": {"f:metadata": {"f:annotations": MARKS}}}, CLAIMS[2]]
    assert "owner=slinky-iac,name=slurm owner=helm --overwrite" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("manager", ["helm", "pulumi-resource-kubernetes"])
def test_a_helm_in_another_program_leaves_no_claim_of_that_programs_name(manager: str, tmp_path: Path) -> None:
    """pulumi-kubernetes would take what has its own name, and remove labels that pods have from Controller and others."""
    with Release() as server:
        served(server, VALUES)
        for path in map(at, OBJECTS):
            server.objects[path]["metadata"]["managedFields"] = [{**CLAIMS[0], "manager": manager}, *CLAIMS[1:]]
        assert let_go(server, tmp_path) == 0
        left = [claim["manager"] for path in map(at, OBJECTS) for claim in server.objects[path]["metadata"]["managedFields"]]
    assert set(left) == {"helm", "slurm-operator"}


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    with Release() as server:
        served(server, VALUES)
        assert let_go(server, tmp_path) == 0
        listed = server.objects[RECORDS]["items"]
        assert {each["metadata"]["labels"]["owner"] for each in listed} == {"slinky-iac"}
        server.patched.clear()
        assert let_go(server, tmp_path) == 0
        assert server.patched == []


def updated(server: Release) -> None:
    """What the stack's first update leaves: pulumi-kubernetes' claims, under a name that it makes for each object."""
    for number, path in enumerate(map(at, OBJECTS)):
        claim = {"manager": f"pulumi-kubernetes-0a1b2c3{number}", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
        meta = server.objects[path]["metadata"]
        meta["managedFields"] = [*meta["managedFields"], claim]


def test_after_an_update_the_stack_itself_is_no_other_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Release() as server:
        served(server, VALUES)
        assert let_go(server, tmp_path) == 0
        updated(server)
        server.patched.clear()
        assert let_go(server, tmp_path) == 0, capsys.readouterr().out
        assert server.patched == []
        (tmp_path / "Pulumi.prod.yaml").unlink()
        assert cli.main(command(server, tmp_path)) == 0, "the file can be made again"


def test_while_helm_has_it_another_pulumi_program_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        updated(server)
        assert let_go(server, tmp_path) == 3
        assert server.patched == []
    assert "another Pulumi program writes Controller slurm" in capsys.readouterr().out


def test_claims_of_a_stack_that_is_gone_go_too(tmp_path: Path) -> None:
    """The way back ends with `helm upgrade`. pulumi-kubernetes has other names in the next stack, and would be refused."""
    with Release() as server:
        served(server, VALUES)
        updated(server)
        gone = [*command(server, tmp_path), "--stopped", "pulumi"]
        assert cli.main(command(server, tmp_path)) == 3
        (tmp_path / "Pulumi.prod.yaml").unlink()
        assert cli.main(gone) == 0
        assert let_go(server, tmp_path) == 3
        file = str(tmp_path / "Pulumi.prod.yaml")
        assert cli.main(["adopt", "--kubeconfig", server.kubeconfig(tmp_path), "--stopped", "pulumi", "--let-go", file]) == 0
        left = [claim["manager"] for path in map(at, OBJECTS) for claim in server.objects[path]["metadata"]["managedFields"]]
    assert set(left) == {"helm", "slurm-operator"}


@pytest.mark.parametrize(
    ("manager", "operation"),
    [("argocd-controller", "Update"), ("argocd-controller", "Apply"), ("argocd-application-controller", "Update")],
)
def test_of_argo_cds_claims_those_on_its_own_annotations_stay(manager: str, operation: str, tmp_path: Path) -> None:
    own = {"f:argocd.argoproj.io/tracking-id": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}
    fields = {"f:metadata": {"f:annotations": own, "f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}}
    argo = {"manager": manager, "operation": operation, "fieldsV1": fields}
    with Release() as server:
        served(server, VALUES)
        server.objects[RECORDS] = {"items": []}
        for path in map(at, OBJECTS):
            server.objects[path]["metadata"]["managedFields"] = [argo, CLAIMS[2]]
            server.objects[path]["metadata"]["labels"]["helm.sh/chart"] = "slurm-1.2.1"
        values = tmp_path / "values.yaml"
        values.write_text(json.dumps(VALUES))
        assert cli.main(command(server, tmp_path, "--values", str(values))) == 3, "it is named"
        assert let_go(server, tmp_path) == 3
        assert server.patched == []
        file = str(tmp_path / "Pulumi.prod.yaml")
        gone = ["adopt", "--kubeconfig", server.kubeconfig(tmp_path), "--stopped", "argo", "--let-go", file]
        assert cli.main(gone) == 0
        assert server.patched == [*map(at, OBJECTS)]
        left = server.objects[at("controllers/slurm")]["metadata"]["managedFields"]
        assert cli.main(gone) == 0
        assert server.patched == [*map(at, OBJECTS)], "a second run writes nothing"
    assert left == [{**argo, "fieldsV1": {"f:metadata": {"f:annotations": own}}}, CLAIMS[2]]


def test_a_program_that_nothing_here_knows_is_named_and_its_claims_go_once_it_has_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terraform's Helm writes under its own name. An autoscaler's number is said by the autoscaler."""
    name = "terraform-provider-helm_v2.17.0_x5"
    scaled = {"manager": "keda", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    with Release() as server:
        served(server, VALUES)
        for path in map(at, OBJECTS):
            meta = server.objects[path]["metadata"]
            short = {"manager": "s", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
            meta["managedFields"] = [{**CLAIMS[0], "manager": name}, scaled, short, CLAIMS[2]]
        assert cli.main(command(server, tmp_path)) == 3
        assert let_go(server, tmp_path) == 3
        said = " ".join(capsys.readouterr().out.split())
        assert f"{name} writes Controller slurm" in said
        assert "s writes Controller slurm" in said
        assert "--stopped other" in said
        assert "keda" not in said
        assert server.patched == []
        file = str(tmp_path / "Pulumi.prod.yaml")
        assert cli.main(["adopt", "--kubeconfig", server.kubeconfig(tmp_path), "--stopped", "other", "--let-go", file]) == 0
        left = server.objects[at("controllers/slurm")]["metadata"]["managedFields"]
    assert [each["manager"] for each in left] == [name, "keda", "slurm-operator"]
    assert "f:spec" not in left[0]["fieldsV1"], "of `s` nothing is left, and slurm-operator's status is none of its"


@pytest.mark.parametrize("done", [1, 3, 4])
def test_a_run_that_was_cut_off_is_continued(done: int, tmp_path: Path) -> None:
    """After one object, after all of them, after the older record."""
    with Release() as server:
        served(server, VALUES)
        server.breaks_after = done
        assert let_go(server, tmp_path) == 1
        assert len(server.patched) == done
        server.breaks_after = None
        assert let_go(server, tmp_path) == 0
        assert len(server.patched) == 5, "each once"


def test_another_object_under_the_name_stops_before_the_first_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        server.objects[at("nodesets/slurm-worker-gpu")]["metadata"]["uid"] = "another"
        assert let_go(server, tmp_path) == 1
        assert server.patched == []
    assert "NodeSet slurm-worker-gpu in namespace slurm is another object now (UID another)" in capsys.readouterr().err


def test_an_object_that_is_gone_stops_before_the_first_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        del server.objects[at("restapis/slurm")]
        assert let_go(server, tmp_path) == 1
        assert server.patched == []
    assert "RestApi slurm in namespace slurm isn't in Kubernetes" in capsys.readouterr().err


def test_a_second_writer_keeps_the_release_with_helm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        items = server.objects[at("controllers")]["items"]
        items[0]["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "slurm:x"}
        assert let_go(server, tmp_path) == 3
        assert server.patched == []
    assert "Argo CD writes Controller slurm" in capsys.readouterr().out


def test_a_release_that_helm_changes_is_left(tmp_path: Path) -> None:
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        server.objects[RECORDS]["items"][-1]["metadata"]["labels"]["status"] = "pending-upgrade"
        assert let_go(server, tmp_path) == 1
        assert server.patched == []


def test_a_file_without_the_section_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, values = tmp_path / "Pulumi.prod.yaml", tmp_path / "values.yaml"
    values.write_text("clusterName: atlas\n")
    assert cli.main(["import-chart", str(values), "--out", str(file)]) == 0
    with Release() as server:
        assert let_go(server, tmp_path) == 1
        assert server.asked == []
        said = capsys.readouterr().err
        file.write_text("config: {slinky-iac:cluster: {name: atlas}}\n")
        assert let_go(server, tmp_path) == 1
        assert f"has errors. Nothing was changed. `slinky check {file}` shows them" in capsys.readouterr().err
    assert "no section `adopted`" in said
    assert "Write a new file with `slinky adopt --out OTHER`, and copy its section `slinky-iac:adopted`" in said


@pytest.mark.parametrize(("conflicts", "code"), [(4, 0), (5, 1)])
def test_an_operator_that_writes_its_status_meanwhile_stops_nothing(conflicts: int, code: int, tmp_path: Path) -> None:
    with Release() as server:
        served(server, VALUES)
        server.conflicts = conflicts
        assert let_go(server, tmp_path) == code
        assert len(server.patched) == (0 if code else 5)


def test_what_it_asks_and_writes_is_on_the_page(tmp_path: Path) -> None:
    """docs/chart.md, Rights: nothing else is needed, and nothing is named that isn't used."""
    own = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm"
    kinds = ("controllers", "accountings", "restapis", "nodesets", "loginsets")
    scalers = (
        "/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers",
        "/apis/keda.sh/v1alpha1/namespaces/slurm/scaledobjects",
    )
    lists = {RECORDS, *scalers, *(f"{own}/{kind}" for kind in kinds)}
    with Release() as server:
        served(server, VALUES)
        assert cli.main(command(server, tmp_path)) == 0
        record = f"{RECORDS}/sh.helm.release.v1.slurm.v10"
        assert set(server.asked) == {*lists, record}
        server.asked.clear()
        assert let_go(server, tmp_path) == 0
        records = {f"{RECORDS}/sh.helm.release.v1.slurm.v{number}" for number in (9, 10)}
        assert set(server.asked) == {*lists, *records, *map(at, OBJECTS)}
        assert {path for _, path in server.written} == {*records, *map(at, OBJECTS)}
    (rights,) = (part for part in (ROOT / "docs" / "chart.md").read_text().split("\n### ") if part.startswith("Rights\n"))
    reads, writes = (line for line in rights.splitlines() if line.startswith("| `--"))
    assert "list and get `secrets`" in reads
    assert all(f"`{path.rpartition('/')[2]}`" in reads for path in lists)
    assert "patch `secrets`" in writes
    assert "get and patch the five kinds" in writes
