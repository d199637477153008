"""A picture holds what the configuration says: each daemon on its side, each line between two boxes, keys by name."""

from __future__ import annotations

import pytest

from slinky_iac.commands.diagram.build import Picture, picture
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from tests.clusters import MUNGE, stack_sections
from tests.stacks import FORMS, form, outside

SSSD = {"sssdConfFrom": {"secret": "sssd"}}


def drawn(name: str, **over: object) -> Picture:
    return picture(form(name, **over))


def sides(shown: Picture) -> dict[str, str]:
    return {box.id: box.place for box in shown.boxes}


def namespaces(shown: Picture) -> dict[str, str]:
    return {box.id: box.namespace for box in shown.boxes}


def lines_of(shown: Picture, box: str) -> str:
    return " | ".join(next(each for each in shown.boxes if each.id == box).lines)


@pytest.mark.parametrize(
    ("name", "slurmctld", "slurmdbd"),
    [
        ("all-in-kubernetes", "kubernetes", "kubernetes"),
        ("slurmdbd-outside", "kubernetes", "outside"),
        ("controller-outside", "outside", "outside"),
        ("all-outside", "outside", "outside"),
    ],
)
def test_each_form_has_its_daemons_on_the_right_side(name: str, slurmctld: str, slurmdbd: str) -> None:
    found = sides(drawn(name))
    assert (found["ctl"], found["dbd"]) == (slurmctld, slurmdbd)
    assert {found[each] for each in ("rest", "operator")} == {"kubernetes"}
    assert found["api"] == "control plane"
    assert ("dbd-service" in found) == (slurmdbd == "outside"), "the operator finds an outside slurmdbd by a Service"


@pytest.mark.parametrize("name", FORMS)
def test_each_box_is_in_its_namespace_and_the_api_server_in_none(name: str) -> None:
    shown = drawn(name, cluster={"namespace": "hpc"}, operator={"namespace": "ops"}, logins={"main": SSSD})
    found = namespaces(shown)
    assert (found["operator"], found["api"], found["desk"]) == ("ops", "", "")
    assert {found[box.id] for box in shown.boxes if box.place == "outside"} <= {""}
    inside = {box.id for box in shown.boxes if box.place == "kubernetes"} - {"operator"}
    assert {found[box] for box in inside} == {"hpc"}
    assert "login-main" in inside


@pytest.mark.parametrize("name", FORMS)
def test_every_line_joins_two_boxes_and_no_box_stands_alone(name: str) -> None:
    shown = drawn(name)
    boxes = {box.id for box in shown.boxes}
    assert len(boxes) == len(shown.boxes)
    joined = {end for arrow in shown.arrows for end in (arrow.tail, arrow.head)}
    assert joined == boxes
    assert len({(arrow.tail, arrow.head) for arrow in shown.arrows}) == len(shown.arrows)


@pytest.mark.parametrize("name", FORMS)
def test_no_two_boxes_want_one_place(name: str) -> None:
    places = [(box.column, box.row) for box in drawn(name, logins={"main": SSSD, "more": SSSD}).boxes]
    assert len(set(places)) == len(places)


def test_ports_are_those_of_the_configuration() -> None:
    slurmdbd = {"external": {"host": "192.0.2.11", "port": 16819}}
    shown = drawn("controller-outside", controller={"external": {"host": "192.0.2.7", "port": 7777}}, accounting=slurmdbd)
    ports = {(arrow.tail, arrow.head): arrow.label for arrow in shown.arrows}
    assert ports["rest", "ctl-service"] == ":6817"
    assert ports["ctl-service", "ctl"] == ":7777"
    assert ports["nodes-burst", "ctl"] == ":7777, back :6818"
    assert ports["rest", "dbd-service"] == ":6819"
    assert ports["dbd-service", "dbd"] == ports["ctl", "dbd"] == ":16819"
    assert "leads to :7777" in lines_of(shown, "ctl-service")


def test_a_slurmctld_inside_reaches_an_outside_slurmdbd_by_the_service() -> None:
    pairs = {(arrow.tail, arrow.head) for arrow in drawn("slurmdbd-outside").arrows}
    assert {("ctl", "dbd-service"), ("dbd-service", "dbd")} <= pairs
    assert ("ctl", "dbd") not in pairs


def test_a_direct_way_to_slurmrestd_is_no_detour() -> None:
    proxied = next(a for a in drawn("all-outside").arrows if a.tail == "desk" and a.head == "rest")
    direct = drawn("all-outside", slurmrest={"url": "https://rest:6820"})
    assert proxied.dashed
    assert not next(a for a in direct.arrows if a.tail == "desk" and a.head == "rest").dashed


