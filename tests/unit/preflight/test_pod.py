"""The short-lived pod: it can do no harm, its script really runs, and what it doesn't say isn't made up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.blueprint.places import Place, outside_places
from slinky_iac.commands.preflight.pod import SCRIPT, inside_places, placements, pod_body, report_of
from slinky_iac.names import LABEL_SHORT_POD
from slinky_iac.preflight.facts import PodReport
from tests.stacks import form
from tests.unit.preflight.made import CTL, DBD, NOW, stack


def body(**over: Any) -> dict[str, Any]:
    config = stack(**over)
    return pod_body(config, placements(config)[0], "slinky-preflight-1", [CTL, DBD])


def test_the_pod_fits_the_restricted_pod_security_standard() -> None:
    spec = body()["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "runAsUser": 65534,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert spec["automountServiceAccountToken"] is False
    assert "volumes" not in spec


def test_the_pod_ends_by_itself_and_is_found_by_its_label() -> None:
    pod = body()
    assert pod["spec"]["activeDeadlineSeconds"] <= 120
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["metadata"]["labels"][LABEL_SHORT_POD] == "look"


def test_hosts_are_arguments_and_never_part_of_the_script() -> None:
    config = stack()
    evil = Place("p", "d", "$(touch /tmp/x)", 1)
    command = pod_body(config, placements(config)[0], "p", [evil])["spec"]["containers"][0]["command"]
    assert command[:4] == ["bash", "-c", SCRIPT, "look"]
    assert command[4:] == ["$(touch /tmp/x)", "1"]


def test_the_pod_stands_where_the_nodesets_pods_stand_with_their_image() -> None:
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    nodeset = {"image": "my/slurmd:1", "pod": {"nodeSelector": {"pool": "gpu"}, "tolerations": tolerations}}
    spec = body(nodesets={"gpu": nodeset})["spec"]
    assert spec["containers"][0]["image"] == "my/slurmd:1"
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"pool": "gpu"}, tolerations)
    spec = body(nodesets={"gpu": {"pod": {"hostNetwork": True}}})["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_one_pod_for_each_distinct_place_and_slurmrestds_where_there_is_no_nodeset() -> None:
    same = stack(nodesets={"cpu": {"replicas": 1}})
    assert [each.nodeset for each in placements(same)] == ["gpu"]
    other = stack(nodesets={"cpu": {"replicas": 1, "pod": {"nodeSelector": {"pool": "cpu"}}}})
    assert [each.nodeset for each in placements(other)] == ["gpu", "cpu"]
    (none,) = placements(stack(nodesets=None, partitions=None))
    assert none.image.endswith("/slurmrestd:26.05-ubuntu26.04")


def test_once_a_stack_is_up_the_services_that_lead_to_daemons_are_tried_too() -> None:
    config = form("all-outside")
    outside = [*outside_places(config)]
    assert list(inside_places(config, outside, made=False)) == outside
    made = {each.host for each in inside_places(config, outside, made=True)} - {each.host for each in outside}
    assert made == {"slurm-accounting.slurm", "slurm-restapi.slurm"}
    inside = {each.host for each in inside_places(form("all-in-kubernetes"), [], made=True)}
    assert inside == {"slurm-controller.slurm", "slurm-accounting.slurm", "slurm-restapi.slurm"}


def run(folder: Path, tried: list[Place], **programs: str) -> PodReport:
    """What the script says, run here by a real bash; ``programs`` are stand-ins on its PATH."""
    bash = shutil.which("bash")
    assert bash, "bash is needed, as in Slurm's images"
    for name, text in programs.items():
        (folder / name).write_text(f"#!{bash}\n{text}\n")
        (folder / name).chmod(0o755)
    words = folder / "words"
    script = SCRIPT.replace("/dev/termination-log", str(words))
    assert script != SCRIPT
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "LIMIT": "2", "LANG": "de_DE.UTF-8"}
    arguments = [part for each in tried for part in (each.host, str(each.port))]
    subprocess.run([bash, "-c", script, "look", *arguments], env=env, check=True, timeout=30)
    config = stack()
    message = json.loads(json.dumps(words.read_text()))
    return report_of(message, placements(config)[0], tried, pod="p", node="node-1", before=NOW, after=NOW + 10**9)


def test_the_script_tells_open_refused_and_unknown_apart(tmp_path: Path, listening: int, closed: int) -> None:
    tried = [
        Place("a", "d", "127.0.0.1", listening),
        Place("b", "d", "127.0.0.1", closed),
        Place("c", "d", "no-such-host.invalid", 6817),
    ]
    seen = run(tmp_path, tried)
    assert [(each.open, each.trouble) for each in seen.tried] == [
        (True, ""),
        (False, "connection refused"),
        (False, "the name is not known there"),
    ]
    assert seen.tried[0].address == "127.0.0.1"
    assert seen.clock is not None


def test_the_script_tells_user_id_and_release_of_its_image(tmp_path: Path) -> None:
    seen = run(tmp_path, [], id="echo 401", slurmd="echo 'slurm-wlm 26.05.5'")
    assert (seen.slurm_uid, seen.slurmd) == (401, "26.05.5")
    bare = run(tmp_path, [], id="exit 1", slurmd="exit 1")
    assert (bare.slurm_uid, bare.slurmd) == (None, "")


@pytest.mark.parametrize("message", ["", "date x\nuid \nslurmd \n", "try ctl.example.org 1 0 - \n", "\x00\x1b[2J"])
def test_a_place_without_a_word_is_never_taken_for_open(message: str) -> None:
    config = stack()
    seen = report_of(message, placements(config)[0], [CTL], pod="p", node="n", before=0, after=1)
    assert [each.open for each in seen.tried] == [False]
    assert (seen.clock, seen.slurm_uid, seen.slurmd) == (None, None, "")


def test_silence_is_told_with_its_bound() -> None:
    config = stack()
    message = "try ctl.example.org 6817 124 10.0.0.1 \n"
    (seen,) = report_of(message, placements(config)[0], [CTL], pod="p", node="n", before=0, after=1).tried
    assert (seen.trouble, seen.address) == ("no answer in 5 s", "10.0.0.1")


def test_a_number_of_thousands_of_digits_is_none() -> None:
    config = stack()
    message = f"date {'9' * 5000}\nuid {'9' * 5000}\ntry ctl 6817 {'9' * 5000} - x"
    seen = report_of(message, placements(config)[0], [CTL], pod="p", node="n", before=0, after=1)
    assert (seen.clock, seen.slurm_uid) == (None, None)