def test_nodesets_say_how_many_and_how_large() -> None:
    shown = drawn("all-outside")
    assert lines_of(shown, "nodes-gpu") == "4 pods: gpu-[0-3] | 64 CPUs, 512Gi, gpu:8 | slurmd :6818"
    assert lines_of(shown, "nodes-cpu") == "8 to 64 pods, autoscaled | 32 CPUs, 128Gi | slurmd :6818"
    none = drawn("controller-outside", nodesets={"burst": {"replicas": 0, "pod": {"hostNetwork": True}}})
    assert lines_of(none, "nodes-burst") == "0 pods | 16 CPUs, 64Gi | host network, slurmd :6818"
    each = drawn("controller-outside", nodesets={"each": {"scalingMode": "DaemonSet"}})
    assert lines_of(each, "nodes-each") == "a pod on each node that fits | slurmd :6818"


def test_hosts_that_are_held_are_told() -> None:
    hosts = [{"name": f"m{n}", "state": "drained" if n == 2 else "active"} for n in range(1, 4)]
    assert lines_of(drawn("all-outside", external={"slurmdHosts": hosts}), "metal") == (
        "m[1-3] | slurmd :6818 | held drained: m2"
    )


def test_many_nodesets_share_a_box_and_none_is_left_out() -> None:
    many = {f"set{n}": {"replicas": 2} for n in range(9)} | {"burst": None}
    shown = drawn("controller-outside", nodesets=many)
    assert [box.title for box in shown.boxes if box.kind == "nodes"] == [
        "NodeSet set0", "NodeSet set1", "NodeSet set2", "6 more NodeSets",
    ]  # fmt: skip
    assert lines_of(shown, "nodes-more").startswith("set3, set4, set5, set6, set7, set8 | 12 pods together")


def test_a_munge_cluster_has_clients_inside_and_nothing_of_slinky() -> None:
    shown = picture(load(stack_sections(MUNGE)))
    assert {box.id for box in shown.boxes} == {"desk", "api", "clients", "ctl", "dbd"}
    assert [key.id for key in shown.keys] == ["munge"]
    assert {box.id: box.keys for box in shown.boxes if box.keys} == {each: ("munge",) for each in ("clients", "ctl", "dbd")}
    assert {end for arrow in shown.arrows for end in (arrow.tail, arrow.head)} == {box.id for box in shown.boxes}
    assert shown.description.startswith("Slurm cluster atlas. In Kubernetes: login and Jupyter pods.")


def test_who_holds_which_key() -> None:
    shown = drawn("all-outside", logins={"main": SSSD})
    held = {box.id: box.keys for box in shown.boxes}
    assert {name for name, keys in held.items() if "slurm" in keys} == {
        "rest", "ctl", "dbd", "nodes-gpu", "nodes-cpu", "login-main", "metal", "login-hosts", "users-rest",
    }  # fmt: skip
    assert {name for name, keys in held.items() if "jwt" in keys} == {"desk", "operator", "rest", "ctl", "dbd", "users-rest"}
    assert "Secret slurm/slurm-auth-slurm" in next(key.text for key in shown.keys if key.id == "slurm")


@pytest.mark.parametrize(("tokens", "desk"), [("prepared", ("jwt", "tokens")), ("rs256", ("tokens",))])
def test_the_token_key_stays_with_pulumi_and_its_public_half_is_with_who_judges_tokens(
    tokens: str, desk: tuple[str, ...]
) -> None:
    shown = drawn("all-outside", keys={"tokens": tokens})
    held = {box.id: box.keys for box in shown.boxes}
    assert held["desk"] == desk
    assert {name for name, keys in held.items() if "tokens" in keys} == {"desk"}
    assert {name for name, keys in held.items() if "public" in keys} == {"ctl", "dbd"}
    texts = {key.id: key.text for key in shown.keys}
    assert ("signs nothing yet" in texts["tokens"]) is (tokens == "prepared")
    assert ("signs the operator's tokens" in texts["jwt"]) is (tokens == "rs256")
    assert "ConfigMap slurm/slurm-token-jwks" in texts["public"]


def test_an_operator_of_another_stack_and_no_accounting_are_told() -> None:
    config: StackConfig = load(outside(operator={"install": False, "version": "1.1.1"}, nodesets={"a": {"replicas": 1}}))
    shown = picture(config)
    assert lines_of(shown, "operator") == "1.1.1 | another stack's"
    assert namespaces(shown)["operator"] == "", "where it is, isn't known"
    there = picture(load(outside(operator={"install": False, "namespace": "ops"}, nodesets={"a": {"replicas": 1}})))
    assert namespaces(there)["operator"] == "ops"
    assert not {"dbd", "dbd-service", "database"} & set(sides(shown))


@pytest.mark.parametrize("name", FORMS)
def test_the_description_names_every_side(name: str) -> None:
    text = drawn(name).description
    assert text.startswith("Slurm cluster atlas. In Kubernetes: slurm-operator, slurmrestd")
    assert "outside" in text.lower()
